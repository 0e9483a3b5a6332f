//! The model test with several threads: each writes to rows of its own and compares them with a model
//! of its own, while one more flushes, compacts, splits and merges, and sets the clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ostrakon_cell::{CompactOptions, PendingWrite, Properties, Range, ScanOptions, Source};
use ostrakon_store::clock::Random;

use super::apply::{all_authorizations, apply, apply_to_model, batch_of};
use super::generate::{Plan, writes};
use super::keys::START_MILLIS;
use super::operation::{Operation, PROBE, Style};
use super::player::read_probe;
use super::scans::read;
use crate::reference_model::MapSource;

const PREFIXES: [&str; 3] = ["a", "b", "c"];

const STYLES: [Style; 3] = [
    Style {
        versions: Some(1),
        summed: false,
        logical: false,
        split: true,
    },
    Style {
        versions: None,
        summed: true,
        logical: false,
        split: false,
    },
    Style {
        versions: Some(3),
        summed: false,
        logical: true,
        split: false,
    },
];

/// Batches that one thread may have under way.
const UNDER_WAY: usize = 3;

/// What the test needs of a source that several threads use.
pub trait Shared: Sync {
    /// The source.
    fn source(&self) -> Arc<dyn Source>;

    /// Sets the clock that timestamps come from.
    fn set_millis(&self, millis: i64);
}

/// Plays the writes of a seed from several threads; `plan` says how many each makes. Returns a way to
/// compare everything once more, after the source was closed and opened perhaps.
///
/// # Errors
/// The first disagreement of each thread.
pub fn play_threads(shared: &dyn Shared, seed: u64, plan: Plan) -> Result<Threads, String> {
    for (table, style) in (0..).zip(STYLES) {
        let create = Operation::Create { table, style };
        apply(&*shared.source(), &create, &Properties::new())
            .map_err(|error| format!("{create:?}: {error:?}"))?;
    }
    let done = AtomicBool::new(false);
    let outcomes: Vec<Result<Writer, String>> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..)
            .zip(PREFIXES)
            .map(|(number, prefix)| {
                scope.spawn(move || Writer::play(shared, seed * 31 + number, prefix, plan))
            })
            .collect();
        let upkeep = scope.spawn(|| keep_up(shared, seed, &done));
        let mut outcomes: Vec<_> = writers
            .into_iter()
            .map(|writer| {
                writer
                    .join()
                    .unwrap_or_else(|_| Err("a writer panicked".to_owned()))
            })
            .collect();
        done.store(true, Ordering::SeqCst);
        let kept = upkeep
            .join()
            .unwrap_or_else(|_| Err("upkeep panicked".to_owned()));
        outcomes.extend(kept.err().map(Err));
        outcomes
    });
    let writers = outcomes.into_iter().collect::<Result<_, _>>()?;
    let threads = Threads { writers };
    threads.compare(&*shared.source())?;
    Ok(threads)
}

/// What all threads wrote.
pub struct Threads {
    writers: Vec<Writer>,
}

impl Threads {
    /// Compares everything.
    ///
    /// # Errors
    /// What differs.
    pub fn compare(&self, source: &dyn Source) -> Result<(), String> {
        self.writers
            .iter()
            .try_for_each(|writer| writer.compare(source))
    }
}

/// One thread and its model.
struct Writer {
    prefix: &'static str,
    model: MapSource,
}

impl Writer {
    fn play(
        shared: &dyn Shared,
        seed: u64,
        prefix: &'static str,
        plan: Plan,
    ) -> Result<Self, String> {
        let model = MapSource::new();
        // The clock is not this thread's: only that time does not go back is checked.
        model.set_millis(i64::MIN / 2);
        for (table, style) in (0..).zip(STYLES) {
            apply_to_model(&model, &Operation::Create { table, style })
                .map_err(|error| format!("the model: {error:?}"))?;
        }
        let writer = Self { prefix, model };
        let mut random = Random::from_seed(seed);
        let source = shared.source();
        let mut under_way: Vec<(Operation, Box<dyn PendingWrite>)> = Vec::new();
        for (number, operation) in writes(seed, prefix, plan, &STYLES).into_iter().enumerate() {
            let Operation::Write {
                table,
                changes,
                durability,
            } = &operation
            else {
                continue;
            };
            let pending = source
                .table(&Operation::name_of(*table))
                .and_then(|table| table.submit(batch_of(changes)?, *durability))
                .map_err(|error| format!("write {number} was refused: {error:?}"))?;
            under_way.push((operation, pending));
            if under_way.len() == UNDER_WAY || random.one_in(2) {
                for (operation, pending) in under_way.drain(..) {
                    writer
                        .settle(&*source, &operation, pending)
                        .map_err(|what| format!("thread {prefix}, write {number}: {what}"))?;
                }
                if random.one_in(4) {
                    writer.compare(&*source)?;
                }
            }
        }
        for (operation, pending) in under_way {
            writer.settle(&*source, &operation, pending)?;
        }
        Ok(writer)
    }

    /// Waits for a write and does it to the model.
    fn settle(
        &self,
        source: &dyn Source,
        operation: &Operation,
        pending: Box<dyn PendingWrite>,
    ) -> Result<(), String> {
        pending.wait().map_err(|error| format!("{error:?}"))?;
        let Operation::Write { table, changes, .. } = operation else {
            return Ok(());
        };
        let name = Operation::name_of(*table);
        let probe = changes.iter().find(|change| change.family == PROBE);
        if let Some(probe) = probe {
            let time = read_probe(source, &name, &probe.row, &probe.qualifier)
                .map_err(|error| format!("{error:?}"))?
                .ok_or_else(|| format!("{probe:?} was acknowledged and cannot be seen"))?;
            self.model.check_time(&name, time)?;
            self.model.give_times([time]);
        }
        apply_to_model(&self.model, operation).map_err(|error| format!("the model: {error:?}"))?;
        Ok(())
    }

    fn compare(&self, source: &dyn Source) -> Result<(), String> {
        let options = ScanOptions {
            authorizations: all_authorizations(),
            ..ScanOptions::default()
        };
        let rows = Range::row_prefix(self.prefix.as_bytes());
        for (table, _) in (0..).zip(STYLES) {
            let found = read(source, table, std::slice::from_ref(&rows), &options)
                .map_err(|error| format!("{error:?}"))?;
            self.model
                .reconcile(&Operation::name_of(table), &found, &options)
                .map_err(|what| format!("thread {}, table {table}: {what}", self.prefix))?;
        }
        Ok(())
    }
}

/// Changes how things lie until all is written.
fn keep_up(shared: &dyn Shared, seed: u64, done: &AtomicBool) -> Result<(), String> {
    let mut random = Random::from_seed(seed ^ 0x5eed);
    let source = shared.source();
    let mut millis = START_MILLIS;
    while !done.load(Ordering::SeqCst) {
        millis += [0, 0, 1, 5, -3][random.below(5) as usize];
        shared.set_millis(millis);
        let name = Operation::name_of(random.below(STYLES.len() as u64) as u8);
        let mut row = || {
            let prefix = PREFIXES[random.below(3) as usize];
            format!("{prefix}r{:02}", random.below(8)).into_bytes()
        };
        let (a, b) = (row(), row());
        let (start, end) = (a.clone().min(b.clone()), a.max(b));
        let outcome = source.table(&name).and_then(|table| match random.below(6) {
            0 | 1 => table.flush(true),
            2 => table.compact(&CompactOptions::default()),
            3 => table.compact(&CompactOptions {
                end: Some(end),
                flush: false,
                ..CompactOptions::default()
            }),
            4 => table.add_splits(&[start, end]),
            _ if start < end => table.merge(Some(&start), Some(&end)),
            _ => Ok(()),
        });
        outcome.map_err(|error| format!("upkeep of {name}: {error:?}"))?;
    }
    Ok(())
}
