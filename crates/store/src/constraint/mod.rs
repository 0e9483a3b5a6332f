//! The stock constraints: Accumulo's own and those of its examples, under their class names.
//!
//! This module depends only on the constraint contract of `cell`. Codes are Accumulo's.

mod key_size;
mod no_delete;
mod plain_text;
mod stock;
#[cfg(test)]
mod tests;
mod visibility;

pub use stock::{DEFAULT_CONSTRAINT, stock_constraints};
