//! Columns: how values of any Python library become runs of bytes, one check for all.

mod arrow;
mod column;
mod entries;
mod numpy;
mod python;
mod stamps;

pub(crate) use column::Column;
pub(crate) use entries::Entries;
pub(crate) use python::{column, column_to_read, columns_of_frame};
pub(crate) use stamps::stamps;
