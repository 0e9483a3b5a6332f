//! The workload on a table: each field of a record is an entry, and each write is one mutation.

use std::sync::Arc;

use ostrakon_cell::{
    Authorizations, Batch, BatchLimit, BatchWriter, BatchWriterConfig, Column, ColumnSelection,
    ColumnUpdate, Durability, Mutation, MutationBatch, Range, Result, Scan, ScanOptions, Table,
};

use super::database::{Database, FieldValues, Fields, Records, Status};

/// When a write has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Writes {
    /// When a batch writer has accepted it, as in the Accumulo binding of YCSB: reads see it later, and only the end of
    /// the run waits until it is durable.
    Buffered,
    /// When it is visible, and as durable as the table or the run demands.
    #[default]
    Durable,
}

impl Writes {
    /// The name on the command line and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Buffered => "buffered",
            Self::Durable => "durable",
        }
    }
}

/// How the workload uses a table.
#[derive(Debug, Clone)]
pub struct TableAccess {
    /// The family of all fields; the qualifier is the field's name. Default `ycsb`. A read of all fields selects no
    /// column, as in the Accumulo binding of YCSB: the row is the record.
    pub family: String,
    /// The label of every entry written. Default: none.
    pub visibility: Vec<u8>,
    /// What readers may see. Default: entries without a label.
    pub authorizations: Authorizations,
    /// When a write has ended.
    pub writes: Writes,
    /// Durability of the writes. `None`, the default, takes the table's.
    pub durability: Option<Durability>,
}

impl Default for TableAccess {
    fn default() -> Self {
        Self {
            family: "ycsb".to_owned(),
            visibility: Vec::new(),
            authorizations: Authorizations::default(),
            writes: Writes::default(),
            durability: None,
        }
    }
}

/// One client thread's access to a table.
pub struct TableClient {
    table: Arc<dyn Table>,
    access: TableAccess,
    writer: Option<BatchWriter>,
    mutation: Mutation,
    /// Scans that are started again and again: of all fields, and of the fields named last.
    reads: Readers,
    scans: Readers,
    range: Range,
    batch: Batch,
}

/// A scan of all fields, and one of the fields that were named last.
#[derive(Default)]
struct Readers {
    all: Option<Box<dyn Scan>>,
    named: Option<(Vec<String>, Box<dyn Scan>)>,
}

impl TableClient {
    /// A client of `table`.
    #[must_use]
    pub fn new(table: Arc<dyn Table>, access: TableAccess) -> Self {
        let config = BatchWriterConfig {
            durability: access.durability,
            ..BatchWriterConfig::default()
        };
        let writer = (access.writes == Writes::Buffered)
            .then(|| BatchWriter::new(Arc::clone(&table), config));
        Self {
            table,
            access,
            writer,
            mutation: Mutation::default(),
            reads: Readers::default(),
            scans: Readers::default(),
            range: Range::row(""),
            batch: Batch::new(),
        }
    }

    fn write(&mut self, key: &[u8], values: &FieldValues) -> Result<Status> {
        self.mutation.reset(key);
        for (name, value) in values.iter() {
            self.mutation.update(ColumnUpdate {
                family: self.access.family.as_bytes(),
                qualifier: name,
                visibility: &self.access.visibility,
                timestamp: None,
                value: Some(value),
            })?;
        }
        if let Some(writer) = &mut self.writer {
            writer.add(&self.mutation)?;
            return Ok(Status::BatchedOk);
        }
        let buffer = self.table.batch_buffer(self.mutation.byte_len());
        let mut batch = MutationBatch::with_buffer(buffer);
        batch.push(&self.mutation)?;
        self.table.submit(batch, self.access.durability)?.wait()?;
        Ok(Status::Ok)
    }
}

impl Readers {
    /// A scan of these fields, started at `range`.
    fn start<'a>(
        &'a mut self,
        table: &dyn Table,
        access: &TableAccess,
        fields: Fields<'_>,
        limit: BatchLimit,
        range: &Range,
    ) -> Result<&'a mut Box<dyn Scan>> {
        let ranges = std::slice::from_ref(range);
        let options = |columns| ScanOptions {
            columns,
            authorizations: access.authorizations.clone(),
            batch: limit,
            ..ScanOptions::default()
        };
        match fields {
            Fields::All => {
                match &mut self.all {
                    Some(scan) => scan.restart(ranges)?,
                    none => *none = Some(table.scan(ranges, &options(ColumnSelection::all()))?),
                }
                self.all.as_mut().ok_or_else(absent)
            }
            Fields::Named(names) => {
                match &mut self.named {
                    Some((known, scan)) if known == names => scan.restart(ranges)?,
                    other => {
                        let column =
                            |name: &String| Column::new(access.family.as_bytes(), name.as_bytes());
                        let columns = ColumnSelection::new(names.iter().map(column));
                        let scan = table.scan(ranges, &options(columns))?;
                        *other = Some((names.to_vec(), scan));
                    }
                }
                self.named.as_mut().map(|one| &mut one.1).ok_or_else(absent)
            }
        }
    }
}

/// For scans that were made just before.
fn absent() -> ostrakon_cell::Error {
    ostrakon_cell::Error::new(ostrakon_cell::ErrorKind::Internal, "a scan was not kept")
}

impl Database for TableClient {
    fn insert(&mut self, key: &[u8], values: &FieldValues) -> Result<Status> {
        self.write(key, values)
    }

    fn update(&mut self, key: &[u8], values: &FieldValues) -> Result<Status> {
        self.write(key, values)
    }

    fn read(&mut self, key: &[u8], fields: Fields<'_>, found: &mut Records) -> Result<Status> {
        let Self {
            table,
            access,
            reads,
            range,
            batch,
            ..
        } = self;
        let limit = BatchLimit::default();
        range.set_row(key);
        let scan = match fields {
            // A range instead of a selection: a scan can be started with another one.
            Fields::Named([name]) => {
                *range = Range::row_column(key, access.family.as_bytes(), name.as_bytes());
                reads.start(&**table, access, Fields::All, limit, range)?
            }
            other => reads.start(&**table, access, other, limit, range)?,
        };
        while scan.next_batch(batch)? {
            for entry in batch.iter() {
                if found.is_empty() {
                    found.begin();
                }
                found.field(entry.key.qualifier, entry.value);
            }
        }
        Ok(if found.is_empty() {
            Status::NotFound
        } else {
            Status::Ok
        })
    }

    fn scan(
        &mut self,
        start: &[u8],
        count: usize,
        fields: Fields<'_>,
        found: &mut Records,
    ) -> Result<Status> {
        if count == 0 {
            return Ok(Status::Ok);
        }
        // Batches of this size are few for long scans, and read little in vain for short ones.
        let limit = BatchLimit {
            entries: 256,
            ..BatchLimit::default()
        };
        let range = Range::rows(start..);
        let scan = self
            .scans
            .start(&*self.table, &self.access, fields, limit, &range)?;
        let mut row: Vec<u8> = Vec::new();
        while scan.next_batch(&mut self.batch)? {
            for entry in self.batch.iter() {
                if found.is_empty() || entry.key.row != row {
                    if found.len() == count {
                        return Ok(Status::Ok);
                    }
                    found.begin();
                    row.clear();
                    row.extend_from_slice(entry.key.row);
                }
                found.field(entry.key.qualifier, entry.value);
            }
        }
        Ok(if found.is_empty() {
            Status::NotFound
        } else {
            Status::Ok
        })
    }

    fn cleanup(&mut self) -> Result<()> {
        match &mut self.writer {
            Some(writer) => writer.flush(),
            None => Ok(()),
        }
    }
}
