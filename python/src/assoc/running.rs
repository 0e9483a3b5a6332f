//! Runs kernels so that Ctrl-C is noticed.

use pyo3::prelude::*;

use crate::signals;

/// Number of items above which a kernel may take noticeably long.
pub(super) const LONG: usize = 1 << 20;

/// Runs a kernel without the interpreter's lock. One that has many items runs on a thread of its own, so that
/// Ctrl-C takes effect at once. The kernel then still runs to its end, and its result is dropped.
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
