//! How functions are called that compute with arrays.

use datafusion::arrow::array::ArrayRef;
use datafusion::common::{Result, internal_err};
use datafusion::functions::utils::make_scalar_function;
use datafusion::logical_expr::ColumnarValue;

/// The result of a function of N arrays. Constants are made arrays; the result is a constant if all arguments are.
pub(super) fn on_arrays<const N: usize>(
    args: &[ColumnarValue],
    function: impl Fn(&[ArrayRef; N]) -> Result<ArrayRef>,
) -> Result<ColumnarValue> {
    let call = |arrays: &[ArrayRef]| match arrays.try_into() {
        Ok(arrays) => function(arrays),
        Err(_) => internal_err!("a function of {N} arguments has {}", arrays.len()),
    };
    make_scalar_function(call, Vec::new())(args)
}

/// The same of one argument.
pub(super) fn on_array(
    value: &ColumnarValue,
    function: impl Fn(&ArrayRef) -> Result<ArrayRef>,
) -> Result<ColumnarValue> {
    on_arrays(std::slice::from_ref(value), |[array]| function(array))
}
