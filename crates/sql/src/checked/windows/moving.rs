//! Aggregates over frames whose first row moves.
//!
//! The engine takes the values of the rows that leave a frame away from the result. With floating-point numbers that is not
//! the result for the rows that stay: after an infinite value there are only NaNs, and after `1e20` smaller values are
//! lost. And there are aggregates from which nothing can be taken away, `bool_and` for one. So these are computed from the
//! rows of the frame alone.

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

use super::two_stacks::{Recomputed, TwoStacks};

/// The aggregate for frames that move; `None` if the engine's is exact for those of the function.
pub(super) fn over_frames(
    aggregate: &Arc<AggregateUDF>,
    params: &WindowFunctionParams,
    schema: &DFSchema,
) -> Option<Arc<AggregateUDF>> {
    if params.window_frame.is_ever_expanding() {
        return None;
    }
    let is_exact = match aggregate.name() {
        // Their states are values of rows, or numbers of rows.
        "count" | "min" | "max" | "median" | "percentile_cont" | "array_agg" | "bit_xor" => true,
        // Of these, integers and decimals.
        "sum" => {
            let kind = params.args.first().map(|value| value.get_type(schema));
            let is_float = !matches!(kind, Some(Ok(kind)) if !kind.is_floating());
            !is_float && !params.distinct
        }
        _ => false,
    };
    let known = aggregate.inner().downcast_ref::<Moving>().is_some();
    (!is_exact && !known).then(|| {
        Arc::new(AggregateUDF::from(Moving {
            engines: Arc::clone(aggregate),
        }))
    })
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
        // States of other types grow with the rows, and there would be one for each row.
        let is_small = state.iter().all(|field| {
            let kind = field.data_type();
            kind.is_primitive() || *kind == DataType::Boolean
        });
        Ok(match is_small {
            true => Box::new(TwoStacks::new(maker)?),
            false => Box::new(Recomputed::new(maker)),
        })
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.engines.order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        match self.engines.reverse_udf() {
            ReversedUDAF::Identical => ReversedUDAF::Identical,
            _ => ReversedUDAF::NotSupported,
        }
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
