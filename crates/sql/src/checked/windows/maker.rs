//! Accumulators of an aggregate, as many as frames need.

use std::sync::Arc;

use datafusion::arrow::datatypes::{FieldRef, Schema};
use datafusion::common::Result;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, AggregateUDF};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};

/// What makes an accumulator.
#[derive(Debug)]
pub(super) struct Maker {
    aggregate: Arc<AggregateUDF>,
    name: String,
    return_field: FieldRef,
    schema: Schema,
    order: Vec<PhysicalSortExpr>,
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    fields: Vec<FieldRef>,
    ignore_nulls: bool,
    is_reversed: bool,
    is_distinct: bool,
}

impl Maker {
    pub(super) fn new(aggregate: Arc<AggregateUDF>, args: AccumulatorArgs) -> Self {
        Self {
            aggregate,
            name: args.name.to_owned(),
            return_field: args.return_field,
            schema: args.schema.clone(),
            order: args.order_bys.to_vec(),
            exprs: args.exprs.to_vec(),
            fields: args.expr_fields.to_vec(),
            ignore_nulls: args.ignore_nulls,
            is_reversed: args.is_reversed,
            is_distinct: args.is_distinct,
        }
    }

    /// A new accumulator, without values.
    pub(super) fn make(&self) -> Result<Box<dyn Accumulator>> {
        self.aggregate.accumulator(AccumulatorArgs {
            return_field: Arc::clone(&self.return_field),
            schema: &self.schema,
            ignore_nulls: self.ignore_nulls,
            order_bys: &self.order,
            is_reversed: self.is_reversed,
            name: &self.name,
            is_distinct: self.is_distinct,
            exprs: &self.exprs,
            expr_fields: &self.fields,
        })
    }
}
