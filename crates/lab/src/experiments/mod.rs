//! The tables and figures of published papers, rerun.
//!
//! Each experiment is a plan of rows; each row makes a new table for every repetition, runs its
//! phases, and puts numbers, samples and distributions into a [`Record`].

mod catalogue;
mod fusionio2013;
mod graph_phases;
#[cfg(feature = "sql")]
mod hive_phases;
#[cfg(feature = "sql")]
mod ivanov2014;
mod kepner2014;
mod phases;
mod plan;
mod record;
mod request_phases;
mod rig;
mod run;
mod sawyer2013;
mod sen2013;
#[cfg(test)]
mod tests;
mod unit;
mod verdicts;
mod ycsb_phases;

pub use catalogue::{Experiment, experiment, experiments};
pub use record::{
    Column, Conditions, LatencySeries, Paper, Plot, PlotSeries, RECORD_VERSION, RateSeries, Record,
    Repetition, Row,
};
pub use rig::{DiskModel, EmulatedStorage, Rig, RigConditions, RigSettings};
pub use run::{ExperimentOptions, run_experiment};
pub use unit::Unit;
pub(crate) use unit::short;
pub use verdicts::verdicts;
