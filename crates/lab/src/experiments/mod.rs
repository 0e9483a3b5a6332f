//! The tables and figures of published papers, rerun.
//!
//! Each experiment is a plan of rows; each row makes its table anew for every repetition, runs its
//! phases, and leaves numbers, samples and distributions in a [`Record`].

mod catalogue;
mod graph_phases;
mod kepner2014;
mod phases;
mod plan;
mod record;
mod rig;
mod run;
mod sen2013;
#[cfg(test)]
mod tests;

pub use catalogue::{Experiment, experiment, experiments};
pub use record::{
    Column, Conditions, LatencySeries, Paper, Plot, PlotSeries, RECORD_VERSION, RateSeries, Record,
    Repetition, Row, Unit,
};
pub use rig::{Rig, RigConditions, RigSettings};
pub use run::{ExperimentOptions, run_experiment};
