//! One file per rule. Each has `check`, which returns findings, and tests with bad samples.

pub mod dead_files;
pub mod decisions;
pub mod dependencies;
pub mod fixtures;
pub mod fuzzed;
pub mod imports;
pub mod language;
pub mod layers;
pub mod length;
pub mod links;
pub mod lints;
pub mod map;
pub mod mutants;
pub mod packages;
pub mod pages;
pub mod reasons;
pub mod size;
