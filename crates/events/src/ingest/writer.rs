//! Writes batches of events one after another, and commits each.

use ostrakon_cell::Result;

use super::part::Part;
use super::write::{ChangeWriter, Counts, write_counts};
use super::{IngestOptions, IngestReport};
use crate::event_type::EventType;
use crate::layout::{EventRow, row_among};
use crate::ledger::{self, Notes, State};
use crate::store::Tables;

/// Events a thread writes at least.
const EVENTS_PER_THREAD: usize = 64;

/// What becomes visible together.
#[derive(Default)]
pub(super) struct Batch {
    parts: Vec<Part>,
    events: usize,
    bytes: usize,
    pub(super) notes: Notes,
}

/// The event of a row: its part, and its position there.
type Place = (EventRow, u32, u32);

impl Batch {
    /// Adds events that are complete.
    pub(super) fn push(&mut self, part: Part) {
        self.events += part.len();
        self.bytes += part.bytes();
        self.parts.push(part);
    }

    pub(super) fn events(&self) -> usize {
        self.events
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether there is nothing to commit.
    pub(super) fn is_empty(&self) -> bool {
        self.events == 0 && self.notes.is_empty()
    }

    /// Distinct events sorted by row, and of each, how many others there are.
    fn distinct(&self) -> (Vec<Place>, Vec<usize>) {
        let mut places: Vec<Place> = Vec::with_capacity(self.events);
        for (part, number) in self.parts.iter().zip(0..) {
            places.extend(part.rows().zip(0..).map(|(row, at)| (row, number, at)));
        }
        places.sort_unstable();
        let mut others: Vec<usize> = Vec::with_capacity(places.len());
        let mut last = None;
        places.retain(|place| {
            let is_new = last.replace(place.0) != Some(place.0);
            match others.last_mut() {
                Some(others) if !is_new => *others += 1,
                _ => others.push(0),
            }
            is_new
        });
        (places, others)
    }
}

/// Writes the batches of one type.
pub(super) struct Writer {
    tables: Tables,
    pub(super) state: State,
    /// Whether the batch `state.begun` has begun and is ours.
    open: bool,
    pub(super) report: IngestReport,
    /// The number of the first batch that was begun.
    first: Option<i64>,
    bin: i64,
    /// The different numbers of shards that events of any time may have been stored with.
    shard_counts: Vec<u16>,
    threads: usize,
}

impl Writer {
    pub(super) fn new(tables: Tables, options: &IngestOptions) -> Result<Self> {
        Ok(Self {
            state: tables.state()?,
            open: false,
            report: IngestReport::default(),
            first: None,
            bin: tables.definition.bin_micros()?,
            shard_counts: shard_counts(&tables.definition),
            threads: options.threads(),
            tables,
        })
    }

    /// Writes and commits a batch. If that fails, nothing of it counts, and it can be written again.
    pub(super) fn commit(&mut self, batch: &Batch) -> Result<()> {
        if batch.events == 0 {
            return self.commit_notes(&batch.notes);
        }
        if !self.open {
            self.state = self.tables.begin()?;
            self.first.get_or_insert(self.state.begun);
            self.open = true;
        }
        let written = self.write(batch);
        // Entries may be written under the number of the batch: counts would add up if it were used again.
        self.open = written.is_ok();
        written
    }

    fn write(&mut self, batch: &Batch) -> Result<()> {
        let (mut new, others) = batch.distinct();
        let stored = self.stored(batch, &new)?;
        let mut is_stored = stored.iter();
        new.retain(|_| is_stored.next().copied().flatten().is_none());
        let duplicates = batch.events - new.len();
        let first = self.first.unwrap_or(i64::MAX);
        let repeated = stored
            .iter()
            .zip(&others)
            .map(|(stored, others)| match stored {
                None => *others,
                Some(batch) if *batch >= first => others + 1,
                // It was stored before.
                Some(_) => 0,
            });
        let repeated: usize = repeated.sum();
        let entries = self.write_events(batch, &new)?;
        let after = self.state.with_batch_committed().with_batch_begun();
        self.tables
            .replace_and_note(&self.state, &after, &batch.notes)?;
        self.state = after;
        self.report.events += new.len() as u64;
        self.report.duplicates += duplicates as u64;
        self.report.repeated += repeated as u64;
        self.report.entries += entries;
        self.report.batches += 1;
        Ok(())
    }

    /// Writes events to the three tables; returns the number of entries. They are durable then.
    fn write_events(&self, batch: &Batch, events: &[Place]) -> Result<u64> {
        let share = events.len().div_ceil(self.threads);
        let write = |events: &[Place]| -> Result<(u64, Counts)> {
            let mut writer = ChangeWriter::new(&self.tables, self.bin, self.state.begun);
            for &(_, part, at) in events {
                if let Some(part) = batch.parts.get(part as usize) {
                    part.write(at as usize, &mut writer)?;
                }
            }
            writer.close()
        };
        let written: Vec<Result<(u64, Counts)>> = std::thread::scope(|scope| {
            let threads: Vec<_> = events
                .chunks(share.max(EVENTS_PER_THREAD))
                .map(|events| scope.spawn(move || write(events)))
                .collect();
            let joined = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
            joined
                .map(|joined| joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        let (mut entries, mut counts) = (0, Counts::default());
        for written in written {
            let (more, counted) = written?;
            entries += more;
            counts.merge(counted);
        }
        Ok(entries + write_counts(&self.tables, counts, self.state.begun)?)
    }

    /// Commits notes without events.
    fn commit_notes(&mut self, notes: &Notes) -> Result<()> {
        if notes.is_empty() {
            return Ok(());
        }
        if !self.open {
            self.state = self.tables.state()?;
        }
        self.tables
            .replace_and_note(&self.state, &self.state, notes)
    }

    /// Which of these events are stored, and by which batch: with the number of shards of their time, or with that of
    /// another epoch. An epoch may have been added after they were ingested, also one that begins before them.
    fn stored(&self, batch: &Batch, events: &[Place]) -> Result<Vec<Option<i64>>> {
        let snapshot = &self.state.snapshot;
        let labels = || batch.parts.iter().flat_map(Part::labels);
        if self.shard_counts.len() < 2 {
            let rows: Vec<EventRow> = events.iter().map(|place| place.0).collect();
            return self.tables.stored(snapshot, &rows, labels());
        }
        let counts = &self.shard_counts;
        let mut places: Vec<(EventRow, usize)> = Vec::with_capacity(events.len() * counts.len());
        for (at, (row, _, _)) in events.iter().enumerate() {
            places.extend(counts.iter().map(|&count| (row_among(row, count), at)));
        }
        places.sort_unstable();
        places.dedup();
        let candidates: Vec<EventRow> = places.iter().map(|(row, _)| *row).collect();
        let found = self.tables.stored(snapshot, &candidates, labels())?;
        let mut stored = vec![None; events.len()];
        for ((_, at), found) in places.into_iter().zip(found) {
            if let (Some(_), Some(stored)) = (found, stored.get_mut(at)) {
                *stored = found;
            }
        }
        Ok(stored)
    }

    /// Gives back the number of a batch that was begun, if nothing was written under it.
    pub(super) fn end(&self) -> Result<()> {
        if !self.open {
            return Ok(());
        }
        let after = State {
            begun: self.state.snapshot.committed,
            ..self.state.clone()
        };
        // If another writer has started meanwhile, it has settled the matter.
        ledger::replace(
            &self.tables.registry,
            &self.tables.definition.name,
            (&self.state, &after),
            &Notes::new(),
        )
        .map(drop)
    }
}

fn shard_counts(definition: &EventType) -> Vec<u16> {
    let epochs = definition.epochs();
    let mut counts: Vec<u16> = epochs.into_iter().map(|(_, count)| count).collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}
