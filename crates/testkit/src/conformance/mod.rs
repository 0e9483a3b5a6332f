//! The conformance test: scripts of operations in plain text, played on a source of ours and on a real
//! Accumulo cluster, with the answers compared line by line. `docs/conformance.md` has the format.
//!
//! [`Script`] is a script, [`play`] plays it on any source, [`Peer`] is the cluster, [`generate()`] makes the
//! script of a seed, and [`examine()`] plays many on both sides and shortens what differs.

mod bytes;
mod examine;
mod namespace;
mod peer;
mod player;
mod profile;
mod random;
mod scan;
mod script;
mod shorten;
mod table;
#[cfg(test)]
mod tests;
mod write;

pub use examine::{Difference, Examination, Played, examine, load};
pub use peer::{Peer, lexicoders, skipped};
pub use player::{Answer, play};
pub use profile::Profile;
pub use random::generate;
pub use script::{Operation, Script, Words};
