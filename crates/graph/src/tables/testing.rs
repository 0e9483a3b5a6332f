//! A store in memory for tests, with this crate's iterators or without.

use ostrakon_cell::{BatchWriter, BatchWriterConfig, ColumnUpdate, Scanner, TableOptions};
use ostrakon_store::vfs::MemoryVfs;
use ostrakon_store::{Components, Store, StoreOptions};

use super::GraphContext;
use crate::iterators::register_graph_iterators;
use crate::number::parse_number;

pub(crate) fn context() -> GraphContext {
    open(true)
}

/// A store that has only the stock iterators: the same algorithms must fall back.
pub(crate) fn plain_context() -> GraphContext {
    open(false)
}

fn open(registered: bool) -> GraphContext {
    let mut components = Components {
        vfs: MemoryVfs::shared(),
        ..Components::default()
    };
    if registered {
        register_graph_iterators(&mut components.iterators);
    }
    let options = StoreOptions {
        background: false,
        ..StoreOptions::default()
    };
    let store = Store::open_with(components, "/store", options).expect("opens");
    GraphContext::new(store)
}

/// A table of these entries, without labels.
pub(crate) fn fill<R: AsRef<[u8]>, C: AsRef<[u8]>, V: AsRef<[u8]>>(
    context: &GraphContext,
    name: &str,
    entries: impl IntoIterator<Item = (R, C, V)>,
) {
    let _ = context.source.create_table(name, &TableOptions::default());
    let table = context.table(name).expect("made");
    let mut writer = BatchWriter::new(table, BatchWriterConfig::default());
    for (row, column, value) in entries {
        let update = ColumnUpdate {
            qualifier: column.as_ref(),
            value: Some(value.as_ref()),
            ..ColumnUpdate::default()
        };
        writer.put(row.as_ref(), update).expect("fits");
    }
    writer.close().expect("written");
}

/// Everything in a table: row, qualifier, number.
pub(crate) fn read(context: &GraphContext, name: &str) -> Vec<(String, String, f64)> {
    let table = context.table(name).expect("there");
    let entries = Scanner::new(table)
        .authorizations(context.authorizations.clone())
        .entries()
        .expect("reads");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    entries
        .into_iter()
        .map(|entry| {
            let value = parse_number(&entry.value).expect("number");
            (text(entry.key.row), text(entry.key.qualifier), value)
        })
        .collect()
}
