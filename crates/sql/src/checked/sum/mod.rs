//! `sum` of integers and decimals, which is exact or fails. The engine adds them modulo a power of two, and a sum of
//! decimals may have more digits than its type.

mod distinct;
mod plain;
mod wide;

use std::sync::Arc;

use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, Decimal256Type, Field, FieldRef,
};
use datafusion::common::Result;
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, Signature,
};

use distinct::DistinctSum;
use plain::{Sum, Sums};
use wide::under_way;

/// The engine's `sum`, with checked sums of integers and decimals.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct CheckedSum {
    engines: Arc<AggregateUDF>,
    of_counts: bool,
}

impl CheckedSum {
    pub(super) fn new() -> Self {
        Self {
            engines: sum_udaf(),
            of_counts: false,
        }
    }

    /// The sum in groups of numbers that are never NULL, which is not NULL either. It stands for `count`.
    pub(super) fn of_counts() -> Self {
        Self {
            engines: sum_udaf(),
            of_counts: true,
        }
    }
}

/// Whether sums of this type are ours.
fn is_ours(kind: &DataType, distinct: bool) -> bool {
    !distinct && is_exact(kind)
}

/// Whether values of this type are added without being rounded.
fn is_exact(kind: &DataType) -> bool {
    kind.is_decimal() || matches!(kind, DataType::Int64 | DataType::UInt64)
}

/// Makes something for the type of sums under way.
macro_rules! of_width {
    ($kind:expr, $made:ident as $what:ident) => {
        match $kind {
            DataType::Decimal256(..) => {
                Box::new($made::<Decimal256Type>::new($kind)) as Box<dyn $what>
            }
            _ => Box::new($made::<Decimal128Type>::new($kind)),
        }
    };
}

impl AggregateUDFImpl for CheckedSum {
    fn name(&self) -> &'static str {
        match self.of_counts {
            true => "sum_of_counts",
            false => "sum",
        }
    }

    fn is_nullable(&self) -> bool {
        !self.of_counts
    }

    fn signature(&self) -> &Signature {
        self.engines.signature()
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        // Ten more digits; the engine's sums of smaller decimals have no room for them.
        if let [DataType::Decimal32(digits, scale) | DataType::Decimal64(digits, scale)] = kinds {
            let digits = (digits + 10).min(DECIMAL128_MAX_PRECISION);
            return Ok(DataType::Decimal128(digits, *scale));
        }
        self.engines.return_type(kinds)
    }

    fn coerce_types(&self, kinds: &[DataType]) -> Result<Vec<DataType>> {
        self.engines.coerce_types(kinds)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let kind = args.return_field.data_type();
        match is_exact(kind) {
            true if args.is_distinct => Ok(of_width!(kind, DistinctSum as Accumulator)),
            true => Ok(of_width!(kind, Sum as Accumulator)),
            false => self.engines.accumulator(args),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let kind = args.return_field.data_type();
        if !is_exact(kind) {
            return self.engines.state_fields(args);
        }
        let state = under_way(kind);
        Ok(vec![match args.is_distinct {
            true => {
                let name = format_state_name(args.name, "sum distinct");
                let item = Field::new_list_field(state, true);
                Arc::new(Field::new_list(name, item, true))
            }
            false => {
                let name = format_state_name(args.name, "sum");
                Arc::new(Field::new(name, state, true))
            }
        }])
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        is_ours(args.return_field.data_type(), args.is_distinct)
            || self.engines.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let kind = args.return_field.data_type();
        match is_ours(kind, args.is_distinct) {
            true => Ok(of_width!(kind, Sums as GroupsAccumulator)),
            false => self.engines.create_groups_accumulator(args),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let kind = args.return_field.data_type();
        match is_exact(kind) {
            true if args.is_distinct => Ok(of_width!(kind, DistinctSum as Accumulator)),
            true => Ok(of_width!(kind, Sum as Accumulator)),
            false => self.engines.create_sliding_accumulator(args),
        }
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}
