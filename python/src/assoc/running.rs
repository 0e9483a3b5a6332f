//! Kernels at work.

use pyo3::prelude::*;

use crate::signals;

/// Items from which on a kernel may take longer than somebody who presses Ctrl-C likes to wait.
const LONG: usize = 1 << 20;

/// Runs a kernel without the interpreter's lock. One that has many items runs on a thread of its own, so that
/// Ctrl-C is heard at once; the kernel then goes on to its end, and what it makes is dropped.
pub(super) fn run<T: Send + 'static>(
    py: Python<'_>,
    items: usize,
    kernel: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    if items < LONG {
        return Ok(py.detach(kernel));
    }
    signals::run(py, || {}, kernel)
}
