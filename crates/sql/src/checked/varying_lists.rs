//! Lists with items that differ from row to row. The engine takes `CASE WHEN v = 3 THEN 1 END` in a list for the constant 1: it
//! computes the items once, without a row, to know whether they are constants.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::expressions::ExpressionRule;

/// Puts items that are no constants into a function that never returns a constant.
pub(super) const VARYING_LISTS: ExpressionRule = ExpressionRule {
    name: "varying_lists",
    replace: |expr, _| marked(expr),
};

fn marked(expr: Expr) -> Result<Transformed<Expr>> {
    let Expr::InList(mut list) = expr else {
        return Ok(Transformed::no(expr));
    };
    let mut is_changed = false;
    for item in &mut list.list {
        if varies(item)? {
            let args = vec![std::mem::take(item)];
            *item = Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&VARYING), args));
            is_changed = true;
        }
    }
    Ok(Transformed::new_transformed(Expr::InList(list), is_changed))
}

/// Whether an item is neither a constant nor a column, which the engine knows not to be one.
fn varies(item: &Expr) -> Result<bool> {
    if matches!(item, Expr::Literal(..) | Expr::Column(_)) {
        return Ok(false);
    }
    item.exists(|part| {
        Ok(match part {
            Expr::Column(_)
            | Expr::OuterReferenceColumn(..)
            | Expr::ScalarSubquery(_)
            | Expr::Exists(_)
            | Expr::InSubquery(_)
            | Expr::SetComparison(_) => true,
            part => part.is_volatile_node(),
        })
    })
}

static VARYING: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(ScalarUDF::from(Varying { signature }))
});

/// Its argument, as one value for each row.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Varying {
    signature: Signature,
}

impl ScalarUDFImpl for Varying {
    fn name(&self) -> &'static str {
        "varying"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        match kinds {
            [kind] => Ok(kind.clone()),
            _ => internal_err!("`varying` takes one argument"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.into_iter().next() {
            Some(value) => Ok(ColumnarValue::Array(value.into_array(args.number_rows)?)),
            None => internal_err!("`varying` takes one argument"),
        }
    }
}
