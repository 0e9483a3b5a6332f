//! `checkpoint`, `check`, `repair-log` and `iterators`

use std::path::Path;

use ostrakon_cell::{ClassKind, Error, ErrorKind, Source};
use serde_json::json;

use super::access::{Absent, Access, classes};
use super::confirm::confirm;
use super::events::Concerned;
use crate::args::{CheckpointArgs, IteratorsArgs, RepairLogArgs};
use crate::export::partial_of;
use crate::failure::{Failure, Result, is_log_file, is_table_file};
use crate::interrupt::{Incomplete, Watch};
use crate::output::{Columns, Output, bytes, counted, grouped};
use crate::progress::Progress;

/// Copies the store.
pub(super) fn checkpoint(
    source: &dyn Source,
    args: &CheckpointArgs,
    out: &mut Output,
) -> Result<()> {
    // As the store names it. What another process builds there is not ours to remove.
    let partial = partial_of(&args.directory);
    let incomplete = (!partial.exists()).then(|| Incomplete::in_order(vec![partial.clone()]));
    source.checkpoint(&args.directory)?;
    drop(incomplete);
    let shown = args.directory.display().to_string();
    out.object(&json!({"directory": shown}), || {
        format!("copied the store to {shown}")
    })
}

/// Opens a store with a damaged log for writing, and lists what was lost.
pub(super) fn repair_log(access: &Access, args: &RepairLogArgs, out: &mut Output) -> Result<()> {
    confirm(
        args.yes,
        "Continue without what the damaged part of the log held?",
        "the store would continue without what the damaged part of the log held",
    )?;
    let access = Access {
        accept_log_loss: true,
        ..access.clone()
    };
    let store = access.open(Absent::Refuse)?;
    let damages = store.damages().to_vec();
    let lost_of: Vec<String> = damages.iter().flat_map(|one| one.tables.clone()).collect();
    let concerned = Concerned::by(&*store, &lost_of)?;
    store.close()?;
    let lost: Vec<_> = damages
        .iter()
        .map(|one| {
            json!({
                "file": one.path.display().to_string(), "message": one.to_text(), "tables": one.tables,
            })
        })
        .collect();
    let object = json!({"damages": lost, "event_types": concerned.to_json()});
    out.object(&object, || {
        if damages.is_empty() {
            return "the log is undamaged; nothing was changed".to_owned();
        }
        let mut text =
            "the log continues after the damage; its old segments are in `lost`".to_owned();
        for one in &damages {
            let tables = match one.tables.as_slice() {
                [] => "no table lost writes".to_owned(),
                tables => format!("writes may be missing in {}", tables.join(", ")),
            };
            text.push_str(&format!(
                "\n{}: {}; {tables}",
                one.path.display(),
                one.to_text()
            ));
        }
        text.push_str(&concerned.to_text());
        text
    })
}

/// Lists iterator or constraint classes: all of them, or those with the given names.
pub(super) fn iterators(source: &dyn Source, args: &IteratorsArgs, out: &mut Output) -> Result<()> {
    let (kind, word) = match args.constraints {
        true => (ClassKind::Constraint, "constraint"),
        false => (ClassKind::Iterator, "iterator"),
    };
    let names = match args.names.is_empty() {
        true => classes(kind),
        false => args.names.clone(),
    };
    let mut columns = Columns::new(&["class", "what it does"]);
    for name in &names {
        let Some(info) = source.find_class(kind, name)? else {
            let failure = Error::new(
                ErrorKind::ClassNotFound,
                format!("the store has no such {word} class"),
            );
            let failure = Failure::from(failure.with("class", name));
            return Err(failure.next(match args.constraints {
                true => "run `ostrakon iterators --constraints` to list the classes",
                false => "run `ostrakon iterators` to list the classes",
            }));
        };
        if out.is_json() {
            let object = json!({
                "class": info.name, "description": info.description,
                "scans_only": info.scans_only,
            });
            out.object(&object, String::new)?;
        }
        columns.row(vec![info.name, info.description]);
    }
    if !out.is_json() {
        columns.write(out.stream())?;
    }
    Ok(())
}

/// Verifies the store; fails if anything is wrong.
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
        "log_entries": report.log_entries,
        "problems": problems,
        "notes": report.notes,
    });
    out.object(&object, || {
        let mut text = format!(
            "read {}, {}, {} in table files and {} in the log: {}",
            counted(report.files, "file", "files"),
            bytes(report.bytes),
            counted(report.entries, "entry", "entries"),
            grouped(report.log_entries),
            counted(report.problems.len() as u64, "problem", "problems"),
        );
        for one in &report.problems {
            let table = one
                .table
                .as_deref()
                .map_or(String::new(), |table| format!(" (table {table})"));
            text.push_str(&format!("\n{}{table}: {}", one.file, one.message));
        }
        for note in &report.notes {
            text.push_str(&format!("\nnote: {note}"));
        }
        text
    })?;
    if report.problems.is_empty() {
        return Ok(());
    }
    let problems = report.problems.iter();
    let of_log = problems
        .filter(|one| is_log_file(Path::new(&one.file)))
        .count();
    let message = match of_log {
        0 => "the store is damaged; everything that is not listed is still readable",
        _ => {
            "the store is damaged; writes in the damaged part of the log, and after it, may be missing"
        }
    };
    let mut steps = Vec::new();
    if of_log > 0 {
        steps.push(
            "use a checkpoint, or export what can be read with `ostrakon --allow-damage export TABLE FILE`; then \
             `ostrakon repair-log` continues without what is lost",
        );
    }
    let mut others = report.problems.iter();
    if others.any(|one| is_table_file(Path::new(&one.file))) {
        steps.push(
            "run `ostrakon table restore-file` to restore a table file from a checkpoint; without a copy, export what can \
             be read with `ostrakon export TABLE FILE --skip-damaged`, and `ostrakon table drop-file` continues without \
             the rest",
        );
    }
    if steps.is_empty() {
        steps.push(
            "do what the lines above say; `ostrakon table flush TABLE` opens the store for writing, and so do other commands \
             that write",
        );
    }
    Err(Failure::outcome(message)
        .with("problems", report.problems.len().to_string())
        .next(steps.join("; ")))
}
