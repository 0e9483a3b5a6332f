//! Tables of D4M's schema as relations: edges (record, field, value, …), and degrees (field, value, kind, degree).
//!
//! A column `field|value` is split at its first separator. A column without one has no field, and is a value as a whole.

mod exploded;
mod provider;
mod reader;
mod tables;

pub(crate) use tables::{Reader, relation};
