//! The run.

use std::sync::Arc;

use ostrakon_cell::{Result, Source};

use super::options::{IngestFigures, IngestOptions};
use crate::Progress;

/// Writes linked lists.
///
/// # Errors
/// Bad options, the table cannot be created, or a write fails.
pub fn run_ingest(
    source: &Arc<dyn Source>,
    options: &IngestOptions,
    progress: &dyn Progress,
) -> Result<IngestFigures> {
    let _ = (source, options, progress);
    Err(crate::continuous::pending())
}
