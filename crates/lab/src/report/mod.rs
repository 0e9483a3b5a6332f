//! The report: records of experiments as one HTML page.

mod page;

pub use page::{ReportSummary, write_report};
