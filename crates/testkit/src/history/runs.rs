//! Random histories of administration, and what all random histories share.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use ostrakon_cell::{
    CloneOptions, Error, Mutation, MutationBatch, Result, Scanner, Source, Table, TableOptions,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::administration::{AdminAnswer, AdminCall, surely_cloned};
use super::record::{Event, Recorder};

/// Threads of one history: more make more orders possible, and so hide more.
const THREADS: usize = 4;

/// Calls of each thread.
pub(super) const CALLS: usize = 24;

const NAMES: [char; 3] = ['a', 'b', 'c'];

/// The seeds of the histories that a test makes: those that `OSTRAKON_HISTORIES` names, else the `few` first ones.
///
/// # Panics
/// When the variable is neither `N`, for the first N, nor `FIRST..LAST`, without the last.
#[must_use]
pub fn histories_wanted(few: u64) -> Range<u64> {
    match std::env::var("OSTRAKON_HISTORIES") {
        Ok(text) => seeds_of(&text)
            .unwrap_or_else(|| panic!("OSTRAKON_HISTORIES is N or FIRST..LAST, and not {text:?}")),
        Err(_) => 0..few,
    }
}

/// The seeds that a text names; `None` if it names none.
pub(super) fn seeds_of(text: &str) -> Option<Range<u64>> {
    let seeds = match text.split_once("..") {
        Some((first, last)) => first.trim().parse().ok()?..last.trim().parse().ok()?,
        None => 0..text.trim().parse().ok()?,
    };
    (!seeds.is_empty()).then_some(seeds)
}

/// Runs `work` on every thread with dice of its own, all beginning at once.
pub(super) fn on_all_threads(
    seed: u64,
    work: impl Fn(usize, &mut StdRng) -> Result<()> + Sync,
) -> Result<()> {
    let barrier = std::sync::Barrier::new(THREADS);
    std::thread::scope(|scope| {
        let (work, barrier) = (&work, &barrier);
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn(move || {
                    let mut dice =
                        StdRng::seed_from_u64(seed.wrapping_mul(THREADS as u64) + thread as u64);
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
