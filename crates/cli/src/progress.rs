//! Progress on stderr, if stderr is a terminal.

use std::fmt;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::output::grouped;

/// A bar or a spinner, or nothing if stderr is not a terminal.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar of bytes out of `total`; without a total, a spinner that counts bytes.
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

    /// Shows nothing.
    pub(crate) fn none() -> Self {
        Self(ProgressBar::hidden())
    }

    /// A spinner that counts; the total may be set later.
    pub(crate) fn count(what: &'static str) -> Self {
        Self::styled(Self::bar(None), "{spinner} {human_pos} {msg}").message(what)
    }

    /// One phase of longer work, with its own units.
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

    /// Prints a line above the bar, or on stderr if there is no bar.
    pub(crate) fn line(&self, text: &str) {
        if self.0.is_hidden() {
            // If stderr fails, there is no other place to report it.
            let _ = writeln!(std::io::stderr(), "{text}");
        } else {
            self.0.println(text);
        }
    }

    fn bar(total: Option<u64>) -> ProgressBar {
        // Only stderr decides: a user at a terminal may have stdin and stdout in pipes.
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

    /// Sets how much is done.
    pub(crate) fn set(&self, done: u64) {
        self.0.set_position(done);
    }

    /// Sets the total, once it is known.
    pub(crate) fn set_total(&self, total: u64) {
        self.0.set_length(total);
    }

    /// Sets the text next to the bar.
    pub(crate) fn say(&self, text: impl FnOnce() -> String) {
        if !self.0.is_hidden() {
            self.0.set_message(text());
        }
    }
}

/// Units per second; small rates get a decimal place.
fn write_rate(state: &ProgressState, out: &mut dyn fmt::Write) {
    let rate = state.per_sec();
    // Writing to a string does not fail.
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
