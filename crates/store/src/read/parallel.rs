//! Unordered scans: ranges are distributed to threads, batches are returned in any order.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use ostrakon_cell::iterator::Interruption;
use ostrakon_cell::{Batch, Range, Scan};

use super::limits::ScanLimits;
use super::ranges::RangeList;
use super::serial::{SerialScan, check_resumable, panicked};
use crate::error::{Error, ErrorKind, StoreResult};
use crate::threads;

/// Number of ranges in a piece of work.
const RANGES_A_PIECE: usize = 512;

/// For fewer ranges within one tablet, threads cost more than they gain.
const SERIAL_RANGES: usize = 2 * RANGES_A_PIECE;

/// Default number of threads of an unordered scan.
const MAX_THREADS: usize = 16;

/// How long the caller waits for a batch before it checks whether the scan is to end: its workers
/// may be in an iterator that does not check.
const LOOK_UP: Duration = Duration::from_millis(20);

/// An unordered scan. As in a serial scan an error is final.
pub(super) struct ParallelScan {
    serial: SerialScan,
    workers: Option<Workers>,
    decided: bool,
    failed: Option<Error>,
    /// The unread ranges at the time of the failure, if the scan is resumable.
    left: Option<Vec<Range>>,
}

/// The work that a thread takes at once: some of the ranges.
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

/// A message from a worker.
enum Message {
    Batch(Batch),
    /// Every batch of the piece with this number was sent.
    Finished(usize),
    /// The error with which the scan ends.
    Failed(Error),
}

struct Workers {
    messages: Receiver<Message>,
    /// Used batches, to be refilled: memory that is new to the process is slow.
    used: Sender<Batch>,
    stop: Arc<AtomicBool>,
    pieces: Arc<Vec<Piece>>,
    /// Which pieces were returned completely, and their number.
    finished: Vec<bool>,
    finished_count: usize,
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// State shared by the workers of a scan.
struct Shared {
    pieces: Arc<Vec<Piece>>,
    next: AtomicUsize,
    stop: Arc<AtomicBool>,
    messages: Sender<Message>,
    empty: Receiver<Batch>,
}

impl Shared {
    /// Reads pieces until none is left. Ends early when the caller has dropped the scan.
    fn work(&self, scan: &mut SerialScan) -> StoreResult<()> {
        // The size of the previous batch; the next one will be about as large.
        let (mut entries, mut bytes) = (0, 0);
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = self.pieces.get(at) else {
                return Ok(());
            };
            scan.set_piece(&piece.ranges, piece.part.clone());
            loop {
                let mut batch = self.empty.try_recv().unwrap_or_else(|_| {
                    let mut batch = Batch::new();
                    batch.reserve(entries, bytes);
                    batch
                });
                let message = if scan.next_batch(&mut batch)? {
                    (entries, bytes) = (batch.len(), batch.byte_len());
                    Message::Batch(batch)
                } else {
                    Message::Finished(at)
                };
                let is_finished = matches!(message, Message::Finished(_));
                if self.messages.send(message).is_err() || self.stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                if is_finished {
                    break;
                }
            }
        }
    }
}

impl ParallelScan {
    pub(super) fn new(serial: SerialScan) -> Self {
        Self {
            serial,
            workers: None,
            decided: false,
            failed: None,
            left: None,
        }
    }

    /// Pieces of work: several small ranges together, larger ones cut at the ends of tablets,
    /// unless the scan must not reveal where these are.
    fn pieces(&self) -> Vec<Piece> {
        let version = &self.serial.snapshot().version;
        let ranges = self.serial.ranges();
        if self.serial.options().confined {
            let firsts = (0..ranges.len()).step_by(RANGES_A_PIECE);
            return firsts
                .map(|first| Piece {
                    ranges: ranges.clone(),
                    part: first..ranges.len().min(first + RANGES_A_PIECE),
                })
                .collect();
        }
        let mut pieces: Vec<Piece> = Vec::new();
        let mut open = 0..0;
        let tablets = version.tablets();
        let through = |at: usize| {
            tablets
                .get(at)
                .and_then(|one| one.extent.through.as_deref())
        };
        let mut first = 0;
        let mut range = Range::all();
        for at in 0..ranges.len() {
            // Ranges and tablets are both sorted: usually it is the tablet of the previous range.
            let start = ranges.row(at).unwrap_or_default();
            if through(first).is_some_and(|through| through < start) {
                first = version.position(start);
            }
            let last = match through(first) {
                Some(through) if ranges.ends_by(at, through) => first,
                _ => {
                    ranges.read(at, &mut range);
                    let last = tablets.len() - 1;
                    range
                        .end()
                        .map_or(last, |end| version.position(&end.row).min(last))
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
            // Pieces are sequences of ranges: this range is cut up, so it ends the sequence.
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

    /// Starts the workers, if it pays and the store has threads left.
    fn start(&mut self) -> StoreResult<()> {
        self.decided = true;
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let wanted = match self.serial.options().threads {
            0 => cores.min(MAX_THREADS),
            threads => threads,
        };
        // More threads than cores have no benefit: all work is in this process.
        let wanted = wanted.min(cores.max(2));
        let pieces = self.pieces();
        let whole_tablets = pieces.iter().any(|piece| piece.part.len() == 1);
        let confined = self.serial.options().confined;
        let worth = (whole_tablets && !confined) || self.serial.ranges().len() > SERIAL_RANGES;
        if wanted < 2 || pieces.len() < 2 || !worth {
            return Ok(());
        }
        let source = self.serial.source().clone();
        let granted = source.scan_threads().take(wanted.min(pieces.len()));
        if granted.is_empty() {
            return Ok(());
        }
        let pieces = Arc::new(pieces);
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, messages) = bounded(2 * granted.len());
        let (used, empty) = bounded::<Batch>(4 * granted.len());
        let shared = Arc::new(Shared {
            pieces: pieces.clone(),
            next: AtomicUsize::new(0),
            stop: stop.clone(),
            messages: sender,
            empty,
        });
        // A worker's batches end by their content, not by the time of the caller's call.
        let mut options = self.serial.options().clone();
        options.answer_within = None;
        options.resumable = false;
        let mut started = 0;
        for (number, permit) in granted.into_iter().enumerate() {
            let shared = shared.clone();
            let mut scan = SerialScan::over(
                source.clone(),
                self.serial.snapshot().clone(),
                self.serial.limits().clone(),
                &options,
            )?;
            let spawned = threads::spawn(&format!("scan-{number}"), move || {
                let _permit = permit;
                // A panic is an error of this scan, and must never look like its regular end.
                let outcome = catch_unwind(AssertUnwindSafe(|| shared.work(&mut scan)));
                if let Err(error) = outcome.unwrap_or_else(|_| Err(panicked())) {
                    let _ = shared.messages.send(Message::Failed(error));
                }
            });
            match spawned {
                Ok(_) => started += 1,
                // Fewer threads are sufficient, and without any the caller's thread reads.
                Err(error) if started == 0 => {
                    tracing::debug!(%error, "an unordered scan reads on one thread");
                    return Ok(());
                }
                Err(_) => break,
            }
        }
        self.workers = Some(Workers {
            messages,
            used,
            stop,
            finished: vec![false; pieces.len()],
            finished_count: 0,
            pieces,
        });
        Ok(())
    }

    fn read(&mut self, out: &mut Batch) -> StoreResult<bool> {
        if !self.decided {
            self.start()?;
        }
        let Some(workers) = &mut self.workers else {
            return self.serial.next_batch(out);
        };
        workers.receive(self.serial.limits(), out)
    }
}

impl Workers {
    fn receive(&mut self, limits: &ScanLimits, out: &mut Batch) -> StoreResult<bool> {
        limits.check()?;
        let answer_by = limits.answer_by();
        loop {
            match self.messages.recv_timeout(LOOK_UP) {
                Ok(Message::Batch(batch)) => {
                    let read = std::mem::replace(out, batch);
                    if read.memory() > 0 {
                        // If there are enough of them it is freed.
                        let _ = self.used.try_send(read);
                    }
                    return Ok(true);
                }
                Ok(Message::Finished(at)) => {
                    if let Some(finished) = self.finished.get_mut(at) {
                        self.finished_count += usize::from(!*finished);
                        *finished = true;
                    }
                }
                Ok(Message::Failed(error)) => return Err(error),
                Err(RecvTimeoutError::Timeout) => limits.check()?,
                Err(RecvTimeoutError::Disconnected) if self.finished_count == self.pieces.len() => {
                    return Ok(false);
                }
                Err(RecvTimeoutError::Disconnected) => {
                    limits.check()?;
                    return Err(Error::new(
                        ErrorKind::Internal,
                        "the threads of a scan ended before its work",
                    ));
                }
            }
            if limits.is_past(answer_by) {
                return Ok(true);
            }
        }
    }
}

impl Scan for ParallelScan {
    fn next_batch(&mut self, out: &mut Batch) -> StoreResult<bool> {
        out.clear();
        if let Some(error) = &self.failed {
            return Err(error.duplicate());
        }
        self.read(out).inspect_err(|error| {
            self.left = self.unread().ok();
            // Dropping the workers stops them.
            self.workers = None;
            self.failed = Some(error.duplicate());
        })
    }

    fn restart(&mut self, ranges: &[Range]) -> StoreResult<()> {
        self.workers = None;
        self.left = None;
        self.decided = false;
        let restarted = self.serial.restart(ranges);
        self.failed = restarted.as_ref().err().map(Error::duplicate);
        restarted
    }

    fn unread(&self) -> StoreResult<Vec<Range>> {
        check_resumable(self.serial.options())?;
        if let Some(left) = &self.left {
            return Ok(left.clone());
        }
        let Some(workers) = &self.workers else {
            return self.serial.unread();
        };
        let mut left = Vec::new();
        let mut range = Range::all();
        for (piece, finished) in workers.pieces.iter().zip(&workers.finished) {
            if !finished {
                for at in piece.part.clone() {
                    if piece.ranges.read(at, &mut range) {
                        left.push(range.clone());
                    }
                }
            }
        }
        Ok(left)
    }
}
