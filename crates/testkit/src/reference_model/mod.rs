//! The reference model: a source of tables that keeps everything in one sorted map and does each thing in the
//! plainest way there is. Slow on purpose; what it answers is what every other source must answer.

mod conditional;
mod content;
mod coverage;
mod levels;
mod map_source;
mod map_table;
mod plain_constraints;
mod plain_iterators;
mod properties;
mod reconcile;
mod state;
#[cfg(test)]
mod tests;
mod time;

pub use coverage::Coverage;
pub use map_source::MapSource;
pub use state::MapSnapshot;
