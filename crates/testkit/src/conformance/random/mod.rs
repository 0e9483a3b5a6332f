//! Random scripts from a seed.
//!
//! What the two sides need not agree on is left out: which of two equal keys in different files is
//! newer, what a marker hides after a compaction that only one side ran, times that the source sets.

mod generator;
mod known;
mod scans;
mod tables;
mod tablets;
mod writes;

pub use generator::generate;
