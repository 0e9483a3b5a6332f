//! Ctrl-C while the store works.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use ostrakon_cell::{Error, ErrorKind, Interrupt, Result};
use parking_lot::Mutex;
use pyo3::prelude::*;

use crate::errors::IntoPython;

/// How often the interpreter is asked for signals.
pub(crate) const LOOK: Duration = Duration::from_millis(100);

/// Ends a scan when a handler of a signal raises.
pub(crate) struct Signals {
    interrupt: Interrupt,
    looked: Instant,
    raised: Option<PyErr>,
}

impl Signals {
    pub(crate) fn new(interrupt: Interrupt) -> Self {
        Self {
            interrupt,
            looked: Instant::now(),
            raised: None,
        }
    }

    /// Asks the interpreter if it is time. Call without its lock.
    pub(crate) fn look(&mut self) -> Result<()> {
        if self.looked.elapsed() < LOOK {
            return Ok(());
        }
        self.looked = Instant::now();
        let looked = Python::attach(|py| {
            py.check_signals()?;
            PyResult::Ok(())
        });
        let Err(raised) = looked else {
            return Ok(());
        };
        self.raised = Some(raised);
        // The scan is over for good: what was read in this call is lost.
        self.interrupt.set();
        Err(Error::new(
            ErrorKind::Cancelled,
            "the scan was interrupted by a signal",
        ))
    }

    /// What the handler raised.
    pub(crate) fn take_raised(&mut self) -> Option<PyErr> {
        self.raised.take()
    }
}

/// How long work that was told to stop is waited for.
const GRACE: Duration = Duration::from_millis(250);

/// The stack of a thread that works: plans of SQL are walked by recursion.
const STACK_BYTES: usize = 8 << 20;

/// Runs `work` on a thread of its own, without the interpreter's lock, while this one looks for signals. What a handler
/// raises calls `stop` and is raised when the work has ended, or soon after: work that does not look whether it is to
/// stop goes on by itself, with all it owns, and what it comes to is dropped.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    stop: impl FnOnce(),
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let outcome = Arc::new(Mutex::new(None));
    let (place, caller) = (outcome.clone(), thread::current());
    let worker = thread::Builder::new()
        .name("ostrakon-work".into())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            let made = work();
            *place.lock() = Some(made);
            caller.unpark();
        })
        .map_err(|error| {
            Error::new(ErrorKind::Io, "the thread for the work cannot be started")
                .with_source(error)
        })
        .into_python()?;
    loop {
        let ended = worker.is_finished();
        if let Some(made) = outcome.lock().take() {
            return Ok(made);
        }
        if ended {
            break;
        }
        py.detach(|| thread::park_timeout(LOOK));
        if let Err(raised) = py.check_signals() {
            stop();
            let until = Instant::now() + GRACE;
            while !worker.is_finished() && Instant::now() < until {
                py.detach(|| thread::park_timeout(GRACE / 10));
            }
            return Err(raised);
        }
    }
    match py.detach(|| worker.join()) {
        Err(panic) => std::panic::resume_unwind(panic),
        Ok(()) => Err(internal("the work ended without an outcome")).into_python(),
    }
}

fn internal(message: &'static str) -> Error {
    Error::new(ErrorKind::Internal, message)
}
