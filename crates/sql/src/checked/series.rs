//! `generate_series` and `range` of times. The query engine takes times in nanoseconds, which a TIMESTAMP has not.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::Expr;
use datafusion::prelude::SessionContext;

/// Makes the functions of a session take times.
pub(super) fn register(context: &SessionContext) {
    for name in ["generate_series", "range"] {
        let state = context.state();
        if let Some(function) = state.table_functions().get(name) {
            let series = Series(function.function().clone());
            context.register_udtf(name, Arc::new(series));
        }
    }
}

#[derive(Debug)]
struct Series(Arc<dyn TableFunctionImpl>);

impl TableFunctionImpl for Series {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let has_times = args.exprs().iter().any(is_time);
        let exprs = args.exprs().iter().cloned();
        let exprs = exprs.map(|expr| in_nanos(expr, has_times));
        let exprs: Vec<Expr> = exprs.collect::<Result<_>>()?;
        self.0
            .call_with_args(TableFunctionArgs::new(&exprs, args.session()))
    }
}

fn is_time(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(time, _) if matches!(time.data_type(), DataType::Timestamp(..)))
}

/// A bound in nanoseconds. A DATE beside a TIMESTAMP is one, too.
fn in_nanos(expr: Expr, has_times: bool) -> Result<Expr> {
    match expr {
        Expr::Literal(time, metadata) => match time.data_type() {
            DataType::Date32 if has_times => {
                let nanos = time.cast_to(&DataType::Timestamp(TimeUnit::Nanosecond, None));
                match nanos {
                    Ok(time) => Ok(Expr::Literal(time, metadata)),
                    Err(_) => plan_err!(
                        "a series of times lies between the years 1677 and 2262; {time} does not"
                    ),
                }
            }
            DataType::Timestamp(_, zone) => {
                let nanos = DataType::Timestamp(TimeUnit::Nanosecond, zone);
                match time.cast_to(&nanos) {
                    Ok(time) => Ok(Expr::Literal(time, metadata)),
                    Err(_) => plan_err!(
                        "a series of times lies between the years 1677 and 2262; {time} does not"
                    ),
                }
            }
            _ => Ok(Expr::Literal(time, metadata)),
        },
        expr => Ok(expr),
    }
}
