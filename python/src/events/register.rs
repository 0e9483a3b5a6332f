//! Adds the class of this module to `ostrakon._native`.

use pyo3::prelude::*;

use super::store::NativeEvents;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<NativeEvents>()
}
