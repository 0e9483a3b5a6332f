//! Reading a table as a relation: conditions that become ranges, and the node of a plan that runs scans.

mod bytes;
mod condition;
mod exec;
mod planned;
mod ranges;
mod rest;
mod size;

pub(crate) use bytes::{ByteSet, Interval, after};
pub(crate) use condition::{Encoding, bytes, encoded, is_column, literal, split_pattern, text};
pub(crate) use exec::{EndsScans, Reading, Relation, SourceExec, Start, open_scans};
pub(crate) use planned::{planned_scan, ready};
pub(crate) use ranges::{batch_bytes, partitions};
pub(crate) use rest::{Asked, pushdown, with_rest};
pub(crate) use size::{after_tests, entries};
