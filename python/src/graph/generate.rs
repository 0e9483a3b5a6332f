//! The Kronecker generator.

use ostrakon_cell::Result;
use ostrakon_graph::{Kronecker, KroneckerOptions};
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

use super::results::raw_bytes;
use crate::errors::IntoPython;

/// Edges made between two copies: their numbers stay in the cache.
const STRIDE: usize = 1 << 14;

/// Rows and columns of a part of the edges, as 64-bit integers.
type Edges<'py> = (Bound<'py, PyByteArray>, Bound<'py, PyByteArray>);

/// The edges of one part of a Kronecker graph.
#[pyfunction]
pub(super) fn graph_kronecker<'py>(
    py: Python<'py>,
    scale: u32,
    edges_per_vertex: f64,
    seed: u64,
    permuted: bool,
    part: u64,
    parts: u64,
) -> PyResult<Edges<'py>> {
    let options = KroneckerOptions {
        scale,
        edges_per_vertex,
        seed,
        permuted,
        ..KroneckerOptions::default()
    };
    let (rows, columns) = py
        .detach(|| -> Result<(Vec<u8>, Vec<u8>)> {
            let graph = Kronecker::new(&options)?;
            let range = graph.part(part, parts)?;
            let count = (range.end - range.start) as usize;
            let (mut rows, mut columns) =
                (Vec::with_capacity(count * 8), Vec::with_capacity(count * 8));
            let (mut out, mut into) = (vec![0_u64; STRIDE], vec![0_u64; STRIDE]);
            for first in range.clone().step_by(STRIDE) {
                let now = (range.end - first).min(STRIDE as u64) as usize;
                graph.fill(first, &mut out[..now], &mut into[..now])?;
                rows.extend_from_slice(&raw_bytes(&out[..now], u64::to_ne_bytes));
                columns.extend_from_slice(&raw_bytes(&into[..now], u64::to_ne_bytes));
            }
            Ok((rows, columns))
        })
        .into_python()?;
    Ok((PyByteArray::new(py, &rows), PyByteArray::new(py, &columns)))
}
