//! `min` and `max` of floating-point numbers, whose groups with infinities or NaN the engine gets wrong.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::functions_aggregate::min_max::{max_udaf, min_udaf};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, SetMonotonicity,
    Signature, StatisticsArgs,
};

/// The engine's `min` or `max`. Its accumulator of many groups begins with the greatest and the least
/// finite number, and compares NaN as no number: so groups of floating-point numbers have an
/// accumulator each, which takes NaN for the greatest number, as `ORDER BY` does.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Extreme(Arc<AggregateUDF>);

impl Extreme {
    pub(super) fn both() -> [AggregateUDF; 2] {
        [min_udaf(), max_udaf()].map(|engines| AggregateUDF::from(Self(engines)))
    }
}

impl AggregateUDFImpl for Extreme {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        self.0.return_type(kinds)
    }

    fn coerce_types(&self, kinds: &[DataType]) -> Result<Vec<DataType>> {
        self.0.coerce_types(kinds)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.0.accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.0.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        !args.return_field.data_type().is_floating() && self.0.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        self.0.create_groups_accumulator(args)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.0.create_sliding_accumulator(args)
    }

    fn is_descending(&self) -> Option<bool> {
        self.0.is_descending()
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.0.order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn value_from_stats(&self, statistics: &StatisticsArgs) -> Option<ScalarValue> {
        self.0.value_from_stats(statistics)
    }

    fn set_monotonicity(&self, kind: &DataType) -> SetMonotonicity {
        self.0.inner().set_monotonicity(kind)
    }
}
