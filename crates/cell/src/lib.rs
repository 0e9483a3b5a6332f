//! cell
pub mod visibility;
