//! `to_timestamp` of all floating-point numbers. The query engine returns the latest or earliest time for a number that is
//! too large, and 1970 for NaN.

use std::sync::Arc;

use datafusion::arrow::array::AsArray;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{Result, exec_err};
use datafusion::functions::datetime::to_timestamp;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

const NANOS: f64 = 1e9;
/// 2⁶³, the first number of nanoseconds that a time cannot hold.
const LIMIT: f64 = 9_223_372_036_854_775_808.0;

/// The engine's `to_timestamp`, which fails for numbers that are not times.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ToTimestamp(Arc<ScalarUDF>);

impl ToTimestamp {
    pub(super) fn new(config: &ConfigOptions) -> Self {
        Self(to_timestamp(config))
    }
}

impl ScalarUDFImpl for ToTimestamp {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        self.0.return_type(kinds)
    }

    fn with_updated_config(&self, config: &ConfigOptions) -> Option<ScalarUDF> {
        Some(ScalarUDF::from(Self::new(config)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(seconds) = args.args.first()
            && seconds.data_type().is_floating()
        {
            check(seconds)?;
        }
        self.0.invoke_with_args(args)
    }
}

fn check(seconds: &ColumnarValue) -> Result<()> {
    let seconds = cast(&seconds.to_array(1)?, &DataType::Float64)?;
    for seconds in seconds.as_primitive::<Float64Type>().iter().flatten() {
        let nanos = seconds * NANOS;
        if !(-LIMIT..LIMIT).contains(&nanos) {
            return exec_err!(
                "to_timestamp of {seconds}: it takes seconds from -9223372036 to 9223372036; \
                 to_timestamp_seconds takes larger ones"
            );
        }
    }
    Ok(())
}
