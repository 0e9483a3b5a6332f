//! A table with a schema as a relation.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use ostrakon_cell::{
    Authorizations, BatchLimit, Column, ColumnSelection, Range, ScanOptions, Table,
};

use super::filter::{columns, understood, wanted};
use super::layout::Layout;
use super::reader::RecordsReader;
use super::{ColumnType, RecordSchema, key};
use crate::scan::{
    Asked, ByteSet, Reading, Relation, SourceExec, Start, after_tests, batch_bytes, entries,
    partitions, planned_scan, pushdown, with_rest,
};

/// A table with a schema as a relation.
///
/// The engine is not told that its key is unique: it would take the key for unique in a join that is grouped, too, and
/// leave other columns out of GROUP BY.
pub(crate) struct RecordsTable {
    pub(crate) table: Arc<dyn Table>,
    pub(crate) schema: Arc<RecordSchema>,
    relation: SchemaRef,
    /// The same columns as they are stored.
    stored: SchemaRef,
    authorizations: Arc<Authorizations>,
    /// Whether the reader may see into how many parts the table is divided.
    sees_layout: bool,
}

impl RecordsTable {
    pub(crate) fn new(
        table: Arc<dyn Table>,
        schema: RecordSchema,
        authorizations: Arc<Authorizations>,
        sees_layout: bool,
    ) -> Self {
        let stored = schema.stored();
        let fields = schema.order.iter();
        let fields = fields.filter_map(|place| stored.fields().get(*place).cloned());
        Self {
            table,
            relation: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            stored,
            schema: Arc::new(schema),
            authorizations,
            sees_layout,
        }
    }

    /// The relation with one more column at its end, which has the rows as they are stored: of a key
    /// with DOUBLE they may differ from what SQL would write.
    pub(crate) fn with_rows(mut self, name: &str) -> Self {
        let row = Arc::new(Field::new(name, ColumnType::Bytes.data_type(), false));
        for schema in [&mut self.relation, &mut self.stored] {
            let fields = schema.fields().iter().cloned();
            *schema = Arc::new(Schema::new(fields.chain([row.clone()]).collect::<Vec<_>>()));
        }
        self
    }

    /// The plan of a scan.
    fn plan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let names = columns(&self.schema);
        let rows = key::rows(&self.schema.keys, filters);
        let ranges = partitions(&*self.table, &rows, state, self.sees_layout)?;
        let shown: Vec<usize> = match projection {
            Some(places) => places.clone(),
            None => (0..self.relation.fields().len()).collect(),
        };
        let places = shown.into_iter().map(|at| self.schema.place(at)).collect();
        let asked = Asked {
            schema: &self.stored,
            projection: Some(&places),
            filters,
            limit,
        };
        let is_exact = |filter: &Expr| matches!(understood(&names, filter), Some((_, _, true)));
        with_rest(state, &asked, is_exact, |places, limit| {
            let projected = Arc::new(self.stored.project(&places)?);
            let layout = Layout::new(&self.schema, wanted(&names, filters), places, projected);
            let relation = Records {
                table: self.table.clone(),
                schema: self.schema.clone(),
                authorizations: self.authorizations.clone(),
                sees_layout: self.sees_layout,
                layout: Arc::new(layout),
                rows,
                batch: BatchLimit {
                    entries: state.config().batch_size(),
                    bytes: batch_bytes(state, ranges.len()),
                },
                ranges,
            };
            Ok(Arc::new(SourceExec::new(Arc::new(relation), limit)))
        })
    }
}

impl fmt::Debug for RecordsTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordsTable({})", self.table.name())
    }
}

impl TableProvider for RecordsTable {
    fn schema(&self) -> SchemaRef {
        self.relation.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    planned_scan!();

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let columns = columns(&self.schema);
        Ok(pushdown(filters, |filter| {
            understood(&columns, filter).map(|(_, _, exact)| exact)
        }))
    }
}

/// The records that a plan reads.
struct Records {
    table: Arc<dyn Table>,
    schema: Arc<RecordSchema>,
    authorizations: Arc<Authorizations>,
    sees_layout: bool,
    layout: Arc<Layout>,
    rows: ByteSet,
    /// By partition.
    ranges: Vec<Vec<Range>>,
    /// The most records of a batch, and bytes beside its last one.
    batch: BatchLimit,
}

impl Records {
    /// The columns to read. A record exists if it has any cell, so all are read unless a condition needs a column.
    fn selection(&self) -> ColumnSelection {
        if !self.layout.needs_a_column() {
            return ColumnSelection::all();
        }
        let keys = self.schema.keys.len();
        let columns = self.schema.columns.iter().enumerate();
        let needed = columns.filter(|(at, _)| self.layout.is_needed(keys + at));
        ColumnSelection::new(
            needed.map(|(_, column)| {
                Column::new(column.family.as_slice(), column.qualifier.as_slice())
            }),
        )
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Records({})", self.table.name())
    }
}

impl Relation for Records {
    fn schema(&self) -> SchemaRef {
        self.layout.schema.clone()
    }

    fn partitions(&self) -> usize {
        self.ranges.len()
    }

    fn order(&self) -> Vec<(usize, bool)> {
        let returned = &self.layout.returned;
        let keys = self.schema.keys.iter().enumerate();
        // Two zeros are one, but what follows them is sorted for each; and NaNs with a sign come first.
        keys.take_while(|(_, (_, kind))| *kind != ColumnType::Float)
            .map_while(|(key, _)| Some((returned.iter().position(|at| *at == key)?, false)))
            .collect()
    }

    fn rows(&self) -> Option<u64> {
        // A record has an entry for each column that is not NULL.
        let of_record = self.schema.columns.len().max(1) as u64;
        let entries = entries(&*self.table, &self.rows, self.sees_layout)?;
        let records = (entries / of_record).max(entries.min(1));
        let records = match self.rows.points() {
            // A row is a record.
            Some(rows) => records.min(rows.len() as u64),
            None => records,
        };
        let keys = self.schema.keys.len();
        let tests =
            (0..self.schema.columns.len()).filter(|at| self.layout.wanted(keys + at).is_some());
        Some(after_tests(records, tests.count()))
    }

    fn open(&self, start: Start) -> ostrakon_cell::Result<Vec<Box<dyn Reading>>> {
        let left = start.limit.unwrap_or(usize::MAX);
        let cells = left.saturating_mul(1 + self.schema.columns.len()).max(64);
        let options = ScanOptions {
            columns: self.selection(),
            authorizations: Authorizations::clone(&self.authorizations),
            batch: BatchLimit {
                entries: cells.min(8192),
                bytes: self.batch.bytes.min(1 << 20),
            },
            interrupt: Some(start.interrupt),
            ..ScanOptions::default()
        };
        let reading = |scan| {
            let reader = RecordsReader::new(scan, self.layout.clone(), self.batch, left);
            Box::new(reader) as Box<dyn Reading>
        };
        let scans = self.table.scan_parts(&self.ranges, &options)?;
        Ok(scans.into_iter().map(reading).collect())
    }

    fn describe(&self) -> Vec<(&'static str, String)> {
        let schema = self.layout.schema.fields().iter();
        let names: Vec<&str> = schema.map(|field| field.name().as_str()).collect();
        let mut pairs = vec![
            ("table", self.table.name()),
            ("columns", format!("[{}]", names.join(", "))),
            ("rows", self.rows.to_string()),
        ];
        let tested = columns(&self.schema)
            .into_iter()
            .enumerate()
            .filter_map(|(at, (name, _))| self.layout.wanted(at).map(|_| name));
        let tested: Vec<&str> = tested.collect();
        if !tested.is_empty() {
            pairs.push(("tested", format!("[{}]", tested.join(", "))));
        }
        if self.ranges.len() > 1 {
            pairs.push(("partitions", self.ranges.len().to_string()));
        }
        pairs
    }
}
