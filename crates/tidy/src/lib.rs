//! The repository's rules, as ordinary tests.
//!
//! A rule reads the [`tree::Tree`] (every file of the repository, in memory) and returns
//! [`finding::Finding`]s: where, what is wrong, and what to do instead. `tests/repository.rs` runs
//! each rule on the real repository; at the foot of each rule's file stand the bad samples it
//! must object to, so that no rule is one that cannot fail.
//!
//! `cargo run -p ostrakon-tidy -- stamp` rewrites the hashes that tie format pages to modules.

pub mod finding;
pub mod pages;
pub mod rules;
pub mod rust;
pub mod sources;
pub mod tree;
