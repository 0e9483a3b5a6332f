//! Panics of the readers of files as errors. The reader of Parquet panics at some damaged files.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Once;
use std::task::{Context, Poll};

use datafusion::common::Result;
use datafusion::error::DataFusionError;
use futures_util::Stream;

/// What a panic becomes while a file is read. Its own message is about the reader rather than the file.
pub(super) const PANICKED: &str = "the content is damaged";

thread_local! {
    /// Whether a panic of this thread becomes an error.
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// A future or a stream whose panics are errors, and are not reported otherwise.
pub(super) struct Caught<T>(Pin<Box<T>>);

impl<T> Caught<T> {
    pub(super) fn new(inner: T) -> Self {
        Self(Box::pin(inner))
    }
}

/// What a step comes to, or an error if it panicked.
pub(super) fn caught<T>(step: impl FnOnce() -> T) -> Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !IS_CAUGHT.get() {
                report(panic);
            }
        }));
    });
    let before = IS_CAUGHT.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(step));
    IS_CAUGHT.set(before);
    outcome.map_err(|_| DataFusionError::Execution(PANICKED.to_owned()))
}

impl<T, F: Future<Output = Result<T>>> Future for Caught<F> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let inner = self.0.as_mut();
        caught(|| inner.poll(context)).unwrap_or_else(|error| Poll::Ready(Err(error)))
    }
}

impl<T, S: Stream<Item = Result<T>>> Stream for Caught<S> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let inner = self.0.as_mut();
        caught(|| inner.poll_next(context)).unwrap_or_else(|error| Poll::Ready(Some(Err(error))))
    }
}
