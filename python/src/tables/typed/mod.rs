//! Tables with a schema: values in the encodings of `ostrakon_cell::lexicoder`, a row of the table as a
//! row of a record batch.

mod encode;
mod kind;
mod reader;

pub(super) use encode::{lexicode, lexicode_parts};
pub(super) use reader::{NativeTypedScan, TypedArgument};
