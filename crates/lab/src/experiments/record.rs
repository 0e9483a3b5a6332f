//! What a run leaves behind: one JSON file.

use serde::{Deserialize, Serialize};

/// The record of one run of an experiment.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Record {}

/// What a number is worth nothing without.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Conditions {}

/// A row of the paper's table.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PaperRow {}

/// One row of ours.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Row {}

/// One repetition of a row.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Repetition {}
