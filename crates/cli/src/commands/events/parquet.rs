//! Rows of Parquet files as records: a value that is null is a field that the record does not have.

use std::path::Path;

use ostrakon_cell::{Error, ErrorKind};
use ostrakon_events::{Record, RecordSource, Step};

use crate::failure::Result;
use crate::import::{self, Consumed, Parquet, Presence, RecordReader as _};

pub(super) struct ParquetRows {
    rows: Parquet,
    row: import::Record,
    names: Vec<String>,
}

impl ParquetRows {
    pub(super) fn open(path: &Path, consumed: Consumed) -> Result<Self> {
        let rows = Parquet::open(path, consumed)?;
        let fields = rows.fields();
        let names = (0..fields.len() as u32).map(|id| fields.name(id).to_owned());
        Ok(Self {
            names: names.collect(),
            rows,
            row: import::Record::default(),
        })
    }
}

impl RecordSource for ParquetRows {
    fn next(&mut self, record: &mut Record) -> ostrakon_cell::Result<Step> {
        record.clear();
        let step = self.rows.next(&mut self.row).map_err(|failure| {
            let reason = failure.named("reason").unwrap_or_default().to_owned();
            Error::new(ErrorKind::Io, failure.message().to_owned()).with("reason", reason)
        })?;
        Ok(match step {
            import::Step::End => Step::End,
            import::Step::Reject(reason) => Step::Rejected(reason),
            import::Step::Record => {
                for field in self.row.fields() {
                    if field.presence != Presence::Missing {
                        record.push(field.id, self.row.bytes(field));
                    }
                }
                Step::Record
            }
        })
    }

    fn names(&self) -> &[String] {
        &self.names
    }

    fn line(&self) -> u64 {
        self.row.line()
    }

    fn text(&self) -> &[u8] {
        b""
    }
}
