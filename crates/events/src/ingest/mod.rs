//! Ingest: records become entries of three tables, exactly once.

mod batch;
mod columns;
mod write;

use ostrakon_cell::{Authorizations, Column, ColumnSelection, Range, Result, VisibilityExpression};

use crate::condition::Condition;
use crate::iterators::{EventScan, EventTable, Snapshot, event_scan};
use crate::layout::{EventRow, row_among};
use crate::ledger::{self, Notes, State};
use crate::record::Record;
use crate::store::{EventStore, Reading, Tables};

use batch::EventBatch;
use columns::Columns;

pub(crate) use write::{Change, ChangeWriter, write_counts};

/// How records are ingested.
#[derive(Debug, Clone)]
pub struct IngestOptions {
    /// The most events of a batch. A batch becomes visible as a whole.
    pub batch_events: usize,
    /// The most bytes of records that are held.
    pub batch_bytes: usize,
    /// The threads that encode and write; 0 for one per core, at most 4.
    pub threads: usize,
}

impl Default for IngestOptions {
    fn default() -> Self {
        Self {
            batch_events: 16_384,
            batch_bytes: 32 << 20,
            threads: 0,
        }
    }
}

/// What was ingested.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IngestReport {
    /// New events.
    pub events: u64,
    /// Events that were stored already, or that came twice.
    pub duplicates: u64,
    /// Entries written to the three tables.
    pub entries: u64,
    /// Batches committed.
    pub batches: u64,
}

/// Ingests records of one type. Only what was [committed](Self::commit) is visible; what was not is ignored for good,
/// so that after a crash the same records can be ingested again.
pub struct Ingest {
    tables: Tables,
    state: State,
    /// Whether the batch `state.begun` has begun and is ours.
    open: bool,
    columns: Columns,
    batch: EventBatch,
    options: IngestOptions,
    report: IngestReport,
    /// What is noted with the next commit.
    notes: Notes,
}

impl EventStore {
    /// Begins to ingest records of a type.
    ///
    /// # Errors
    /// No such type.
    pub fn ingest(&self, name: &str, options: IngestOptions) -> Result<Ingest> {
        let tables = self.tables(name)?;
        let state = tables.state()?;
        Ok(Ingest {
            columns: Columns::new(&tables.definition)?,
            tables,
            state,
            open: false,
            batch: EventBatch::default(),
            options,
            report: IngestReport::default(),
            notes: Notes::new(),
        })
    }
}

impl Ingest {
    /// Tells that records come from another source, whose names may differ.
    pub fn start_source(&mut self) {
        self.columns.forget_names();
    }

    /// Adds a record; `names` are those of its source, which may only grow from record to record. `Ok(Some(reason))`
    /// means that the record is not an event of this type, and was left out.
    ///
    /// # Errors
    /// A batch became full and could not be committed.
    pub fn add(&mut self, names: &[String], record: &Record) -> Result<Option<String>> {
        self.columns.learn(names);
        let since = self.state.snapshot.since;
        if let Err(reason) = self.batch.add(&mut self.columns, record, since) {
            return Ok(Some(reason));
        }
        if self.batch.len() >= self.options.batch_events
            || self.batch.bytes() >= self.options.batch_bytes
        {
            self.commit()?;
        }
        Ok(None)
    }

    /// Notes something about the records added so far, such as how far a file was read. It is written in the step that
    /// makes them visible, so that the two cannot disagree after a crash: [`EventStore::notes`] reads it. A later value of
    /// a key replaces an earlier one. Every reader of the registry can read notes, whatever the labels of the events.
    pub fn note(&mut self, key: &[u8], value: &[u8]) {
        self.notes.insert(key.to_vec(), value.to_vec());
    }

    /// What was committed so far.
    #[must_use]
    pub fn report(&self) -> &IngestReport {
        &self.report
    }

    /// Makes everything added so far durable and visible.
    ///
    /// # Errors
    /// Those of the tables; another writer of the type has started; the type has changed. Nothing of the batch counts
    /// then. Another call tries again, with a new batch.
    pub fn commit(&mut self) -> Result<()> {
        if self.batch.is_empty() {
            return self.commit_notes();
        }
        if !self.open {
            self.state = self.tables.begin()?;
            self.open = true;
        }
        let written = self.write_batch();
        // Entries may be written under the number of the batch: counts would add up if it were used again.
        self.open = written.is_ok();
        written
    }

    fn write_batch(&mut self) -> Result<()> {
        let (new, twice) = self.batch.distinct();
        let rows: Vec<EventRow> = new.iter().map(|&at| self.batch.row(at)).collect();
        let stored = self.stored(&rows)?;
        let new: Vec<usize> = new
            .into_iter()
            .zip(&stored)
            .filter(|(_, stored)| !**stored)
            .map(|(at, _)| at)
            .collect();
        let duplicates = twice + stored.iter().filter(|stored| **stored).count();
        let entries = self.batch.write(
            &self.tables,
            &self.columns,
            &new,
            self.state.begun,
            self.threads(),
        )?;
        let after = self.state.with_batch_committed().with_batch_begun();
        self.tables
            .replace_and_note(&self.state, &after, &self.notes)?;
        self.notes.clear();
        self.state = after;
        self.report.events += new.len() as u64;
        self.report.duplicates += duplicates as u64;
        self.report.entries += entries;
        self.report.batches += 1;
        self.batch.clear();
        Ok(())
    }

    /// Commits notes without events.
    fn commit_notes(&mut self) -> Result<()> {
        if self.notes.is_empty() {
            return Ok(());
        }
        if !self.open {
            self.state = self.tables.state()?;
        }
        self.tables
            .replace_and_note(&self.state, &self.state, &self.notes)?;
        self.notes.clear();
        Ok(())
    }

    /// Which of these events, sorted by row, are stored: with the number of shards of their time, or with that of another
    /// epoch. An epoch may have been added after they were ingested, also one that begins before them.
    fn stored(&self, rows: &[EventRow]) -> Result<Vec<bool>> {
        let snapshot = &self.state.snapshot;
        let counts = self.columns.shard_counts();
        if counts.len() < 2 {
            return self.tables.stored(snapshot, rows, self.batch.labels());
        }
        let mut places: Vec<(EventRow, usize)> = Vec::with_capacity(rows.len() * counts.len());
        for (at, row) in rows.iter().enumerate() {
            places.extend(counts.iter().map(|&count| (row_among(row, count), at)));
        }
        places.sort_unstable();
        places.dedup();
        let candidates: Vec<EventRow> = places.iter().map(|(row, _)| *row).collect();
        let found = self
            .tables
            .stored(snapshot, &candidates, self.batch.labels())?;
        let mut stored = vec![false; rows.len()];
        for ((_, at), found) in places.into_iter().zip(found) {
            if let (true, Some(stored)) = (found, stored.get_mut(at)) {
                *stored = true;
            }
        }
        Ok(stored)
    }

    /// Commits the rest.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn finish(mut self) -> Result<IngestReport> {
        self.commit()?;
        if self.open {
            // Nothing was written under the number of the batch that has begun, so it can be given again.
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
            )?;
        }
        Ok(self.report)
    }

    fn threads(&self) -> usize {
        match self.options.threads {
            0 => std::thread::available_parallelism()
                .map_or(1, std::num::NonZero::get)
                .min(4),
            threads => threads,
        }
    }
}

impl Tables {
    /// Which of these rows, which are sorted, have an event. Of labels, the reader holds exactly those that the events
    /// have: it learns nothing that it does not know.
    pub(crate) fn stored<'a>(
        &self,
        snapshot: &Snapshot,
        rows: &[EventRow],
        labels: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Vec<bool>> {
        let authorizations = terms_of(labels)?;
        let ranges: Vec<Range> = rows.iter().map(|row| Range::row(row.as_slice())).collect();
        let mut stored = vec![false; rows.len()];
        if snapshot.committed == 0 {
            return Ok(stored);
        }
        let mut scan = self.scan(
            EventTable::Event,
            &ranges,
            Reading {
                authorizations: &authorizations,
                iterator: existence(snapshot),
                columns: ColumnSelection::new([Column::new("", "")]),
                ordered: true,
                interrupt: None,
            },
        )?;
        let (mut found, mut at) = (ostrakon_cell::Batch::new(), 0);
        while scan.next_batch(&mut found)? {
            for entry in found.iter() {
                while rows
                    .get(at)
                    .is_some_and(|row| row.as_slice() < entry.key.row)
                {
                    at += 1;
                }
                let same = rows
                    .get(at)
                    .is_some_and(|row| row.as_slice() == entry.key.row);
                if let (true, Some(stored)) = (same, stored.get_mut(at)) {
                    *stored = true;
                }
            }
        }
        Ok(stored)
    }
}

/// The setting that finds which events exist.
fn existence(snapshot: &Snapshot) -> ostrakon_cell::IteratorSetting {
    event_scan(&EventScan {
        snapshot,
        condition: &Condition::All,
        types: Vec::new(),
        fields: Some(Vec::new()),
        from: i64::MIN,
        to: i64::MAX,
        report: false,
    })
}

/// Authorizations that satisfy every one of the labels, and hold nothing else.
pub(crate) fn terms_of<'a>(labels: impl IntoIterator<Item = &'a [u8]>) -> Result<Authorizations> {
    let mut terms = Vec::new();
    for label in labels {
        terms.extend(VisibilityExpression::parse(label)?.terms());
    }
    Ok(Authorizations::new(terms)?)
}
