//! Aggregates over frames whose first row moves.
//!
//! The engine takes the values of the rows that leave a frame away from the result. With floating-point numbers that is not
//! the result for the rows that stay: after an infinite value there are only NaNs, and after `1e20` smaller values are
//! lost. And there are aggregates from which nothing can be taken away, `bool_and` for one. So these are computed from the
//! rows of the frame alone.
//!
//! The engine also reverses the order of a window, and with it the frame, if the rows come in the other order. A frame that
//! only grows would move then, so these aggregates are not reversed.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::WindowFunctionParams;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ExprSchemable, ReversedUDAF, Signature,
};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};

use super::in_frame::{Recomputed, TwoStacks};

/// The aggregate for frames that move; `None` if the engine's is exact for those of the function.
pub(super) fn for_moving_frames(
    aggregate: &Arc<AggregateUDF>,
    params: &WindowFunctionParams,
    schema: &DFSchema,
) -> Option<Arc<AggregateUDF>> {
    let frame = &params.window_frame;
    // Of all rows, in any order if that has no effect.
    let is_whole = frame.start_bound.is_unbounded() && frame.end_bound.is_unbounded();
    let is_whole = is_whole && !depends_on_order(aggregate.name());
    let is_replaced = aggregate.inner().downcast_ref::<Moving>().is_some();
    if is_whole || is_replaced || is_exact(aggregate.name(), params, schema) {
        return None;
    }
    Some(Arc::new(AggregateUDF::from(Moving {
        engines: Arc::clone(aggregate),
    })))
}

/// Whether the result depends on the order of the rows. The engine returns it in reverse if it reverses a window.
fn depends_on_order(name: &str) -> bool {
    matches!(
        name,
        "array_agg" | "string_agg" | "first_value" | "last_value" | "nth_value" | "any_value"
    )
}

/// Whether the engine, or a function of ours, can take a value away from the aggregate so that nothing is left of it.
fn is_exact(name: &str, params: &WindowFunctionParams, schema: &DFSchema) -> bool {
    match name {
        "count" | "min" | "max" => true,
        "median" | "percentile_cont" => !params.distinct,
        "sum" => {
            let kind = params.args.first().map(|value| value.get_type(schema));
            match kind {
                Some(Ok(DataType::Int64 | DataType::UInt64)) => true,
                Some(Ok(kind)) => kind.is_decimal() && !params.distinct,
                _ => false,
            }
        }
        _ => false,
    }
}

/// An aggregate of the engine over frames that move.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Moving {
    engines: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for Moving {
    fn name(&self) -> &str {
        self.engines.name()
    }

    fn signature(&self) -> &Signature {
        self.engines.signature()
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        self.engines.return_type(kinds)
    }

    fn return_field(&self, fields: &[FieldRef]) -> Result<FieldRef> {
        self.engines.return_field(fields)
    }

    fn is_nullable(&self) -> bool {
        self.engines.is_nullable()
    }

    fn coerce_types(&self, kinds: &[DataType]) -> Result<Vec<DataType>> {
        self.engines.coerce_types(kinds)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.engines.accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.engines.state_fields(args)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let state = self.engines.state_fields(StateFieldsArgs {
            name: args.name,
            input_fields: args.expr_fields,
            return_field: Arc::clone(&args.return_field),
            ordering_fields: &[],
            is_distinct: args.is_distinct,
        })?;
        let maker = Maker::new(Arc::clone(&self.engines), args);
        // States of other types grow with the rows, and there would be one for each row. Two stacks change the order of rows.
        let is_small = state.iter().all(|field| {
            let kind = field.data_type();
            kind.is_primitive() || *kind == DataType::Boolean
        });
        Ok(match is_small && !depends_on_order(self.name()) {
            true => Box::new(TwoStacks::new(maker)?),
            false => Box::new(Recomputed::new(maker)),
        })
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.engines.order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::NotSupported
    }

    fn default_value(&self, kind: &DataType) -> Result<ScalarValue> {
        self.engines.default_value(kind)
    }

    fn supports_null_handling_clause(&self) -> bool {
        self.engines.supports_null_handling_clause()
    }

    fn supports_within_group_clause(&self) -> bool {
        self.engines.supports_within_group_clause()
    }
}

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
    fn new(aggregate: Arc<AggregateUDF>, args: AccumulatorArgs) -> Self {
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
