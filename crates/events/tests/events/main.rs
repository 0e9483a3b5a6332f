//! The event store on an embedded store in memory.

mod answers;
mod calibrate;
mod exactly_once;
mod hidden;
mod logs;
mod lost;
mod meanwhile;
mod meddling;
mod parts;
mod stopping;
mod support;
mod types;
mod upkeep;
