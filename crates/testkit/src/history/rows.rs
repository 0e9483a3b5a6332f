//! Random histories of rows: conditional writes, alone and in lists, while tablets and files change and the source is
//! opened again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ostrakon_cell::{
    Authorizations, CompactOptions, Condition, ConditionalMutation, ConditionalStatus, Mutation,
    Range, Result, Scanner, Source, Table, TableOptions, TimeType,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::record::{Event, Moments, Recorder};
use super::registers::{RegisterAnswer, RegisterCall};
use super::runs::{CALLS, on_all_threads};

const ROWS: [&str; 2] = ["row1", "row2"];

/// Rows at which the table is cut: before, between and behind the others.
const SPLITS: [&str; 3] = ["row0", "row1", "row1x"];

/// Parts of a history. Between two of them nothing is asked, and the source may be opened again.
const PARTS: usize = 3;

/// Ends a source and gives one with the same tables.
pub type Reopen<'a> = &'a mut dyn FnMut(Arc<dyn Source>) -> Result<Arc<dyn Source>>;

/// The history of one row.
pub(super) type RowHistory = Vec<Event<RegisterCall, RegisterAnswer>>;

type Registers = Vec<Recorder<RegisterCall, RegisterAnswer>>;

/// Reads, writes, deletes and compares and sets few rows of a new table; one history for each row. Meanwhile the table
/// is split, merged, flushed and compacted; between its parts rows are deleted as a range, and `reopen` is called.
/// Gives the source that is open at the end.
///
/// # Errors
/// Those of the source.
pub fn register_history(
    mut source: Arc<dyn Source>,
    name: &str,
    seed: u64,
    reopen: Reopen<'_>,
) -> Result<(Arc<dyn Source>, Vec<RowHistory>)> {
    // A clock that counts: with one that stands still a delete hides what is written after it.
    let options = TableOptions {
        time_type: TimeType::Logical,
        ..TableOptions::default()
    };
    source.create_table(name, &options)?;
    let moments = Arc::new(Moments::default());
    let registers: Registers = ROWS
        .iter()
        .map(|_| Recorder::with_moments(&moments))
        .collect();
    let mut dice = StdRng::seed_from_u64(!seed);
    for part in 0..PARTS {
        let table = source.table(name)?;
        let part_seed = seed.wrapping_mul(PARTS as u64) + part as u64;
        run_part(&table, &registers, &moments, part, part_seed)?;
        if dice.random_range(0..2) == 0 {
            let at = dice.random_range(0..ROWS.len());
            delete_range(&table, &registers, at)?;
        }
        drop(table);
        if dice.random_range(0..3) == 0 {
            source = reopen(source)?;
        }
    }
    source.delete_table(name)?;
    let histories = registers.into_iter().map(Recorder::into_events);
    Ok((source, histories.collect()))
}

/// The calls of all threads of one part, while the first thread also changes tablets and files.
fn run_part(
    table: &Arc<dyn Table>,
    registers: &Registers,
    moments: &Moments,
    part: usize,
    seed: u64,
) -> Result<()> {
    let calls = CALLS / PARTS;
    let running = AtomicUsize::new(1);
    std::thread::scope(|scope| {
        let disturbing = scope.spawn(|| disturb(table, &running, seed));
        let asked = on_all_threads(seed, |thread, dice| {
            for number in 0..calls {
                // Values of their own, so that an answer tells which write it saw; few enough conditions hold by guess.
                let value = ((thread * CALLS + part * calls + number) * ROWS.len()) as u32;
                if dice.random_range(0..4) == 0 {
                    write_list(table, registers, moments, thread, value, dice)?;
                    continue;
                }
                let at = dice.random_range(0..ROWS.len());
                let call = random_call(table, at, value, dice)?;
                one_call(table, &registers[at], thread, at, call)?;
            }
            Ok(())
        });
        running.store(0, Ordering::SeqCst);
        let panicked = |_| {
            Err(ostrakon_cell::Error::new(
                ostrakon_cell::ErrorKind::Internal,
                "a panic",
            ))
        };
        let disturbed = disturbing.join().unwrap_or_else(panicked);
        asked.and(disturbed)
    })
}

/// Splits, merges, flushes and compacts the table while others use it.
fn disturb(table: &Arc<dyn Table>, running: &AtomicUsize, seed: u64) -> Result<()> {
    let mut dice = StdRng::seed_from_u64(seed ^ 0xd157);
    while running.load(Ordering::SeqCst) > 0 {
        match dice.random_range(0..4) {
            0 => {
                let at = SPLITS[dice.random_range(0..SPLITS.len())];
                table.add_splits(&[at.as_bytes().to_vec()])?;
            }
            1 => table.merge(None, None)?,
            2 => table.flush(true)?,
            _ => table.compact(&CompactOptions::default())?,
        }
    }
    Ok(())
}

fn random_call(
    table: &Arc<dyn Table>,
    at: usize,
    value: u32,
    dice: &mut StdRng,
) -> Result<RegisterCall> {
    Ok(match dice.random_range(0..8) {
        0 | 1 => RegisterCall::Read,
        2 => RegisterCall::Write(value),
        3 => RegisterCall::Delete,
        _ => RegisterCall::CompareAndSet(read(table, ROWS[at])?, value),
    })
}

fn one_call(
    table: &Arc<dyn Table>,
    register: &Recorder<RegisterCall, RegisterAnswer>,
    thread: usize,
    at: usize,
    call: RegisterCall,
) -> Result<()> {
    let mut failed = None;
    register.record(thread, call, |call| {
        on_register(table, ROWS[at], call).unwrap_or_else(|error| {
            failed = Some(error);
            RegisterAnswer::Refused
        })
    });
    failed.map_or(Ok(()), Err)
}

/// One list of conditional mutations of both rows, in any order. Each row is answered for itself.
fn write_list(
    table: &Arc<dyn Table>,
    registers: &Registers,
    moments: &Moments,
    thread: usize,
    value: u32,
    dice: &mut StdRng,
) -> Result<()> {
    let mut order: Vec<usize> = (0..ROWS.len()).collect();
    if dice.random_range(0..2) == 0 {
        order.reverse();
    }
    let mut calls = Vec::new();
    for at in order {
        let value = value + at as u32;
        let call = match dice.random_range(0..4) {
            0 => RegisterCall::Write(value),
            1 => RegisterCall::Delete,
            _ => RegisterCall::CompareAndSet(read(table, ROWS[at])?, value),
        };
        calls.push((at, call));
    }
    let list = calls
        .iter()
        .map(|(at, call)| conditional(ROWS[*at], call))
        .collect::<Result<Vec<_>>>()?;
    let begun = moments.next();
    let answers = table.write_conditionally(list, &Authorizations::default(), None)?;
    let ended = moments.next();
    for ((at, call), answer) in calls.into_iter().zip(answers) {
        registers[at].add(Event {
            thread,
            call,
            answer: answered(Some(&answer)),
            begun,
            ended,
        });
    }
    Ok(())
}

/// Deletes the rows up to one of them as a range; nothing is written meanwhile. (Writes of that time may be kept or
/// lost, so that conditional ones are in no order with it.)
fn delete_range(table: &Arc<dyn Table>, registers: &Registers, at: usize) -> Result<()> {
    let mut outcome = Ok(());
    registers[at].record(0, RegisterCall::Delete, |_| {
        let before = (at > 0).then(|| ROWS[at - 1].as_bytes());
        outcome = table.delete_rows(before, Some(ROWS[at].as_bytes()));
        RegisterAnswer::Done
    });
    outcome
}

fn read(table: &Arc<dyn Table>, row: &str) -> Result<Option<u32>> {
    let entries = Scanner::new(table.clone())
        .range(Range::row(row))
        .entries()?;
    let value = entries
        .first()
        .map(|entry| String::from_utf8_lossy(&entry.value).parse());
    Ok(value.and_then(std::result::Result::ok))
}

fn on_register(table: &Arc<dyn Table>, row: &str, call: &RegisterCall) -> Result<RegisterAnswer> {
    if *call == RegisterCall::Read {
        return read(table, row).map(RegisterAnswer::Value);
    }
    let list = vec![conditional(row, call)?];
    let answers = table.write_conditionally(list, &Authorizations::default(), None)?;
    Ok(answered(answers.first()))
}

fn answered(status: Option<&ConditionalStatus>) -> RegisterAnswer {
    match status {
        Some(ConditionalStatus::Accepted) => RegisterAnswer::Done,
        _ => RegisterAnswer::Refused,
    }
}

/// A write as a conditional one. Those without a condition too: plain ones do not wait for conditional writers of their
/// row, as in Accumulo, and may come between another's condition and its write.
fn conditional(row: &str, call: &RegisterCall) -> Result<ConditionalMutation> {
    let mut mutation = Mutation::new(row);
    match call {
        RegisterCall::Write(value) | RegisterCall::CompareAndSet(_, value) => {
            mutation.put("f", "q", value.to_string())?
        }
        RegisterCall::Read | RegisterCall::Delete => mutation.delete("f", "q")?,
    };
    let mut conditions = Vec::new();
    if let RegisterCall::CompareAndSet(expected, _) = call {
        conditions.push(Condition {
            family: b"f".to_vec(),
            qualifier: b"q".to_vec(),
            value: expected.map(|value| value.to_string().into_bytes()),
            ..Condition::default()
        });
    }
    Ok(ConditionalMutation {
        mutation,
        conditions,
    })
}
