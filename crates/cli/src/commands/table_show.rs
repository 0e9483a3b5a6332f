//! `table list|splits|tablets|locate|du`: commands that show tables.

use ostrakon_cell::{Source, TableInfo, TabletInfo};
use serde_json::{Value, json};

use super::access::find_table;
use crate::args::Bytes;
use crate::failure::Result;
use crate::output::{Columns, Output, bytes, escape, escape_part, grouped, with_bytes};

/// Totals over the tablets of a table.
#[derive(Debug, Default)]
struct Sum {
    tablets: u64,
    files: u64,
    entries: u64,
    bytes: u64,
    memory_entries: u64,
    memory_bytes: u64,
}

impl Sum {
    fn of(tablets: &[TabletInfo]) -> Self {
        tablets.iter().fold(Self::default(), |sum, tablet| Self {
            tablets: sum.tablets + 1,
            files: sum.files + tablet.files,
            entries: sum.entries + tablet.entries,
            bytes: sum.bytes + tablet.bytes,
            memory_entries: sum.memory_entries + tablet.memory_entries,
            memory_bytes: sum.memory_bytes + tablet.memory_bytes,
        })
    }
}

fn sum(source: &dyn Source, table: &TableInfo) -> Result<Sum> {
    Ok(Sum::of(&source.table(&table.name)?.tablets()?))
}

/// The tables.
pub(super) fn list(source: &dyn Source, long: bool, out: &mut Output) -> Result<()> {
    let mut columns = Columns::new(&[
        "table",
        "id",
        "state",
        "time",
        ">tablets",
        ">files",
        ">entries",
        ">in memory",
        ">size",
    ]);
    for table in source.tables()? {
        let state = if table.online { "online" } else { "offline" };
        let time = table.time_type.as_str();
        if !long {
            let object = json!({
                "table": table.name, "id": table.id, "online": table.online, "time_type": time,
            });
            out.object(&object, || table.name.clone())?;
            continue;
        }
        let sum = sum(source, &table)?;
        if out.is_json() {
            let object = json!({
                "table": table.name, "id": table.id, "online": table.online, "time_type": time,
                "tablets": sum.tablets, "files": sum.files, "entries": sum.entries,
                "bytes": sum.bytes, "memory_entries": sum.memory_entries,
                "memory_bytes": sum.memory_bytes,
            });
            out.object(&object, String::new)?;
        }
        columns.row(vec![
            table.name,
            table.id,
            state.into(),
            time.into(),
            grouped(sum.tablets),
            grouped(sum.files),
            grouped(sum.entries),
            grouped(sum.memory_entries),
            bytes(sum.bytes),
        ]);
    }
    if long && !out.is_json() {
        columns.write(out.stream())?;
    }
    Ok(())
}

/// The split points of a table.
pub(super) fn splits(source: &dyn Source, table: &str, out: &mut Output) -> Result<()> {
    for tablet in find_table(source, table)?.tablets()? {
        if let Some(end) = &tablet.end {
            let object = with_bytes(json!({}), "row", Some(end));
            out.object(&object, || escape(end).into_owned())?;
        }
    }
    Ok(())
}

/// The tablets of a table.
pub(super) fn tablets(source: &dyn Source, table: &str, out: &mut Output) -> Result<()> {
    let mut columns = Columns::new(&[
        "after row",
        "up to row",
        ">files",
        ">entries",
        ">in memory",
        ">size",
        "location",
    ]);
    let json = out.is_json();
    for tablet in find_table(source, table)?.tablets()? {
        let (after, end) = (tablet.previous_end.as_deref(), tablet.end.as_deref());
        if json {
            let object = json!({
                "files": tablet.files,
                "entries": tablet.entries, "bytes": tablet.bytes,
                "memory_entries": tablet.memory_entries, "memory_bytes": tablet.memory_bytes,
                "location": tablet.location,
            });
            out.object(&with_ends(object, after, end), String::new)?;
        }
        columns.row(vec![
            shown_end(after, "(first)"),
            shown_end(end, "(last)"),
            grouped(tablet.files),
            grouped(tablet.entries),
            grouped(tablet.memory_entries),
            bytes(tablet.bytes),
            tablet.location.clone(),
        ]);
    }
    if !json {
        columns.write(out.stream())?;
    }
    Ok(())
}

fn with_ends(object: Value, after: Option<&[u8]>, end: Option<&[u8]>) -> Value {
    let object = with_bytes(object, "previous_end", after);
    with_bytes(object, "end", end)
}

/// An end of a tablet in a column, where blanks separate.
fn shown_end(row: Option<&[u8]>, open: &str) -> String {
    row.map_or(open.to_owned(), |row| escape_part(row, " ").into_owned())
}

/// The tablets that hold rows.
pub(super) fn locate(
    source: &dyn Source,
    table: &str,
    rows: &[Bytes],
    out: &mut Output,
) -> Result<()> {
    let table = find_table(source, table)?;
    let mut columns = Columns::new(&["row", "after row", "up to row", "location"]);
    let json = out.is_json();
    for Bytes(row) in rows {
        let found = table.locate(row)?;
        let (after, end) = &found.rows;
        let (after, end) = (after.as_deref(), end.as_deref());
        if json {
            let object = json!({"location": found.location, "layout": found.layout});
            let object = with_bytes(object, "row", Some(row));
            out.object(&with_ends(object, after, end), String::new)?;
        }
        columns.row(vec![
            escape_part(row, " ").into_owned(),
            shown_end(after, "(first)"),
            shown_end(end, "(last)"),
            found.location,
        ]);
    }
    if !json {
        columns.write(out.stream())?;
    }
    Ok(())
}

/// The disk usage of tables, and the memory of entries that are not flushed yet.
pub(super) fn du(source: &dyn Source, names: &[String], out: &mut Output) -> Result<()> {
    for name in names {
        find_table(source, name)?;
    }
    let mut columns = Columns::new(&["table", ">size", ">bytes", ">files", ">in memory"]);
    let json = out.is_json();
    for table in source.tables()? {
        if !names.is_empty() && !names.contains(&table.name) {
            continue;
        }
        let sum = sum(source, &table)?;
        if json {
            let object = json!({
                "table": table.name, "bytes": sum.bytes, "files": sum.files,
                "memory_bytes": sum.memory_bytes, "memory_entries": sum.memory_entries,
            });
            out.object(&object, String::new)?;
        }
        columns.row(vec![
            table.name,
            bytes(sum.bytes),
            grouped(sum.bytes),
            grouped(sum.files),
            bytes(sum.memory_bytes),
        ]);
    }
    if !json {
        columns.write(out.stream())?;
    }
    Ok(())
}
