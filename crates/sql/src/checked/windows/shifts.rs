//! `lag` and `lead` with IGNORE NULLS. Where the engine computes them row by row it counts rows wrongly (version 55):
//! with an offset of 2 or more, values are lost. Below a LIMIT, it does not read all rows that `lead` needs. Over a whole
//! partition it computes them well.

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Result;
use datafusion::logical_expr::function::{
    ExpressionArgs, PartitionEvaluatorArgs, WindowUDFFieldArgs,
};
use datafusion::logical_expr::{PartitionEvaluator, Signature, WindowUDF, WindowUDFImpl};
use datafusion::physical_expr::PhysicalExpr;

/// The function, computed over whole partitions in the order of the query; `None` if it is that already.
pub(super) fn over_partitions(function: &Arc<WindowUDF>) -> Option<Arc<WindowUDF>> {
    let is_replaced = function.inner().downcast_ref::<OverPartitions>().is_some();
    (!is_replaced).then(|| {
        Arc::new(WindowUDF::from(OverPartitions {
            engines: Arc::clone(function),
        }))
    })
}

/// It can neither be reversed nor does it say how many rows after a limit it needs: that depends on the NULLs.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OverPartitions {
    engines: Arc<WindowUDF>,
}

impl WindowUDFImpl for OverPartitions {
    fn name(&self) -> &str {
        self.engines.name()
    }

    fn signature(&self) -> &Signature {
        self.engines.signature()
    }

    fn expressions(&self, args: ExpressionArgs) -> Vec<Arc<dyn PhysicalExpr>> {
        self.engines.expressions(args)
    }

    fn partition_evaluator(
        &self,
        args: PartitionEvaluatorArgs,
    ) -> Result<Box<dyn PartitionEvaluator>> {
        let engines = self.engines.partition_evaluator_factory(args)?;
        Ok(Box::new(WholePartition(engines)))
    }

    fn field(&self, args: WindowUDFFieldArgs) -> Result<FieldRef> {
        self.engines.field(args)
    }

    fn coerce_types(&self, kinds: &[DataType]) -> Result<Vec<DataType>> {
        self.engines.coerce_types(kinds)
    }
}

/// It does not support bounded execution.
#[derive(Debug)]
struct WholePartition(Box<dyn PartitionEvaluator>);

impl PartitionEvaluator for WholePartition {
    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        self.0.evaluate_all(values, rows)
    }
}
