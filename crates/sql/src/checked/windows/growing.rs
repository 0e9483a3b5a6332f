//! `first_value`, `last_value` and `nth_value` of frames that begin with the partition and grow.
//!
//! The engine (version 55) keeps all rows of the partition, and looks through them for each result, if `last_value` or
//! `nth_value` ignores NULLs, or if the row that `nth_value` asks for is not in the first batch. And it computes these
//! functions in the reverse order if the rows come in that: then the frame reaches to the end of the partition, and all of
//! it is kept. Here the value is remembered, and the order is that of the query.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{
    ExpressionArgs, PartitionEvaluatorArgs, WindowUDFFieldArgs,
};
use datafusion::logical_expr::window_state::WindowAggState;
use datafusion::logical_expr::{
    LimitEffect, PartitionEvaluator, Signature, WindowUDF, WindowUDFImpl,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Literal;

/// The function for such frames; `None` if it is that already, or another one.
pub(super) fn for_growing_frames(function: &Arc<WindowUDF>) -> Option<Arc<WindowUDF>> {
    if !matches!(function.name(), "first_value" | "last_value" | "nth_value") {
        return None;
    }
    let is_replaced = function.inner().downcast_ref::<GrowingFrames>().is_some();
    (!is_replaced).then(|| {
        Arc::new(WindowUDF::from(GrowingFrames {
            engines: Arc::clone(function),
        }))
    })
}

/// It cannot be reversed.
#[derive(Debug, PartialEq, Eq, Hash)]
struct GrowingFrames {
    engines: Arc<WindowUDF>,
}

impl GrowingFrames {
    /// The place of the value among those of the frame: counted from 1, or back from -1. `None` if there is none.
    fn place(&self, args: &[Arc<dyn PhysicalExpr>]) -> Option<i64> {
        match self.engines.name() {
            "first_value" => Some(1),
            "last_value" => Some(-1),
            _ => {
                let place = args.get(1)?.downcast_ref::<Literal>()?.value();
                match place.cast_to(&DataType::Int64).ok()? {
                    ScalarValue::Int64(place) => place,
                    _ => None,
                }
            }
        }
    }
}

impl WindowUDFImpl for GrowingFrames {
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
        let (values, ignores_nulls) = (args.input_exprs(), args.ignore_nulls());
        // It also checks the arguments.
        let engines = self.engines.partition_evaluator_factory(args)?;
        let place = match self.place(values) {
            Some(place) if !values.is_empty() => place,
            _ => return Ok(engines),
        };
        let sought = match (place, usize::try_from(place)) {
            (-1, _) => Sought::Last,
            (_, Ok(place)) if place > 0 => Sought::FromStart(place),
            // Back from the end, the engine keeps so many rows, unless NULLs are ignored.
            _ => return Ok(engines),
        };
        Ok(Box::new(Remembered {
            sought,
            ignores_nulls,
            counts: place > 1,
            value: None,
            seen: 0,
        }))
    }

    fn field(&self, args: WindowUDFFieldArgs) -> Result<FieldRef> {
        self.engines.field(args)
    }

    fn coerce_types(&self, kinds: &[DataType]) -> Result<Vec<DataType>> {
        self.engines.coerce_types(kinds)
    }

    fn limit_effect(&self, args: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        self.engines.inner().limit_effect(args)
    }
}

/// Which of the values is the result.
#[derive(Debug)]
enum Sought {
    /// So many values from here, counted from 1.
    FromStart(usize),
    Last,
}

/// The value of the rows that were seen.
#[derive(Debug)]
struct Remembered {
    sought: Sought,
    ignores_nulls: bool,
    /// Whether values are counted until the one is found.
    counts: bool,
    value: Option<ScalarValue>,
    /// The rows at hand that were seen.
    seen: usize,
}

impl Remembered {
    /// Looks through rows that come after those that were seen.
    fn add(&mut self, values: &ArrayRef, rows: Range<usize>) -> Result<()> {
        let new = values.slice(rows.start, rows.len());
        let nulls = new.logical_nulls().filter(|_| self.ignores_nulls);
        let found = match (&mut self.sought, &nulls) {
            (Sought::Last, None) => new.len().checked_sub(1),
            (Sought::Last, Some(nulls)) => (0..new.len()).rev().find(|at| nulls.is_valid(*at)),
            (Sought::FromStart(place), nulls) => {
                let count = new.len() - nulls.as_ref().map_or(0, NullBuffer::null_count);
                if *place > count {
                    *place -= count;
                    return Ok(());
                }
                match nulls {
                    None => Some(*place - 1),
                    Some(nulls) => nulls.valid_indices().nth(*place - 1),
                }
            }
        };
        if let Some(at) = found {
            let mut value = ScalarValue::try_from_array(&new, at)?;
            // A slice of an array would keep all of the array.
            value.compact();
            self.value = Some(value);
        }
        Ok(())
    }

    /// Whether the value stays what it is.
    fn is_final(&self) -> bool {
        matches!(self.sought, Sought::FromStart(_)) && self.value.is_some()
    }
}

impl PartitionEvaluator for Remembered {
    /// Lets the rows go that were seen, but for one, at which the search for the end of the next frame begins.
    fn memoize(&mut self, state: &mut WindowAggState) -> Result<()> {
        // Nothing says how many rows go. So they stay while they are being counted; otherwise some are seen twice, which
        // has no effect.
        if self.is_final() || !self.counts {
            let range = &mut state.window_frame_range;
            range.start = range.end.saturating_sub(1);
            self.seen = 0;
        }
        Ok(())
    }

    fn evaluate(&mut self, values: &[ArrayRef], range: &Range<usize>) -> Result<ScalarValue> {
        let Some(values) = values.first() else {
            return internal_err!("a window function has no argument");
        };
        if range.end > self.seen && !self.is_final() {
            self.add(values, self.seen..range.end)?;
            self.seen = range.end;
        }
        match &self.value {
            Some(value) => Ok(value.clone()),
            None => ScalarValue::try_from(values.data_type()),
        }
    }

    fn supports_bounded_execution(&self) -> bool {
        true
    }

    fn uses_window_frame(&self) -> bool {
        true
    }
}
