//! A store in memory, and queries on it.

use std::sync::Arc;

use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use ostrakon_cell::{
    Authorizations, BatchWriter, BatchWriterConfig, ColumnUpdate, Result, Source, TableOptions,
};
use ostrakon_sql::{SqlOptions, SqlSession};
use ostrakon_store::Store;

pub(crate) fn store() -> Arc<dyn Source> {
    Store::in_memory().unwrap()
}

/// A session without authorizations, with two threads.
pub(crate) fn session(source: &Arc<dyn Source>) -> SqlSession {
    session_of(source, &[])
}

pub(crate) fn session_of(source: &Arc<dyn Source>, authorizations: &[&str]) -> SqlSession {
    let authorizations = Authorizations::new(authorizations).unwrap();
    let options = SqlOptions {
        threads: 2,
        sees_layout: true,
        ..SqlOptions::default()
    };
    SqlSession::new(source.clone(), authorizations, options).unwrap()
}

/// One entry: row, family, qualifier, label, timestamp, value.
pub(crate) type Entry<'a> = (&'a [u8], &'a [u8], &'a [u8], &'a str, i64, &'a [u8]);

/// A table with these entries, split at these rows.
pub(crate) fn table(source: &Arc<dyn Source>, name: &str, splits: &[&[u8]], entries: &[Entry<'_>]) {
    let options = TableOptions {
        splits: splits.iter().map(|row| row.to_vec()).collect(),
        ..TableOptions::default()
    };
    source.create_table(name, &options).unwrap();
    let mut writer = BatchWriter::new(source.table(name).unwrap(), BatchWriterConfig::default());
    for (row, family, qualifier, label, timestamp, value) in entries {
        let update = ColumnUpdate {
            family,
            qualifier,
            visibility: label.as_bytes(),
            timestamp: Some(*timestamp),
            value: Some(value),
        };
        writer.put(row, update).unwrap();
    }
    writer.close().unwrap();
}

/// The rows of a statement as text: values separated by `|`, bytes as text with escapes.
pub(crate) fn rows(session: &SqlSession, statement: &str) -> Vec<String> {
    try_rows(session, statement).unwrap_or_else(|error| panic!("{statement}: {error}"))
}

pub(crate) fn try_rows(session: &SqlSession, statement: &str) -> Result<Vec<String>> {
    let batches: Vec<RecordBatch> = session.query_blocking(statement)?.collect::<Result<_>>()?;
    let mut rows = Vec::new();
    let options = FormatOptions::default().with_null("NULL");
    for batch in &batches {
        let columns: Vec<_> = batch.columns().iter().collect();
        for row in 0..batch.num_rows() {
            let cells = columns.iter().map(|column| {
                use datafusion::arrow::array::{Array as _, AsArray as _};
                if column.is_valid(row)
                    && let Some(bytes) = column.as_binary_opt::<i32>()
                {
                    return ostrakon_cell::Escaped(bytes.value(row)).to_string();
                }
                ArrayFormatter::try_new(column, &options)
                    .unwrap()
                    .value(row)
                    .to_string()
            });
            rows.push(cells.collect::<Vec<_>>().join("|"));
        }
    }
    Ok(rows)
}

/// The seeds of a random test: the `few` first ones, or those that the environment asks for.
pub(crate) fn seeds(few: u64) -> Vec<u64> {
    let number = |name| {
        std::env::var(name)
            .ok()
            .and_then(|text: String| text.parse::<u64>().ok())
    };
    if let Some(seed) = number("OSTRAKON_MODEL_SEED") {
        return vec![seed];
    }
    match number("OSTRAKON_MODEL_RUNS") {
        Some(runs) => {
            let first = std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .unwrap()
                .as_secs()
                * 1000;
            (first..first + runs).collect()
        }
        None => (1..=few).collect(),
    }
}

/// The plan of a query.
pub(crate) fn explain(session: &SqlSession, query: &str) -> String {
    rows(session, &format!("EXPLAIN {query}")).join("\n")
}
