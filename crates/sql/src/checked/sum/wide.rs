//! Sums under way, which have more digits than their results may have.

use std::hash::Hash;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, ArrowNativeTypeOp, AsArray, Int64Array, PrimitiveArray, UInt64Array,
};
use datafusion::arrow::datatypes::{
    DataType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType, Int64Type,
    UInt64Type, i256,
};
use datafusion::common::{Result, exec_err, internal_err};

/// What a sum under way is: a decimal of as many digits as there can be.
pub(super) trait Wide: DecimalType<Native: Hash + Eq> {
    fn of(value: i128) -> Self::Native;
    /// The value of an array of its own type, or of a smaller one.
    fn value(array: &dyn Array, at: usize) -> Result<Self::Native>;
    /// The value, if it is in the range of integers.
    fn whole(value: Self::Native) -> Option<i128>;
}

impl Wide for Decimal128Type {
    fn of(value: i128) -> i128 {
        value
    }

    fn value(array: &dyn Array, at: usize) -> Result<i128> {
        Ok(match array.data_type() {
            DataType::Int64 => array.as_primitive::<Int64Type>().value(at).into(),
            DataType::UInt64 => array.as_primitive::<UInt64Type>().value(at).into(),
            DataType::Decimal32(..) => array.as_primitive::<Decimal32Type>().value(at).into(),
            DataType::Decimal64(..) => array.as_primitive::<Decimal64Type>().value(at).into(),
            DataType::Decimal128(..) => array.as_primitive::<Decimal128Type>().value(at),
            other => return internal_err!("a sum of {other}"),
        })
    }

    fn whole(value: i128) -> Option<i128> {
        Some(value)
    }
}

impl Wide for Decimal256Type {
    fn of(value: i128) -> i256 {
        i256::from_i128(value)
    }

    fn value(array: &dyn Array, at: usize) -> Result<i256> {
        match array.data_type() {
            DataType::Decimal256(..) => Ok(array.as_primitive::<Decimal256Type>().value(at)),
            other => internal_err!("a sum of {other}"),
        }
    }

    fn whole(value: i256) -> Option<i128> {
        value.to_i128()
    }
}

/// The type of a sum under way.
pub(super) fn under_way(kind: &DataType) -> DataType {
    match kind {
        DataType::Decimal256(_, scale) => {
            DataType::Decimal256(Decimal256Type::MAX_PRECISION, *scale)
        }
        DataType::Decimal128(_, scale) => {
            DataType::Decimal128(Decimal128Type::MAX_PRECISION, *scale)
        }
        // More digits than as many integers as there can be rows add up to.
        _ => DataType::Decimal128(Decimal128Type::MAX_PRECISION, 0),
    }
}

/// The value of an array of numbers or of sums under way.
pub(super) fn value<T: Wide>(array: &dyn Array, at: usize) -> Result<Option<T::Native>> {
    match array.is_null(at) {
        true => Ok(None),
        false => T::value(array, at).map(Some),
    }
}

pub(super) fn plus<T: Wide>(a: T::Native, b: T::Native) -> Result<T::Native> {
    a.add_checked(b).or_else(|_| out_of_range())
}

pub(super) fn minus<T: Wide>(a: T::Native, b: T::Native) -> Result<T::Native> {
    a.sub_checked(b).or_else(|_| out_of_range())
}

fn out_of_range<T>() -> Result<T> {
    exec_err!("a sum is out of the range of its type: cast the values to DOUBLE or DECIMAL")
}

/// Sums as an array of the type of the result.
pub(super) fn finished<T: Wide>(sums: Vec<Option<T::Native>>, kind: &DataType) -> Result<ArrayRef> {
    fn fits<T: Wide, N: TryFrom<i128>>(sum: Option<T::Native>) -> Result<Option<N>> {
        let Some(sum) = sum else {
            return Ok(None);
        };
        match T::whole(sum).and_then(|sum| N::try_from(sum).ok()) {
            Some(sum) => Ok(Some(sum)),
            None => out_of_range(),
        }
    }
    Ok(match kind {
        DataType::Int64 => {
            let sums = sums.into_iter().map(fits::<T, i64>);
            Arc::new(sums.collect::<Result<Int64Array>>()?)
        }
        DataType::UInt64 => {
            let sums = sums.into_iter().map(fits::<T, u64>);
            Arc::new(sums.collect::<Result<UInt64Array>>()?)
        }
        DataType::Decimal128(digits, _) | DataType::Decimal256(digits, _) => {
            for sum in sums.iter().flatten() {
                if !T::is_valid_decimal_precision(*sum, *digits) {
                    return exec_err!(
                        "a sum of DECIMAL has more than {digits} digits: cast the values to DOUBLE, or to a DECIMAL with \
                         fewer digits after the point"
                    );
                }
            }
            decimals::<T>(sums, kind)
        }
        other => return internal_err!("a sum of type {other}"),
    })
}

/// Sums under way as an array.
pub(super) fn unfinished<T: Wide>(sums: Vec<Option<T::Native>>, kind: &DataType) -> ArrayRef {
    decimals::<T>(sums, &under_way(kind))
}

fn decimals<T: Wide>(sums: Vec<Option<T::Native>>, kind: &DataType) -> ArrayRef {
    let array: PrimitiveArray<T> = sums.into_iter().collect();
    Arc::new(array.with_data_type(kind.clone()))
}
