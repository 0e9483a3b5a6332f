//! A running scan.

use std::sync::Arc;

use ostrakon_cell::{Batch, LabelMap};

use crate::entry::Entry;
use crate::table::Table;
use crate::{EntryRef, Error, Result};

/// What is done with entries before they are handed out.
#[derive(Clone)]
pub(crate) enum Step {
    Filter(Arc<dyn Fn(EntryRef<'_>) -> bool + Send + Sync>),
    MapValues(Arc<dyn Fn(EntryRef<'_>) -> Vec<u8> + Send + Sync>),
}

impl Step {
    /// Whether it may drop entries.
    pub(crate) fn drops(&self) -> bool {
        matches!(self, Self::Filter(_))
    }

    fn run(&self, batch: &mut Batch) -> Result<()> {
        match self {
            Self::Filter(keep) => batch.retain_from(0, |batch, at| keep(batch.entry(at))),
            Self::MapValues(change) => {
                for at in 0..batch.len() {
                    let value = change(batch.entry(at));
                    batch.set_value(at, &value)?;
                }
            }
        }
        Ok(())
    }
}

/// The entries of a scan: an iterator, and the way to read whole batches. Ends after its first error.
///
/// As an iterator it hands out entries that share the batch in which they were read, so that an entry costs no
/// allocation. [`next_batch`](Self::next_batch) saves even the counting of references.
///
/// ```
/// use ostrakon::Batch;
///
/// # let table = ostrakon::Store::in_memory()?.create_table("t")?;
/// # table.put("a", ("f", "q"), "12").put(("f", "r"), "345").commit()?;
/// let mut entries = table.scan().start()?;
/// let mut batch = Batch::new();
/// let mut bytes = 0;
/// while entries.next_batch(&mut batch)? {
///     bytes += batch.iter().map(|entry| entry.value.len()).sum::<usize>();
/// }
/// assert_eq!(bytes, 5);
/// # Ok::<(), ostrakon::Error>(())
/// ```
pub struct Entries {
    /// Keeps the store open.
    table: Table,
    state: State,
    /// What was read and is handed out entry by entry.
    batch: Arc<Batch>,
    at: usize,
    steps: Vec<Step>,
    left: u64,
}

enum State {
    Reading(Box<dyn ostrakon_cell::Scan>),
    Failed(Error),
    Ended,
}

impl Entries {
    pub(crate) fn new(
        table: Table,
        scan: Box<dyn ostrakon_cell::Scan>,
        steps: Vec<Step>,
        limit: Option<u64>,
    ) -> Self {
        Self {
            table,
            state: State::Reading(scan),
            batch: Arc::default(),
            at: 0,
            steps,
            left: limit.unwrap_or(u64::MAX),
        }
    }

    pub(crate) fn failed(table: Table, error: Error) -> Self {
        Self {
            table,
            state: State::Failed(error),
            batch: Arc::default(),
            at: 0,
            steps: Vec::new(),
            left: u64::MAX,
        }
    }

    /// Replaces the content of `batch` by the next entries. `false` means that the scan is over and `batch` is empty.
    ///
    /// # Errors
    /// A corrupt file, a failed read, a table that was deleted meanwhile. `batch` is empty then.
    pub fn next_batch(&mut self, batch: &mut Batch) -> Result<bool> {
        if self.at < self.batch.len() {
            // Entries were taken one by one before.
            batch.clear();
            let mut labels = LabelMap::default();
            for at in self.at..self.batch.len() {
                batch.push_from(&self.batch, at, &mut labels)?;
            }
            self.at = self.batch.len();
            return Ok(true);
        }
        let read = self.read(batch);
        if !matches!(read, Ok(true)) {
            batch.clear();
            self.state = State::Ended;
        }
        read
    }

    fn read(&mut self, batch: &mut Batch) -> Result<bool> {
        let scan = match &mut self.state {
            State::Reading(scan) => scan,
            State::Failed(error) => return Err(error.clone()),
            State::Ended => return Ok(false),
        };
        while self.left > 0 && scan.next_batch(batch)? {
            for step in &self.steps {
                step.run(batch)?;
            }
            if batch.len() as u64 > self.left {
                // Fits: it is less than a length.
                batch.truncate(usize::try_from(self.left).unwrap_or(usize::MAX));
            }
            self.left -= batch.len() as u64;
            if !batch.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads the next batch into the shared one; a new one if an entry of the last is still held.
    #[cold]
    fn refill(&mut self) -> Result<bool> {
        let mut batch = std::mem::take(&mut self.batch);
        self.at = 0;
        if Arc::get_mut(&mut batch).is_none() {
            batch = Arc::default();
        }
        let Some(alone) = Arc::get_mut(&mut batch) else {
            return Ok(false);
        };
        // Of a batch that was handed out before, so that what follows it is not found twice.
        alone.clear();
        let more = self.next_batch(alone);
        self.batch = batch;
        more
    }
}

impl Iterator for Entries {
    type Item = Result<Entry>;

    #[inline]
    fn next(&mut self) -> Option<Result<Entry>> {
        if self.at >= self.batch.len() {
            match self.refill() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
        let entry = Entry::new(self.batch.clone(), self.at);
        self.at += 1;
        Some(Ok(entry))
    }
}

impl std::iter::FusedIterator for Entries {}

impl std::fmt::Debug for Entries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entries")
            .field("table", &self.table.name())
            .finish_non_exhaustive()
    }
}
