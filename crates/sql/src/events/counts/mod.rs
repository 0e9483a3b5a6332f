//! `count(*)` over an event type as a question to the event store, which answers it from kept counts where it can: alone,
//! by spans of time, and by the values of an indexed field.

mod question;
mod relation;
mod rule;

pub(crate) use rule::CountEvents;
