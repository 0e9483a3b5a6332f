//! `corr` and `regr_r2`, computed from the state of the engine's `regr_r2`, which adds up differences to the means.
//!
//! * The engine's `corr` of many groups adds up squares, of which nothing is left for numbers that are large and near each
//!   other; and it returns NULL for NaN.
//! * `regr_r2(y, x)` is 1 where all `y` are equal and not all `x` are (ISO/IEC 9075-2, regression functions). The engine
//!   returns NULL.

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::functions_aggregate::correlation::corr_udaf;
use datafusion::functions_aggregate::regr::regr_r2_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature};

/// One of the functions.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Regression {
    engines: Arc<AggregateUDF>,
    /// Its accumulator is used.
    fitted: Arc<AggregateUDF>,
    result: Statistic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Statistic {
    Corr,
    RegrR2,
}

impl Regression {
    pub(super) fn both() -> [AggregateUDF; 2] {
        let functions = [
            (corr_udaf(), Statistic::Corr),
            (regr_r2_udaf(), Statistic::RegrR2),
        ];
        functions.map(|(engines, result)| {
            let fitted = regr_r2_udaf();
            AggregateUDF::from(Self {
                engines,
                fitted,
                result,
            })
        })
    }
}

impl AggregateUDFImpl for Regression {
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
        Ok(Box::new(Fitted {
            inner: self.fitted.accumulator(args)?,
            result: self.result,
        }))
    }
}

/// The accumulator of `regr_r2`. Its state has, in this order: the number of pairs, the means of x and y, the sums of the
/// squared differences of x and y from them, and of their products.
#[derive(Debug)]
struct Fitted {
    inner: Box<dyn Accumulator>,
    result: Statistic,
}

impl Accumulator for Fitted {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let state = self.inner.state()?;
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
        match self.result {
            Statistic::Corr => Ok(ScalarValue::Float64(corr(*pairs, (*of_x, *of_y), *of_both))),
            Statistic::RegrR2 if *of_x != 0.0 && *of_y == 0.0 => {
                Ok(ScalarValue::Float64(Some(1.0)))
            }
            Statistic::RegrR2 => self.inner.evaluate(),
        }
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.inner.size()
    }
}

fn corr(pairs: u64, (of_x, of_y): (f64, f64), of_both: f64) -> Option<f64> {
    let product = match of_x * of_y {
        product if product.is_normal() => product.sqrt(),
        // Too large or too small for one number.
        _ => of_x.sqrt() * of_y.sqrt(),
    };
    match (product, pairs) {
        (_, 0 | 1) => None,
        (product, _) if !product.is_finite() || !of_both.is_finite() => Some(f64::NAN),
        (0.0, _) => None,
        (product, _) => Some((of_both / product).clamp(-1.0, 1.0)),
    }
}
