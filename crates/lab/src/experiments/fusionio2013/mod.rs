//! Fusion-io and Sqrrl 2013: "Fusion-io and Sqrrl Make Accumulo Hypersonic", YCSB on flash and on disks.

mod figures;
mod paper;

pub(super) use figures::{figure_3, figure_4};
pub(super) use paper::CITATION;
