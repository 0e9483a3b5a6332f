//! The threads on which the statements of a session run.

use std::sync::{Arc, Mutex, PoisonError};

use ostrakon_cell::{Error, ErrorKind, Result};
use tokio::runtime::{Builder, Handle, Runtime};

/// The stack of a thread that plans and runs queries: plans are walked by recursion.
const STACK_BYTES: usize = 8 << 20;

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
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_stack_size(STACK_BYTES)
            .thread_name("sql")
            .enable_time()
            .build()
            .map_err(|error| {
                Error::new(ErrorKind::Io, "the threads of a query could not be started")
                    .with_source(error)
            })?;
        Ok(Self {
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
        })
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Scans were told to end when their rows were dropped.
            runtime.shutdown_background();
        }
    }
}
