//! Progress of a running workload.

use std::io::{IsTerminal as _, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::interrupt::Watch;
use crate::progress::Progress;

/// Where the lines of a workload go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lines {
    /// To stderr, if it is a terminal.
    Terminal,
    /// To stderr.
    Shown,
    /// To stdout: they are the result.
    Result,
    /// Not shown.
    Hidden,
}

/// A bar and lines on stderr; stops at Ctrl-C.
#[derive(Debug)]
pub(super) struct LabProgress {
    watch: Watch,
    bar: Mutex<Progress>,
    lines: Lines,
    /// Whether acknowledged entries are reported on stdout.
    agitated: bool,
}

impl LabProgress {
    /// Starts watching for Ctrl-C; the first phase shows a bar if stderr is a terminal.
    pub(super) fn start(lines: Lines) -> Self {
        Self {
            watch: Watch::start(),
            bar: Mutex::new(Progress::none()),
            lines,
            agitated: false,
        }
    }

    /// Progress for a parent process that runs `agitate`.
    pub(super) fn for_parent() -> Self {
        Self {
            agitated: true,
            ..Self::start(Lines::Hidden)
        }
    }

    /// Removes the bar, so that it does not mix with results. The next phase shows a new one.
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
            Lines::Terminal => std::io::stderr().is_terminal(),
            Lines::Result => {
                // A failure to print a line does not end the run.
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
            // If the parent has ended, there is nothing to report.
            let _ = writeln!(out, "flushed {writer} {entries}").and_then(|()| out.flush());
        }
    }

    fn cancelled(&self) -> bool {
        self.stopped()
    }
}
