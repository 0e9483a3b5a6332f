//! Labels, checked before anything of a call in several parts is written.

use ostrakon_cell::{Error, Result, VisibilityExpression};
use pyo3::prelude::*;

use super::arguments::{Text, all_bytes};
use crate::errors::IntoPython;

/// Fails when one of the labels is no expression, and names it.
#[pyfunction]
pub(super) fn check_labels(labels: Vec<Text>) -> PyResult<()> {
    let check = |label: Vec<u8>| -> Result<()> {
        if label.is_empty() {
            return Ok(());
        }
        VisibilityExpression::parse(&label)
            .map(|_| ())
            .map_err(|error| {
                Error::invalid("`visibility` has an invalid label; nothing was written")
                    .with("argument", "visibility")
                    .with("label", String::from_utf8_lossy(&label))
                    .with_source(error)
            })
    };
    all_bytes(labels)
        .into_iter()
        .try_for_each(check)
        .into_python()
}
