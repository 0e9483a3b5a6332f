//! Enrichment: fields from a table of keys, added to records.

use std::sync::Arc;

use hashbrown::HashMap;
use ostrakon_cell::{Error, Result};

use super::{RecordSource, Step};
use crate::record::Record;
use crate::value::FieldType;

/// The most bytes of a lookup table.
const BYTES_MAX: usize = 256 << 20;

/// Rows by key, in memory.
pub struct LookupTable {
    /// The field of records that has the key.
    field: String,
    names: Vec<String>,
    rows: HashMap<Vec<u8>, Record>,
}

impl LookupTable {
    /// Reads a table whose first column is the key; the other columns are added to records whose `field` is the key.
    ///
    /// # Errors
    /// The source cannot be read or has a bad line or no row with a key; a key that occurs twice; more than 256 MiB.
    pub fn read(field: &str, source: &mut dyn RecordSource) -> Result<Self> {
        let mut table = Self {
            field: field.to_owned(),
            names: Vec::new(),
            rows: HashMap::new(),
        };
        let (mut record, mut bytes) = (Record::default(), 0);
        loop {
            let wrong = |reason: String, line: u64| Err(Error::invalid(reason).with("line", line));
            match source.next(&mut record)? {
                Step::End => break,
                Step::Rejected(reason) => return wrong(reason, source.line()),
                Step::Record => {}
            }
            let Some(key) = record.get(0).map(<[u8]>::to_vec) else {
                continue;
            };
            let mut row = Record::default();
            for (name, value) in record.fields().filter(|(name, _)| *name > 0) {
                row.push(name - 1, value);
                bytes += value.len() + 16;
            }
            bytes += key.len() + 64;
            if bytes > BYTES_MAX {
                return wrong("a lookup table has at most 256 MiB".into(), source.line());
            }
            if table.rows.insert(key, row).is_some() {
                return wrong(
                    "the key of the lookup table occurs twice".into(),
                    source.line(),
                );
            }
        }
        if table.rows.is_empty() {
            return Err(Error::invalid(
                "the lookup table has no row with a key, which is the value of its first column",
            ));
        }
        table.names = source.names().iter().skip(1).cloned().collect();
        Ok(table)
    }
}

struct Enriched {
    source: Box<dyn RecordSource>,
    tables: Vec<Arc<LookupTable>>,
    names: Vec<String>,
    kinds: Vec<Option<FieldType>>,
    /// The position here of each name of the source.
    of_source: Vec<u32>,
    /// For each table: the position of its key in the source, and where its names begin here.
    keys: Vec<(Option<u32>, u32)>,
    inner: Record,
}

/// The records of `source` with the columns of lookup tables. A record without the field, or with a key that the table
/// does not have, stays as it is.
#[must_use]
pub fn enrich(source: Box<dyn RecordSource>, tables: &[Arc<LookupTable>]) -> Box<dyn RecordSource> {
    if tables.is_empty() {
        return source;
    }
    let mut enriched = Enriched {
        source,
        tables: tables.to_vec(),
        names: Vec::new(),
        kinds: Vec::new(),
        of_source: Vec::new(),
        keys: vec![(None, 0); tables.len()],
        inner: Record::default(),
    };
    for (table, key) in tables.iter().zip(&mut enriched.keys) {
        key.1 = enriched.names.len() as u32;
        enriched.names.extend(table.names.iter().cloned());
    }
    enriched.learn();
    Box::new(enriched)
}

impl Enriched {
    /// Takes up names and types that the source has added.
    fn learn(&mut self) {
        let known = self.of_source.len();
        for (at, name) in self.source.names().iter().enumerate().skip(known) {
            self.of_source.push(self.names.len() as u32);
            self.names.push(name.clone());
            for (table, key) in self.tables.iter().zip(&mut self.keys) {
                if table.field == *name {
                    key.0 = Some(at as u32);
                }
            }
        }
        let kinds = self.source.kinds();
        if kinds.iter().any(Option::is_some) {
            self.kinds.clear();
            self.kinds.resize(self.names.len(), None);
            for (&at, kind) in self.of_source.iter().zip(kinds) {
                if let Some(known) = self.kinds.get_mut(at as usize) {
                    *known = *kind;
                }
            }
        }
    }
}

impl RecordSource for Enriched {
    fn next(&mut self, record: &mut Record) -> Result<Step> {
        record.clear();
        let step = self.source.next(&mut self.inner)?;
        if self.of_source.len() < self.source.names().len()
            || self.kinds.is_empty() && !self.source.kinds().is_empty()
        {
            self.learn();
        }
        if step != Step::Record {
            return Ok(step);
        }
        for (name, value) in self.inner.fields() {
            if let Some(&at) = self.of_source.get(name as usize) {
                record.push(at, value);
            }
        }
        for (table, (key, first)) in self.tables.iter().zip(&self.keys) {
            let row = key
                .and_then(|key| self.inner.get(key))
                .and_then(|key| table.rows.get(key));
            for (name, value) in row.into_iter().flat_map(Record::fields) {
                record.push(first + name, value);
            }
        }
        Ok(step)
    }

    fn names(&self) -> &[String] {
        &self.names
    }

    fn kinds(&self) -> &[Option<FieldType>] {
        &self.kinds
    }

    fn line(&self) -> u64 {
        self.source.line()
    }

    fn text(&self) -> &[u8] {
        self.source.text()
    }

    fn position(&self) -> u64 {
        self.source.position()
    }

    fn start(&self) -> u64 {
        self.source.start()
    }

    fn head(&self) -> (usize, u64) {
        self.source.head()
    }

    fn is_unfinished(&self) -> bool {
        self.source.is_unfinished()
    }
}
