//! A table of D4M's schema as a relation.

use std::fmt;
use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use ostrakon_cell::{Authorizations, Batch, BatchLimit, Range, ScanOptions, Table};

use super::exploded::columns;
use super::reader::D4mReader;
use super::tables::Reader;
use crate::scan::{
    Asked, ByteSet, Encoding, Reading, Relation, SourceExec, Start, after, after_tests,
    batch_bytes, encoded, entries, partitions, planned_scan, pushdown, text, with_rest,
};

/// Entries and bytes of a batch.
const BATCH: BatchLimit = BatchLimit {
    entries: 8192,
    bytes: 1 << 20,
};

/// The columns of the relations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Record,
    Field,
    Value,
    Number,
    Raw,
    Visibility,
    Timestamp,
    Kind,
    Degree,
}

impl Part {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Field => "field",
            Self::Value => "value",
            Self::Number => "number",
            Self::Raw => "raw",
            Self::Visibility => "visibility",
            Self::Timestamp => "timestamp",
            Self::Kind => "kind",
            Self::Degree => "degree",
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Record | Self::Field | Self::Value | Self::Visibility | Self::Kind => {
                DataType::Utf8
            }
            Self::Number => DataType::Float64,
            Self::Raw => DataType::Binary,
            Self::Timestamp | Self::Degree => DataType::Int64,
        }
    }

    fn is_nullable(self) -> bool {
        matches!(self, Self::Field | Self::Number | Self::Degree)
    }
}

/// What the entries of a table mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Row = record, column `field|value`; or the transpose.
    Edges,
    /// Row `field|value`, column = kind of the degree.
    Degrees,
}

impl Form {
    fn parts(self) -> &'static [Part] {
        match self {
            Self::Edges => &[
                Part::Record,
                Part::Field,
                Part::Value,
                Part::Number,
                Part::Raw,
                Part::Visibility,
                Part::Timestamp,
            ],
            Self::Degrees => &[Part::Field, Part::Value, Part::Kind, Part::Degree],
        }
    }

    fn schema(self) -> SchemaRef {
        static SCHEMAS: LazyLock<[SchemaRef; 2]> =
            LazyLock::new(|| [Form::Edges, Form::Degrees].map(Form::new_schema));
        let [edges, degrees] = &*SCHEMAS;
        match self {
            Self::Edges => edges.clone(),
            Self::Degrees => degrees.clone(),
        }
    }

    fn new_schema(self) -> SchemaRef {
        let fields = self.parts().iter();
        let fields =
            fields.map(|part| Field::new(part.name(), part.data_type(), part.is_nullable()));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }
}

/// Texts as their bytes.
struct Text;

impl Encoding for Text {
    fn cut(&self, value: &ScalarValue) -> Option<(Vec<u8>, Vec<u8>)> {
        let bytes = text(value)?.as_bytes();
        Some((bytes.to_vec(), after(bytes)))
    }

    fn prefix(&self, prefix: &str) -> Option<ByteSet> {
        Some(ByteSet::prefix(prefix.as_bytes()))
    }
}

/// Columns whose conditions are evaluated here.
const TESTED: [Part; 4] = [Part::Record, Part::Field, Part::Value, Part::Kind];

/// The column that a condition is about, the texts for which it may hold, and whether it holds for exactly these.
///
/// A condition that is constant is about any column, so it is about one that the relation has.
fn understood(form: Form, condition: &Expr) -> Option<(Part, ByteSet, bool)> {
    let tested = TESTED
        .into_iter()
        .filter(|part| form.parts().contains(part));
    tested.into_iter().find_map(|part| {
        let (set, exact) = encoded(condition, part.name(), &Text)?;
        Some((part, set, exact))
    })
}

/// The texts that conditions leave, by column; `None` for all.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted {
    pub(super) record: Option<ByteSet>,
    pub(super) field: Option<ByteSet>,
    pub(super) value: Option<ByteSet>,
    pub(super) kind: Option<ByteSet>,
}

impl Wanted {
    fn of(form: Form, conditions: &[Expr]) -> Self {
        let mut wanted = Self::default();
        for (part, set, _) in conditions.iter().filter_map(|one| understood(form, one)) {
            let before = match part {
                Part::Record => &mut wanted.record,
                Part::Field => &mut wanted.field,
                Part::Value => &mut wanted.value,
                _ => &mut wanted.kind,
            };
            *before = Some(match before.take() {
                Some(before) => set.intersect(&before),
                None => set,
            });
        }
        wanted
    }

    fn tested(&self) -> Vec<&'static str> {
        let sets = [&self.record, &self.field, &self.value, &self.kind];
        let tested = TESTED.into_iter().zip(sets);
        tested
            .filter_map(|(part, set)| set.as_ref().map(|_| part.name()))
            .collect()
    }
}

/// A table as a relation.
pub(super) struct D4mTable {
    pub(super) form: Form,
    pub(super) table: Arc<dyn Table>,
    pub(super) separator: Arc<[u8]>,
    pub(super) transpose: Option<Arc<dyn Table>>,
    pub(super) reader: Reader,
}

impl fmt::Debug for D4mTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "D4mTable({})", self.table.name())
    }
}

impl D4mTable {
    /// The table to read, whether it is the transpose, and its rows.
    fn path(&self, wanted: &Wanted) -> (Arc<dyn Table>, bool, ByteSet) {
        let columns = columns(
            wanted.field.as_ref(),
            wanted.value.as_ref(),
            &self.separator,
        );
        if self.form == Form::Degrees {
            return (self.table.clone(), false, columns);
        }
        let records = wanted.record.clone().unwrap_or_else(ByteSet::all);
        // Records one by one are the least to read; a range of them may be most of the table.
        match &self.transpose {
            Some(transpose) if !columns.is_all() && records.points().is_none() => {
                (transpose.clone(), true, columns)
            }
            _ if columns.intervals().is_empty() => (self.table.clone(), false, ByteSet::none()),
            _ => (self.table.clone(), false, records),
        }
    }

    /// The plan of a scan.
    fn plan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let wanted = Arc::new(Wanted::of(self.form, filters));
        let (table, is_transpose, rows) = self.path(&wanted);
        let ranges = partitions(&*table, &rows, state, self.reader.sees_layout)?;
        let schema = self.form.schema();
        let asked = Asked {
            schema: &schema,
            projection,
            filters,
            limit,
        };
        let is_exact = |filter: &Expr| matches!(understood(self.form, filter), Some((_, _, true)));
        with_rest(state, &asked, is_exact, |places, limit| {
            let parts = places.iter().filter_map(|at| self.form.parts().get(*at));
            let relation = D4m {
                form: self.form,
                is_transpose,
                parts: parts.copied().collect(),
                schema: Arc::new(schema.project(&places)?),
                table,
                separator: self.separator.clone(),
                authorizations: self.reader.authorizations.clone(),
                sees_layout: self.reader.sees_layout,
                wanted,
                rows,
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

impl TableProvider for D4mTable {
    fn schema(&self) -> SchemaRef {
        self.form.schema()
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
            understood(self.form, filter).map(|(_, _, exact)| exact)
        }))
    }
}

/// The entries that a plan reads.
struct D4m {
    form: Form,
    is_transpose: bool,
    table: Arc<dyn Table>,
    separator: Arc<[u8]>,
    authorizations: Arc<Authorizations>,
    sees_layout: bool,
    wanted: Arc<Wanted>,
    rows: ByteSet,
    parts: Vec<Part>,
    schema: SchemaRef,
    /// By partition.
    ranges: Vec<Vec<Range>>,
    batch: BatchLimit,
}

impl fmt::Debug for D4m {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "D4m({}, {:?})", self.table.name(), self.parts)
    }
}

impl Relation for D4m {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn partitions(&self) -> usize {
        self.ranges.len()
    }

    fn order(&self) -> Vec<(usize, bool)> {
        // Columns sort as texts with their separators, and not as fields and values.
        match (self.form, self.is_transpose) {
            (Form::Edges, false) => {
                let record = self.parts.iter().position(|part| *part == Part::Record);
                record.map(|at| (at, false)).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn rows(&self) -> Option<u64> {
        let entries = entries(&*self.table, &self.rows, self.sees_layout)?;
        // Conditions that the rows express are not tested again.
        let wanted = &self.wanted;
        let of_columns = [&wanted.field, &wanted.value];
        let of_columns = of_columns.into_iter().flatten().count();
        let of_rows = match self.form == Form::Degrees || self.is_transpose {
            true => of_columns,
            false => usize::from(wanted.record.is_some()),
        };
        Some(after_tests(entries, wanted.tested().len() - of_rows))
    }

    fn open(&self, start: Start) -> ostrakon_cell::Result<Vec<Box<dyn Reading>>> {
        let left = start.limit.unwrap_or(usize::MAX);
        // Of filtered entries more are read than are wanted.
        let least = if self.wanted.tested().is_empty() {
            1
        } else {
            1024
        };
        let options = ScanOptions {
            authorizations: Authorizations::clone(&self.authorizations),
            batch: BatchLimit {
                entries: self.batch.entries.min(left.max(least)),
                bytes: self.batch.bytes,
            },
            interrupt: Some(start.interrupt),
            ..ScanOptions::default()
        };
        let scans = self.table.scan_parts(&self.ranges, &options)?;
        let reading = |scan| {
            Box::new(D4mReader {
                scan,
                form: self.form,
                is_transpose: self.is_transpose,
                table: self.table.name(),
                separator: self.separator.clone(),
                wanted: self.wanted.clone(),
                parts: self.parts.clone(),
                schema: self.schema.clone(),
                batch: Batch::new(),
                sum: None,
                left,
            }) as Box<dyn Reading>
        };
        Ok(scans.into_iter().map(reading).collect())
    }

    fn describe(&self) -> Vec<(&'static str, String)> {
        let names: Vec<&str> = self.parts.iter().map(|part| part.name()).collect();
        let mut pairs = vec![
            ("table", self.table.name()),
            ("columns", format!("[{}]", names.join(", "))),
            ("rows", self.rows.to_string()),
        ];
        let tested = self.wanted.tested();
        if !tested.is_empty() {
            pairs.push(("tested", format!("[{}]", tested.join(", "))));
        }
        if self.ranges.len() > 1 {
            pairs.push(("partitions", self.ranges.len().to_string()));
        }
        pairs
    }
}
