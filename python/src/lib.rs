//! `ostrakon._native`: what the Python package does in Rust.
//!
//! Each topic is a module with a `register` function, which adds its functions and classes. Logic belongs
//! in the crates or in `python/ostrakon`, not here. Only `errors.rs` maps errors to exceptions, and every
//! call into a store releases the interpreter lock.
//!
//! To add a topic, declare its module and call its `register` below.
//!
//! Without the feature `sql`, `lacking.rs` stands in for SQL, events and tables with a schema.

#![cfg_attr(
    not(feature = "sql"),
    allow(
        dead_code,
        unused_imports,
        reason = "SQL, events and schemas use more of the other modules"
    )
)]

mod arrays;
mod assoc;
mod capsule;
mod columns;
mod errors;
#[cfg(feature = "sql")]
mod events;
mod graph;
#[cfg(not(feature = "sql"))]
mod lacking;
mod logs;
#[cfg(feature = "sql")]
mod row_batch;
#[cfg(feature = "sql")]
mod rows;
mod signals;
#[cfg(feature = "sql")]
mod sql;
mod tables;

#[cfg(feature = "sql")]
use ostrakon_adbc as _;
use pyo3::prelude::*;

#[pymodule(name = "_native")]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    errors::register(module)?;
    assoc::register(module)?;
    graph::register(module)?;
    tables::register(module)?;
    #[cfg(feature = "sql")]
    {
        sql::register(module)?;
        events::register(module)?;
    }
    #[cfg(not(feature = "sql"))]
    lacking::register(module)?;
    module.add("HAS_SQL", cfg!(feature = "sql"))?;
    // The stub lists the names, and a test compares them, so the module does not list them again.
    module.delattr("__all__")
}
