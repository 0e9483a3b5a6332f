//! S. Sawyer and others 2013: "Understanding Query Performance in Accumulo", queries of web requests by parallel
//! clients.

mod figures;
mod paper;
mod planner;
mod plots;

pub(super) use figures::{figure_4, figure_5, figure_6, figure_7};
pub(super) use paper::CITATION;
pub(super) use planner::planner;
pub(super) use plots::{Crossover, crossover};
