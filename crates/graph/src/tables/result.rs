//! Tables for results: made with a combiner, written in batches or by bulk import.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ostrakon_cell::visibility::conjoin;
use ostrakon_cell::{
    Batch, BatchWriter, BulkWriter, Capability, ColumnUpdate, Error, ErrorKind, IteratorScope,
    IteratorSetting, KeyRef, Result, Table, TableOptions,
};

use super::GraphContext;
use crate::iterators::number_combiner;
use crate::number::format_number;
use crate::semiring::Plus;

/// Priority of the combiner of a result table, as Graphulo's.
const PRIORITY: u32 = 6;

/// Entries from which on a sorted result is imported in bulk instead of written.
const BULK_ENTRIES: u64 = 200_000;

/// A table for results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultTable {
    /// The table's name; it is made when it is missing.
    pub table: String,
    /// The column family of the entries written. Default: empty.
    pub family: Vec<u8>,
}

impl<S: Into<String>> From<S> for ResultTable {
    fn from(table: S) -> Self {
        Self {
            table: table.into(),
            family: Vec::new(),
        }
    }
}

/// What was written, and how much of it was needed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct WriteCount {
    /// Entries written to tables, results and intermediate ones.
    pub entries_written: u64,
    /// Entries the results hold, each counted once.
    pub result_entries: u64,
}

impl WriteCount {
    /// Entries written for each entry of the result: 1 is the least, and where main memory could
    /// do the work much more than a few says that it should. 0 without a result.
    #[must_use]
    pub fn relative_io(&self) -> f64 {
        if self.result_entries == 0 {
            0.0
        } else {
            self.entries_written as f64 / self.result_entries as f64
        }
    }
}

/// A result table that is there, and can be written by several threads.
#[derive(Clone)]
pub(crate) struct TableWriter {
    table: Arc<dyn Table>,
    family: Vec<u8>,
    visibility: Vec<u8>,
    config: ostrakon_cell::BatchWriterConfig,
    /// Only whole numbers may be written: the combiner supports no others.
    whole_only: bool,
    /// The table was made for this.
    pub(crate) fresh: bool,
    bulk: bool,
}

impl TableWriter {
    /// The table, made with a combiner for `plus` where it is missing.
    ///
    /// A table that exists is taken as it is: what happens to entries of one place its own iterators
    /// decide.
    pub(crate) fn open(context: &GraphContext, result: &ResultTable, plus: Plus) -> Result<Self> {
        context.check_label()?;
        Self::open_for_copies(context, result, plus)
    }

    /// As [`open`](Self::open), for entries that bring a label each.
    pub(crate) fn open_for_copies(
        context: &GraphContext,
        result: &ResultTable,
        plus: Plus,
    ) -> Result<Self> {
        Self::open_or(context, result, plus, || {
            create_with_combiner(context, &result.table, plus)
        })
    }

    /// The table, made without combiner where it is missing: its values are texts.
    pub(crate) fn open_text(context: &GraphContext, result: &ResultTable) -> Result<Self> {
        context.check_label()?;
        Self::open_or(context, result, Plus::Max, || {
            let options = TableOptions::default();
            context.source.create_table(&result.table, &options)
        })
    }

    fn open_or(
        context: &GraphContext,
        result: &ResultTable,
        plus: Plus,
        create: impl FnOnce() -> Result<()>,
    ) -> Result<Self> {
        let name = &result.table;
        let mut fresh = false;
        let table = match context.source.table(name) {
            Ok(table) => table,
            Err(error) if error.kind() == ErrorKind::TableNotFound => {
                fresh = true;
                create()?;
                context.source.table(name)?
            }
            Err(error) => return Err(error),
        };
        let stack = IteratorSetting::from_properties(&table.properties()?, IteratorScope::Scan)?;
        let whole_only = stack
            .iter()
            .any(|setting| setting.class.ends_with(stock_combiner(plus)));
        Ok(Self {
            family: result.family.clone(),
            visibility: context.label(),
            config: context.writer.clone(),
            whole_only,
            fresh,
            bulk: table.capabilities().has(Capability::BulkImport),
            table,
        })
    }

    /// Whether the table combines versions, so that partial results may be written to it.
    pub(crate) fn combines(&self) -> Result<bool> {
        let properties = self.table.properties()?;
        let stack = IteratorSetting::from_properties(&properties, IteratorScope::Scan)?;
        Ok(stack
            .iter()
            .any(|setting| setting.class.ends_with("Combiner")))
    }

    pub(crate) fn table(&self) -> &Arc<dyn Table> {
        &self.table
    }

    /// A sink for one thread. `sorted` promises that rows come in ascending order and their columns
    /// too; `expected` is how many entries there may be.
    pub(crate) fn sink(&self, sorted: bool, expected: u64) -> Result<RowSink> {
        let way = if sorted && self.bulk && expected >= BULK_ENTRIES {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            Way::Bulk {
                writer: self.table.bulk_writer()?,
                batch: Batch::new(),
                timestamp: now.map_or(0, |since| since.as_millis() as i64),
            }
        } else {
            Way::Batches(BatchWriter::new(self.table.clone(), self.config.clone()))
        };
        Ok(RowSink {
            way,
            family: self.family.clone(),
            visibility: self.visibility.clone(),
            both: (Vec::new(), self.visibility.clone()),
            whole_only: self.whole_only,
            text: Vec::new(),
            written: 0,
        })
    }
}

/// Writes the results of one thread.
pub(crate) struct RowSink {
    way: Way,
    family: Vec<u8>,
    visibility: Vec<u8>,
    /// The label put last, and it together with `visibility`.
    both: (Vec<u8>, Vec<u8>),
    whole_only: bool,
    text: Vec<u8>,
    written: u64,
}

enum Way {
    Batches(BatchWriter),
    Bulk {
        writer: Box<dyn BulkWriter>,
        batch: Batch,
        timestamp: i64,
    },
}

impl RowSink {
    /// Writes one number.
    pub(crate) fn put(&mut self, row: &[u8], column: &[u8], value: f64) -> Result<()> {
        if self.whole_only && value.fract() != 0.0 {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "the result table's combiner adds whole numbers only: register the graph \
                 iterators where the store is opened, and let a new table be made",
            )
            .with("value", value));
        }
        self.text.clear();
        format_number(value, &mut self.text)?;
        let text = std::mem::take(&mut self.text);
        let outcome = self.put_text(row, column, &text);
        self.text = text;
        outcome
    }

    /// Writes a value as it is.
    pub(crate) fn put_text(&mut self, row: &[u8], column: &[u8], value: &[u8]) -> Result<()> {
        self.put_labelled(row, column, &[], value)
    }

    /// Writes a value as it is, with `label` and the context's together: a label that is given never
    /// takes the place of a stricter one.
    pub(crate) fn put_labelled(
        &mut self,
        row: &[u8],
        column: &[u8],
        label: &[u8],
        value: &[u8],
    ) -> Result<()> {
        self.written += 1;
        if self.both.0 != label {
            self.both.0.clear();
            self.both.0.extend_from_slice(label);
            self.both.1 = conjoin(label, &self.visibility);
        }
        let visibility = &self.both.1;
        match &mut self.way {
            Way::Batches(writer) => writer.put(
                row,
                ColumnUpdate {
                    family: &self.family,
                    qualifier: column,
                    visibility,
                    timestamp: None,
                    value: Some(value),
                },
            ),
            Way::Bulk {
                writer,
                batch,
                timestamp,
            } => {
                let key = KeyRef {
                    row,
                    family: &self.family,
                    qualifier: column,
                    visibility,
                    timestamp: *timestamp,
                    deleted: false,
                };
                batch.push(key, value)?;
                if batch.len() >= 8192 || batch.byte_len() >= 1 << 20 {
                    writer.append(batch)?;
                    batch.clear();
                }
                Ok(())
            }
        }
    }

    /// Makes everything visible; returns the number of entries written.
    pub(crate) fn finish(self) -> Result<u64> {
        match self.way {
            Way::Batches(writer) => writer.close()?,
            Way::Bulk {
                mut writer, batch, ..
            } => {
                if !batch.is_empty() {
                    writer.append(&batch)?;
                }
                if self.written > 0 {
                    writer.finish()?;
                }
            }
        }
        Ok(self.written)
    }
}

/// The stock combiner of whole numbers for `plus`.
fn stock_combiner(plus: Plus) -> &'static str {
    match plus {
        Plus::Sum => "SummingCombiner",
        Plus::Min => "MinCombiner",
        Plus::Max => "MaxCombiner",
    }
}

/// The stock combiner's setting for every column of decimal numbers.
pub(crate) fn stock_setting(plus: Plus) -> IteratorSetting {
    let class = format!(
        "org.apache.accumulo.core.iterators.user.{}",
        stock_combiner(plus)
    );
    IteratorSetting::new(PRIORITY, "plus", class)
        .with("type", "STRING")
        .with("all", "true")
}

/// Makes a table whose versions are combined by `plus`: by this crate's combiner where the source
/// has it, else by the stock one of whole numbers.
pub(crate) fn create_with_combiner(context: &GraphContext, name: &str, plus: Plus) -> Result<()> {
    let options = |setting: IteratorSetting| TableOptions {
        properties: setting.to_properties(&IteratorScope::ALL),
        ..TableOptions::default()
    };
    if context.runs_iterators() {
        let ours = options(number_combiner(PRIORITY, plus));
        match context.source.create_table(name, &ours) {
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::NotFound | ErrorKind::ClassNotFound | ErrorKind::InvalidArgument
                ) => {}
            outcome => return outcome,
        }
    }
    context
        .source
        .create_table(name, &options(stock_setting(plus)))
}
