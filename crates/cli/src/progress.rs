//! Progress on stderr, only where a person looks at it.

use std::fmt;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::output::grouped;

/// A bar, a spinner, or nothing at all when stderr is no terminal.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Bytes done of `total`; without a total a spinner that counts them.
    pub(crate) fn bytes(total: Option<u64>) -> Self {
        let bar = Self::bar(total);
        let template = if total.is_some() {
            "{bar:32} {binary_bytes} of {binary_total_bytes}  {binary_bytes_per_sec}  {msg}  \
             {eta} left"
        } else {
            "{spinner} {binary_bytes}  {binary_bytes_per_sec}  {msg}"
        };
        Self::styled(bar, template)
    }

    /// Nothing to see, until there is something to show progress of.
    pub(crate) fn none() -> Self {
        Self(ProgressBar::hidden())
    }

    /// Things done; `total` may come later.
    pub(crate) fn count(what: &'static str) -> Self {
        Self::styled(Self::bar(None), "{spinner} {human_pos} {msg}").message(what)
    }

    /// A phase of longer work, with units of its own.
    pub(crate) fn phase(what: &str, total: Option<u64>) -> Self {
        let template = if total.is_some() {
            "{msg}  {bar:32} {human_pos} of {human_len}  {rate}  {eta} left"
        } else {
            "{msg}  {spinner} {human_pos}"
        };
        let phase = Self::styled(Self::bar(total), template);
        phase.0.set_message(what.to_owned());
        phase
    }

    /// A line above the bar; on stderr without one.
    pub(crate) fn line(&self, text: &str) {
        if self.0.is_hidden() {
            // Nobody is left to be told when stderr fails.
            let _ = writeln!(std::io::stderr(), "{text}");
        } else {
            self.0.println(text);
        }
    }

    fn bar(total: Option<u64>) -> ProgressBar {
        // A terminal on stderr is asked for explicitly: with stdin and stdout in pipes it is still
        // a person who waits.
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr_with_hz(10)
        } else {
            ProgressDrawTarget::hidden()
        };
        ProgressBar::with_draw_target(total, target)
    }

    fn styled(bar: ProgressBar, template: &str) -> Self {
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.with_key("rate", write_rate));
        }
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Self(bar)
    }

    fn message(self, text: &'static str) -> Self {
        self.0.set_message(text);
        self
    }

    /// How far it is.
    pub(crate) fn set(&self, done: u64) {
        self.0.set_position(done);
    }

    /// How much there is in all, once known.
    pub(crate) fn set_total(&self, total: u64) {
        self.0.set_length(total);
    }

    /// A word beside the bar.
    pub(crate) fn say(&self, text: impl FnOnce() -> String) {
        if !self.0.is_hidden() {
            self.0.set_message(text());
        }
    }
}

/// Units a second: whole ones, but where there are few.
fn write_rate(state: &ProgressState, out: &mut dyn fmt::Write) {
    let rate = state.per_sec();
    // The line is made in memory.
    let _ = match rate < 10.0 {
        true => write!(out, "{rate:.1}/s"),
        false => write!(out, "{}/s", grouped(rate as u64)),
    };
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
