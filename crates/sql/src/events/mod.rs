//! Event types as relations of their events.

mod conditions;
mod counts;
mod provider;
mod values;

pub(crate) use counts::CountEvents;
pub(crate) use provider::relation;
