//! Runs one experiment and writes its record.

use std::path::PathBuf;

use ostrakon_cell::{Durability, Result};

use super::record::Record;
use super::rig::Rig;
use crate::Progress;

/// Settings of [`run_experiment`].
#[derive(Debug, Clone)]
pub struct ExperimentOptions {
    /// Factor on the numbers of entries and seconds. Default 1: a minute or two on two
    /// processors.
    pub scale: f64,
    /// Times each row is measured, on newly made data. Default 3.
    pub repetitions: usize,
    /// Directory for the record, created if it is not there. Default `lab-results`.
    pub out: PathBuf,
    /// Durability of the writes. Default `sync`.
    pub durability: Durability,
}

impl Default for ExperimentOptions {
    fn default() -> Self {
        Self {
            scale: 1.0,
            repetitions: 3,
            out: PathBuf::from("lab-results"),
            durability: Durability::Sync,
        }
    }
}

/// Runs an experiment by name and writes its record as JSON, `NAME-<time>.json`.
///
/// # Errors
/// No such experiment (with a suggestion), the source fails, or the record cannot be written.
pub fn run_experiment(
    rig: &dyn Rig,
    name: &str,
    options: &ExperimentOptions,
    progress: &dyn Progress,
) -> Result<(Record, PathBuf)> {
    let _ = (rig, name, options, progress);
    Err(crate::continuous::pending())
}
