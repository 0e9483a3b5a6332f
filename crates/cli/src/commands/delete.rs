//! `delete`, `delete-many`, `delete-rows`

use ostrakon_cell::{Batch, BatchWriter, BatchWriterConfig, ColumnUpdate, Source, source};
use serde_json::json;

use super::access::{find_table, find_table_within, refuse_events};
use super::confirm::confirm;
use super::put::change_cell;
use super::rows::scan_request;
use crate::args::{DeleteArgs, DeleteManyArgs, DeleteRowsArgs};
use crate::failure::{Failure, Result};
use crate::interrupt::Watch;
use crate::output::{Output, counted, escape, grouped, with_bytes};
use crate::progress::Progress;

/// Deletes one cell.
pub(super) fn cell(source: &dyn Source, args: &DeleteArgs, out: &mut Output) -> Result<()> {
    let table = find_table_within(source, &args.cell.table, args.cell.within.timeout)?;
    refuse_events(source, &args.cell.table)?;
    change_cell(table, &args.cell, args.timestamp, None)?;
    let object = json!({"table": args.cell.table, "deletes_written": 1});
    let object = with_bytes(object, "row", Some(&args.cell.row.0));
    out.object(&object, String::new)
}

/// Deletes what a scan returns.
pub(super) fn many(source: &dyn Source, args: DeleteManyArgs, out: &mut Output) -> Result<()> {
    let table = find_table(source, &args.table)?;
    refuse_events(source, &args.table)?;
    let mut request = scan_request(&args.table, args.selection)?;
    request.options.ordered = true;
    let entries = format!("all selected entries of `{}`", args.table);
    confirm(
        args.yes,
        &format!("Delete {entries}?"),
        &format!("{entries} would be deleted"),
    )?;
    let watch = Watch::start();
    let progress = Progress::count("entries deleted");
    let mut scan = table.scan(&request.ranges, &request.options)?;
    let mut writer = BatchWriter::new(table.clone(), BatchWriterConfig::default());
    let (mut batch, mut deleted) = (Batch::new(), 0_u64);
    // The scan reads one snapshot, so it does not see these deletes.
    while !watch.stopped() && scan.next_batch(&mut batch)? {
        for entry in batch.iter() {
            let update = ColumnUpdate {
                family: entry.key.family,
                qualifier: entry.key.qualifier,
                visibility: entry.key.visibility,
                timestamp: Some(entry.key.timestamp),
                value: None,
            };
            writer.put(entry.key.row, update)?;
        }
        deleted += batch.len() as u64;
        progress.set(deleted);
    }
    writer.close()?;
    // What is put from now on gets a later time than the markers, which have the times of the entries.
    table.advance_time()?;
    watch.check(&format!("{} entries have been deleted", grouped(deleted)))?;
    drop(progress);
    let object = json!({"table": args.table, "deleted": deleted});
    out.object(&object, || {
        format!("deleted {}", counted(deleted, "entry", "entries"))
    })
}

/// Whether the arguments name rows. Checked before the store is opened.
pub(super) fn check_rows(args: &DeleteRowsArgs) -> Result<()> {
    let (begin, end) = bounds(args);
    if begin.is_none() && end.is_none() && !args.all {
        return Err(Failure::usage("no rows are given")
            .next("use --begin, --end or both, or --all for every row"));
    }
    Ok(source::check_row_range(begin, end)?)
}

fn bounds(args: &DeleteRowsArgs) -> (Option<&[u8]>, Option<&[u8]>) {
    let begin = args.begin.as_ref().map(|row| row.0.as_slice());
    let end = args.end.as_ref().map(|row| row.0.as_slice());
    (begin, end)
}

/// Deletes a range of rows.
pub(super) fn rows(source: &dyn Source, args: &DeleteRowsArgs, out: &mut Output) -> Result<()> {
    let table = find_table(source, &args.table)?;
    refuse_events(source, &args.table)?;
    let (begin, end) = bounds(args);
    let rows = match (begin, end) {
        (None, None) => format!("all rows of `{}`", args.table),
        (begin, end) => format!(
            "the rows of `{}` after {} up to {}",
            args.table,
            begin.map_or("the first".into(), escape),
            end.map_or("the last".into(), escape),
        ),
    };
    confirm(
        args.yes,
        &format!("Delete {rows}?"),
        &format!("{rows} would be deleted"),
    )?;
    table.delete_rows(begin, end)?;
    let object = with_bytes(json!({"table": args.table}), "begin", begin);
    out.object(&with_bytes(object, "end", end), String::new)
}
