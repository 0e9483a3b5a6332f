//! Unordered scans: ranges are dealt out to threads, batches come back in any order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crossbeam_channel::{Receiver, bounded};
use ostrakon_cell::{Batch, Range, Scan, ScanOptions};

use super::core::TableCore;
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

struct Workers {
    batches: Receiver<StoreResult<Batch>>,
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

    /// Pieces of work: ranges cut at tablets' ends, several small ones together.
    fn pieces(&self) -> Vec<Vec<Range>> {
        let layout = &self.serial.snapshot().layout;
        let mut pieces: Vec<Vec<Range>> = Vec::new();
        let mut piece: Vec<Range> = Vec::new();
        for range in self.serial.ranges() {
            let first = range.start().map_or(0, |start| layout.position(&start.row));
            let last = range.end().map_or(layout.tablets().len() - 1, |end| {
                layout.position(&end.row).min(layout.tablets().len() - 1)
            });
            if first == last {
                piece.push(range.clone());
                if piece.len() == RANGES_A_PIECE {
                    pieces.push(std::mem::take(&mut piece));
                }
                continue;
            }
            let tablets = layout.tablets().iter().take(last + 1).skip(first);
            pieces.extend(tablets.filter_map(|tablet| Some(vec![range.clip(&tablet.range())?])));
        }
        if !piece.is_empty() {
            pieces.push(piece);
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
        let whole_tablets = pieces.iter().any(|piece| piece.len() == 1);
        let worth = whole_tablets || self.serial.ranges().len() > SERIAL_RANGES;
        if threads < 2 || pieces.len() < 2 || !worth {
            return Ok(());
        }
        let pieces = Arc::new(pieces);
        let next = Arc::new(AtomicUsize::new(0));
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, batches) = bounded(2 * threads);
        for number in 0..threads.min(pieces.len()) {
            let (pieces, next, stop, sender) =
                (pieces.clone(), next.clone(), stop.clone(), sender.clone());
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
                while let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
                    scan.set_piece(piece);
                    loop {
                        let mut batch = Batch::new();
                        let sent = match scan.next_batch(&mut batch) {
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
        self.workers = Some(Workers { batches, stop });
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
                *out = batch;
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
