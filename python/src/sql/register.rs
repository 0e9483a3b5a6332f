//! Adds the classes of this module, and those of rows, to `ostrakon._native`.

use pyo3::prelude::*;

use super::session::NativeSql;
use crate::row_batch::NativeRowBatch;
use crate::rows::NativeRows;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<NativeRows>()?;
    module.add_class::<NativeRowBatch>()?;
    module.add_class::<NativeSql>()
}
