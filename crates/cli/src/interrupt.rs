//! Ctrl-C in long work.
//!
//! Without a [`Watch`] Ctrl-C ends the process at once, which the store survives like any crash.
//! Work that can stop cleanly takes a watch, asks [`Watch::stopped`] now and then, and may leave
//! a call that makes blocking work return. A second Ctrl-C ends the process at once.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use crate::failure::{Failure, Result};

type Call = Box<dyn FnMut() + Send>;

static ASKED: AtomicBool = AtomicBool::new(false);
static WATCHED: AtomicBool = AtomicBool::new(false);
/// What to call when asked, besides setting the flag.
static CALL: Mutex<Option<Call>> = Mutex::new(None);
static INSTALL: Once = Once::new();

/// Shell convention: 128 + SIGINT.
const ENDED_AT_ONCE: i32 = 130;

/// While it lives, Ctrl-C asks instead of ending the process.
#[derive(Debug)]
pub(crate) struct Watch(());

impl Watch {
    /// Starts watching.
    pub(crate) fn start() -> Self {
        INSTALL.call_once(|| {
            if let Err(error) = ctrlc::set_handler(on_signal) {
                tracing::warn!(%error, "Ctrl-C cannot be watched: it ends the process at once");
            }
        });
        ASKED.store(false, Ordering::SeqCst);
        WATCHED.store(true, Ordering::SeqCst);
        Self(())
    }

    /// Starts watching, and calls `call` when asked: for work that blocks inside the store.
    pub(crate) fn with_call(call: impl FnMut() + Send + 'static) -> Self {
        *CALL.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(call));
        Self::start()
    }

    /// Whether the user asked to stop.
    pub(crate) fn stopped(&self) -> bool {
        ASKED.load(Ordering::Relaxed)
    }

    /// An error once the user asked to stop; `kept` says what stays.
    pub(crate) fn check(&self, kept: &str) -> Result<()> {
        if self.stopped() {
            return Err(Failure::interrupted(format!("stopped by Ctrl-C; {kept}")));
        }
        Ok(())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHED.store(false, Ordering::SeqCst);
        *CALL.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Runs on the handler's own thread, not inside the signal.
#[expect(
    clippy::exit,
    reason = "this is what Ctrl-C does where no watch stands"
)]
fn on_signal() {
    if !WATCHED.load(Ordering::SeqCst) || ASKED.swap(true, Ordering::SeqCst) {
        std::process::exit(ENDED_AT_ONCE);
    }
    // Work that waits for input looks up only when some comes. That nobody reads this is no matter.
    let _ = writeln!(io::stderr(), "\nstopping; Ctrl-C again ends it at once");
    if let Some(call) = CALL.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        call();
    }
}
