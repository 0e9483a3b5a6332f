//! Sorted, unique keys in one buffer: the names of an axis of an associative array.

mod build;
mod combine;
mod dictionary;
mod numbers;
mod select;
mod set;
mod text;
mod words;

#[cfg(test)]
mod tests;

pub use combine::{concatenate, join};
pub use dictionary::{Keys, MISSING};
pub use numbers::build_numbers;
pub use set::{Intersection, Union};
pub use text::Text;
pub use words::words;
