//! Iterator classes of which the options are what is visible and a period.

use ostrakon_cell::{
    Batch, BoxedIterator, IteratorClass, IteratorEnvironment, IteratorOptions, IteratorSetting,
    Range, Result,
};

use super::options::{self, only};
use super::rows::{RowHandler, RowIterator};
use super::snapshot::Snapshot;
use crate::layout::skip_times;

/// What is visible of the times from `from` to before `to`, in microseconds.
#[derive(Clone)]
pub(super) struct Period {
    snapshot: Snapshot,
    from: i64,
    to: i64,
}

impl Period {
    fn read(options: &IteratorOptions) -> Result<Self> {
        only(options, &["committed", "aborted", "since", "from", "to"])?;
        let snapshot = Snapshot::from_options(options)?;
        Ok(Self {
            from: options::moment(options, "from", i64::MIN)?.max(snapshot.since),
            to: options::moment(options, "to", i64::MAX)?,
            snapshot,
        })
    }
}

/// Writes what is visible of the entries of a row at these positions, and wanted.
pub(super) type HandleRow =
    fn(&Snapshot, &Batch, std::ops::Range<usize>, &Range, &mut Batch) -> Result<()>;

/// A class.
pub(super) struct PeriodClass {
    /// Under which it is registered; one.
    pub(super) names: &'static [&'static str],
    /// What it does, and its options.
    pub(super) description: &'static str,
    pub(super) handle: HandleRow,
}

impl PeriodClass {
    /// The setting that applies it to the times from `from` to before `to`.
    pub(super) fn setting(
        &self,
        name: &str,
        snapshot: &Snapshot,
        from: i64,
        to: i64,
    ) -> IteratorSetting {
        let class = self.names.first().copied().unwrap_or_default();
        snapshot
            .add_to(IteratorSetting::new(30, name, class))
            .with("from", from.to_string())
            .with("to", to.to_string())
    }
}

impl IteratorClass for PeriodClass {
    fn names(&self) -> &[&str] {
        self.names
    }

    fn describe(&self) -> &str {
        self.description
    }

    fn validate(&self, options: &IteratorOptions) -> Result<()> {
        Period::read(options).map(|_| ())
    }

    fn init(
        &self,
        source: BoxedIterator,
        options: &IteratorOptions,
        _: &IteratorEnvironment,
    ) -> Result<BoxedIterator> {
        let (period, handle) = (Period::read(options)?, self.handle);
        Ok(RowIterator::boxed(source, Handler { period, handle }))
    }

    fn scans_only(&self) -> bool {
        true
    }
}

#[derive(Clone)]
struct Handler {
    period: Period,
    handle: HandleRow,
}

impl RowHandler for Handler {
    fn skip(&self, row: &[u8], target: &mut Vec<u8>) -> bool {
        skip_times(row, self.period.from, self.period.to, target)
    }

    fn handle(
        &self,
        batch: &Batch,
        positions: std::ops::Range<usize>,
        wanted: &Range,
        out: &mut Batch,
    ) -> Result<()> {
        (self.handle)(&self.period.snapshot, batch, positions, wanted, out)
    }
}
