//! `TableProvider::scan`, without `async_trait`, which makes the compiler slow here.
//!
//! `async_trait` puts all arguments into a future, and bounds on their lifetimes onto the method. The compiler then has
//! to show that each of the thousand types of an expression may be sent to another thread, and below such bounds it
//! does not remember what it has shown: five seconds for each table, in each build. So the methods with these bounds
//! do not build a future themselves: they call functions without bounds, which plan, or return a boxed future.

use std::future;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::physical_plan::ExecutionPlan;
use futures_util::future::BoxFuture;

/// A plan that was made without waiting, as a future.
pub(crate) fn ready<'a>(
    plan: Result<Arc<dyn ExecutionPlan>>,
) -> BoxFuture<'a, Result<Arc<dyn ExecutionPlan>>> {
    Box::pin(future::ready(plan))
}

/// `TableProvider::scan` by the method `plan`, whose result the function makes a boxed future; [`ready`] for a table that
/// plans without waiting.
macro_rules! planned_scan {
    () => {
        $crate::scan::planned_scan!($crate::scan::ready);
    };
    ($boxed:path) => {
        fn scan<'table, 'state, 'places, 'filters, 'plan>(
            &'table self,
            state: &'state dyn datafusion::catalog::Session,
            projection: Option<&'places Vec<usize>>,
            filters: &'filters [datafusion::logical_expr::Expr],
            limit: Option<usize>,
        ) -> futures_util::future::BoxFuture<
            'plan,
            datafusion::common::Result<
                std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>,
            >,
        >
        where
            'table: 'plan,
            'state: 'plan,
            'places: 'plan,
            'filters: 'plan,
            Self: 'plan,
        {
            $boxed(self.plan(state, projection, filters, limit))
        }
    };
}

pub(crate) use planned_scan;
