//! Aggregates of two arguments, such as `corr`, of DISTINCT pairs. The engine (version 55) takes every pair, whether it was
//! there before or not.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array, ListArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Float64Type};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, Signature,
};
use datafusion::prelude::SessionContext;

/// All such aggregates, of floating-point numbers.
const NAMES: [&str; 12] = [
    "corr",
    "covar_pop",
    "covar_samp",
    "regr_avgx",
    "regr_avgy",
    "regr_count",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "regr_sxx",
    "regr_sxy",
    "regr_syy",
];

/// Replaces the aggregates of a session.
pub(super) fn register(context: &SessionContext) {
    for name in NAMES {
        if let Ok(engines) = context.udaf(name) {
            context.register_udaf(AggregateUDF::from(OfPairs { engines }));
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OfPairs {
    engines: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for OfPairs {
    fn name(&self) -> &str {
        self.engines.name()
    }

    fn aliases(&self) -> &[String] {
        self.engines.aliases()
    }

    fn signature(&self) -> &Signature {
        self.engines.signature()
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        self.engines.return_type(kinds)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        if !args.is_distinct {
            return self.engines.state_fields(args);
        }
        let list = |of: &str| {
            let number = Field::new_list_field(DataType::Float64, true);
            Arc::new(Field::new_list(
                format!("{}[{of}]", args.name),
                number,
                true,
            ))
        };
        Ok(vec![list("y"), list("x")])
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let is_distinct = args.is_distinct;
        let inner = self.engines.accumulator(args)?;
        Ok(match is_distinct {
            true => Box::new(DistinctPairs {
                inner,
                pairs: BTreeSet::new(),
            }),
            false => inner,
        })
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.engines.documentation()
    }
}

/// Passes pairs on that were not there before.
#[derive(Debug)]
struct DistinctPairs {
    inner: Box<dyn Accumulator>,
    /// The bits of the numbers. They are in an order, so that sums of merged parts are always rounded in the same way.
    pairs: BTreeSet<(u64, u64)>,
}

impl DistinctPairs {
    fn add(&mut self, one: &ArrayRef, other: &ArrayRef) -> Result<()> {
        let of_numbers = (
            one.as_primitive_opt::<Float64Type>(),
            other.as_primitive_opt::<Float64Type>(),
        );
        let (Some(one), Some(other)) = of_numbers else {
            return exec_err!("an aggregate of pairs has other arguments than numbers");
        };
        let (mut ones, mut others) = (Vec::new(), Vec::new());
        for pair in one.iter().zip(other.iter()) {
            // None of these aggregates is of pairs with NULL.
            if let (Some(one), Some(other)) = pair
                && self.pairs.insert((one.to_bits(), other.to_bits()))
            {
                ones.push(one);
                others.push(other);
            }
        }
        let [ones, others] = [ones, others].map(Float64Array::from);
        self.inner.update_batch(&[Arc::new(ones), Arc::new(others)])
    }
}

impl Accumulator for DistinctPairs {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        match values {
            [one, other] => self.add(one, other),
            _ => exec_err!("an aggregate of pairs has {} arguments", values.len()),
        }
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.inner.evaluate()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let list = |of: fn(&(u64, u64)) -> u64| {
            let numbers = self.pairs.iter().map(|pair| Some(f64::from_bits(of(pair))));
            let list = ListArray::from_iter_primitive::<Float64Type, _, _>([Some(numbers)]);
            ScalarValue::List(Arc::new(list))
        };
        Ok(vec![list(|pair| pair.0), list(|pair| pair.1)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let lists = states.iter().map(|state| state.as_list_opt::<i32>());
        let lists: Vec<_> = lists.collect();
        let [Some(one), Some(other)] = lists.as_slice() else {
            return exec_err!("the state of an aggregate of pairs has no two lists");
        };
        let rows = (0..one.len()).filter(|row| one.is_valid(*row) && other.is_valid(*row));
        for row in rows {
            self.add(&one.value(row), &other.value(row))?;
        }
        Ok(())
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.inner.size() + 2 * size_of::<(u64, u64)>() * self.pairs.len()
    }
}
