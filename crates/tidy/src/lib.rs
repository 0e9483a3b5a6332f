//! The repository's rules, as ordinary tests.
//!
//! A rule reads the [`tree::Tree`] (every file of the repository, in memory) and returns
//! [`finding::Finding`]s: where, what is wrong, and what to do instead. `tests/repository.rs` runs
//! each rule on the repository. The tests of each rule have bad samples that it must report, so
//! that every rule is known to fail when it should.
//!
//! `cargo run -p ostrakon-tidy -- stamp` rewrites the hashes that tie format pages to modules.

pub mod architecture;
pub mod finding;
pub mod literals;
pub mod pages;
pub mod rules;
pub mod rust;
pub mod sources;
pub mod tree;
