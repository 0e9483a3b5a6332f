//! Adds the classes and functions of this module to `ostrakon._native`.

use pyo3::prelude::*;

use super::coded::NativeColumn;
use super::labels::check_labels;
use super::records::{NativeRecordFile, NativeRecordImport};
use super::scan::{NativeBatch, NativeScan};
use super::store::NativeStore;
use super::table::{NativeTable, write_sorted_file};
#[cfg(feature = "sql")]
use super::typed::{NativeTypedScan, lexicode, lexicode_parts};
use super::writer::NativeWriter;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<NativeStore>()?;
    module.add_class::<NativeTable>()?;
    module.add_class::<NativeWriter>()?;
    module.add_class::<NativeScan>()?;
    module.add_class::<NativeBatch>()?;
    module.add_class::<NativeColumn>()?;
    module.add_class::<NativeRecordFile>()?;
    module.add_class::<NativeRecordImport>()?;
    #[cfg(feature = "sql")]
    {
        module.add_class::<NativeTypedScan>()?;
        module.add_function(wrap_pyfunction!(lexicode, module)?)?;
        module.add_function(wrap_pyfunction!(lexicode_parts, module)?)?;
    }
    module.add_function(wrap_pyfunction!(check_labels, module)?)?;
    module.add_function(wrap_pyfunction!(write_sorted_file, module)?)
}
