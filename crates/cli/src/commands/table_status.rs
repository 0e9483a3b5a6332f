//! `table status`: what fails, why, and what to do.

use ostrakon_cell::{
    Activity, Batch, BatchLimit, ErrorKind, Problem, Range, ScanOptions, Source, Table,
};
use serde_json::json;

use super::access::find_table;
use crate::failure::{Failure, Result};
use crate::output::{Output, counted, escape, with_bytes};

/// Shows the problems of one table or of all; fails if there are any.
pub(super) fn run(
    source: &dyn Source,
    table: Option<&str>,
    tried: bool,
    out: &mut Output,
) -> Result<()> {
    let names = match table {
        Some(name) => {
            find_table(source, name)?;
            vec![name.to_owned()]
        }
        None => {
            let online = source.tables()?.into_iter().filter(|table| table.online);
            online.map(|table| table.name).collect()
        }
    };
    if tried {
        for name in &names {
            let table = source.table(name)?;
            // A failure then shows among the problems.
            let _ = table.flush(true);
            read_each_tablet(&*table)?;
        }
    }
    let mut problems = source.problems()?;
    if table.is_some() {
        problems.retain(|problem| problem.table.as_deref() == table);
    }
    for problem in &problems {
        let tablet = problem.tablet.as_ref();
        let object = json!({
            "table": problem.table,
            "tablet": tablet.map(|(after, through)| {
                let object = with_bytes(json!({}), "previous_end", after.as_deref());
                with_bytes(object, "end", through.as_deref())
            }),
            "activity": problem.activity.as_str(),
            "kind": problem.kind.as_str(),
            "message": problem.message,
            "way_out": way_out(problem),
            "times": problem.times,
            "since_millis": problem.since_millis,
            "next_try_millis": problem.next_try_millis,
            "refuses_writes": problem.refuses_writes,
        });
        out.object(&object, || text(problem))?;
    }
    if problems.is_empty() {
        return Ok(());
    }
    let count = counted(problems.len() as u64, "problem", "problems");
    Err(
        Failure::outcome("the listed work fails; tables that are not listed are not affected")
            .with("found", count)
            .next(
                "do what the list says for each, and run `ostrakon table status --try` afterwards",
            ),
    )
}

/// Reads the first entry of each tablet, which opens all of its files. A failure then shows among the problems.
fn read_each_tablet(table: &dyn Table) -> Result<()> {
    let options = ScanOptions {
        batch: BatchLimit {
            entries: 1,
            bytes: usize::MAX,
        },
        ..ScanOptions::default()
    };
    let mut batch = Batch::new();
    for tablet in table.tablets()? {
        let range = Range::tablet(tablet.previous_end.as_deref(), tablet.end.as_deref());
        let _ = table
            .scan(&[range], &options)
            .and_then(|mut scan| scan.next_batch(&mut batch));
    }
    Ok(())
}

fn text(problem: &Problem) -> String {
    let place = match (&problem.table, &problem.tablet) {
        (None, _) => "the store".to_owned(),
        (Some(table), None) => format!("table {table}"),
        (Some(table), Some((after, through))) => {
            let row = |row: &Option<Vec<u8>>, open: &str| {
                row.as_deref()
                    .map_or(open.to_owned(), |row| escape(row).into_owned())
            };
            format!(
                "table {table}, tablet after {} up to {}",
                row(after, "(first)"),
                row(through, "(last)")
            )
        }
    };
    let times = match problem.times {
        0 | 1 => String::new(),
        times => format!(", {times} times"),
    };
    let writes = if problem.refuses_writes {
        "\n  writes: rejected until it is repaired"
    } else {
        ""
    };
    format!(
        "{place}: {} fails{times}: {}{writes}\n  to do: {}",
        problem.activity.as_str(),
        problem.message,
        way_out(problem)
    )
}

/// What the store says to do about it, and the command that does it.
fn way_out(problem: &Problem) -> String {
    let command = match (problem.kind, problem.activity) {
        (ErrorKind::OutOfSpace, _) => None,
        (ErrorKind::Corruption | ErrorKind::NotFound | ErrorKind::Io, _) => {
            Some("ostrakon table restore-file FILE")
        }
        (_, Activity::Flush | Activity::Compaction | Activity::Properties) => {
            Some("ostrakon table config set")
        }
        _ => Some("ostrakon check"),
    };
    match (command, &problem.table) {
        (Some(command), Some(table)) if command.ends_with("set") => {
            format!(
                "{}. The command: `{command} {table} NAME=VALUE`",
                problem.way_out
            )
        }
        (Some(command), Some(_)) => format!("{}. The command: `{command}`", problem.way_out),
        // The log's: its advice needs no command.
        _ => problem.way_out.clone(),
    }
}
