//! `regr_r2(y, x)`, which is 1 where all `y` are equal and not all `x` are (ISO/IEC 9075-2, regression functions). The
//! engine returns NULL.

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::functions_aggregate::regr::regr_r2_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct RegrR2 {
    engines: Arc<AggregateUDF>,
}

impl RegrR2 {
    pub(super) fn new() -> Self {
        Self {
            engines: regr_r2_udaf(),
        }
    }
}

impl AggregateUDFImpl for RegrR2 {
    fn name(&self) -> &str {
        self.engines.name()
    }

    fn signature(&self) -> &Signature {
        self.engines.signature()
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        self.engines.return_type(kinds)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.engines.state_fields(args)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Fitted(self.engines.accumulator(args)?)))
    }
}

/// The engine's accumulator. Its state has, in this order: the number of pairs, the means of x and y, the sums of the
/// squared differences of x and y from them, and of their products.
#[derive(Debug)]
struct Fitted(Box<dyn Accumulator>);

impl Accumulator for Fitted {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let state = self.0.state()?;
        let [
            _,
            _,
            _,
            ScalarValue::Float64(Some(of_x)),
            ScalarValue::Float64(Some(of_y)),
            _,
        ] = state.as_slice()
        else {
            return internal_err!("the state of regr_r2 is not what it was");
        };
        match *of_x != 0.0 && *of_y == 0.0 {
            true => Ok(ScalarValue::Float64(Some(1.0))),
            false => self.0.evaluate(),
        }
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.0.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.merge_batch(states)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.0.size()
    }
}
