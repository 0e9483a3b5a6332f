//! A disk that fails: it forgets what was not synced, fills up, refuses, and rots; and the examiner
//! that any disk must pass.

mod content;
mod examiner;
mod faults;
mod faulty;
mod handles;
mod harm;
mod names;
mod state;

pub use examiner::examine_disk;
pub use faults::{Counters, Crash, Faults};
pub use faulty::FaultyVfs;
pub use harm::{Harm, copy_of, rounds_wanted};

#[cfg(test)]
mod tests;
