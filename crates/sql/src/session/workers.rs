//! The threads on which the statements of a session run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use ostrakon_cell::{Error, ErrorKind, Result};
use tokio::runtime::{Builder, Handle, Runtime};

/// The stack of a thread that plans and runs queries: plans are walked by recursion.
const STACK_BYTES: usize = 8 << 20;

/// How long a thread that reads is kept without work: as long as any session lives.
const KEPT_ALIVE: Duration = Duration::from_hours(24 * 365);

/// The threads of a session, started when they are first needed.
///
/// A query that is ended early may keep its threads until it next gives way, which can take as long as a join of one
/// pair of batches. So they are left to it, and the next statement gets others.
#[derive(Clone)]
pub(super) struct Workers {
    threads: usize,
    current: Arc<Mutex<Option<Arc<Threads>>>>,
}

impl Workers {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            threads,
            current: Arc::default(),
        }
    }

    /// The threads, for a statement.
    pub(super) fn lease(&self) -> Result<Lease> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let threads = match &*current {
            Some(threads) => threads.clone(),
            None => {
                let started = Arc::new(Threads::start(self.threads)?);
                *current = Some(started.clone());
                started
            }
        };
        drop(current);
        Ok(Lease {
            threads,
            current: self.current.clone(),
        })
    }
}

/// The threads as a statement uses them.
#[derive(Clone)]
pub(super) struct Lease {
    threads: Arc<Threads>,
    current: Arc<Mutex<Option<Arc<Threads>>>>,
}

impl Lease {
    pub(super) fn handle(&self) -> &Handle {
        &self.threads.handle
    }

    pub(super) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.threads.handle.block_on(future)
    }

    /// Leaves the threads to the statements that have them; statements after this one get others.
    pub(super) fn abandon(&self) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current
            .as_ref()
            .is_some_and(|threads| Arc::ptr_eq(threads, &self.threads))
        {
            *current = None;
        }
    }
}

struct Threads {
    handle: Handle,
    /// `None` only while this is dropped.
    runtime: Option<Runtime>,
}

impl Threads {
    fn start(threads: usize) -> Result<Self> {
        // As many again read tables and files.
        check_threads(2 * threads)?;
        let start = || {
            let runtime = Builder::new_multi_thread()
                .worker_threads(threads)
                .thread_stack_size(STACK_BYTES)
                .thread_keep_alive(KEPT_ALIVE)
                .thread_name("sql")
                .enable_time()
                .build()?;
            // With one such thread, work that finds no other waits for it.
            runtime.spawn_blocking(|| ());
            Ok(runtime)
        };
        // It panics where a thread cannot be started after all.
        let started = catch_unwind(AssertUnwindSafe(start));
        let runtime = started
            .unwrap_or_else(|_| Err(std::io::ErrorKind::WouldBlock.into()))
            .map_err(not_started)?;
        Ok(Self {
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
        })
    }
}

/// Whether so many threads can be started: the runtime panics, or waits for ever, where one cannot.
fn check_threads(count: usize) -> Result<()> {
    let (end, ended) = mpsc::channel::<()>();
    let ended = Arc::new(Mutex::new(ended));
    let started: std::io::Result<Vec<_>> = (0..count)
        .map(|_| {
            let ended = ended.clone();
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            thread.spawn(move || {
                let ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
                // Until all of them were started.
                let _ = ended.recv();
            })
        })
        .collect();
    drop(end);
    // Those that were started before another could not be end by themselves.
    for thread in started.map_err(not_started)? {
        let _ = thread.join();
    }
    Ok(())
}

fn not_started(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, "the threads of a query cannot be started")
        .with("thread", "sql")
        .with_source(error)
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Scans were told to end when their rows were dropped.
            runtime.shutdown_background();
        }
    }
}
