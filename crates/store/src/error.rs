//! What can go wrong in a store: the source contract's error, under the names used in this crate.
//!
//! The kinds tell the caller what to do. Three sorts of wrong are kept apart: the world refused
//! ([`ErrorKind::Io`], [`ErrorKind::OutOfSpace`]), the bytes are wrong ([`ErrorKind::Corruption`],
//! always with the file), and we are wrong ([`ErrorKind::Internal`]).

pub use ostrakon_cell::{Error, ErrorKind};

/// The result of every fallible call in this crate.
pub type StoreResult<T> = Result<T, Error>;
