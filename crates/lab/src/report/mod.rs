//! The report: records of experiments and of the continuous test as one HTML page that needs nothing else: no script,
//! no style sheet, no font from elsewhere.

mod chart;
mod conditions;
mod first;
mod page;
mod picture;
mod plots;
mod records;
mod runs;
mod section;
mod text;

pub use page::{ReportOptions, ReportSummary, write_report};
