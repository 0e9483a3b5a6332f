//! Shared test tools of Ostrakon: failing disks, a simple reference model, a model test that plays random
//! operations on a store and on the model, and the conformance suites for table sources and iterators.
//! Private to this repository.

pub mod conformance;
pub mod disk;
pub mod examiner;
pub mod history;
pub mod iterators;
pub mod model;
pub mod noninterference;
pub mod reference_model;
