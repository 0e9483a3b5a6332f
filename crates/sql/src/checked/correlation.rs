//! `corr`, computed from the differences to the means. The engine's accumulator of many groups adds up squares, of which
//! nothing is left for numbers that are large and near each other; and it returns NULL for NaN.

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::functions_aggregate::correlation::corr_udaf;
use datafusion::functions_aggregate::regr::regr_r2_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature};

/// The engine's function with the accumulator of `regr_r2`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Corr {
    engines: Arc<AggregateUDF>,
    fitted: Arc<AggregateUDF>,
}

impl Corr {
    pub(super) fn new() -> Self {
        Self {
            engines: corr_udaf(),
            fitted: regr_r2_udaf(),
        }
    }
}

impl AggregateUDFImpl for Corr {
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
        self.fitted.state_fields(args)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Correlation(self.fitted.accumulator(args)?)))
    }
}

/// The accumulator of `regr_r2`. Its state has, in this order: the number of pairs, the means of x and y, the sums of the
/// squared differences of x and y from them, and of their products.
#[derive(Debug)]
struct Correlation(Box<dyn Accumulator>);

impl Accumulator for Correlation {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let state = self.0.state()?;
        let [
            ScalarValue::UInt64(Some(pairs)),
            _,
            _,
            ScalarValue::Float64(Some(of_x)),
            ScalarValue::Float64(Some(of_y)),
            ScalarValue::Float64(Some(of_both)),
        ] = state.as_slice()
        else {
            return internal_err!("the state of regr_r2 is not what it was");
        };
        let product = match of_x * of_y {
            product if product.is_normal() => product.sqrt(),
            _ => of_x.sqrt() * of_y.sqrt(),
        };
        let value = match (product, *pairs) {
            (_, 0 | 1) => None,
            (product, _) if !product.is_finite() || !of_both.is_finite() => Some(f64::NAN),
            (0.0, _) => None,
            (product, _) => Some((of_both / product).clamp(-1.0, 1.0)),
        };
        Ok(ScalarValue::Float64(value))
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
