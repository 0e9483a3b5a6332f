//! `sum` of integers, which is exact or fails.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, Int64Array, UInt64Array,
};
use datafusion::arrow::datatypes::{
    DataType, Decimal128Type, Field, FieldRef, Int64Type, UInt64Type,
};
use datafusion::common::{Result, ScalarValue, exec_err, internal_err};
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, Signature,
};

use super::distinct_sum::{DistinctSum, MovingDistinctSum};

/// Digits of a sum under way: more than as many values as there can be rows add up to.
const DIGITS: u8 = 38;

/// The engine's `sum`, with checked sums of integers.
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
    !distinct && is_integer(kind)
}

fn is_integer(kind: &DataType) -> bool {
    matches!(kind, DataType::Int64 | DataType::UInt64)
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
        self.engines.return_type(kinds)
    }

    fn coerce_types(&self, kinds: &[DataType]) -> Result<Vec<DataType>> {
        self.engines.coerce_types(kinds)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match is_ours(args.return_field.data_type(), args.is_distinct) {
            true => Ok(Box::new(Sum::new(args.return_field.data_type()))),
            false if args.is_distinct && is_integer(args.return_field.data_type()) => {
                let kind = args.return_field.data_type().clone();
                let values = self.engines.accumulator(args)?;
                Ok(Box::new(DistinctSum::new(values, &kind)))
            }
            false => self.engines.accumulator(args),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        if !is_ours(args.return_field.data_type(), args.is_distinct) {
            return self.engines.state_fields(args);
        }
        let name = format_state_name(args.name, "sum");
        Ok(vec![Arc::new(Field::new(
            name,
            DataType::Decimal128(DIGITS, 0),
            true,
        ))])
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        is_ours(args.return_field.data_type(), args.is_distinct)
            || self.engines.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        match is_ours(args.return_field.data_type(), args.is_distinct) {
            true => Ok(Box::new(Sums {
                sums: Vec::new(),
                kind: args.return_field.data_type().clone(),
            })),
            false => self.engines.create_groups_accumulator(args),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match is_ours(args.return_field.data_type(), args.is_distinct) {
            true => Ok(Box::new(Sum::new(args.return_field.data_type()))),
            false if args.is_distinct && is_integer(args.return_field.data_type()) => {
                let kind = args.return_field.data_type();
                Ok(Box::new(MovingDistinctSum::new(kind)))
            }
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

/// The value of an array of integers or of sums under way.
pub(super) fn value(array: &dyn Array, at: usize) -> Result<Option<i128>> {
    if array.is_null(at) {
        return Ok(None);
    }
    Ok(Some(match array.data_type() {
        DataType::Int64 => array.as_primitive::<Int64Type>().value(at).into(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(at).into(),
        DataType::Decimal128(_, _) => array.as_primitive::<Decimal128Type>().value(at),
        other => return internal_err!("a sum of {other}"),
    }))
}

pub(super) fn plus(a: i128, b: i128) -> Result<i128> {
    match a.checked_add(b) {
        Some(sum) => Ok(sum),
        None => exec_err!("the sum is out of range"),
    }
}

/// Sums as an array of the type of the result.
pub(super) fn finished(sums: Vec<Option<i128>>, kind: &DataType) -> Result<ArrayRef> {
    fn fits<T: TryFrom<i128>>(sum: Option<i128>) -> Result<Option<T>> {
        match sum.map(T::try_from).transpose() {
            Ok(sum) => Ok(sum),
            Err(_) => exec_err!(
                "a sum is out of the range of its type: cast the values to DOUBLE or DECIMAL"
            ),
        }
    }
    Ok(match kind {
        DataType::UInt64 => {
            let sums = sums
                .into_iter()
                .map(fits::<u64>)
                .collect::<Result<Vec<_>>>()?;
            Arc::new(UInt64Array::from(sums))
        }
        _ => {
            let sums = sums
                .into_iter()
                .map(fits::<i64>)
                .collect::<Result<Vec<_>>>()?;
            Arc::new(Int64Array::from(sums))
        }
    })
}

fn unfinished(sums: Vec<Option<i128>>) -> Result<ArrayRef> {
    let array = Decimal128Array::from(sums).with_precision_and_scale(DIGITS, 0)?;
    Ok(Arc::new(array))
}

/// One sum; also of a moving frame.
#[derive(Debug)]
struct Sum {
    sum: i128,
    values: u64,
    kind: DataType,
}

impl Sum {
    fn new(kind: &DataType) -> Self {
        Self {
            sum: 0,
            values: 0,
            kind: kind.clone(),
        }
    }

    fn current(&self) -> Option<i128> {
        (self.values > 0).then_some(self.sum)
    }
}

impl Accumulator for Sum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some(array) = values.first() else {
            return Ok(());
        };
        for at in 0..array.len() {
            if let Some(value) = value(array, at)? {
                self.sum = plus(self.sum, value)?;
                self.values += 1;
            }
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some(array) = values.first() else {
            return Ok(());
        };
        for at in 0..array.len() {
            if let Some(value) = value(array, at)? {
                self.sum = plus(self.sum, -value)?;
                self.values -= 1;
            }
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        ScalarValue::try_from_array(&finished(vec![self.current()], &self.kind)?, 0)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::Decimal128(self.current(), DIGITS, 0)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// A sum for each group.
struct Sums {
    sums: Vec<Option<i128>>,
    kind: DataType,
}

impl GroupsAccumulator for Sums {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> Result<()> {
        self.sums.resize(count, None);
        let Some(array) = values.first() else {
            return Ok(());
        };
        for (at, group) in groups.iter().enumerate() {
            if filter.is_some_and(|filter| filter.is_null(at) || !filter.value(at)) {
                continue;
            }
            if let (Some(value), Some(sum)) = (value(array, at)?, self.sums.get_mut(*group)) {
                *sum = Some(plus(sum.unwrap_or_default(), value)?);
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        finished(emit_to.take_needed(&mut self.sums), &self.kind)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![unfinished(emit_to.take_needed(&mut self.sums))?])
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], count: usize) -> Result<()> {
        self.update_batch(values, groups, None, count)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let Some(array) = values.first() else {
            return internal_err!("a sum of nothing");
        };
        let sums = (0..array.len()).map(|at| {
            let wanted = filter.is_none_or(|filter| filter.is_valid(at) && filter.value(at));
            match wanted {
                true => value(array, at),
                false => Ok(None),
            }
        });
        Ok(vec![unfinished(sums.collect::<Result<_>>()?)?])
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<Option<i128>>()
    }
}
