//! Event types as relations of their events.

mod conditions;
mod counts;
mod provider;
mod rows;
mod values;

pub(crate) use counts::CountEvents;
pub(crate) use provider::relation;
pub use rows::EventRows;
