//! The analytical queries of HiBench, in SQL: rankings and uservisits, an aggregation and a join.
//!
//! [`HiveData`] makes both tables; [`load`] puts them into mapped relations, and [`run_query`] runs a query and compares its
//! answer with the one computed from the generator.

mod data;
mod expected;
mod run;
#[cfg(test)]
mod tests;

pub use data::HiveData;
pub use expected::{Expected, Top};
pub use run::{HiveLoaded, HiveQuery, QueryFigures, load, run_query};
