//! The only place where threads are started, so that each has a name, and a failure to start is an
//! error and not a panic.

use std::thread::{Builder, JoinHandle};

use crate::error::{Error, ErrorKind, StoreResult};

/// Starts a thread called `name` (Linux shows the first 15 bytes of it).
#[expect(
    clippy::disallowed_methods,
    reason = "this is the helper that everyone else is sent to"
)]
pub fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> StoreResult<JoinHandle<T>> {
    Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map_err(|e| {
            Error::new(ErrorKind::Io, "cannot start a thread")
                .with("thread", name)
                .with_source(e)
        })
}

/// Runs `beside` on a thread called `name` while `work` runs on this one, until both return.
///
/// # Errors
/// When the thread cannot be started, or panicked.
pub fn run_with_helper<A: Send, B>(
    name: &str,
    beside: impl FnOnce() -> A + Send,
    work: impl FnOnce() -> B,
) -> StoreResult<(A, B)> {
    std::thread::scope(|scope| {
        let helper = Builder::new()
            .name(name.to_owned())
            .spawn_scoped(scope, beside)
            .map_err(|e| {
                Error::new(ErrorKind::Io, "cannot start a thread")
                    .with("thread", name)
                    .with_source(e)
            })?;
        let own = work();
        let panicked =
            |_| Error::new(ErrorKind::Internal, "a thread panicked").with("thread", name);
        Ok((helper.join().map_err(panicked)?, own))
    })
}

/// Runs `work` on `count` threads, this one among them, until all return; the first error wins.
pub fn run_on_all<E: Send>(
    count: usize,
    panicked: impl Fn() -> E,
    work: impl Fn() -> Result<(), E> + Sync,
) -> Result<(), E> {
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..count).map(|_| scope.spawn(&work)).collect();
        helpers.into_iter().fold(work(), |outcome, helper| {
            outcome.and(helper.join().unwrap_or_else(|_| Err(panicked())))
        })
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    #[test]
    fn threads_carry_their_name() {
        let thread = super::spawn("flush-1", || {
            std::thread::current().name().map(str::to_owned)
        })
        .unwrap();
        assert_eq!(thread.join().unwrap().as_deref(), Some("flush-1"));
    }
}
