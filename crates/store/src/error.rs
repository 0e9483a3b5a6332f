//! Errors of a store: the error of the source contract, under the names used in this crate.
//!
//! The kind tells the caller what to do. There are three groups: the environment failed
//! ([`ErrorKind::Io`], [`ErrorKind::OutOfSpace`]), stored bytes are damaged
//! ([`ErrorKind::Corruption`], always with the file), and internal errors, which are bugs
//! ([`ErrorKind::Internal`]).

pub use ostrakon_cell::{Error, ErrorKind};

/// The result of every fallible call in this crate.
pub type StoreResult<T> = Result<T, Error>;
