//! `random() BETWEEN 0.3 AND 0.6`. The engine compares with both ends one after the other, and computes the value for each.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::AsArray;
use datafusion::arrow::compute::{and_kleene, not};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::expr::{Between, ScalarFunction};
use datafusion::logical_expr::{
    ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::physical_expr_common::datum::apply_cmp;

use super::expressions::ExpressionRule;

/// Compares values that differ from call to call in one function, once the engine has made the types equal.
pub(super) const VOLATILE_BETWEEN: ExpressionRule = ExpressionRule {
    name: "volatile_between",
    replace: |expr, _| {
        Ok(match expr {
            Expr::Between(between) if between.expr.is_volatile() => {
                Transformed::yes(computed_once(between))
            }
            expr => Transformed::no(expr),
        })
    },
};

fn computed_once(between: Between) -> Expr {
    let function = match between.negated {
        true => &OUTSIDE,
        false => &INSIDE,
    };
    let args = vec![*between.expr, *between.low, *between.high];
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(function), args))
}

static INSIDE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| function(false));
static OUTSIDE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| function(true));

fn function(negated: bool) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(IsBetween {
        signature: Signature::any(3, Volatility::Immutable),
        negated,
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct IsBetween {
    signature: Signature,
    negated: bool,
}

impl ScalarUDFImpl for IsBetween {
    fn name(&self) -> &str {
        match self.negated {
            true => "is_not_between",
            false => "is_between",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let [value, low, high] = args.args.as_slice() else {
            return internal_err!("`BETWEEN` compares a value with two others");
        };
        // As the engine compares, which knows one zero, and structs.
        let is_behind = apply_cmp(Operator::GtEq, value, low)?.into_array(rows)?;
        let is_before = apply_cmp(Operator::LtEq, value, high)?.into_array(rows)?;
        let is_between = and_kleene(is_behind.as_boolean(), is_before.as_boolean())?;
        let found = match self.negated {
            true => not(&is_between)?,
            false => is_between,
        };
        Ok(ColumnarValue::Array(Arc::new(found)))
    }
}
