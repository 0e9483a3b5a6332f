//! Keys and texts as Python hands them over.

use ostrakon_assoc::keys::{Keys, Text, build_numbers};
use ostrakon_assoc::{Error, Result};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::arrays::Items;

/// One list of keys: what the user calls it, and where its items are.
pub(super) struct Source {
    pub(super) argument: String,
    kind: Kind,
}

enum Kind {
    /// NumPy `U`, as code points.
    Utf32(Items<u32>),
    /// NumPy `S`.
    Fixed(Items<u8>),
    /// Arrow's large strings.
    Buffer(Items<u8>, Items<i64>),
    /// A Python list, copied while the lock is held.
    List(Text),
    Numbers(Items<i64>),
}

/// A source without anything of Python's, for threads.
pub(super) enum Plain<'a> {
    Utf32(&'a [u32], usize),
    Fixed(&'a [u8], usize),
    Buffer(&'a [u8], &'a [i64]),
    List(&'a Text),
    Numbers(&'a [i64]),
}

/// A dictionary or sorted numbers, and the position of each item.
pub(super) enum Built {
    Keys(Keys, Vec<u32>),
    Numbers(Vec<i64>, Vec<u32>),
}

impl<'py> FromPyObject<'_, 'py> for Source {
    type Error = PyErr;

    /// Reads `(argument, kind, array[, offsets])`.
    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let argument: String = object.get_item(0)?.extract()?;
        let kind: String = object.get_item(1)?.extract()?;
        let data = object.get_item(2)?;
        let kind = match kind.as_str() {
            "utf32" => Kind::Utf32(Items::of_cells(data.as_borrowed())?),
            "fixed" => Kind::Fixed(Items::of_cells(data.as_borrowed())?),
            "buffer" => Kind::Buffer(data.extract()?, object.get_item(3)?.extract()?),
            "list" => Kind::List(text_of_list(&argument, data.cast::<PyList>()?)?),
            "numbers" => Kind::Numbers(data.extract()?),
            other => {
                return Err(PyValueError::new_err(format!(
                    "there is no kind of keys {other:?}"
                )));
            }
        };
        Ok(Self { argument, kind })
    }
}

impl Source {
    pub(super) fn plain(&self) -> Plain<'_> {
        match &self.kind {
            Kind::Utf32(array) => Plain::Utf32(array.as_slice(), array.width),
            Kind::Fixed(array) => Plain::Fixed(array.as_slice(), array.width),
            Kind::Buffer(bytes, offsets) => Plain::Buffer(bytes.as_slice(), offsets.as_slice()),
            Kind::List(text) => Plain::List(text),
            Kind::Numbers(numbers) => Plain::Numbers(numbers.as_slice()),
        }
    }
}

impl Plain<'_> {
    pub(super) fn build(&self) -> Result<Built> {
        let (keys, inverse) = match self {
            Self::Utf32(units, width) => Keys::build(&Text::from_utf32(units, *width)?)?,
            Self::Fixed(bytes, width) => Keys::build(&Text::from_fixed(bytes, *width)?)?,
            Self::Buffer(bytes, offsets) => Keys::build(&Text::from_parts(bytes, offsets)?)?,
            Self::List(text) => Keys::build(text)?,
            Self::Numbers(numbers) => {
                let (numbers, inverse) = build_numbers(numbers)?;
                return Ok(Built::Numbers(numbers, inverse));
            }
        };
        Ok(Built::Keys(keys, inverse))
    }

    /// Items, as a measure of the work.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Utf32(units, width) => units.len() / (*width).max(1),
            Self::Fixed(bytes, width) => bytes.len() / (*width).max(1),
            Self::Buffer(_, offsets) => offsets.len(),
            Self::List(text) => text.len(),
            Self::Numbers(numbers) => numbers.len(),
        }
    }
}

/// Items of a list that are read between two looks for signals.
const LOOK_ITEMS: usize = 1 << 16;

fn text_of_list(argument: &str, list: &Bound<'_, PyList>) -> PyResult<Text> {
    let mut text = Text::with_capacity(list.len(), 8 * list.len());
    for (position, item) in list.iter().enumerate() {
        if position % LOOK_ITEMS == 0 {
            list.py().check_signals()?;
        }
        if let Ok(string) = item.cast::<PyString>() {
            let string = string.to_str().map_err(|_| {
                PyValueError::new_err(format!(
                    "{argument}: the text at position {position} holds a surrogate and has no UTF-8 form"
                ))
            })?;
            text.push(string.as_bytes());
        } else if let Ok(bytes) = item.cast::<PyBytes>() {
            let string = std::str::from_utf8(bytes.as_bytes())
                .map_err(|_| to_python(argument, &Error::NotUtf8 { position }))?;
            text.push(string.as_bytes());
        } else {
            let class = item.get_type();
            return Err(PyTypeError::new_err(format!(
                "{argument}: the item at position {position} is {}, the others are text; keys and \
                 values of one list must be of one kind",
                class.name()?
            )));
        }
    }
    Ok(text)
}

/// The exception for an error of a kernel, with the argument's name first.
pub(super) fn to_python(argument: &str, error: &Error) -> PyErr {
    let message = format!("{argument}: {error}");
    match error {
        Error::TooLarge { .. } => too_large(argument, message),
        _ => PyValueError::new_err(message),
    }
}

/// `ostrakon.errors.TooLargeError`.
fn too_large(argument: &str, message: String) -> PyErr {
    Python::attach(|py| {
        let made = || {
            let class = py.import("ostrakon.errors")?.getattr("TooLargeError")?;
            let context = PyDict::new(py);
            context.set_item("argument", argument)?;
            class.call1((message, context))
        };
        match made() {
            Ok(exception) => PyErr::from_value(exception),
            // The package itself could not be imported: that is the more urgent news.
            Err(failure) => failure,
        }
    })
}
