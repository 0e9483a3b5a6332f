//! A scan as a stream of batches.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::stream::FusedStream;
use ostrakon_cell::Interrupt;
use ostrakon_cell::iterator::Interruption;

use super::pool::Task;
use crate::entries::Entries;
use crate::scan::Scan;
use crate::{Batch, Result};

/// The batches of a scan; made by [`Scan::stream_batches`]. Ends after its first error.
///
/// The scan starts when the stream is polled. While the program works on a batch, the next one is read, and no more than
/// that: a program that is slow stops the scan. A thread is held only while a batch is read. Dropping the stream ends
/// the scan, also one that reads for long without finding an entry. A read that has begun holds the table, and so the
/// store, until it notices that.
pub struct BatchStream {
    state: State,
    /// Set when the stream is dropped.
    dropped: Interrupt,
}

enum State {
    Waiting(Box<Scan>),
    Reading(Task<Read>),
    Ended,
}

struct Read {
    entries: Entries,
    batch: Result<Option<Batch>>,
}

/// What the program that made the scan asked it to stop for.
struct Asked(Interrupt);

impl Interruption for Asked {
    fn check(&self) -> Result<()> {
        self.0.check()
    }
}

impl BatchStream {
    pub(super) fn new(mut scan: Scan) -> Self {
        let asked = scan.interrupt().take();
        let dropped = asked.map_or_else(Interrupt::default, |asked| {
            Interrupt::watching(Arc::new(Asked(asked)))
        });
        *scan.interrupt() = Some(dropped.clone());
        Self {
            state: State::Waiting(Box::new(scan)),
            dropped,
        }
    }
}

fn read(mut entries: Entries) -> Read {
    let mut batch = Batch::new();
    let batch = entries
        .next_batch(&mut batch)
        .map(|more| more.then_some(batch));
    Read { entries, batch }
}

impl Stream for BatchStream {
    type Item = Result<Batch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // A stream that panics has ended.
        let mut task = match std::mem::replace(&mut self.state, State::Ended) {
            State::Ended => return Poll::Ready(None),
            State::Reading(task) => task,
            // A scan that cannot be started gives its error as its only batch.
            State::Waiting(scan) => Task::start(move || read(scan.into_iter())),
        };
        match Pin::new(&mut task).poll(context) {
            Poll::Pending => {
                self.state = State::Reading(task);
                Poll::Pending
            }
            Poll::Ready(Read { entries, batch }) => {
                if let Ok(Some(_)) = &batch {
                    self.state = State::Reading(Task::start(move || read(entries)));
                }
                Poll::Ready(batch.transpose())
            }
        }
    }
}

impl FusedStream for BatchStream {
    fn is_terminated(&self) -> bool {
        matches!(self.state, State::Ended)
    }
}

impl Drop for BatchStream {
    fn drop(&mut self) {
        // Dropping the task alone would let a read that has begun come to its end.
        self.dropped.set();
    }
}

impl std::fmt::Debug for BatchStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match &self.state {
            State::Waiting(_) => "not started",
            State::Reading(_) => "reading",
            State::Ended => "ended",
        };
        f.debug_struct("BatchStream")
            .field("state", &state)
            .finish_non_exhaustive()
    }
}
