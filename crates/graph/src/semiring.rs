//! The operations that stand for plus and times.

use ostrakon_cell::{Error, Result};

/// How two values of one place become one. All are associative and commutative, so that partial
/// results may be combined in any order, in memory or by a combiner in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Plus {
    /// Their sum.
    #[default]
    Sum,
    /// The smaller.
    Min,
    /// The larger.
    Max,
}

/// Combines two matching values.
#[derive(Debug, Clone, Copy, Default)]
pub enum Times {
    /// Their product.
    #[default]
    Times,
    /// Their sum.
    Plus,
    /// The smaller.
    Min,
    /// The larger.
    Max,
    /// The left one.
    First,
    /// The right one.
    Second,
    /// 1, whatever the values are: counts the matches.
    Pair,
    /// A function of the caller's.
    Custom(fn(f64, f64) -> f64),
}

/// Plus and times.
///
/// ```
/// use ostrakon_graph::{Plus, Semiring};
/// let semiring: Semiring = "min.plus".parse()?;
/// assert_eq!(semiring.plus, Plus::Min);
/// # Ok::<(), ostrakon_cell::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Semiring {
    /// Combines values of one place.
    pub plus: Plus,
    /// Combines a value of the left and one of the right.
    pub times: Times,
}

impl Semiring {
    /// Ordinary matrix arithmetic; the default.
    pub const PLUS_TIMES: Self = Self::new(Plus::Sum, Times::Times);
    /// Shortest paths.
    pub const MIN_PLUS: Self = Self::new(Plus::Min, Times::Plus);
    /// Counts the meetings, as for tables of strings.
    pub const PLUS_PAIR: Self = Self::new(Plus::Sum, Times::Pair);
    /// Whether there is a meeting at all.
    pub const ANY_PAIR: Self = Self::new(Plus::Max, Times::Pair);

    /// A semiring of these two.
    #[must_use]
    pub const fn new(plus: Plus, times: Times) -> Self {
        Self { plus, times }
    }
}

impl Plus {
    /// The operation's name in options.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Min => "min",
            Self::Max => "max",
        }
    }

    /// Combines two values.
    #[must_use]
    #[inline]
    pub fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Sum => a + b,
            Self::Min => a.min(b),
            Self::Max => a.max(b),
        }
    }
}

impl Times {
    /// Combines two values.
    #[must_use]
    #[inline]
    pub fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Times => a * b,
            Self::Plus => a + b,
            Self::Min => a.min(b),
            Self::Max => a.max(b),
            Self::First => a,
            Self::Second => b,
            Self::Pair => 1.0,
            Self::Custom(function) => function(a, b),
        }
    }
}

impl std::str::FromStr for Plus {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "sum" | "plus" => Ok(Self::Sum),
            "min" => Ok(Self::Min),
            "max" | "or" | "any" => Ok(Self::Max),
            _ => Err(Error::invalid("plus is one of plus, min, max, any").with("given", text)),
        }
    }
}

impl std::str::FromStr for Times {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "times" => Ok(Self::Times),
            "plus" => Ok(Self::Plus),
            "min" => Ok(Self::Min),
            "max" => Ok(Self::Max),
            "first" => Ok(Self::First),
            "second" => Ok(Self::Second),
            "pair" | "and" => Ok(Self::Pair),
            _ => Err(
                Error::invalid("times is one of times, plus, min, max, first, second, pair")
                    .with("given", text),
            ),
        }
    }
}

impl std::str::FromStr for Semiring {
    type Err = Error;

    /// Reads `plus.times`, the two names joined by a point, a dash or an underscore.
    fn from_str(text: &str) -> Result<Self> {
        let (plus, times) = text.split_once(['.', '_', '-']).ok_or_else(|| {
            Error::invalid("a semiring is written plus.times, for example min.plus")
                .with("given", text)
        })?;
        Ok(Self::new(plus.parse()?, times.parse()?))
    }
}

/// A computation that is compiled once for each pair of operations, so that its inner loop calls
/// nothing.
pub(crate) trait Kernel {
    type Out;
    fn run(
        self,
        plus: impl Fn(f64, f64) -> f64 + Copy + Sync,
        times: impl Fn(f64, f64) -> f64 + Copy + Sync,
    ) -> Self::Out;
}

impl Semiring {
    pub(crate) fn dispatch<K: Kernel>(self, kernel: K) -> K::Out {
        match self.plus {
            Plus::Sum => self.with_plus(kernel, |a, b| a + b),
            Plus::Min => self.with_plus(kernel, f64::min),
            Plus::Max => self.with_plus(kernel, f64::max),
        }
    }

    fn with_plus<K: Kernel>(
        self,
        kernel: K,
        plus: impl Fn(f64, f64) -> f64 + Copy + Sync,
    ) -> K::Out {
        match self.times {
            Times::Times => kernel.run(plus, |a, b| a * b),
            Times::Plus => kernel.run(plus, |a, b| a + b),
            Times::Pair => kernel.run(plus, |_, _| 1.0),
            times => kernel.run(plus, move |a, b| times.apply(a, b)),
        }
    }
}
