//! Threads that read parts of a text.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use ostrakon_cell::{Error, ErrorKind, Result};

use super::LogText;
use super::chunks::Chunk;
use super::reading::{Limits, Read, read};
use crate::ingest::columns::{Columns, SourceNames};

/// Parts for each worker: one is read, and one waits.
const PARTS_PER_WORKER: usize = 2;

/// A part, and the names of those before it.
pub(super) type Job = (Chunk, Arc<SourceNames>);

struct Worker {
    jobs: Sender<Job>,
    read: Receiver<Result<Read>>,
    thread: JoinHandle<()>,
}

/// Workers that get parts in turn, so that these come back in order.
pub(super) struct Workers {
    count: usize,
    workers: Vec<Worker>,
    sent: usize,
    received: usize,
}

impl Workers {
    /// Up to `count` workers, each of which is started when there is work for it.
    pub(super) fn new(count: usize) -> Self {
        Self {
            count: count.max(1),
            workers: Vec::new(),
            sent: 0,
            received: 0,
        }
    }

    /// How many parts they should have.
    pub(super) fn most(&self) -> usize {
        self.count * PARTS_PER_WORKER
    }

    /// Hands out a part; `false` if there is no worker.
    pub(super) fn send(
        &mut self,
        (log, limits, columns): (&Arc<LogText>, Limits, &Columns),
        job: Job,
    ) -> bool {
        if self.workers.len() < self.count && self.workers.len() == self.sent {
            match start(log.clone(), limits, columns.clone()) {
                Ok(worker) => self.workers.push(worker),
                // Those that were started do all of it.
                Err(_) => self.count = self.workers.len().max(1),
            }
        }
        let Some(worker) = self.workers.get(self.sent % self.count) else {
            return false;
        };
        self.sent += 1;
        // A worker that is gone has panicked: `result` says so.
        let _ = worker.jobs.send(job);
        true
    }

    /// Waits for the part that was handed out first.
    pub(super) fn result(&mut self) -> Result<Read> {
        let at = self.received % self.count;
        self.received += 1;
        let gone = || {
            Error::new(
                ErrorKind::Io,
                "a thread that reads the log file has ended early",
            )
        };
        let worker = self.workers.get(at).ok_or_else(gone)?;
        if let Ok(read) = worker.read.recv() {
            return read;
        }
        let thread = self.workers.swap_remove(at).thread;
        match thread.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => Err(gone()),
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in self.workers.drain(..) {
            drop(worker.jobs);
            // It ends after the part that it reads.
            let _ = worker.thread.join();
        }
    }
}

fn start(log: Arc<LogText>, limits: Limits, mut columns: Columns) -> std::io::Result<Worker> {
    let (jobs, work) = channel::<Job>();
    let (done, read_parts) = channel();
    let thread = std::thread::Builder::new()
        .name("ostrakon-log".into())
        .spawn(move || {
            for (chunk, names) in work {
                if done
                    .send(read(&log, limits, &mut columns, (&chunk, names)))
                    .is_err()
                {
                    return;
                }
            }
        })?;
    Ok(Worker {
        jobs,
        read: read_parts,
        thread,
    })
}
