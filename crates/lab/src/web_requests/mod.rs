//! Requests of a web proxy as events, as in the paper on queries: more than 50 fields, domains after Zipf's law.
//!
//! * [`WebRequests`] makes any request from its number and the seed, and knows what a query of them must find.
//! * [`load`] puts them into the tables of an event type; [`run_clients`] asks from several threads at once, each
//!   for a part of the time.

mod clients;
mod fields;
mod generator;
mod queries;
#[cfg(test)]
mod tests;

pub use clients::{Answer, ClientFigures, run_clients};
pub use fields::{FIELDS, RequestField};
pub use generator::{Share, WebRequests};
pub use queries::{Loaded, count_entries, count_events, histogram, load, lookup, planned};
