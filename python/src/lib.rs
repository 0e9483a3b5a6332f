//! `ostrakon._native`: what the Python package does in Rust.
//!
//! Each topic is a module with a `register` function, which adds its functions and classes. Logic belongs
//! in the crates or in `python/ostrakon`, not here. Only `errors.rs` maps errors to exceptions, and every
//! call into a store releases the interpreter lock.
//!
//! To add a topic, declare its module and call its `register` below.

mod arrays;
mod assoc;
mod capsule;
mod columns;
mod errors;
mod events;
mod graph;
mod rows;
mod signals;
mod sql;
mod tables;

use pyo3::prelude::*;

#[pymodule(name = "_native")]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    errors::register(module)?;
    assoc::register(module)?;
    graph::register(module)?;
    tables::register(module)?;
    sql::register(module)?;
    events::register(module)?;
    // The stub lists the names, and a test compares them, so the module does not list them again.
    module.delattr("__all__")
}
