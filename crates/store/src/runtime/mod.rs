//! State that a store's threads share below its tables: health, memory for writes, wake-ups, the
//! log.

mod health;
mod log_state;
mod pressure;
mod wakeups;

pub(crate) use health::Health;
pub(crate) use log_state::LogState;
pub(crate) use pressure::Pressure;
pub(crate) use wakeups::{Wakeup, Wakeups};
