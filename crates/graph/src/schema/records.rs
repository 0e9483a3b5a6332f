//! The D4M 2.0 schema: every value of every record is indexed.

use ostrakon_cell::Result;

use super::edge_tables::{EdgeTableNames, EdgeTables};
use super::writers::{Same, Writer};
use crate::tables::GraphContext;

/// Names of the tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordTables {
    /// Row = record, column `field|value`, value 1.
    pub edges: String,
    /// The transpose: row `field|value`, column record.
    pub transpose: Option<String>,
    /// Row `field|value`, column `Degree`: in how many records.
    pub degrees: Option<String>,
    /// Row = record, column `Text`: the record as it came.
    pub text: Option<String>,
    /// Row and column `field`: in how many records.
    pub fields: Option<String>,
    /// The separator between field and value. Default: `|`.
    pub separator: u8,
}

impl RecordTables {
    /// D4M's names: `prefix` alone and followed by `T`, `Deg`, `Txt`, `Field`.
    #[must_use]
    pub fn named(prefix: &str) -> Self {
        let with = |suffix: &str| Some(format!("{prefix}{suffix}"));
        Self {
            edges: prefix.to_owned(),
            transpose: with("T"),
            degrees: with("Deg"),
            text: with("Txt"),
            fields: with("Field"),
            separator: b'|',
        }
    }
}

/// Writes records into the tables of the schema, which are made where they are missing.
///
/// ```
/// use ostrakon_graph::{GraphContext, RecordTables, RecordWriter, edge_id};
/// use ostrakon_store::Store;
/// let context = GraphContext::new(Store::in_memory()?);
/// let mut writer = RecordWriter::new(&context, &RecordTables::named("Tedge"))?;
/// let fields = [("ip".as_bytes(), "10.0.0.1".as_bytes()), (b"port", b"80")];
/// writer.add(&edge_id(1, 8), fields, Some(b"10.0.0.1 80"))?;
/// writer.close()?;
/// # Ok::<(), ostrakon_cell::Error>(())
/// ```
pub struct RecordWriter {
    tables: EdgeTables<1>,
    text: Option<Writer>,
    fields: Option<Writer>,
    separator: u8,
    field_counts: std::collections::BTreeMap<Vec<u8>, u64>,
    column: Vec<u8>,
    label: Vec<u8>,
}

/// Fields counted before their counts are written.
const FIELDS_MAX: usize = 1 << 16;

impl RecordWriter {
    /// Opens or makes the tables.
    ///
    /// # Errors
    /// The source refuses a name.
    pub fn new(context: &GraphContext, tables: &RecordTables) -> Result<Self> {
        let open = |name: &Option<String>, same| {
            let name = name.as_ref();
            name.map(|name| Writer::open(context, name, same))
                .transpose()
        };
        let names = EdgeTableNames {
            edges: &tables.edges,
            transpose: tables.transpose.as_deref(),
            degrees: tables.degrees.as_deref(),
        };
        Ok(Self {
            tables: EdgeTables::open(context, &names, Same::Newest, [b"Degree"])?,
            text: open(&tables.text, Same::Newest)?,
            fields: open(&tables.fields, Same::Summed)?,
            separator: tables.separator,
            field_counts: std::collections::BTreeMap::new(),
            column: Vec::new(),
            label: context.label(),
        })
    }

    /// Sets the label of the records to come. Default: the context's. Degrees are kept for each label
    /// apart, so that readers do not count what they may not see.
    ///
    /// # Errors
    /// As [`add`](Self::add): the counts so far are written under the label before.
    pub fn set_label(&mut self, label: &[u8]) -> Result<()> {
        if label == self.label {
            return Ok(());
        }
        // What can fail comes first: after a failure every table still has the label before.
        self.write_field_counts()?;
        self.tables.set_label(label)?;
        for writer in self.text.iter_mut().chain(&mut self.fields) {
            writer.set_label(label);
        }
        self.label.clear();
        self.label.extend_from_slice(label);
        Ok(())
    }

    /// Adds a record: its id, its fields with their values, and its text.
    ///
    /// A record added twice counts twice in the degrees.
    ///
    /// # Errors
    /// A malformed label, a key that is too large, the failure of an earlier batch.
    pub fn add<'a>(
        &mut self,
        record: &[u8],
        fields: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
        text: Option<&[u8]>,
    ) -> Result<()> {
        for (field, value) in fields {
            self.column.clear();
            self.column.extend_from_slice(field);
            self.column.push(self.separator);
            self.column.extend_from_slice(value);
            self.tables.put(record, &self.column, b"1")?;
            self.tables.count(&self.column, 0, 1.0)?;
            if self.fields.is_some() {
                match self.field_counts.get_mut(field) {
                    Some(count) => *count += 1,
                    None => {
                        self.field_counts.insert(field.to_vec(), 1);
                    }
                }
            }
        }
        if let (Some(table), Some(text)) = (&mut self.text, text) {
            table.put(record, b"Text", text)?;
        }
        if self.field_counts.len() >= FIELDS_MAX {
            self.write_field_counts()?;
        }
        self.tables.spill()
    }

    fn write_field_counts(&mut self) -> Result<()> {
        if let Some(fields) = &mut self.fields {
            for (field, count) in std::mem::take(&mut self.field_counts) {
                fields.put(&field, &field, count.to_string().as_bytes())?;
            }
        }
        Ok(())
    }

    /// Writes what is collected and waits until it is acknowledged.
    ///
    /// # Errors
    /// The first failure since the last flush.
    pub fn flush(&mut self) -> Result<()> {
        self.write_field_counts()?;
        for writer in self.text.iter_mut().chain(&mut self.fields) {
            writer.flush()?;
        }
        self.tables.flush()
    }

    /// [`flush`](Self::flush); returns the number of entries written to all tables.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn close(mut self) -> Result<u64> {
        self.flush()?;
        let others = self.text.iter().chain(&self.fields);
        Ok(self.tables.written() + others.map(|writer| writer.written).sum::<u64>())
    }
}
