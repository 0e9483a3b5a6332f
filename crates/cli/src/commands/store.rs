//! `checkpoint` and `check`

use ostrakon_cell::Source;
use serde_json::json;

use crate::args::CheckpointArgs;
use crate::failure::{Failure, Result};
use crate::interrupt::Watch;
use crate::output::{Output, bytes, counted};
use crate::progress::Progress;

/// Copies the store.
pub(super) fn checkpoint(
    source: &dyn Source,
    args: &CheckpointArgs,
    out: &mut Output,
) -> Result<()> {
    source.checkpoint(&args.directory)?;
    let shown = args.directory.display().to_string();
    out.object(&json!({"directory": shown}), || {
        format!("the store is copied to {shown}")
    })
}

/// Verifies the store; a failure if anything is wrong.
pub(super) fn check(source: &dyn Source, out: &mut Output) -> Result<()> {
    let watch = Watch::start();
    let progress = Progress::bytes(None);
    let report = source.check(&mut |done, total| {
        progress.set_total(total);
        progress.set(done);
        !watch.stopped()
    })?;
    drop(progress);
    let problems: Vec<_> = report
        .problems
        .iter()
        .map(|one| json!({"file": one.file, "table": one.table, "message": one.message}))
        .collect();
    let object = json!({
        "files": report.files,
        "bytes": report.bytes,
        "entries": report.entries,
        "problems": problems,
    });
    out.object(&object, || {
        let mut text = format!(
            "read {}, {}, {}: {}",
            counted(report.files, "file", "files"),
            bytes(report.bytes),
            counted(report.entries, "entry", "entries"),
            counted(report.problems.len() as u64, "problem", "problems"),
        );
        for one in &report.problems {
            let table = one
                .table
                .as_deref()
                .map_or(String::new(), |table| format!(" (table {table})"));
            text.push_str(&format!("\n{}{table}: {}", one.file, one.message));
        }
        text
    })?;
    if report.problems.is_empty() {
        return Ok(());
    }
    Err(
        Failure::outcome("the store is damaged; what is not listed stays readable")
            .with("problems", report.problems.len().to_string())
            .next("restore the damaged files from a checkpoint, or export what can be read"),
    )
}
