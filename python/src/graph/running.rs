//! Algorithms run beside the interpreter, so that Ctrl-C ends them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ostrakon_cell::{Error, ErrorKind, Result};
use ostrakon_graph::GraphContext;
use pyo3::prelude::*;

use crate::errors::IntoPython;

/// How often the interpreter is asked for signals.
const LOOK: Duration = Duration::from_millis(50);

/// Runs `work` in `context` on a thread of its own, without the interpreter's lock, while this one looks
/// for signals. The exception of a signal handler interrupts the work and is raised once that has ended.
pub(super) fn run<T: Send>(
    py: Python<'_>,
    context: &GraphContext,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    let done = AtomicBool::new(false);
    let caller = thread::current();
    thread::scope(|scope| {
        let worker = thread::Builder::new()
            .name("ostrakon-graph".into())
            .spawn_scoped(scope, || {
                let outcome = work();
                done.store(true, Ordering::Release);
                caller.unpark();
                outcome
            })
            .map_err(|error| {
                Error::new(
                    ErrorKind::Io,
                    "the thread for an algorithm cannot be started",
                )
                .with_source(error)
            })
            .into_python()?;
        // A worker that panicked is finished without being done.
        while !done.load(Ordering::Acquire) && !worker.is_finished() {
            py.detach(|| thread::park_timeout(LOOK));
            if let Err(signal) = py.check_signals() {
                context.interrupt.raise();
                let _ = py.detach(|| worker.join());
                return Err(signal);
            }
        }
        match py.detach(|| worker.join()) {
            Ok(outcome) => outcome.into_python(),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
