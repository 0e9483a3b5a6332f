//! Histories: what several threads asked of a source at once and what it answered, checked against an order in which
//! one thread could have asked it.
//!
//! A source is *linearizable* when every call seems to take effect at one moment between its beginning and its end. The
//! checker looks for such moments; it knows nothing of tables. Three kinds of histories are made here: conditional writes
//! to a few rows, administration of a few names, and changes of properties.

mod administration;
#[cfg(test)]
mod broken;
mod checker;
mod properties;
mod record;
mod registers;
mod rows;
mod runs;
#[cfg(test)]
mod tests;

pub use administration::{AdminAnswer, AdminCall, Tables};
pub use checker::{Model, Violation, check};
pub use properties::{PropertyAnswer, PropertyCall, VersionedValue, property_history};
pub use record::{Event, Moments, Recorder};
pub use registers::{RegisterAnswer, RegisterCall, Registers};
pub use rows::{Reopen, register_history};
pub use runs::{administration_history, histories_wanted};
