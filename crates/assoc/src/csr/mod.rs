//! Compressed sparse matrices between two dictionaries. Rows and columns without an entry are never
//! kept: every kernel that may empty some reports which ones are left.

mod cat;
mod condense;
mod elementwise;
mod matrix;
mod product;
mod select;
mod semiring;
mod size;
mod triples;

#[cfg(test)]
mod tests;

pub use cat::{CatText, cat_product};
pub use condense::Condensed;
pub use elementwise::{
    Aligned, Elementwise, Matched, intersection, matched_intersection, matched_union, union,
};
pub use matrix::{Csr, Value, View};
pub use product::{Pairs, expand, product};
pub use select::{filter, row_numbers, select, transpose};
pub use semiring::{Add, Multiply, Number};
pub use size::{Size, cat_bytes, product_entries, product_size};
pub use triples::{Collision, Grouped, Triples, group};
