//! The D4M 2.0 schema: every value of every record is indexed.

use ostrakon_cell::Result;

use super::degrees::Sums;
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
    /// What stands between field and value. Default: `|`.
    pub separator: u8,
}

impl RecordTables {
    /// D4M's names: `prefix` alone and with `T`, `Deg`, `Txt`, `Field` behind.
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
    edges: Writer,
    transpose: Option<Writer>,
    degrees: Option<Writer>,
    text: Option<Writer>,
    fields: Option<Writer>,
    separator: u8,
    sums: Sums<1>,
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
        Ok(Self {
            edges: Writer::open(context, &tables.edges, Same::Newest)?,
            transpose: open(&tables.transpose, Same::Newest)?,
            degrees: open(&tables.degrees, Same::Summed)?,
            text: open(&tables.text, Same::Newest)?,
            fields: open(&tables.fields, Same::Summed)?,
            separator: tables.separator,
            sums: Sums::new([b"Degree"]),
            field_counts: std::collections::BTreeMap::new(),
            column: Vec::new(),
            label: context.visibility.clone(),
        })
    }

    /// Sets the label of the records to come. Default: the context's. Degrees are kept for each label
    /// apart, so that nobody counts what they may not see.
    ///
    /// # Errors
    /// As [`add`](Self::add): the counts so far are written under the label before.
    pub fn set_label(&mut self, label: &[u8]) -> Result<()> {
        if label == self.label {
            return Ok(());
        }
        self.write_counts()?;
        self.label.clear();
        self.label.extend_from_slice(label);
        let writers = [
            &mut self.transpose,
            &mut self.degrees,
            &mut self.text,
            &mut self.fields,
        ];
        for writer in writers.into_iter().flatten().chain([&mut self.edges]) {
            writer.visibility.clear();
            writer.visibility.extend_from_slice(label);
        }
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
            self.edges.put(record, &self.column, b"1")?;
            if let Some(transpose) = &mut self.transpose {
                transpose.put(&self.column, record, b"1")?;
            }
            if self.degrees.is_some() {
                self.sums.add(&self.column, 0, 1.0)?;
            }
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
        if self.sums.is_full() || self.field_counts.len() >= FIELDS_MAX {
            self.write_counts()?;
        }
        Ok(())
    }

    fn write_counts(&mut self) -> Result<()> {
        if let Some(degrees) = &mut self.degrees {
            self.sums.write(degrees)?;
        }
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
        self.write_counts()?;
        let writers = [
            &mut self.transpose,
            &mut self.degrees,
            &mut self.text,
            &mut self.fields,
        ];
        for writer in writers.into_iter().flatten() {
            writer.flush()?;
        }
        self.edges.flush()
    }

    /// [`flush`](Self::flush); returns the number of entries written to all tables.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn close(mut self) -> Result<u64> {
        self.flush()?;
        let writers = [&self.transpose, &self.degrees, &self.text, &self.fields];
        let others: u64 = writers
            .into_iter()
            .flatten()
            .map(|writer| writer.written)
            .sum();
        Ok(self.edges.written + others)
    }
}
