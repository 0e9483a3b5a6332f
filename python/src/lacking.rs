//! What a build without the feature `sql` has in place of SQL, events and tables with a schema, which share the types of
//! the query engine: the same names, which say what is missing.

use ostrakon_cell::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors::IntoPython;

/// The error of all of them.
pub(crate) fn lacking() -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "this build of the package has no SQL, no events and no tables with a schema: build it with `make venv`, without FAST=1",
    )
}

macro_rules! class {
    ($name:ident) => {
        #[pyclass(frozen, module = "ostrakon._native")]
        struct $name;

        #[pymethods]
        impl $name {
            #[new]
            #[pyo3(signature = (*_arguments, **_named))]
            fn new(
                _arguments: &Bound<'_, PyTuple>,
                _named: Option<&Bound<'_, PyDict>>,
            ) -> PyResult<Self> {
                Err(lacking()).into_python()
            }
        }
    };
}

class!(NativeEvents);
class!(NativeRows);
class!(NativeRowBatch);
class!(NativeSql);
class!(NativeTypedScan);

#[pyfunction]
#[pyo3(signature = (*_arguments))]
fn lexicode(_arguments: &Bound<'_, PyTuple>) -> PyResult<()> {
    Err(lacking()).into_python()
}

#[pyfunction]
#[pyo3(signature = (*_arguments))]
fn lexicode_parts(_arguments: &Bound<'_, PyTuple>) -> PyResult<()> {
    Err(lacking()).into_python()
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<NativeEvents>()?;
    module.add_class::<NativeRows>()?;
    module.add_class::<NativeRowBatch>()?;
    module.add_class::<NativeSql>()?;
    module.add_class::<NativeTypedScan>()?;
    module.add_function(wrap_pyfunction!(lexicode, module)?)?;
    module.add_function(wrap_pyfunction!(lexicode_parts, module)?)
}
