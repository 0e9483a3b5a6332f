//! Adds the classes and functions of this module to `ostrakon._native`.

use pyo3::prelude::*;

use super::{keys, matrix, product};

/// Adds the class of dictionaries and the kernels.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<keys::NativeKeys>()?;
    module.add_function(wrap_pyfunction!(keys::assoc_keys, module)?)?;
    module.add_function(wrap_pyfunction!(keys::assoc_join, module)?)?;
    module.add_function(wrap_pyfunction!(keys::assoc_concatenate, module)?)?;
    module.add_function(wrap_pyfunction!(matrix::assoc_fold, module)?)?;
    module.add_function(wrap_pyfunction!(matrix::assoc_group, module)?)?;
    module.add_function(wrap_pyfunction!(matrix::assoc_elementwise, module)?)?;
    module.add_function(wrap_pyfunction!(matrix::assoc_match, module)?)?;
    module.add_function(wrap_pyfunction!(matrix::assoc_select, module)?)?;
    module.add_function(wrap_pyfunction!(matrix::assoc_filter, module)?)?;
    module.add_function(wrap_pyfunction!(matrix::assoc_transpose, module)?)?;
    module.add_function(wrap_pyfunction!(matrix::assoc_rows, module)?)?;
    module.add_function(wrap_pyfunction!(product::assoc_product, module)?)?;
    module.add_function(wrap_pyfunction!(product::assoc_expand, module)?)?;
    module.add_function(wrap_pyfunction!(product::assoc_cat, module)?)?;
    module.add_function(wrap_pyfunction!(product::assoc_product_size, module)?)?;
    module.add_function(wrap_pyfunction!(product::assoc_product_entries, module)?)?;
    module.add_function(wrap_pyfunction!(product::assoc_cat_bytes, module)?)?;
    Ok(())
}
