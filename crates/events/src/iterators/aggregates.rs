//! `AggregateScan`: the versions of a count become their sum.

use ostrakon_cell::{
    Batch, BoxedIterator, Error, IteratorClass, IteratorEnvironment, IteratorOptions,
    IteratorSetting, Range, Result,
};

use super::options::{self, only};
use super::rows::{RowHandler, RowIterator};
use super::snapshot::Snapshot;
use crate::layout::skip_times;

const CLASS: &[&str] = &["ostrakon.events.AggregateScan"];

/// The setting that sums the counts of bins that begin from `from` to before `to`, per label.
pub(crate) fn aggregate_scan(snapshot: &Snapshot, from: i64, to: i64) -> IteratorSetting {
    snapshot
        .add_to(IteratorSetting::new(30, "counts", CLASS[0]))
        .with("from", from.to_string())
        .with("to", to.to_string())
}

#[derive(Clone)]
struct Plan {
    snapshot: Snapshot,
    from: i64,
    to: i64,
}

pub(super) struct AggregateScanClass;

impl AggregateScanClass {
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

impl IteratorClass for AggregateScanClass {
    fn names(&self) -> &[&str] {
        CLASS
    }

    fn describe(&self) -> &str {
        "Sums the counts of committed batches, for each label. Options: committed, since (required), aborted: the \
         batches and times that count; from, to: times in microseconds."
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

/// Adds a stored count.
pub(super) fn add(sum: i64, value: &[u8]) -> Result<i64> {
    let count = value.try_into().map(i64::from_be_bytes).map_err(|_| {
        Error::invalid("a stored count is not of 8 bytes: run `ostrakon events check`")
            .with("data", "a value")
    })?;
    sum.checked_add(count).ok_or_else(|| {
        Error::invalid("the sum of the counts exceeds 64 bits").with("data", "a value")
    })
}

impl RowHandler for Plan {
    fn skip(&self, row: &[u8], target: &mut Vec<u8>) -> bool {
        skip_times(row, self.from, self.to, target)
    }

    fn handle(
        &self,
        batch: &Batch,
        positions: std::ops::Range<usize>,
        wanted: &Range,
        out: &mut Batch,
    ) -> Result<()> {
        let (plan, start, end) = (self, positions.start, positions.end);
        let mut at = start;
        while at < end {
            let label = batch.key(at).visibility;
            let (mut sum, mut next) = (0, at);
            while next < end && batch.key(next).visibility == label {
                if plan.snapshot.sees(batch.key(next).timestamp) {
                    sum = add(sum, batch.value(next))?;
                }
                next += 1;
            }
            if sum != 0 && wanted.contains(batch.key(at)) {
                out.push(batch.key(at), &sum.to_be_bytes())?;
            }
            at = next;
        }
        Ok(())
    }
}
