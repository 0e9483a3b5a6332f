//! One file a rule. Each has `check`, which returns what it objects to, and its bad samples.

pub mod dead_files;
pub mod decisions;
pub mod fixtures;
pub mod front_desks;
pub mod fuzzed;
pub mod imports;
pub mod layout;
pub mod length;
pub mod links;
pub mod lints;
pub mod map;
pub mod pages;
pub mod places;
pub mod reasons;
pub mod rooms;
pub mod words;
