//! One table of a schema writer.

use ostrakon_cell::{BatchWriter, ColumnUpdate, ErrorKind, IteratorScope, Result, TableOptions};

use crate::Plus;
use crate::tables::{GraphContext, stock_setting};

/// What becomes of values of one place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Same {
    /// The newest stays.
    Newest,
    /// Whole numbers are added up.
    Summed,
}

pub(super) struct Writer {
    writer: BatchWriter,
    visibility: Vec<u8>,
    pub(super) written: u64,
}

impl Writer {
    /// Opens a table, making it where it is missing.
    pub(super) fn open(context: &GraphContext, name: &str, same: Same) -> Result<Self> {
        let table = match context.source.table(name) {
            Err(error) if error.kind() == ErrorKind::TableNotFound => {
                let mut options = TableOptions::default();
                if same == Same::Summed {
                    options.properties =
                        stock_setting(Plus::Sum).to_properties(&IteratorScope::ALL);
                }
                context.source.create_table(name, &options)?;
                context.source.table(name)?
            }
            outcome => outcome?,
        };
        Ok(Self {
            writer: BatchWriter::new(table, context.writer.clone()),
            visibility: context.label(),
            written: 0,
        })
    }

    /// The label of what is put from here on.
    pub(super) fn set_label(&mut self, label: &[u8]) {
        self.visibility.clear();
        self.visibility.extend_from_slice(label);
    }

    pub(super) fn put(&mut self, row: &[u8], qualifier: &[u8], value: &[u8]) -> Result<()> {
        self.written += 1;
        self.writer.put(
            row,
            ColumnUpdate {
                family: b"",
                qualifier,
                visibility: &self.visibility,
                timestamp: None,
                value: Some(value),
            },
        )
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.writer.flush()
    }
}
