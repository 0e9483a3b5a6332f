//! Agitate: kills the writer again and again, and verifies that nothing acknowledged is lost.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ostrakon_cell::{Result, Source};
use serde::Serialize;

use super::verify::VerifyOptions;
use crate::Progress;

/// What only the caller knows: how to start a writer in a process of its own, and how to open the
/// store when that process is gone.
pub trait Agitated {
    /// A command that ingests until it is killed, into the table and store that are agitated. Its
    /// standard output is read: lines `flushed <writer> <entries>` (see
    /// [`Progress::flushed`]) tell what was acknowledged; other lines are passed over. Its standard
    /// error goes to a pipe and is shown if it dies by itself. `child` counts from 0 and serves to
    /// vary the seed.
    ///
    /// # Errors
    /// When the program cannot be named.
    fn ingest_command(&self, child: u64) -> Result<Command>;

    /// Opens the store.
    ///
    /// # Errors
    /// When it cannot be opened; then the agitation has found something.
    fn open(&self) -> Result<Arc<dyn Source>>;
}

/// Settings of [`run_agitate`].
#[derive(Debug, Clone)]
pub struct AgitateOptions {
    /// Times a writer is killed. Default 3.
    pub kills: u64,
    /// The shortest time a writer lives after its first sign of life. Default 0.5 s.
    pub life_min: Duration,
    /// The longest. Default 5 s. The moment is drawn evenly between the two.
    pub life_max: Duration,
    /// Verifies after every kill instead of only at the end. Default no.
    pub verify_each: bool,
    /// How to verify. The table is named here.
    pub verify: VerifyOptions,
    /// Start of the random sequence. `None`, the default, draws one.
    pub seed: Option<u64>,
}

impl Default for AgitateOptions {
    fn default() -> Self {
        Self {
            kills: 3,
            life_min: Duration::from_millis(500),
            life_max: Duration::from_secs(5),
            verify_each: false,
            verify: VerifyOptions::default(),
            seed: None,
        }
    }
}

/// What agitation found. Nothing was lost when [`undefined`](Self::undefined),
/// [`corrupt`](Self::corrupt) and [`lost`](Self::lost) are 0.
#[derive(Debug, Clone, Default, Serialize)]
pub struct AgitateFigures {
    /// Times a writer was killed.
    pub kills: u64,
    /// Entries in the table at the end.
    pub entries: u64,
    /// Rows that others point to and that are not there.
    pub undefined: u64,
    /// Entries that are damaged.
    pub corrupt: u64,
    /// Rows that others point to.
    pub referenced: u64,
    /// Rows nobody points to.
    pub unreferenced: u64,
    /// Entries that were there before plus those the writers said were acknowledged.
    pub acknowledged: u64,
    /// Acknowledged entries that are not in the table. The links alone would not show the loss of the newest
    /// entries, which nothing points to yet.
    pub lost: u64,
    /// Seconds by the clock.
    pub seconds: f64,
    /// Seconds each opening after a kill took.
    pub open_seconds: Vec<f64>,
    /// What verify said of undefined rows and damaged entries, if any.
    pub findings: Vec<String>,
}

impl AgitateFigures {
    /// Whether nothing was lost or damaged.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.undefined == 0 && self.corrupt == 0 && self.lost == 0
    }
}

/// Starts a writer, kills it with SIGKILL at a random moment, opens the store, and again; verifies
/// at the end.
///
/// # Errors
/// A writer dies by itself (with what it said), the store does not open, or verify fails to run.
pub fn run_agitate(
    agitated: &dyn Agitated,
    options: &AgitateOptions,
    progress: &dyn Progress,
) -> Result<AgitateFigures> {
    let _ = (agitated, options, progress);
    Err(super::pending())
}
