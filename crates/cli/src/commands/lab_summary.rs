//! What `lab run` prints about an experiment: a summary of our rows, then the paper's rows.

use std::path::Path;

use ostrakon_lab::experiments::{Column, Record, Row, Unit, verdicts};
use serde_json::json;

use crate::failure::{Failure, Result};
use crate::output::{Columns, Output};

/// Shows the record as JSON, or a summary as text.
pub(super) fn show(record: &Record, file: &Path, out: &mut Output) -> Result<()> {
    let refuse = |error: serde_json::Error| {
        Failure::bug("cannot show the record").with("reason", error.to_string())
    };
    if out.is_json() {
        let mut object = serde_json::to_value(record).map_err(refuse)?;
        if let Some(fields) = object.as_object_mut() {
            fields.insert("record".into(), json!(file.display().to_string()));
        }
        return out.object(&object, String::new);
    }
    let stream = out.stream();
    let times = match record.conditions.repetitions {
        1 => "once".to_owned(),
        more => format!("mean ± standard deviation of {more}"),
    };
    writeln!(
        stream,
        "{}: {}\n\nThis machine (scale {}, {times}, durability {})",
        record.experiment, record.title, record.conditions.scale, record.conditions.durability,
    )?;
    ours(record).write(stream)?;
    writeln!(stream)?;
    for verdict in verdicts(record, &[]) {
        writeln!(stream, "{verdict}")?;
    }
    writeln!(stream, "\nThe paper ({})", record.paper.label)?;
    let mut theirs = Columns::new(&record.paper.columns);
    for row in &record.paper.rows {
        theirs.row(row.clone());
    }
    theirs.write(stream)?;
    let directory = file.parent().unwrap_or(Path::new("."));
    writeln!(
        stream,
        "\nrecord: {}\n`ostrakon lab report {}` shows all results, and what to consider when you compare them\n",
        file.display(),
        directory.display()
    )?;
    // A run of all experiments takes long, so each is shown as soon as it is done.
    Ok(stream.flush()?)
}

/// One line per row, with its rates, or with all numbers if the experiment has no rates.
fn ours(record: &Record) -> Columns {
    let is_rate = |column: &&Column| matches!(column.unit, Unit::PerSecond | Unit::PerMinute);
    let mut shown: Vec<&Column> = record.columns.iter().filter(is_rate).collect();
    if shown.is_empty() {
        shown = record.columns.iter().collect();
    }
    // Nothing of a short run has a maximum or an average of samples.
    shown.retain(|column| {
        let has = |row: &Row| row.metrics.contains_key(&column.key);
        record.rows.iter().any(has)
    });
    let heads = shown.iter().map(|column| format!(">{}", column.label));
    let heads: Vec<String> = std::iter::once("measured".to_owned())
        .chain(heads)
        .collect();
    let mut columns = Columns::new(&heads);
    for row in &record.rows {
        let cells = shown.iter().map(|column| cell(row, column));
        columns.row(std::iter::once(row.name.clone()).chain(cells).collect());
    }
    columns
}

fn cell(row: &Row, column: &Column) -> String {
    match row.metrics.get(&column.key) {
        Some(spread) => column.unit.show_spread(spread),
        None => "–".to_owned(),
    }
}
