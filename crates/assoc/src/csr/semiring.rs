//! Additions and multiplications by name.

use super::matrix::Value;

/// What can be folded on collisions.
pub trait Fold: Value {
    /// Sum; integers wrap, booleans and positions take the larger.
    #[must_use]
    fn sum(self, other: Self) -> Self;
    /// Product; integers wrap, booleans and positions take the smaller.
    #[must_use]
    fn times(self, other: Self) -> Self;

    /// The smaller of two.
    #[must_use]
    fn smaller(self, other: Self) -> Self {
        if other < self { other } else { self }
    }

    /// The larger of two.
    #[must_use]
    fn larger(self, other: Self) -> Self {
        if other > self { other } else { self }
    }
}

impl Fold for f64 {
    fn sum(self, other: Self) -> Self {
        self + other
    }

    fn times(self, other: Self) -> Self {
        self * other
    }
}

impl Fold for i64 {
    fn sum(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
}

impl Fold for bool {
    fn sum(self, other: Self) -> Self {
        self.larger(other)
    }

    fn times(self, other: Self) -> Self {
        self.smaller(other)
    }
}

impl Fold for u32 {
    fn sum(self, other: Self) -> Self {
        self.larger(other)
    }

    fn times(self, other: Self) -> Self {
        self.smaller(other)
    }
}

/// What products are taken over.
pub trait Number: Fold + Default {
    /// One.
    const ONE: Self;
    /// Difference; integers wrap.
    #[must_use]
    fn minus(self, other: Self) -> Self;
    /// Quotient; integers are cut towards zero, and a zero divisor gives zero.
    #[must_use]
    fn over(self, other: Self) -> Self;
}

impl Number for f64 {
    const ONE: Self = 1.0;

    fn minus(self, other: Self) -> Self {
        self - other
    }

    fn over(self, other: Self) -> Self {
        if other == 0.0 { 0.0 } else { self / other }
    }
}

impl Number for i64 {
    const ONE: Self = 1;

    fn minus(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }

    fn over(self, other: Self) -> Self {
        if other == 0 {
            0
        } else {
            self.wrapping_div(other)
        }
    }
}

/// How products at one place are folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Add {
    /// Their sum.
    Plus,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// Any one of them.
    Any,
}

/// What a product of two entries is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multiply {
    /// Their product.
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
    /// One.
    Pair,
}
