//! `Settle`: drops what no reader sees any more, and sums counts, in a compaction.

use ostrakon_cell::{
    Batch, BoxedIterator, IteratorClass, IteratorEnvironment, IteratorOptions, IteratorSetting,
    Range, Result,
};

use super::aggregates::add;
use super::options::{Table, only};
use super::rows::{RowHandler, RowIterator};
use super::snapshot::Snapshot;
use crate::layout::DELETED;

const CLASS: &[&str] = &["ostrakon.events.Settle"];

/// The setting for a compaction of `table`. Entries of batches after the committed one pass unchanged.
pub(crate) fn settle(snapshot: &Snapshot, table: Table) -> IteratorSetting {
    snapshot
        .add_to(IteratorSetting::new(30, "settle", CLASS[0]))
        .with("table", table.as_str())
}

pub(super) struct SettleClass;

impl SettleClass {
    fn read(options: &IteratorOptions) -> Result<(Snapshot, Table)> {
        only(options, &["committed", "aborted", "since", "table"])?;
        Ok((Snapshot::from_options(options)?, Table::named(options)?))
    }
}

impl IteratorClass for SettleClass {
    fn names(&self) -> &[&str] {
        CLASS
    }

    fn describe(&self) -> &str {
        "Internal to the event store, for compactions of all files of a tablet: drops batches that were never \
         committed, deleted events, and events that are too old, and sums counts. Options: committed (required): the \
         last committed batch; since (required): the time from which events are kept, in microseconds since 1970; \
         table (required): event, index or aggregate; aborted (none): comma-separated batches that were not committed, \
         as FIRST-LAST."
    }

    fn validate(&self, options: &IteratorOptions) -> Result<()> {
        Self::read(options).map(|_| ())
    }

    fn init(
        &self,
        source: BoxedIterator,
        options: &IteratorOptions,
        environment: &IteratorEnvironment,
    ) -> Result<BoxedIterator> {
        let (snapshot, table) = Self::read(options)?;
        let settle = Settle {
            snapshot,
            table,
            // A mark of deletion may be dropped only together with everything that it hides.
            complete: environment.full_major_compaction,
        };
        Ok(RowIterator::boxed(source, settle))
    }
}

#[derive(Clone)]
struct Settle {
    snapshot: Snapshot,
    table: Table,
    complete: bool,
}

/// Where entries are read and put.
struct Work<'a> {
    batch: &'a Batch,
    wanted: &'a Range,
    out: &'a mut Batch,
}

impl Work<'_> {
    fn pass(&mut self, at: usize) -> Result<()> {
        let key = self.batch.key(at);
        if self.wanted.contains(key) {
            self.out.push(key, self.batch.value(at))?;
        }
        Ok(())
    }
}

impl RowHandler for Settle {
    fn handle(
        &self,
        batch: &Batch,
        positions: std::ops::Range<usize>,
        wanted: &Range,
        out: &mut Batch,
    ) -> Result<()> {
        let (start, end) = (positions.start, positions.end);
        let mut work = Work { batch, wanted, out };
        let old = self
            .table
            .time_of(batch.row(start))
            .is_some_and(|time| time < self.snapshot.since);
        // Deletions of an event hide all its entries of earlier batches.
        let mut deleted_at = i64::MIN;
        let mut at = start;
        while at < end {
            let key = batch.key(at);
            let mut next = at + 1;
            while next < end {
                let other = batch.key(next);
                if other.qualifier != key.qualifier
                    || other.family != key.family
                    || other.visibility != key.visibility
                {
                    break;
                }
                next += 1;
            }
            self.column(at..next, old, &mut deleted_at, &mut work)?;
            at = next;
        }
        Ok(())
    }
}

impl Settle {
    /// The versions of one column.
    fn column(
        &self,
        versions: std::ops::Range<usize>,
        old: bool,
        deleted_at: &mut i64,
        work: &mut Work<'_>,
    ) -> Result<()> {
        let (batch, wanted, start) = (work.batch, work.wanted, versions.start);
        let mut sum: Option<(usize, i64)> = None;
        let marker = self.table == Table::Event && batch.key(start).qualifier.is_empty();
        let mut hidden = false;
        for at in versions {
            let key = batch.key(at);
            if key.timestamp > self.snapshot.committed || key.deleted {
                work.pass(at)?;
                continue;
            }
            if old
                || self.snapshot.is_aborted(key.timestamp)
                || hidden
                || key.timestamp < *deleted_at
            {
                continue;
            }
            match self.table {
                Table::Aggregate => {
                    let (newest, so_far) = sum.unwrap_or((at, 0));
                    sum = Some((newest, add(so_far, batch.value(at))?));
                }
                Table::Event | Table::Index => {
                    let deletion =
                        batch.value(at) == DELETED && (marker || self.table == Table::Index);
                    // Older versions are of the same content.
                    hidden = marker || self.table == Table::Index;
                    if deletion && marker {
                        *deleted_at = key.timestamp;
                    }
                    if !deletion || !self.complete {
                        work.pass(at)?;
                    }
                }
            }
        }
        if let Some((newest, sum)) = sum
            && (sum != 0 || !self.complete)
            && wanted.contains(batch.key(newest))
        {
            work.out.push(batch.key(newest), &sum.to_be_bytes())?;
        }
        Ok(())
    }
}
