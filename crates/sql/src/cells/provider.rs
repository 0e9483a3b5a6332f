//! A table as the relation of its entries.

use std::fmt;
use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use ostrakon_cell::{Authorizations, Batch, BatchLimit, Range, ScanOptions, Table};

use super::filter::{Filter, Part, understood};
use super::reader::CellsReader;
use crate::scan::{
    Asked, ByteSet, Reading, Relation, SourceExec, Start, after_tests, batch_bytes, entries,
    partitions, planned_scan, pushdown, with_rest,
};

/// Entries and bytes of a batch.
const BATCH: BatchLimit = BatchLimit {
    entries: 8192,
    bytes: 1 << 20,
};

static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let field = |part: Part| {
        let kind = match part {
            Part::Timestamp => DataType::Int64,
            _ => DataType::Binary,
        };
        Field::new(part.name(), kind, false)
    };
    Arc::new(Schema::new(Part::ALL.map(field).to_vec()))
});

/// A table as the relation of its entries.
pub(crate) struct CellsTable {
    pub(crate) table: Arc<dyn Table>,
    pub(crate) authorizations: Arc<Authorizations>,
    /// Whether the reader may see into how many parts the table is divided.
    pub(crate) sees_layout: bool,
}

impl fmt::Debug for CellsTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CellsTable({})", self.table.name())
    }
}

impl CellsTable {
    /// The plan of a scan.
    fn plan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let filter = Arc::new(Filter::of(filters));
        let rows = match filter.is_empty() {
            true => ByteSet::none(),
            false => filter.rows(),
        };
        let ranges = partitions(&*self.table, &rows, state, self.sees_layout)?;
        let schema = TableProvider::schema(self);
        let asked = Asked {
            schema: &schema,
            projection,
            filters,
            limit,
        };
        let is_exact = |filter: &Expr| matches!(understood(filter), Some((_, _, true)));
        with_rest(state, &asked, is_exact, |places, limit| {
            let parts = places.iter().filter_map(|at| Part::ALL.get(*at)).copied();
            let relation = Cells {
                parts: parts.collect(),
                schema: Arc::new(SCHEMA.project(&places)?),
                table: self.table.clone(),
                authorizations: self.authorizations.clone(),
                sees_layout: self.sees_layout,
                filter,
                batch: BatchLimit {
                    entries: BATCH.entries.min(state.config().batch_size()),
                    bytes: BATCH.bytes.min(batch_bytes(state, ranges.len())),
                },
                ranges,
            };
            Ok(Arc::new(SourceExec::new(Arc::new(relation), limit)))
        })
    }
}

impl TableProvider for CellsTable {
    fn schema(&self) -> SchemaRef {
        SCHEMA.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    planned_scan!();

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(pushdown(filters, |filter| {
            understood(filter).map(|(_, _, exact)| exact)
        }))
    }
}

/// The entries that a plan reads.
struct Cells {
    table: Arc<dyn Table>,
    authorizations: Arc<Authorizations>,
    sees_layout: bool,
    filter: Arc<Filter>,
    parts: Vec<Part>,
    schema: SchemaRef,
    /// By partition.
    ranges: Vec<Vec<Range>>,
    batch: BatchLimit,
}

impl fmt::Debug for Cells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cells({}, {:?})", self.table.name(), self.parts)
    }
}

impl Relation for Cells {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn partitions(&self) -> usize {
        self.ranges.len()
    }

    fn order(&self) -> Vec<(usize, bool)> {
        let sorted = Part::ALL.iter().take(5);
        let places = sorted.map_while(|part| {
            let at = self.parts.iter().position(|found| found == part)?;
            Some((at, *part == Part::Timestamp))
        });
        places.collect()
    }

    fn rows(&self) -> Option<u64> {
        let entries = entries(&*self.table, &self.filter.rows(), self.sees_layout)?;
        Some(after_tests(entries, self.filter.tests()))
    }

    fn open(&self, start: Start) -> ostrakon_cell::Result<Vec<Box<dyn Reading>>> {
        let left = start.limit.unwrap_or(usize::MAX);
        // Of filtered entries more are read than are wanted.
        let least = if self.filter.describe().is_some() {
            1024
        } else {
            1
        };
        let options = ScanOptions {
            columns: self.filter.columns(),
            authorizations: Authorizations::clone(&self.authorizations),
            batch: BatchLimit {
                entries: self.batch.entries.min(left.max(least)),
                bytes: self.batch.bytes,
            },
            interrupt: Some(start.interrupt),
            ..ScanOptions::default()
        };
        let reading = |scan| {
            Box::new(CellsReader {
                scan,
                filter: self.filter.clone(),
                parts: self.parts.clone(),
                schema: self.schema.clone(),
                batch: Batch::new(),
                left,
            }) as Box<dyn Reading>
        };
        let scans = self.table.scan_parts(&self.ranges, &options)?;
        Ok(scans.into_iter().map(reading).collect())
    }

    fn describe(&self) -> Vec<(&'static str, String)> {
        let names: Vec<&str> = self.parts.iter().map(|part| part.name()).collect();
        let mut pairs = vec![
            ("table", self.table.name()),
            ("columns", format!("[{}]", names.join(", "))),
            ("rows", self.filter.rows().to_string()),
        ];
        pairs.extend(self.filter.describe().map(|shown| ("where", shown)));
        if self.ranges.len() > 1 {
            pairs.push(("partitions", self.ranges.len().to_string()));
        }
        pairs
    }
}
