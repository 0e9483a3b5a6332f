//! Unordered scans: ranges are dealt out to threads, batches come back in any order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crossbeam_channel::{Receiver, Sender, bounded};
use ostrakon_cell::{Batch, Range, Scan, ScanOptions};

use super::core::TableCore;
use super::ranges::RangeList;
use super::scan::SerialScan;
use crate::error::StoreResult;
use crate::threads;

/// Ranges that a thread takes at once.
const RANGES_A_PIECE: usize = 512;

/// Below this many ranges within one tablet, threads cost more than they bring.
const SERIAL_RANGES: usize = 2 * RANGES_A_PIECE;

/// Threads an unordered scan gets when it asks for none.
const MAX_THREADS: usize = 16;

/// An unordered scan.
pub(super) struct ParallelScan {
    table: Arc<TableCore>,
    options: ScanOptions,
    serial: SerialScan,
    workers: Option<Workers>,
    decided: bool,
}

/// What a thread takes at once: some of the ranges.
struct Piece {
    ranges: Arc<RangeList>,
    part: std::ops::Range<usize>,
}

impl Piece {
    /// The run `open` of `ranges`; empties `open`.
    fn of(ranges: &Arc<RangeList>, open: &mut std::ops::Range<usize>) -> Self {
        Self {
            ranges: ranges.clone(),
            part: std::mem::take(open),
        }
    }
}

struct Workers {
    batches: Receiver<StoreResult<Batch>>,
    /// Batches that were read, to be filled again: memory that is new to the process is slow.
    used: Sender<Batch>,
    stop: Arc<AtomicBool>,
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl ParallelScan {
    pub(super) fn new(table: Arc<TableCore>, serial: SerialScan, options: &ScanOptions) -> Self {
        Self {
            table,
            options: options.clone(),
            serial,
            workers: None,
            decided: false,
        }
    }

    /// Pieces of work: several small ranges together, larger ones cut at tablets' ends.
    fn pieces(&self) -> Vec<Piece> {
        let layout = &self.serial.snapshot().layout;
        let ranges = self.serial.ranges();
        let mut pieces: Vec<Piece> = Vec::new();
        let mut open = 0..0;
        let tablets = layout.tablets();
        let through = |at: usize| {
            tablets
                .get(at)
                .and_then(|one| one.extent.through.as_deref())
        };
        let mut first = 0;
        let mut range = Range::all();
        for at in 0..ranges.len() {
            // Ranges and tablets are both sorted: mostly it is the tablet of the range before.
            let start = ranges.row(at).unwrap_or_default();
            if through(first).is_some_and(|through| through < start) {
                first = layout.position(start);
            }
            let last = match through(first) {
                Some(through) if ranges.ends_by(at, through) => first,
                _ => {
                    ranges.read(at, &mut range);
                    let last = tablets.len() - 1;
                    range
                        .end()
                        .map_or(last, |end| layout.position(&end.row).min(last))
                }
            };
            if first == last {
                open = if open.is_empty() {
                    at..at + 1
                } else {
                    open.start..at + 1
                };
                if open.len() == RANGES_A_PIECE {
                    pieces.push(Piece::of(ranges, &mut open));
                }
                continue;
            }
            // Pieces are runs of ranges: this one is cut up, so it ends the run.
            if !open.is_empty() {
                pieces.push(Piece::of(ranges, &mut open));
            }
            let cut = tablets.iter().take(last + 1).skip(first);
            pieces.extend(cut.filter_map(|tablet| {
                Some(Piece {
                    ranges: Arc::new(RangeList::of(&[range.clip(&tablet.range())?])),
                    part: 0..1,
                })
            }));
        }
        if !open.is_empty() {
            pieces.push(Piece::of(ranges, &mut open));
        }
        pieces
    }

    fn start(&mut self) -> StoreResult<()> {
        self.decided = true;
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let wanted = match self.options.threads {
            0 => cores.min(MAX_THREADS),
            threads => threads,
        };
        // More threads than cores only take turns: everything is in this process.
        let threads = wanted.min(cores.max(2));
        let pieces = self.pieces();
        let whole_tablets = pieces.iter().any(|piece| piece.part.len() == 1);
        let worth = whole_tablets || self.serial.ranges().len() > SERIAL_RANGES;
        if threads < 2 || pieces.len() < 2 || !worth {
            return Ok(());
        }
        let pieces = Arc::new(pieces);
        let next = Arc::new(AtomicUsize::new(0));
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, batches) = bounded(2 * threads);
        let (used, empty) = bounded::<Batch>(4 * threads);
        for number in 0..threads.min(pieces.len()) {
            let (pieces, next, stop, sender, empty) = (
                pieces.clone(),
                next.clone(),
                stop.clone(),
                sender.clone(),
                empty.clone(),
            );
            let (table, options) = (self.table.clone(), self.options.clone());
            let snapshot = self.serial.snapshot().clone();
            threads::spawn(&format!("scan-{number}"), move || {
                let mut scan = match SerialScan::over(table, snapshot, &[], &options) {
                    Ok(scan) => scan,
                    Err(error) => {
                        let _ = sender.send(Err(error));
                        return;
                    }
                };
                // What the batch before took; the next one will take about as much.
                let (mut entries, mut bytes) = (0, 0);
                while let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
                    scan.set_piece(&piece.ranges, piece.part.clone());
                    loop {
                        let mut batch = empty.try_recv().unwrap_or_else(|_| {
                            let mut batch = Batch::new();
                            batch.reserve(entries, bytes);
                            batch
                        });
                        let read = scan.next_batch(&mut batch);
                        (entries, bytes) = (batch.len(), batch.byte_len());
                        let sent = match read {
                            Ok(false) => break,
                            Ok(true) => sender.send(Ok(batch)),
                            Err(error) => sender.send(Err(error)),
                        };
                        // Nobody listens any more.
                        if sent.is_err() || stop.load(Ordering::Relaxed) {
                            return;
                        }
                    }
                }
            })?;
        }
        self.workers = Some(Workers {
            batches,
            used,
            stop,
        });
        Ok(())
    }
}

impl Scan for ParallelScan {
    fn next_batch(&mut self, out: &mut Batch) -> StoreResult<bool> {
        if !self.decided {
            self.start()?;
        }
        let Some(workers) = &self.workers else {
            return self.serial.next_batch(out);
        };
        match workers.batches.recv() {
            Ok(Ok(batch)) => {
                let read = std::mem::replace(out, batch);
                if read.memory() > 0 {
                    // When there are enough of them it is let go.
                    let _ = workers.used.try_send(read);
                }
                Ok(true)
            }
            Ok(Err(error)) => Err(error),
            // Every worker has finished.
            Err(_) => {
                out.clear();
                Ok(false)
            }
        }
    }

    fn restart(&mut self, ranges: &[Range]) -> StoreResult<()> {
        self.workers = None;
        self.decided = false;
        self.serial.restart(ranges)
    }
}
