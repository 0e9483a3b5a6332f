//! The tables and figures of published papers, rerun.

mod catalogue;
mod record;
mod rig;
mod run;

pub use catalogue::{Experiment, experiment, experiments};
pub use record::{Conditions, PaperRow, Record, Repetition, Row};
pub use rig::{Rig, RigConditions, RigSettings};
pub use run::{ExperimentOptions, run_experiment};
