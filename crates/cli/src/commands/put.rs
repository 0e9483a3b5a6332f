//! `put`

use std::io::Read as _;
use std::sync::Arc;

use ostrakon_cell::{BatchWriter, BatchWriterConfig, ColumnUpdate, MAX_VALUE_BYTES, Source, Table};
use serde_json::json;

use super::access::{find_table_within, refuse_events, refuse_records};
use crate::args::{Bytes, CellArgs, PutArgs};
use crate::failure::{Failure, Result};
use crate::output::{Output, with_bytes};

/// Writes one entry.
pub(super) fn run(source: &dyn Source, args: &PutArgs, out: &mut Output) -> Result<()> {
    let table = find_table_within(source, &args.cell.table, args.cell.within.timeout)?;
    refuse_events(source, &args.cell.table)?;
    refuse_records(
        &*table,
        "write records with `ostrakon sql -c \"INSERT INTO …\"`",
    )?;
    let value = value(&args.value)?;
    change_cell(table, &args.cell, args.timestamp, Some(&value))?;
    let object = json!({"table": args.cell.table, "written": 1});
    let object = with_bytes(object, "row", Some(&args.cell.row.0));
    out.object(&object, String::new)
}

/// Writes or deletes a cell, and waits until that is done.
pub(super) fn change_cell(
    table: Arc<dyn Table>,
    cell: &CellArgs,
    timestamp: Option<i64>,
    value: Option<&[u8]>,
) -> Result<()> {
    let config = BatchWriterConfig {
        durability: cell.durability,
        ..BatchWriterConfig::default()
    };
    let update = ColumnUpdate {
        family: &cell.family.0,
        qualifier: &cell.qualifier.0,
        visibility: cell.visibility.as_bytes(),
        timestamp,
        value,
    };
    let mut writer = BatchWriter::new(table, config);
    writer.put(&cell.row.0, update)?;
    Ok(writer.close()?)
}

fn value(argument: &str) -> Result<Vec<u8>> {
    if argument != "-" {
        return Ok(argument.parse::<Bytes>().map_err(Failure::usage)?.0);
    }
    let mut value = Vec::new();
    // One byte more than allowed is enough for the store to reject the value.
    let limit = MAX_VALUE_BYTES as u64 + 1;
    std::io::stdin()
        .lock()
        .take(limit)
        .read_to_end(&mut value)
        .map_err(|error| Failure::io("cannot read stdin", &error))?;
    Ok(value)
}
