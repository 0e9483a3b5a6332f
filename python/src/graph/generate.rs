//! The Kronecker generator.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ostrakon_cell::{Error, ErrorKind, Result};
use ostrakon_graph::{Kronecker, KroneckerOptions};
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

use super::results::raw_bytes;
use crate::errors::IntoPython;
use crate::signals::run;

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
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let edges = move || -> Result<(Vec<u8>, Vec<u8>)> {
        let graph = Kronecker::new(&options)?;
        let range = graph.part(part, parts)?;
        let bytes = (range.end - range.start).saturating_mul(8);
        let (mut rows, mut columns) = (room(bytes)?, room(bytes)?);
        let (mut out, mut into) = (vec![0_u64; STRIDE], vec![0_u64; STRIDE]);
        for first in range.clone().step_by(STRIDE) {
            if stopped.load(Ordering::Relaxed) {
                return Err(Error::new(ErrorKind::Cancelled, "the edges were not made"));
            }
            let now = (range.end - first).min(STRIDE as u64) as usize;
            graph.fill(first, &mut out[..now], &mut into[..now])?;
            rows.extend_from_slice(&raw_bytes(&out[..now], u64::to_ne_bytes));
            columns.extend_from_slice(&raw_bytes(&into[..now], u64::to_ne_bytes));
        }
        Ok((rows, columns))
    };
    let made = run(py, || stop.store(true, Ordering::Relaxed), edges)?;
    let (rows, columns) = made.into_python()?;
    Ok((PyByteArray::new(py, &rows), PyByteArray::new(py, &columns)))
}

/// Room for so many bytes. The process would end if it asked for more than there is.
fn room(bytes: u64) -> Result<Vec<u8>> {
    let mut room = Vec::new();
    let reserved = usize::try_from(bytes).map(|bytes| room.try_reserve_exact(bytes));
    match reserved {
        Ok(Ok(())) => Ok(room),
        _ => Err(Error::invalid(
            "the edges do not fit into memory: make them in parts, with part=(p, n)",
        )
        .with("bytes", bytes)),
    }
}
