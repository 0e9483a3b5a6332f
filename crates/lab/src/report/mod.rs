//! The report: records of experiments as one HTML page that needs nothing else: no script, no
//! style sheet, no font from elsewhere.

mod chart;
mod page;
mod picture;
mod plots;
mod section;
mod text;

pub use page::{ReportSummary, write_report};
