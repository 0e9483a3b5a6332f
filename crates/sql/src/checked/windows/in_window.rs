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
use std::sync::{Arc, OnceLock};

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ReversedUDAF, Signature,
};

use super::choice::depends_on_order;
use super::distinct::DistinctRows;
use super::in_frame::{Recomputed, TwoStacks};
use super::maker::Maker;
use super::median::MovingMedian;
use super::memory::{CountedAccumulator, CountedResults, Measure, may_be_long};

/// An aggregate of the engine in windows.
#[derive(Debug)]
pub(super) struct InWindow {
    engines: Arc<AggregateUDF>,
    traits: Traits,
    pool: Arc<dyn MemoryPool>,
    state: OnceLock<State>,
}

/// The state of an accumulator.
#[derive(Clone, Copy, Debug)]
struct State {
    fields: usize,
    /// Others grow with the rows. There would be one for each row, and two stacks change the order of rows.
    is_small: bool,
}

/// What holds for an aggregate and its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Traits {
    /// Whether values can be taken away from it.
    pub(super) is_exact: bool,
    /// Whether it may be computed in the reverse order.
    pub(super) is_reversible: bool,
    /// Whether its frames are whole partitions.
    pub(super) is_whole: bool,
    /// Whether one value is all that it keeps.
    pub(super) keeps_one: bool,
}

impl PartialEq for InWindow {
    fn eq(&self, other: &Self) -> bool {
        self.engines == other.engines && self.traits == other.traits
    }
}

impl Eq for InWindow {}

impl Hash for InWindow {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.engines.hash(state);
        self.traits.hash(state);
    }
}

impl InWindow {
    /// The aggregate, whose memory counts in the pool.
    pub(super) fn of(
        engines: &Arc<AggregateUDF>,
        traits: Traits,
        pool: &Arc<dyn MemoryPool>,
    ) -> Arc<AggregateUDF> {
        Arc::new(AggregateUDF::from(Self {
            engines: Arc::clone(engines),
            traits,
            pool: Arc::clone(pool),
            state: OnceLock::new(),
        }))
    }

    /// Whether an aggregate is one of these.
    pub(super) fn is(aggregate: &AggregateUDF) -> bool {
        aggregate.inner().downcast_ref::<Self>().is_some()
    }

    fn counted(
        &self,
        inner: Box<dyn Accumulator>,
        measure: Measure,
        result: &DataType,
    ) -> Box<dyn Accumulator> {
        let counted = CountedAccumulator::new(inner, measure, Arc::clone(&self.pool));
        match may_be_long(result) {
            true => Box::new(CountedResults::new(Box::new(counted), self.name())),
            false => Box::new(counted),
        }
    }

    /// The state is the same for all partitions, of which there may be many.
    fn state(&self, args: &AccumulatorArgs) -> Result<State> {
        if let Some(state) = self.state.get() {
            return Ok(*state);
        }
        let fields = self.engines.state_fields(StateFieldsArgs {
            name: args.name,
            input_fields: args.expr_fields,
            return_field: Arc::clone(&args.return_field),
            ordering_fields: &[],
            is_distinct: args.is_distinct,
        })?;
        let is_small = fields.iter().all(|field| {
            let kind = field.data_type();
            kind.is_primitive() || *kind == DataType::Boolean
        });
        let fields = fields.len();
        Ok(*self.state.get_or_init(|| State { fields, is_small }))
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
        if self.traits.keeps_one {
            return self.engines.accumulator(args);
        }
        let result = args.return_field.data_type().clone();
        let inner: Box<dyn Accumulator> = match median_of(self.name(), &args) {
            // The engine would look at all values for each result.
            Some(kind) if !self.traits.is_whole => {
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
        let state = self.state(&args)?;
        let bytes_of_row = self.bytes_of_row(&args, state.fields);
        let result = args.return_field.data_type().clone();
        let is_ordered = depends_on_order(self.name());
        let maker = |args: AccumulatorArgs| Maker::new(Arc::clone(&self.engines), args);
        let inner: Box<dyn Accumulator> = match (self.name(), median_of(self.name(), &args)) {
            (_, Some(kind)) => {
                let is_distinct = args.is_distinct;
                Box::new(MovingMedian::new(maker(args), &kind, is_distinct)?)
            }
            ("approx_distinct", _) => Box::new(DistinctRows::counted()),
            _ if self.traits.is_exact => self.engines.create_sliding_accumulator(args)?,
            _ if args.is_distinct && !is_ordered => Box::new(DistinctRows::new(maker(args))),
            _ if state.is_small && !is_ordered => Box::new(TwoStacks::new(maker(args))?),
            _ => Box::new(Recomputed::new(maker(args))),
        };
        Ok(self.counted(inner, Measure::PerRow(bytes_of_row), &result))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.engines.order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        match self.engines.reverse_udf() {
            ReversedUDAF::Identical if self.traits.is_reversible => ReversedUDAF::Identical,
            _ => ReversedUDAF::NotSupported,
        }
    }

    fn default_value(&self, kind: &DataType) -> Result<ScalarValue> {
        match self.engines.name() {
            // The engine gives NULL for a frame without rows.
            "regr_count" => ScalarValue::new_zero(kind),
            _ => self.engines.default_value(kind),
        }
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
