//! How a running workload shows itself.

use std::io::{IsTerminal as _, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::interrupt::Watch;
use crate::progress::Progress;

/// Where the lines of a workload go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lines {
    /// To stderr where a person looks at it.
    ToPeople,
    /// To stderr.
    Shown,
    /// To stdout: they are the result.
    Result,
    /// Nowhere.
    Hidden,
}

/// A bar and lines on stderr; stops at Ctrl-C.
#[derive(Debug)]
pub(super) struct LabProgress {
    watch: Watch,
    bar: Mutex<Progress>,
    lines: Lines,
    /// Whether what is acknowledged is told on stdout.
    agitated: bool,
}

impl LabProgress {
    /// Starts watching for Ctrl-C; a bar comes with the first phase if a person looks at stderr.
    pub(super) fn start(lines: Lines) -> Self {
        Self {
            watch: Watch::start(),
            bar: Mutex::new(Progress::none()),
            lines,
            agitated: false,
        }
    }

    /// For the parent process that agitates this one.
    pub(super) fn for_parent() -> Self {
        Self {
            agitated: true,
            ..Self::start(Lines::Hidden)
        }
    }

    /// Takes the bar away, so that results do not stand behind it. The next phase brings another.
    pub(super) fn clear(&self) {
        *self.bar() = Progress::none();
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
        let show = match self.lines {
            Lines::Hidden => false,
            Lines::Shown => true,
            Lines::ToPeople => std::io::stderr().is_terminal(),
            Lines::Result => {
                // The run need not end because nobody reads its lines.
                let _ = writeln!(std::io::stdout(), "{text}");
                false
            }
        };
        if show {
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
