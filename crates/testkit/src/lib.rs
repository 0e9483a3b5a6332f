//! What the tests of Ostrakon share: disks that fail, a judge that is plainly right, a model test
//! that plays random operations on both, and an examiner that any table source must pass. Private to
//! this repository.

pub mod conformance;
pub mod disk;
pub mod examiner;
pub mod history;
pub mod iterators;
pub mod judge;
pub mod model;
pub mod noninterference;
