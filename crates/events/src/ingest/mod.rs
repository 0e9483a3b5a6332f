//! Ingest: records become entries of three tables, exactly once.

mod columns;
mod log;
mod origin;
mod part;
mod write;
mod writer;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use ostrakon_cell::{Authorizations, Column, ColumnSelection, Range, Result, VisibilityExpression};

use crate::condition::Condition;
use crate::iterators::{EventScan, EventTable, Snapshot, event_scan};
use crate::layout::EventRow;
use crate::record::Record;
use crate::store::{EventStore, Reading, Tables};

use columns::Columns;
use origin::{Origin, SourceId, source_of_record};
use part::Part;
use writer::{Batch, Writer};

pub use log::{LogPart, LogReader, LogRest, LogText, RejectedLine};
pub use origin::BEGINNING_BYTES;
pub(crate) use write::{Change, ChangeWriter, write_counts};

/// How records are ingested.
#[derive(Debug, Clone)]
pub struct IngestOptions {
    /// The most events of a batch. A batch becomes visible as a whole.
    pub batch_events: usize,
    /// The most bytes that the records of a batch take in memory. Two batches are held at a time: one is written, and the next one is filled.
    pub batch_bytes: usize,
    /// The threads that read, and as many that encode and write; 0 for one per core, at most 4.
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
    /// Those of the duplicates that equal a new event of the same ingest. If the type merges equal records, a record that
    /// occurs twice in a file is one of them.
    pub repeated: u64,
    /// Entries written to the three tables.
    pub entries: u64,
    /// Batches committed.
    pub batches: u64,
}

/// Ingests records of one type. Only what was [committed](Self::commit) is visible; what was not is ignored for good,
/// so that after a crash the same records can be ingested again.
///
/// A full batch is written by a thread while the next one is filled. Dropping an ingest waits for that thread.
pub struct Ingest {
    columns: Columns,
    /// The batch that is filled.
    batch: Batch,
    /// Its records that were added one by one.
    part: Part,
    /// How many records were added one by one since the source began, and what it is known by.
    rows: (u64, SourceId),
    /// Events before this time are not kept.
    since: i64,
    options: IngestOptions,
    report: IngestReport,
    writer: Arc<Mutex<Writer>>,
    /// The batch that a thread writes.
    running: Option<(Arc<Batch>, JoinHandle<Result<()>>)>,
    /// A batch before the one that is filled that has to be written: its commit has failed.
    pending: Option<Arc<Batch>>,
}

impl EventStore {
    /// Begins to ingest records of a type.
    ///
    /// # Errors
    /// No such type.
    pub fn ingest(&self, name: &str, options: IngestOptions) -> Result<Ingest> {
        let tables = self.tables_to_write(name)?;
        let columns = Columns::new(&tables.definition)?;
        let writer = Writer::new(tables, &options)?;
        Ok(Ingest {
            columns,
            batch: Batch::default(),
            part: Part::default(),
            rows: (0, SourceId::default()),
            since: writer.state.snapshot.since,
            options,
            report: IngestReport::default(),
            writer: Arc::new(Mutex::new(writer)),
            running: None,
            pending: None,
        })
    }
}

impl Ingest {
    /// Tells that records come from another source, whose names may differ.
    pub fn start_source(&mut self) {
        self.columns.start_source(Arc::default());
        self.rows = (0, SourceId::default());
    }

    /// Adds a record; `names` are those of its source, which may only grow from record to record. `Ok(Some(reason))`
    /// means that the record is not an event of this type, and was left out.
    ///
    /// If the type [keeps equal records](crate::EqualRecords::Keep), a source is known by its first record, and a record by
    /// its number in the source, with those that were left out: add the records of a source in the same order again.
    ///
    /// # Errors
    /// A batch that became full earlier could not be committed. The record was added, and so are all others: another call
    /// writes that batch again.
    pub fn add(&mut self, names: &[String], record: &Record) -> Result<Option<String>> {
        self.columns.learn(names);
        let origin = self.origin(names, record);
        if let Err(reason) = self.part.add(&self.columns, record, self.since, origin) {
            return Ok(Some(reason));
        }
        if self
            .options
            .is_full(&self.batch, self.part.len(), self.part.bytes())
        {
            self.complete_part();
            self.submit()?;
        }
        Ok(None)
    }

    /// Where the next record stands that is added by itself.
    fn origin(&mut self, names: &[String], record: &Record) -> Origin {
        let (at, source) = &mut self.rows;
        if *at == 0 && self.columns.keeps_equal {
            *source = source_of_record(names, record);
        }
        let origin = Origin {
            source: *source,
            at: *at,
        };
        *at += 1;
        origin
    }

    /// Notes something about the records added so far, such as how far a file was read. It is written in the step that
    /// makes them visible, so that the two cannot disagree after a crash: [`EventStore::notes`] reads it. A later value of
    /// a key replaces an earlier one. Every reader of the registry can read notes, whatever the labels of the events.
    pub fn note(&mut self, key: &[u8], value: &[u8]) {
        self.batch.notes.insert(key.to_vec(), value.to_vec());
    }

    /// What was committed so far, without the batch that is being written.
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
        self.complete_part();
        self.wait()?;
        if !self.batch.is_empty() {
            self.pending = Some(Arc::new(std::mem::take(&mut self.batch)));
            self.wait()?;
        }
        Ok(())
    }

    /// Commits the rest.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn finish(mut self) -> Result<IngestReport> {
        self.commit()?;
        lock(&self.writer).end()?;
        Ok(std::mem::take(&mut self.report))
    }

    /// Moves the records that were added one by one into the batch.
    fn complete_part(&mut self) {
        if !self.part.is_empty() {
            self.part.complete(&self.columns);
            self.batch.push(std::mem::take(&mut self.part));
        }
    }

    /// Hands the batch to a thread, once the one before it is committed.
    fn submit(&mut self) -> Result<()> {
        self.wait()?;
        let batch = Arc::new(std::mem::take(&mut self.batch));
        let (writer, written) = (self.writer.clone(), batch.clone());
        let thread = std::thread::Builder::new()
            .name("ostrakon-ingest".into())
            .spawn(move || lock(&writer).commit(&written));
        match thread {
            Ok(thread) => {
                self.running = Some((batch, thread));
                Ok(())
            }
            // Without another thread, this one writes it.
            Err(_) => {
                self.pending = Some(batch);
                self.wait()
            }
        }
    }

    /// Waits until all batches but the one that is filled are committed.
    fn wait(&mut self) -> Result<()> {
        if let Some((batch, thread)) = self.running.take() {
            let written = thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            if written.is_err() {
                self.pending = Some(batch);
                return written;
            }
        }
        let mut writer = lock(&self.writer);
        if let Some(batch) = &self.pending {
            writer.commit(batch)?;
            self.pending = None;
        }
        self.since = writer.state.snapshot.since;
        self.report = writer.report.clone();
        Ok(())
    }
}

impl Drop for Ingest {
    fn drop(&mut self) {
        // The store may be closed next. If the batch fails, nothing of it counts.
        if let Some((_, thread)) = self.running.take() {
            let _ = thread.join();
        }
    }
}

fn lock(writer: &Mutex<Writer>) -> MutexGuard<'_, Writer> {
    writer.lock().unwrap_or_else(PoisonError::into_inner)
}

impl IngestOptions {
    /// Whether a batch with so many more events and bytes is to be written.
    fn is_full(&self, batch: &Batch, events: usize, bytes: usize) -> bool {
        batch.events() + events >= self.batch_events || batch.bytes() + bytes >= self.batch_bytes
    }

    fn threads(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism()
                .map_or(1, std::num::NonZero::get)
                .min(4),
            threads => threads,
        }
    }
}

impl Tables {
    /// Which of these rows, which are sorted, have an event: the batch that wrote it. Of labels, the reader holds exactly those that the events
    /// have: it learns nothing that it does not know.
    pub(crate) fn stored<'a>(
        &self,
        snapshot: &Snapshot,
        rows: &[EventRow],
        labels: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Vec<Option<i64>>> {
        let authorizations = terms_of(labels)?;
        let ranges: Vec<Range> = rows.iter().map(|row| Range::row(row.as_slice())).collect();
        let mut stored = vec![None; rows.len()];
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
                batch: ostrakon_cell::BatchLimit::default(),
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
                    *stored = Some(entry.key.timestamp);
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
