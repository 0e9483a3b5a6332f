//! `ostrakon._native`: what the Python package does in Rust.
//!
//! The border is thin: a module a topic, each with a `register` that adds its functions and classes.
//! Logic stays below (in the crates) or above (in `python/ostrakon`); errors are mapped in `errors.rs`
//! alone, and every call into a store releases the interpreter lock.
//!
//! To add a topic, declare its module and name its `register` below.

mod arrays;
mod assoc;
mod capsule;
mod columns;
mod errors;
mod graph;
mod signals;
mod tables;

use pyo3::prelude::*;

#[pymodule(name = "_native")]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    errors::register(module)?;
    assoc::register(module)?;
    graph::register(module)?;
    tables::register(module)?;
    // The stub lists the names, and a test compares them; a second list would only drift.
    module.delattr("__all__")
}
