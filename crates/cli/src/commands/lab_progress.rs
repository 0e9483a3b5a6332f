//! How a running workload shows itself.

use std::io::{IsTerminal as _, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::interrupt::Watch;
use crate::progress::Progress;

/// A bar and lines on stderr; stops at Ctrl-C.
#[derive(Debug)]
pub(super) struct LabProgress {
    watch: Watch,
    bar: Mutex<Progress>,
    /// Whether lines are shown: to people, or to whoever asks for them.
    lines: bool,
    /// Whether what is acknowledged is told on stdout.
    agitated: bool,
}

impl LabProgress {
    /// For a person, if one looks at stderr; `lines` shows lines in any case.
    pub(super) fn start(lines: bool) -> Self {
        Self {
            watch: Watch::start(),
            bar: Mutex::new(Progress::count("")),
            lines: lines || std::io::stderr().is_terminal(),
            agitated: false,
        }
    }

    /// For the parent process that agitates this one.
    pub(super) fn for_parent() -> Self {
        Self {
            agitated: true,
            lines: false,
            ..Self::start(false)
        }
    }

    /// Whether the user stopped the run.
    pub(super) fn stopped(&self) -> bool {
        self.watch.stopped()
    }

    fn bar(&self) -> MutexGuard<'_, Progress> {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ostrakon_lab::Progress for LabProgress {
    fn phase(&self, what: &str, total: Option<u64>) {
        *self.bar() = Progress::phase(what, total);
    }

    fn done(&self, units: u64) {
        self.bar().set(units);
    }

    fn line(&self, text: &str) {
        if self.lines {
            self.bar().line(text);
        }
    }

    fn flushed(&self, writer: usize, entries: u64) {
        if self.agitated {
            let mut out = std::io::stdout().lock();
            // A parent that is gone needs no news.
            let _ = writeln!(out, "flushed {writer} {entries}").and_then(|()| out.flush());
        }
    }

    fn cancelled(&self) -> bool {
        self.stopped()
    }
}
