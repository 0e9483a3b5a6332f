//! Table properties under Accumulo's names: the known names, their meaning here, and their
//! defaults.

mod check;
mod config;
mod groups;
mod levels;
mod names;
#[cfg(test)]
mod tests;
mod values;

pub use check::{check_property, check_system_property};
pub use config::{BloomConfig, BloomFunctor, TableConfig};
pub use levels::{default_iterators, describe, effect_of, effective, merged};
pub use names::default_of;
pub use values::parse_bytes;
