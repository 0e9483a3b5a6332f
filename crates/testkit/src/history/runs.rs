//! Random histories of a source, made by several threads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostrakon_cell::{
    Authorizations, CloneOptions, Condition, ConditionalMutation, ConditionalStatus, Error,
    Mutation, MutationBatch, Range, Result, Scanner, Source, Table, TableOptions, TimeType,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::administration::{AdminAnswer, AdminCall, surely_cloned};
use super::record::{Event, Recorder};
use super::registers::{RegisterAnswer, RegisterCall};

/// Threads of one history: more make more orders possible, and so hide more.
const THREADS: usize = 4;

/// Calls of each thread.
const CALLS: usize = 24;

const NAMES: [char; 3] = ['a', 'b', 'c'];
const ROWS: [&str; 2] = ["row1", "row2"];

/// How many histories a test makes: as many as `OSTRAKON_HISTORIES` says, else `few`.
#[must_use]
pub fn histories_wanted(few: u64) -> u64 {
    let wanted = std::env::var("OSTRAKON_HISTORIES").ok();
    wanted.and_then(|text| text.parse().ok()).unwrap_or(few)
}

/// Runs `work` on every thread with dice of its own, all beginning at once.
fn on_all_threads(seed: u64, work: impl Fn(usize, &mut StdRng) -> Result<()> + Sync) -> Result<()> {
    let barrier = std::sync::Barrier::new(THREADS);
    std::thread::scope(|scope| {
        let (work, barrier) = (&work, &barrier);
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn(move || {
                    let mut dice = StdRng::seed_from_u64(seed * THREADS as u64 + thread as u64);
                    barrier.wait();
                    work(thread, &mut dice)
                })
            })
            .collect();
        let panicked = |_| Err(Error::new(ostrakon_cell::ErrorKind::Internal, "a panic"));
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(panicked))
    })
}

/// Reads, writes, deletes and compares and sets few rows of a new table; one history for each row.
///
/// # Errors
/// Those of the source.
pub fn register_history(
    source: &Arc<dyn Source>,
    name: &str,
    seed: u64,
) -> Result<Vec<Vec<Event<RegisterCall, RegisterAnswer>>>> {
    // A clock that counts: with one that stands still a delete hides what is written after it.
    let options = TableOptions {
        time_type: TimeType::Logical,
        ..TableOptions::default()
    };
    source.create_table(name, &options)?;
    let table = source.table(name)?;
    let recorders: Vec<Recorder<RegisterCall, RegisterAnswer>> =
        ROWS.iter().map(|_| Recorder::default()).collect();
    on_all_threads(seed, |thread, dice| {
        for number in 0..CALLS {
            let at = dice.random_range(0..ROWS.len());
            // Values of their own, so that an answer tells which write it saw; few enough conditions hold by guess.
            let value = (thread * CALLS + number) as u32;
            let call = match dice.random_range(0..8) {
                0 | 1 => RegisterCall::Read,
                2 => RegisterCall::Write(value),
                3 => RegisterCall::Delete,
                _ => RegisterCall::CompareAndSet(read(&table, ROWS[at])?, value),
            };
            let mut failed = None;
            recorders[at].record(thread, call, |call| {
                on_register(&table, ROWS[at], call).unwrap_or_else(|error| {
                    failed = Some(error);
                    RegisterAnswer::Refused
                })
            });
            if let Some(error) = failed {
                return Err(error);
            }
        }
        Ok(())
    })?;
    source.delete_table(name)?;
    Ok(recorders.into_iter().map(Recorder::into_events).collect())
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
    let mut mutation = Mutation::new(row);
    match call {
        RegisterCall::Read => return read(table, row).map(RegisterAnswer::Value),
        RegisterCall::Delete => mutation.delete("f", "q")?,
        RegisterCall::Write(value) | RegisterCall::CompareAndSet(_, value) => {
            mutation.put("f", "q", value.to_string())?
        }
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
    // Writes without a condition too: plain ones do not wait for conditional writers of their row, as in Accumulo, and may
    // come between another's condition and its write.
    let conditional = ConditionalMutation {
        mutation,
        conditions,
    };
    let answers = table.write_conditionally(vec![conditional], &Authorizations::default(), None)?;
    Ok(match answers.first() {
        Some(ConditionalStatus::Accepted) => RegisterAnswer::Done,
        _ => RegisterAnswer::Refused,
    })
}

/// Creates, deletes, renames, clones, lists, opens, writes and scans tables under few names, which begin with `prefix`.
/// Tables that are left are deleted.
///
/// # Errors
/// Those of the source that no history has: its disk fails.
pub fn administration_history(
    source: &Arc<dyn Source>,
    prefix: &str,
    seed: u64,
) -> Result<Vec<Event<AdminCall, AdminAnswer>>> {
    let recorder: Recorder<AdminCall, AdminAnswer> = Recorder::default();
    on_all_threads(seed, |thread, dice| {
        let mut handles: BTreeMap<String, Arc<dyn Table>> = BTreeMap::new();
        for number in 0..CALLS {
            let row = (thread * CALLS + number) as u32;
            let call = random_call(dice, &handles, row);
            let mut opened = None;
            let answer = recorder.record(thread, call, |call| {
                on_tables(source, prefix, &handles, &mut opened, call)
                    .unwrap_or_else(|error| AdminAnswer::Refused(error.kind()))
            });
            if let (Some(table), AdminAnswer::Id(id)) = (opened, answer) {
                handles.insert(id, table);
            }
        }
        Ok(())
    })?;
    for table in source.tables()? {
        if table.name.starts_with(prefix) {
            source.delete_table(&table.name)?;
        }
    }
    let mut events = recorder.into_events();
    surely_cloned(&mut events);
    Ok(events)
}

fn random_call(
    dice: &mut StdRng,
    handles: &BTreeMap<String, Arc<dyn Table>>,
    row: u32,
) -> AdminCall {
    let name = NAMES[dice.random_range(0..NAMES.len())];
    let other = NAMES[dice.random_range(0..NAMES.len())];
    let handle = match handles.len() {
        0 => None,
        // Handles of tables that are gone stay in use.
        some => handles.keys().nth(dice.random_range(0..some)).cloned(),
    };
    // Names are what calls race for: half of the calls change them.
    match (dice.random_range(0..20), handle) {
        (0..=3, _) => AdminCall::Create(name),
        (4 | 5, _) => AdminCall::Delete(name),
        (6..=8, _) if name != other => AdminCall::Rename(name, other),
        (9 | 10, _) if name != other => AdminCall::Clone(name, other, BTreeSet::new()),
        (11, _) => AdminCall::SetOnline(name, false),
        (12, _) => AdminCall::SetOnline(name, true),
        (13, _) => AdminCall::List,
        (14..=16, Some(id)) => AdminCall::Put(id, row),
        (17 | 18, Some(id)) => AdminCall::Scan(id),
        _ => AdminCall::Open(name),
    }
}

fn on_tables(
    source: &Arc<dyn Source>,
    prefix: &str,
    handles: &BTreeMap<String, Arc<dyn Table>>,
    opened: &mut Option<Arc<dyn Table>>,
    call: &AdminCall,
) -> Result<AdminAnswer> {
    let of = |name: &char| format!("{prefix}{name}");
    let handle = |id: &String| {
        let gone = || Error::no_table("the thread has no such handle");
        handles.get(id).ok_or_else(gone)
    };
    match call {
        AdminCall::Create(name) => source.create_table(&of(name), &TableOptions::default())?,
        AdminCall::Delete(name) => source.delete_table(&of(name))?,
        AdminCall::Rename(from, to) => source.rename_table(&of(from), &of(to))?,
        AdminCall::Clone(from, to, _) => {
            source.clone_table(&of(from), &of(to), &CloneOptions::default())?;
        }
        AdminCall::SetOnline(name, online) => source.set_online(&of(name), *online)?,
        AdminCall::Open(name) => {
            let table = source.table(&of(name))?;
            let id = table.id();
            *opened = Some(table);
            return Ok(AdminAnswer::Id(id));
        }
        AdminCall::List => {
            let mut tables = source.tables()?;
            tables.retain(|table| table.name.starts_with(prefix));
            let listed = tables
                .into_iter()
                .filter_map(|table| Some((table.name.chars().last()?, table.id, table.online)));
            return Ok(AdminAnswer::Tables(listed.collect()));
        }
        AdminCall::Put(id, row) => {
            let mut mutation = Mutation::new(format!("{row:06}"));
            mutation.put("f", "q", "")?;
            let mut batch = MutationBatch::new();
            batch.push(&mutation)?;
            handle(id)?.submit(batch, None)?.wait()?;
        }
        AdminCall::Scan(id) => {
            let entries = Scanner::new(handle(id)?.clone()).entries()?;
            let rows = entries
                .iter()
                .filter_map(|entry| String::from_utf8_lossy(&entry.key.row).parse().ok());
            return Ok(AdminAnswer::Rows(rows.collect()));
        }
    }
    Ok(AdminAnswer::Done)
}
