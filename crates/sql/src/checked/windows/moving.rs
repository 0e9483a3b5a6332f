//! Aggregates over frames whose first row moves.
//!
//! The engine takes the values of the rows that leave a frame away from the result. With floating-point numbers that is not
//! the result for the rows that stay: after an infinite value there are only NaNs, and after `1e20` smaller values are
//! lost. And there are aggregates from which nothing can be taken away, `bool_and` for one. So these are computed from the
//! rows of the frame alone.
//!
//! The engine also reverses the order of a window, and with it the frame, if the rows come in the other order. A frame that
//! only grows would move then, so these aggregates are not reversed. Nor is any other whose frame grows: it would end with
//! the partition then, and all rows would be kept.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::expr::WindowFunctionParams;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ExprSchemable, ReversedUDAF, Signature,
};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};

use super::distinct::DistinctRows;
use super::in_frame::{Recomputed, TwoStacks};
use super::is_growing;
use super::median::MovingMedian;
use super::memory::kept::{Kept, Measure};
use super::memory::results::{CountedResults, may_be_long};

/// The aggregate for windows, which counts what it keeps; `None` if the engine's is exact for the frames of the function,
/// and keeps one value.
pub(super) fn for_windows(
    aggregate: &Arc<AggregateUDF>,
    params: &WindowFunctionParams,
    schema: &DFSchema,
    pool: &Arc<dyn MemoryPool>,
) -> Option<Arc<AggregateUDF>> {
    if aggregate.inner().downcast_ref::<InWindow>().is_some() {
        return None;
    }
    let name = aggregate.name();
    let frame = &params.window_frame;
    // Of all rows, in any order if that has no effect.
    let is_whole = frame.start_bound.is_unbounded() && frame.end_bound.is_unbounded();
    let is_exact = (is_whole && !depends_on_order(name)) || is_exact(name, params, schema);
    let keeps_one = match is_whole {
        true => !grows(name),
        false => matches!(name, "count" | "sum"),
    };
    let keeps_one = keeps_one && !params.distinct && !has_long_results(aggregate, params, schema);
    if is_exact && keeps_one && !is_growing(frame) {
        return None;
    }
    Some(Arc::new(AggregateUDF::from(InWindow {
        engines: Arc::clone(aggregate),
        is_exact,
        is_reversible: is_exact && !is_growing(frame),
        is_whole,
        keeps_one: is_exact && keeps_one,
        pool: Arc::clone(pool),
    })))
}

/// Whether what an aggregate keeps grows with the rows, also without DISTINCT.
fn grows(name: &str) -> bool {
    matches!(
        name,
        "array_agg" | "string_agg" | "median" | "percentile_cont"
    )
}

fn has_long_results(
    aggregate: &AggregateUDF,
    params: &WindowFunctionParams,
    schema: &DFSchema,
) -> bool {
    let kinds = params.args.iter().map(|value| value.get_type(schema));
    let result = kinds
        .collect::<Result<Vec<_>>>()
        .and_then(|kinds| aggregate.return_type(&kinds));
    result.is_ok_and(|kind| may_be_long(&kind))
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
        "approx_distinct" | "median" => true,
        "percentile_cont" => !params.distinct,
        "sum" => {
            let kind = params.args.first().map(|value| value.get_type(schema));
            match kind {
                Some(Ok(kind)) => {
                    kind.is_decimal() || matches!(kind, DataType::Int64 | DataType::UInt64)
                }
                _ => false,
            }
        }
        _ => false,
    }
}

/// An aggregate of the engine in windows.
#[derive(Debug)]
struct InWindow {
    engines: Arc<AggregateUDF>,
    /// Whether values can be taken away from it.
    is_exact: bool,
    /// Whether it may be computed in the reverse order.
    is_reversible: bool,
    /// Whether its frames are whole partitions.
    is_whole: bool,
    /// Whether one value is all that it keeps.
    keeps_one: bool,
    pool: Arc<dyn MemoryPool>,
}

impl PartialEq for InWindow {
    fn eq(&self, other: &Self) -> bool {
        let flags = |of: &Self| (of.is_exact, of.is_reversible, of.is_whole, of.keeps_one);
        self.engines == other.engines && flags(self) == flags(other)
    }
}

impl Eq for InWindow {}

impl Hash for InWindow {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.engines.hash(state);
    }
}

impl InWindow {
    fn counted(
        &self,
        inner: Box<dyn Accumulator>,
        measure: Measure,
        result: &DataType,
    ) -> Box<dyn Accumulator> {
        let kept = Kept::new(inner, measure, Arc::clone(&self.pool));
        match may_be_long(result) {
            true => Box::new(CountedResults::new(Box::new(kept), self.name())),
            false => Box::new(kept),
        }
    }

    /// About the bytes of a row of a frame that moves, without those of long values: a row as a list of values, and what is
    /// made of it.
    fn bytes_of_row(&self, args: &AccumulatorArgs, states: usize) -> usize {
        const ROW: usize = 64;
        let values = match self.name() {
            // Each with the extreme of the rows before it.
            "min" | "max" => 4,
            "median" => 2,
            _ => args.exprs.len().max(states),
        };
        ROW + values * size_of::<ScalarValue>()
    }
}

impl AggregateUDFImpl for InWindow {
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
        if self.keeps_one {
            return self.engines.accumulator(args);
        }
        let result = args.return_field.data_type().clone();
        let inner: Box<dyn Accumulator> = match median_of(self.name(), &args) {
            // The engine would look at all values for each result.
            Some(kind) if !self.is_whole => {
                let is_distinct = args.is_distinct;
                let maker = Maker::new(Arc::clone(&self.engines), args);
                Box::new(MovingMedian::new(maker, &kind, is_distinct)?)
            }
            _ => self.engines.accumulator(args)?,
        };
        Ok(self.counted(inner, Measure::Size, &result))
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
        let bytes_of_row = self.bytes_of_row(&args, state.len());
        let result = args.return_field.data_type().clone();
        // States of other types grow with the rows, and there would be one for each row. Two stacks change the order of rows.
        let is_small = state.iter().all(|field| {
            let kind = field.data_type();
            kind.is_primitive() || *kind == DataType::Boolean
        });
        let is_ordered = depends_on_order(self.name());
        let maker = |args: AccumulatorArgs| Maker::new(Arc::clone(&self.engines), args);
        let inner: Box<dyn Accumulator> = match (self.name(), median_of(self.name(), &args)) {
            (_, Some(kind)) => {
                let is_distinct = args.is_distinct;
                Box::new(MovingMedian::new(maker(args), &kind, is_distinct)?)
            }
            ("approx_distinct", _) => Box::new(DistinctRows::counted()),
            _ if self.is_exact => self.engines.create_sliding_accumulator(args)?,
            _ if args.is_distinct && !is_ordered => Box::new(DistinctRows::new(maker(args))),
            _ if is_small && !is_ordered => Box::new(TwoStacks::new(maker(args))?),
            _ => Box::new(Recomputed::new(maker(args))),
        };
        Ok(self.counted(inner, Measure::PerRow(bytes_of_row), &result))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.engines.order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        match self.engines.reverse_udf() {
            ReversedUDAF::Identical if self.is_reversible => ReversedUDAF::Identical,
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

/// The type of the values of a median.
fn median_of(name: &str, args: &AccumulatorArgs) -> Option<DataType> {
    let kind = args.expr_fields.first()?.data_type();
    (name == "median" && !kind.is_null()).then(|| kind.clone())
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
