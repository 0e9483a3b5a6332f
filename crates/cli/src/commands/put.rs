//! `put`

use std::io::Read as _;
use std::sync::Arc;

use ostrakon_cell::{
    BatchWriter, BatchWriterConfig, ColumnUpdate, Durability, MAX_VALUE_BYTES, Source, Table,
};
use serde_json::json;

use super::access::find_table;
use crate::args::{Bytes, PutArgs};
use crate::failure::{Failure, Result};
use crate::output::{Output, escape};

/// Writes one entry.
pub(super) fn run(source: &dyn Source, args: &PutArgs, out: &mut Output) -> Result<()> {
    let table = find_table(source, &args.table)?;
    let value = value(&args.value)?;
    let update = ColumnUpdate {
        family: &args.family.0,
        qualifier: &args.qualifier.0,
        visibility: args.visibility.as_bytes(),
        timestamp: args.timestamp,
        value: Some(&value),
    };
    write_one(&table, args.durability, &args.row.0, update)?;
    let object = json!({"table": args.table, "row": escape(&args.row.0), "written": 1});
    out.object(&object, String::new)
}

/// Writes one update and waits for it.
pub(super) fn write_one(
    table: &Arc<dyn Table>,
    durability: Option<Durability>,
    row: &[u8],
    update: ColumnUpdate<'_>,
) -> Result<()> {
    let config = BatchWriterConfig {
        durability,
        ..BatchWriterConfig::default()
    };
    let mut writer = BatchWriter::new(Arc::clone(table), config);
    writer.put(row, update)?;
    Ok(writer.close()?)
}

fn value(argument: &str) -> Result<Vec<u8>> {
    if argument != "-" {
        return Ok(argument.parse::<Bytes>().map_err(Failure::usage)?.0);
    }
    let mut value = Vec::new();
    // One byte more than allowed is enough to be refused.
    let limit = MAX_VALUE_BYTES as u64 + 1;
    std::io::stdin()
        .lock()
        .take(limit)
        .read_to_end(&mut value)?;
    Ok(value)
}
