//! Adds the classes and functions of this module to `ostrakon._native`.

use pyo3::prelude::*;

use super::{algorithms, generate, products, write};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(generate::graph_kronecker, module)?)?;
    module.add_function(wrap_pyfunction!(write::graph_write, module)?)?;
    module.add_function(wrap_pyfunction!(products::graph_multiply, module)?)?;
    module.add_function(wrap_pyfunction!(products::graph_elementwise, module)?)?;
    module.add_function(wrap_pyfunction!(algorithms::graph_search, module)?)?;
    module.add_function(wrap_pyfunction!(algorithms::graph_compute, module)?)
}
