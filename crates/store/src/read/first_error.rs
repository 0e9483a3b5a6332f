//! Finds the entry at which a scan fails if an entry causes the failure.
//!
//! Iterators read ahead depending on tablets and batches, and reach an invalid value earlier or
//! later. The number of batches before the error would tell a reader where tablets end, and so
//! would the choice among several errors. So a confined scan returns every full batch of the rows
//! before the first one that cannot be read, and then that row's error.

use ostrakon_cell::{Batch, BatchLimit, Range, ScanOptions};

use super::serial::SerialScan;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::iterator::LastRow;

/// The error that is returned after the rows before its own.
pub(super) struct LateError {
    pub(super) error: Error,
    /// The requested ranges from its row on, for another attempt to read them.
    pub(super) behind: Vec<Range>,
}

/// Whether the content of the table may have caused an error, rather than the scan or the disk.
pub(super) fn is_of_entries(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::InvalidArgument | ErrorKind::Unsupported | ErrorKind::ConstraintViolation
    )
}

/// Corrects for reading ahead: reads the rows before the first one that cannot be read.
pub(super) fn settle(
    scan: &mut SerialScan,
    mut error: Error,
    out: &mut Batch,
) -> StoreResult<bool> {
    loop {
        out.clear();
        let left = scan.left();
        // Each time there are fewer rows, so this ends.
        let Some((row, first)) = first_failing(scan, &left)? else {
            return Err(error);
        };
        let part = |rows: &Range| left.iter().filter_map(|range| range.clip(rows)).collect();
        let before: Vec<Range> = part(&Range::rows(..row.as_slice()));
        let mut behind: Vec<Range> = part(&Range::rows(row.as_slice()..));
        behind.extend(scan.take_late().into_iter().flat_map(|late| late.behind));
        let late = LateError {
            error: first.duplicate(),
            behind,
        };
        scan.fail_behind(&before, late);
        match scan.read_guarded(out) {
            Err(again) if is_of_entries(&again) => error = again,
            Ok(_) if scan.is_over() && !scan.is_full(out) => return Err(first),
            read => return read,
        }
    }
}

/// The first row of some ranges at which the iterators fail, and their error; `None` if they do not
/// fail again.
fn first_failing(scan: &SerialScan, ranges: &[Range]) -> StoreResult<Option<(Vec<u8>, Error)>> {
    let last = LastRow::default();
    let options = ScanOptions {
        batch: BatchLimit {
            entries: 1,
            bytes: usize::MAX,
        },
        answer_within: None,
        confined: false,
        ..scan.options().clone()
    };
    let mut steps = scan.stepping(&options, last.clone())?;
    steps.set_ranges(ranges);
    let mut batch = Batch::new();
    loop {
        batch.clear();
        match steps.read_guarded(&mut batch) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) if is_of_entries(&error) => {
                let row = last.lock().take();
                return Ok(row.map(|row| (row, error)));
            }
            Err(error) => return Err(error),
        }
    }
}
