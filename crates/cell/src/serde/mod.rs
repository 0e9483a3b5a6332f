//! Serialization of the plain value types with serde (feature `serde`).
//!
//! Bytes have two forms. In a human-readable format such as JSON, a field of bytes that are UTF-8 is a string under its
//! name, and other bytes are base64 under `NAME_base64`, in place of `NAME`. This is how the program `ostrakon` prints
//! entries, so that a line of `scan --json` is an [`Entry`](crate::Entry). In a binary format a field is a byte string.
//! Both forms are lossless.
//!
//! | type | form |
//! |---|---|
//! | `Key` | `row`, `family`, `qualifier`, `visibility`, `timestamp`, `deleted`; human-readable formats omit `deleted` if it is `false` |
//! | `Entry` | the fields of its key, and `value` |
//! | `Range` | `start` and `end` (a key or none), `start_inclusive`, `end_inclusive` |
//! | `Mutation` | `row` and `updates`: `family`, `qualifier`, `visibility`, `timestamp`, and `value` or `deleted` |
//! | `Authorizations` | a sequence of names; in human-readable formats, a set with a name that is not UTF-8 is a string in Accumulo's serialized form |
//! | `VisibilityExpression` | a string |
//!
//! A missing field is an error. In particular, an entry without `visibility` is not read as an entry without a label. A
//! delete is marked by `deleted` and not by a missing value.

mod bytes;
mod entry;
mod labels;
mod mutation;
mod range;
