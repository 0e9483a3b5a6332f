//! `IndexScan`: the entries of the index that count.

use ostrakon_cell::{
    Batch, BoxedIterator, IteratorClass, IteratorEnvironment, IteratorOptions, IteratorSetting,
    Range, Result,
};

use super::options::{self, only};
use super::rows::{RowHandler, RowIterator};
use super::snapshot::Snapshot;
use crate::layout::{DELETED, value_time};

const CLASS: &[&str] = &["ostrakon.events.IndexScan"];

/// The setting that keeps entries of visible events from `from` to before `to`.
pub(crate) fn index_scan(snapshot: &Snapshot, from: i64, to: i64) -> IteratorSetting {
    snapshot
        .add_to(IteratorSetting::new(30, "index", CLASS[0]))
        .with("from", from.to_string())
        .with("to", to.to_string())
}

#[derive(Clone)]
struct Plan {
    snapshot: Snapshot,
    from: i64,
    to: i64,
}

pub(super) struct IndexScanClass;

impl IndexScanClass {
    fn read(options: &IteratorOptions) -> Result<Plan> {
        only(options, &["committed", "aborted", "since", "from", "to"])?;
        let snapshot = Snapshot::from_options(options)?;
        Ok(Plan {
            from: options::moment(options, "from", i64::MIN)?.max(snapshot.since),
            to: options::moment(options, "to", i64::MAX)?,
            snapshot,
        })
    }
}

impl IteratorClass for IndexScanClass {
    fn names(&self) -> &[&str] {
        CLASS
    }

    fn describe(&self) -> &str {
        "Keeps the index entries of events that were committed and not deleted. Options: committed, since (required), \
         aborted: the batches and times that count; from, to: times in microseconds."
    }

    fn validate(&self, options: &IteratorOptions) -> Result<()> {
        Self::read(options).map(|_| ())
    }

    fn init(
        &self,
        source: BoxedIterator,
        options: &IteratorOptions,
        _: &IteratorEnvironment,
    ) -> Result<BoxedIterator> {
        Ok(RowIterator::boxed(source, Self::read(options)?))
    }

    fn scans_only(&self) -> bool {
        true
    }
}

impl RowHandler for Plan {
    fn handle(
        &self,
        batch: &Batch,
        positions: std::ops::Range<usize>,
        wanted: &Range,
        out: &mut Batch,
    ) -> Result<()> {
        let (plan, start, end) = (self, positions.start, positions.end);
        let in_time =
            value_time(batch.row(start)).is_some_and(|time| time >= plan.from && time < plan.to);
        if !in_time {
            return Ok(());
        }
        let mut at = start;
        while at < end {
            // The versions of one entry: the newest that is visible decides.
            let key = batch.key(at);
            let same = |other: usize| {
                let slot = batch.slots().get(other);
                slot.is_some_and(|slot| {
                    batch.bytes(slot.qualifier) == key.qualifier
                        && batch.visibility(slot.visibility) == key.visibility
                })
            };
            let mut next = at + 1;
            while next < end && same(next) {
                next += 1;
            }
            let newest =
                (at..next).find(|&version| plan.snapshot.sees(batch.key(version).timestamp));
            if let Some(newest) = newest
                && batch.value(newest) != DELETED
                && wanted.contains(batch.key(newest))
            {
                out.push(batch.key(newest), b"")?;
            }
            at = next;
        }
        Ok(())
    }
}
