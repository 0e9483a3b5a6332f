//! Panics of a library as errors.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// Whether a panic of this thread becomes an error.
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// What a step comes to. Its panics are not reported otherwise.
///
/// # Errors
/// It panicked.
pub(super) fn caught<T>(step: impl FnOnce() -> T) -> Result<T, ()> {
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
    outcome.map_err(drop)
}
