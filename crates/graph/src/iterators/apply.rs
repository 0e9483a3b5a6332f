//! `Apply`: a function of every value.

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, Error, IteratorClass, IteratorEnvironment,
    IteratorOptions, IteratorSetting, Range, Result, SortedKeyValueIterator,
};

use super::options;
use crate::number::{format_number, parse_number};

/// What [`Apply`] does with a value and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    /// Adds the number.
    Plus,
    /// Subtracts the number.
    Minus,
    /// Multiplies by the number.
    Times,
    /// Divides by the number.
    Divide,
    /// Raises to the number.
    Power,
    /// The smaller of both.
    Min,
    /// The larger of both.
    Max,
    /// The number itself, whatever the value is: text becomes 1 this way.
    Set,
    /// The value without sign; the number is not used.
    Absolute,
}

/// A function of one value: `value OPERATION number`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Apply {
    /// The operation.
    pub scalar: Scalar,
    /// Its right side.
    pub number: f64,
}

const NAMES: [(Scalar, &str); 9] = [
    (Scalar::Plus, "plus"),
    (Scalar::Minus, "minus"),
    (Scalar::Times, "times"),
    (Scalar::Divide, "divide"),
    (Scalar::Power, "power"),
    (Scalar::Min, "min"),
    (Scalar::Max, "max"),
    (Scalar::Set, "set"),
    (Scalar::Absolute, "absolute"),
];

impl std::str::FromStr for Scalar {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        NAMES
            .iter()
            .find(|(_, name)| *name == text)
            .map(|(scalar, _)| *scalar)
            .ok_or_else(|| {
                let names: Vec<&str> = NAMES.iter().map(|(_, name)| *name).collect();
                Error::invalid(format!("the operation is one of {}", names.join(", ")))
                    .with("given", text)
            })
    }
}

impl Apply {
    /// The function's value.
    #[must_use]
    pub fn apply(self, value: f64) -> f64 {
        match self.scalar {
            Scalar::Plus => value + self.number,
            Scalar::Minus => value - self.number,
            Scalar::Times => value * self.number,
            Scalar::Divide => value / self.number,
            Scalar::Power => value.powf(self.number),
            Scalar::Min => value.min(self.number),
            Scalar::Max => value.max(self.number),
            Scalar::Set => self.number,
            Scalar::Absolute => value.abs(),
        }
    }

    /// The setting that applies the function inside a scan or a compaction.
    ///
    /// # Errors
    /// A number that is not finite.
    pub fn setting(self, priority: u32) -> Result<IteratorSetting> {
        let mut number = Vec::new();
        format_number(self.number, &mut number)?;
        let name = NAMES.iter().find(|(scalar, _)| *scalar == self.scalar);
        Ok(
            IteratorSetting::new(priority, format!("apply{priority}"), CLASS[0])
                .with("operation", name.map_or("", |(_, name)| *name))
                .with("number", String::from_utf8_lossy(&number)),
        )
    }
}

const CLASS: &[&str] = &["ostrakon.graph.Apply"];

pub(super) struct ApplyClass;

impl ApplyClass {
    fn read(options: &IteratorOptions) -> Result<Apply> {
        options::only(options, &["operation", "number"])?;
        Ok(Apply {
            scalar: options::parsed(options, "operation")?,
            number: options::number(options, "number")?.unwrap_or(0.0),
        })
    }
}

impl IteratorClass for ApplyClass {
    fn names(&self) -> &[&str] {
        CLASS
    }

    fn describe(&self) -> &str {
        "Applies a function to every value, which is a number in decimal text. Options: operation \
         (required): plus, minus, times, divide, power, min, max, set or absolute; number (0): the \
         right operand. A value that is not a number is an error, except with set. A result that is \
         not finite is an error, too."
    }

    fn validate(&self, options: &IteratorOptions) -> Result<()> {
        Self::read(options).map(|_| ())
    }

    fn init(
        &self,
        source: BoxedIterator,
        options: &IteratorOptions,
        _: &IteratorEnvironment,
    ) -> Result<BoxedIterator> {
        Ok(Box::new(ApplyIterator {
            source,
            apply: Self::read(options)?,
            text: Vec::new(),
        }))
    }
}

struct ApplyIterator {
    source: BoxedIterator,
    apply: Apply,
    text: Vec<u8>,
}

impl ApplyIterator {
    /// Applies the function to the value of entry `at`.
    fn replace(&mut self, out: &mut Batch, at: usize) -> Result<()> {
        let value = match self.apply.scalar {
            Scalar::Set => 0.0,
            _ => parse_number(out.value(at)).ok_or_else(not_a_number)?,
        };
        self.text.clear();
        format_number(self.apply.apply(value), &mut self.text)?;
        out.set_value(at, &self.text)
    }
}

impl SortedKeyValueIterator for ApplyIterator {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        self.source.seek(range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool> {
        let first = out.len();
        let more = self.source.next_batch(out, limit);
        for at in first..out.len() {
            if out.slots()[at].deleted {
                continue;
            }
            if let Err(error) = self.replace(out, at) {
                // Values that the function was not applied to never go out.
                out.truncate(at);
                return Err(error);
            }
        }
        more
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self {
            source: self.source.deep_copy(),
            apply: self.apply,
            text: Vec::new(),
        })
    }
}

/// Names no place: the reader of a compaction's error may not be allowed to see it.
pub(super) fn not_a_number() -> Error {
    Error::invalid(
        "a value is not a number: filter its column out, or turn values into numbers with the \
         operation set",
    )
    .with("data", "a value")
}
