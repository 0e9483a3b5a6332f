//! The median of a frame that moves. The engine looks at all rows of the frame for each row that leaves it, and for each
//! result.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::row::{OwnedRow, RowConverter, SortField};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::Accumulator;

use super::in_frame::no_state;
use super::maker::Maker;

/// The values of a frame in two halves. The lower one has as many as the upper one, or one more, and none of its values is
/// greater than one of the upper half. The engine computes the median of the one or two values in the middle.
pub(super) struct MovingMedian {
    maker: Maker,
    converter: RowConverter,
    low: Half,
    high: Half,
    /// How often each value is in the frame, if each one counts once.
    distinct: Option<HashMap<OwnedRow, u64>>,
}

/// Values in the order in which they sort, and how often each is there.
#[derive(Default)]
struct Half {
    values: BTreeMap<OwnedRow, u64>,
    count: u64,
}

impl Half {
    fn add(&mut self, value: OwnedRow) {
        *self.values.entry(value).or_default() += 1;
        self.count += 1;
    }

    /// Whether the value was there.
    fn remove(&mut self, value: &OwnedRow) -> bool {
        match self.values.get_mut(value) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) => {
                self.values.remove(value);
            }
            None => return false,
        }
        self.count -= 1;
        true
    }

    fn least(&self) -> Option<&OwnedRow> {
        self.values.first_key_value().map(|(value, _)| value)
    }

    fn greatest(&self) -> Option<&OwnedRow> {
        self.values.last_key_value().map(|(value, _)| value)
    }
}

impl MovingMedian {
    pub(super) fn new(maker: Maker, kind: &DataType, is_distinct: bool) -> Result<Self> {
        Ok(Self {
            maker,
            converter: RowConverter::new(vec![SortField::new(kind.clone())])?,
            low: Half::default(),
            high: Half::default(),
            distinct: is_distinct.then(HashMap::new),
        })
    }

    fn values(&self, values: &[ArrayRef]) -> Result<Vec<OwnedRow>> {
        let Some(array) = values.first() else {
            return Ok(Vec::new());
        };
        let rows = self
            .converter
            .convert_columns(values.get(..1).unwrap_or_default())?;
        let valid = (0..array.len()).filter(|at| array.is_valid(*at));
        Ok(valid.map(|at| rows.row(at).owned()).collect())
    }

    fn add(&mut self, value: OwnedRow) {
        if let Some(counts) = &mut self.distinct {
            let count = counts.entry(value.clone()).or_default();
            *count += 1;
            if *count > 1 {
                return;
            }
        }
        let is_low = self
            .low
            .greatest()
            .is_some_and(|greatest| value <= *greatest);
        match is_low {
            true => self.low.add(value),
            false => self.high.add(value),
        }
    }

    /// Whether the value was there.
    fn remove(&mut self, value: &OwnedRow) -> bool {
        if let Some(counts) = &mut self.distinct {
            match counts.get_mut(value) {
                Some(count) if *count > 1 => {
                    *count -= 1;
                    return true;
                }
                Some(_) => {
                    counts.remove(value);
                }
                None => return false,
            }
        }
        self.low.remove(value) || self.high.remove(value)
    }

    /// Moves values until the halves have as many as they have to.
    fn balance(&mut self) {
        while self.low.count > self.high.count + 1
            && let Some(value) = self.low.greatest().cloned()
        {
            self.low.remove(&value);
            self.high.add(value);
        }
        while self.high.count > self.low.count
            && let Some(value) = self.high.least().cloned()
        {
            self.high.remove(&value);
            self.low.add(value);
        }
    }
}

impl Accumulator for MovingMedian {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in self.values(values)? {
            self.add(value);
            self.balance();
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in self.values(values)? {
            if !self.remove(&value) {
                return internal_err!("a value leaves a frame that it is not in");
            }
            self.balance();
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut middle = self.maker.make()?;
        let low = self.low.greatest();
        let high = self
            .high
            .least()
            .filter(|_| self.low.count == self.high.count);
        let values: Vec<_> = low.into_iter().chain(high).map(OwnedRow::row).collect();
        if !values.is_empty() {
            middle.update_batch(&self.converter.convert_rows(values)?)?;
        }
        middle.evaluate()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        no_state()
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        no_state()
    }

    fn size(&self) -> usize {
        let values = self.low.values.len() + self.high.values.len();
        size_of_val(self) + values * 2 * size_of::<(OwnedRow, u64)>()
    }
}

impl fmt::Debug for MovingMedian {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MovingMedian").finish_non_exhaustive()
    }
}
