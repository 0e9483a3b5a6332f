//! Ctrl-C while the store works.

use std::thread;
use std::time::{Duration, Instant};

use ostrakon_cell::{Error, ErrorKind, Interrupt, Result};
use pyo3::prelude::*;

use crate::errors::IntoPython;

/// How often the interpreter is asked for signals.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// Ends a scan when a handler of a signal raises.
pub(super) struct Signals {
    interrupt: Interrupt,
    looked: Instant,
    raised: Option<PyErr>,
}

impl Signals {
    pub(super) fn new(interrupt: Interrupt) -> Self {
        Self {
            interrupt,
            looked: Instant::now(),
            raised: None,
        }
    }

    /// Asks the interpreter if it is time. Call without its lock.
    pub(super) fn look(&mut self) -> Result<()> {
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
    pub(super) fn take_raised(&mut self) -> Option<PyErr> {
        self.raised.take()
    }
}

/// Runs `work` on a thread of its own, without the interpreter's lock, while this one looks for signals. What a handler
/// raises calls `stop` and is raised once the work has ended.
pub(super) fn run<T: Send>(
    py: Python<'_>,
    stop: impl Fn(),
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    thread::scope(|scope| {
        let caller = thread::current();
        let worker = thread::Builder::new()
            .name("ostrakon-work".into())
            .spawn_scoped(scope, move || {
                let outcome = work();
                caller.unpark();
                outcome
            })
            .map_err(|error| {
                Error::new(ErrorKind::Io, "the thread for the work cannot be started")
                    .with_source(error)
            })
            .into_python()?;
        let mut raised = None;
        while !worker.is_finished() && raised.is_none() {
            py.detach(|| thread::park_timeout(LOOK));
            raised = py.check_signals().err();
        }
        if raised.is_some() {
            stop();
        }
        match (raised, py.detach(|| worker.join())) {
            (Some(raised), _) => Err(raised),
            (None, Ok(outcome)) => outcome.into_python(),
            (None, Err(panic)) => std::panic::resume_unwind(panic),
        }
    })
}
