//! Event types as relations of their events.

mod conditions;
mod provider;
mod values;

pub(crate) use provider::relation;
