//! Kernels of associative arrays, the algebra of D4M: sorted key dictionaries and the sparse
//! matrices between them.
//!
//! * [`keys::Keys`]: sorted, unique strings in one buffer; built from unsorted lists, merged, cut
//!   into ranges.
//! * [`csr::Csr`]: a compressed sparse matrix; built from triples, added, multiplied, cut.
//!
//! An associative array is two dictionaries (rows, columns) and one matrix whose entries are numbers
//! or positions in a third dictionary (string values). The meaning of the operators is defined in
//! Python; this crate works on positions and bytes. No kernel allocates per key or per entry.
//!
//! ```
//! use ostrakon_assoc::{csr::{Collision, Csr, Triples}, keys::{Keys, Text}};
//! let rows = Text::from_strs(["bob", "alice", "bob"]);
//! let cols = Text::from_strs(["carl", "bob", "carl"]);
//! let (row_keys, row) = Keys::build(&rows)?;
//! let (col_keys, col) = Keys::build(&cols)?;
//! let triples = Triples { rows: &row, columns: &col, shape: (row_keys.len(), col_keys.len()) };
//! let matrix = Csr::from_triples(&triples, &[1.0, 2.0, 3.0], Collision::Sum, 1)?.matrix;
//! assert_eq!(row_keys.get(1), Some(&b"bob"[..]));
//! assert_eq!(matrix.values(), [2.0, 4.0]);
//! # Ok::<(), ostrakon_assoc::Error>(())
//! ```
//!
//! This crate does no I/O, reads no clock and draws no random numbers. It starts threads only where
//! a caller passes a number of them, and joins them before it returns.

pub mod csr;
mod error;
pub mod keys;

pub use error::{Error, Result};
