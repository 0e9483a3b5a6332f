//! Ctrl-C in long work.
//!
//! Without a [`Watch`], Ctrl-C ends the process at once, which the store survives like any crash.
//! Work that can stop cleanly starts a watch and polls [`Watch::stopped`]. It may also register a
//! call that makes blocking work return. A second Ctrl-C ends the process at once.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use crate::failure::{Failure, Result};

type Call = Box<dyn FnMut() + Send>;

static REQUESTED: AtomicBool = AtomicBool::new(false);
static WATCHED: AtomicBool = AtomicBool::new(false);
/// What to call on Ctrl-C, in addition to setting the flag.
static CALL: Mutex<Option<Call>> = Mutex::new(None);
static INSTALL: Once = Once::new();

/// Shell convention: 128 + SIGINT.
const ENDED_AT_ONCE: i32 = 130;

/// While this exists, Ctrl-C requests a stop instead of ending the process.
#[derive(Debug)]
pub(crate) struct Watch(());

impl Watch {
    /// Starts watching.
    pub(crate) fn start() -> Self {
        INSTALL.call_once(|| {
            if let Err(error) = ctrlc::set_handler(on_signal) {
                tracing::warn!(%error, "cannot handle Ctrl-C; it will end the process at once");
            }
        });
        REQUESTED.store(false, Ordering::SeqCst);
        WATCHED.store(true, Ordering::SeqCst);
        Self(())
    }

    /// Starts watching, and runs `call` on Ctrl-C: for work that blocks inside the store.
    pub(crate) fn with_call(call: impl FnMut() + Send + 'static) -> Self {
        *CALL.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(call));
        Self::start()
    }

    /// Whether the user has pressed Ctrl-C.
    pub(crate) fn stopped(&self) -> bool {
        REQUESTED.load(Ordering::Relaxed)
    }

    /// An error once the user has pressed Ctrl-C; `kept` says what is kept.
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
#[expect(clippy::exit, reason = "without a watch, Ctrl-C ends the process")]
fn on_signal() {
    if !WATCHED.load(Ordering::SeqCst) || REQUESTED.swap(true, Ordering::SeqCst) {
        std::process::exit(ENDED_AT_ONCE);
    }
    // Work that waits for input notices Ctrl-C only with the next input, so this is printed at once.
    // A failure to print it does not matter.
    let _ = writeln!(
        io::stderr(),
        "\nstopping; press Ctrl-C again to end at once"
    );
    if let Some(call) = CALL.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        call();
    }
}
