//! Arrow's C interface by PyCapsules: what other libraries hand over, and what they take from us.
//!
//! The protocol: <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>. No
//! column is copied on the way.

use std::ffi::CStr;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader, StructArray, make_array};
use arrow_schema::{ArrowError, DataType, Schema};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// A column or a table (a struct) in chunks.
pub(crate) struct Imported {
    pub(crate) data_type: DataType,
    pub(crate) chunks: Vec<ArrayRef>,
}

/// Takes over what an object offers by the protocol; `None` when it offers nothing.
pub(crate) fn import(object: &Bound<'_, PyAny>) -> PyResult<Option<Imported>> {
    let py = object.py();
    // Offered and refused (a type Arrow has no word for) is an error of the object, not ours.
    if object.hasattr("__arrow_c_stream__")? {
        let capsule = object.call_method0("__arrow_c_stream__")?;
        let capsule = capsule.cast_into::<PyCapsule>()?;
        let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
        #[expect(
            unsafe_code,
            reason = "the protocol hands over a pointer to a C struct"
        )]
        // SAFETY: a capsule of this name holds a valid stream, by the protocol; it is moved out and
        // an empty one left in its place, which the capsule's destructor passes over.
        let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr().cast()) };
        return py.detach(|| read_stream(stream)).map(Some).map_err(refused);
    }
    if object.hasattr("__arrow_c_array__")? {
        let pair = object.call_method0("__arrow_c_array__")?;
        let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = pair.extract()?;
        let schema = schema.pointer_checked(Some(c"arrow_schema"))?;
        let array = array.pointer_checked(Some(c"arrow_array"))?;
        #[expect(unsafe_code, reason = "the protocol hands over pointers to C structs")]
        // SAFETY: as above.
        let (schema, array) = unsafe {
            (
                FFI_ArrowSchema::from_raw(schema.as_ptr().cast()),
                FFI_ArrowArray::from_raw(array.as_ptr().cast()),
            )
        };
        let data_type = DataType::try_from(&schema).map_err(refused)?;
        let chunk = adopt(array, &data_type).map_err(refused)?;
        return Ok(Some(Imported {
            data_type,
            chunks: vec![chunk],
        }));
    }
    Ok(None)
}

fn read_stream(mut stream: FFI_ArrowArrayStream) -> Result<Imported, ArrowError> {
    let (Some(get_schema), Some(get_next)) = (stream.get_schema, stream.get_next) else {
        return Err(ArrowError::CDataInterface(
            "the stream was read before".to_owned(),
        ));
    };
    let mut schema = FFI_ArrowSchema::empty();
    #[expect(unsafe_code, reason = "the stream is a C struct of functions")]
    // SAFETY: the functions belong to this stream, which is not released, and write to a struct of
    // ours.
    if unsafe { get_schema(&raw mut stream, &raw mut schema) } != 0 {
        return Err(failure(&mut stream));
    }
    let data_type = DataType::try_from(&schema)?;
    let mut chunks = Vec::new();
    loop {
        let mut array = FFI_ArrowArray::empty();
        #[expect(unsafe_code, reason = "the stream is a C struct of functions")]
        // SAFETY: as above.
        if unsafe { get_next(&raw mut stream, &raw mut array) } != 0 {
            return Err(failure(&mut stream));
        }
        if array.is_released() {
            return Ok(Imported { data_type, chunks });
        }
        chunks.push(adopt(array, &data_type)?);
    }
}

fn failure(stream: &mut FFI_ArrowArrayStream) -> ArrowError {
    let text = stream.get_last_error.map(|get_last_error| {
        #[expect(unsafe_code, reason = "the stream is a C struct of functions")]
        // SAFETY: the function belongs to this stream, which is not released.
        unsafe {
            get_last_error(&raw mut *stream)
        }
    });
    let text = text.filter(|text| !text.is_null()).map_or_else(
        || "the stream failed and does not say why".to_owned(),
        |text| {
            #[expect(unsafe_code, reason = "the text is a C string")]
            // SAFETY: it is valid until the stream is asked again.
            let text = unsafe { CStr::from_ptr(text) };
            text.to_string_lossy().into_owned()
        },
    );
    ArrowError::CDataInterface(text)
}

fn adopt(array: FFI_ArrowArray, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    #[expect(unsafe_code, reason = "the protocol hands over pointers to buffers")]
    // SAFETY: the producer promises buffers as the type it named says.
    let data = unsafe { from_ffi_and_data_type(array, data_type.clone()) }?;
    Ok(make_array(data))
}

fn refused(error: ArrowError) -> PyErr {
    match error {
        ArrowError::CDataInterface(text) => PyTypeError::new_err(text),
        other => PyValueError::new_err(other.to_string()),
    }
}

/// A capsule through which another library reads the batches of `reader`.
pub(crate) fn export_stream<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let stream = FFI_ArrowArrayStream::new(reader);
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

/// A capsule with the schema.
pub(crate) fn export_schema<'py>(
    py: Python<'py>,
    schema: &Schema,
) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(refused)?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

/// Two capsules, of the schema and of the batch.
pub(crate) fn export_batch<'py>(
    py: Python<'py>,
    batch: &RecordBatch,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    export_array(py, &StructArray::from(batch.clone()))
}

/// Two capsules, of the type and of the array.
pub(crate) fn export_array<'py>(
    py: Python<'py>,
    array: &dyn Array,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    let (array, schema) = to_ffi(&array.to_data()).map_err(refused)?;
    Ok((
        PyCapsule::new_with_value(py, schema, c"arrow_schema")?,
        PyCapsule::new_with_value(py, array, c"arrow_array")?,
    ))
}
