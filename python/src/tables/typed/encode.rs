//! Values of Python as bytes that sort as the values do.

use std::sync::Arc;

use arrow_array::LargeBinaryArray;
use arrow_buffer::{Buffer, OffsetBuffer};
use ostrakon_cell::lexicoder::{encode_f64, encode_i64, encode_u64, push_part};
use ostrakon_cell::{Error, Result};
use ostrakon_sql::ColumnType;
use pyo3::prelude::*;

use super::kind::column_type;
use crate::arrays::Items;
use crate::columns::{Column, column};
use crate::errors::IntoPython;
use crate::tables::coded::NativeColumn;

fn encoded(count: usize, mut each: impl FnMut(usize, &mut Vec<u8>)) -> Result<NativeColumn> {
    let mut data = Vec::with_capacity(count * 9);
    let mut offsets: Vec<i64> = Vec::with_capacity(count + 1);
    offsets.push(0);
    for at in 0..count {
        each(at, &mut data);
        offsets.push(data.len() as i64);
    }
    let offsets = OffsetBuffer::new(offsets.into());
    let array = LargeBinaryArray::try_new(offsets, Buffer::from_vec(data), None);
    let wrong = |error| Error::invalid("the values cannot be encoded").with_source(error);
    Ok(NativeColumn::new_plain(Arc::new(array.map_err(wrong)?)))
}

/// Encodes numbers: `int64` (dates and times too), `uint64`, `float64` or booleans as `uint64`.
#[pyfunction]
pub(in crate::tables) fn lexicode(
    py: Python<'_>,
    kind: &str,
    values: &Bound<'_, PyAny>,
) -> PyResult<NativeColumn> {
    let kind = column_type(kind).into_python()?;
    match kind {
        ColumnType::Float => {
            let values: Items<f64> = values.extract()?;
            py.detach(|| {
                let values = values.as_slice();
                encoded(values.len(), |at, out| encode_f64(values[at], out))
            })
        }
        ColumnType::Int | ColumnType::Date | ColumnType::Datetime | ColumnType::DatetimeUs => {
            let values: Items<i64> = values.extract()?;
            py.detach(|| {
                let values = values.as_slice();
                encoded(values.len(), |at, out| encode_i64(values[at], out))
            })
        }
        ColumnType::Uint => {
            // The bits of unsigned numbers.
            let values: Items<i64> = values.extract()?;
            py.detach(|| {
                let values = values.as_slice();
                encoded(values.len(), |at, out| {
                    encode_u64(values[at].cast_unsigned(), out);
                })
            })
        }
        ColumnType::Bool => {
            let values: Items<bool> = values.extract()?;
            py.detach(|| {
                let values = values.as_slice();
                encoded(values.len(), |at, out| out.push(u8::from(values[at])))
            })
        }
        ColumnType::Text | ColumnType::Bytes => {
            Err(Error::invalid("text and bytes are their own encoding"))
        }
    }
    .into_python()
}

/// Puts encoded parts of keys together, as Accumulo's `ListLexicoder`.
#[pyfunction]
pub(in crate::tables) fn lexicode_parts(
    py: Python<'_>,
    parts: Vec<Bound<'_, PyAny>>,
) -> PyResult<NativeColumn> {
    let parts: Vec<Column> = parts
        .iter()
        .map(|part| column("row", part))
        .collect::<PyResult<_>>()?;
    py.detach(|| {
        let counts: Vec<usize> = parts.iter().filter_map(Column::len).collect();
        let count = counts.first().copied().unwrap_or(1);
        if counts.iter().any(|other| *other != count) {
            return Err(Error::invalid(
                "the columns of the row have different lengths; nothing was written",
            )
            .with("argument", "row"));
        }
        encoded(count, |at, out| {
            for (place, part) in parts.iter().enumerate() {
                push_part(place == 0, part.get(at), out);
            }
        })
    })
    .into_python()
}
