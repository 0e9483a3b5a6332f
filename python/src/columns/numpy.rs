//! NumPy arrays, read through their array interface (version 3): the stable interface of Python has no
//! buffers before 3.11, and linking NumPy's own would tie the wheel to its versions.
//!
//! <https://numpy.org/doc/stable/reference/arrays.interface.html>

use ostrakon_cell::Error;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::arrow;
use super::column::{Chunk, Collector, Column};
use crate::errors::IntoPython;

/// A one-dimensional array of the machine's byte order.
struct Array<'py> {
    kind: char,
    item_bytes: usize,
    unit: String,
    address: usize,
    stride: isize,
    len: usize,
    /// Keeps the memory alive.
    owner: Bound<'py, PyAny>,
}

impl<'py> Array<'py> {
    /// The array, or `None` when the object is none; `Err` when its form is not one we read.
    fn of(name: &str, object: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        // Arrays of strings of variable width have no such interface.
        let Ok(interface) = object.getattr("__array_interface__") else {
            return Ok(None);
        };
        let interface = interface.cast_into::<PyDict>()?;
        let get = |key: &str| -> PyResult<Bound<'py, PyAny>> {
            interface
                .get_item(key)?
                .ok_or_else(|| pyo3::exceptions::PyTypeError::new_err(format!("no {key}")))
        };
        let shape: Vec<usize> = get("shape")?.extract()?;
        let &[len] = shape.as_slice() else {
            return Err(Error::invalid(format!(
                "`{name}` is an array of {} dimensions and takes one: use ravel()",
                shape.len()
            ))
            .with("argument", name))
            .into_python();
        };
        let type_string: String = get("typestr")?.extract()?;
        let mut characters = type_string.chars();
        let order = characters.next().unwrap_or('|');
        let kind = characters.next().unwrap_or('V');
        let rest = characters.as_str();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (bytes, unit) = rest.split_at(digits);
        let native = if cfg!(target_endian = "little") {
            '<'
        } else {
            '>'
        };
        // Strings of variable width and objects are read as what they hold.
        if !matches!(kind, 'S' | 'U' | 'b' | 'i' | 'u' | 'f' | 'c' | 'M') {
            return Ok(None);
        }
        if order != '|' && order != native {
            let dtype = object
                .getattr("dtype")?
                .call_method1("newbyteorder", ("=",))?;
            return Self::of(name, &object.call_method1("astype", (dtype,))?);
        }
        // Text is counted in characters of four bytes.
        let item_bytes = bytes.parse().unwrap_or(0) * if kind == 'U' { 4 } else { 1 };
        let (address, _): (usize, bool) = get("data")?.extract()?;
        let strides = interface.get_item("strides")?.filter(|s| !s.is_none());
        let stride = match strides {
            None => item_bytes as isize,
            Some(strides) => strides.extract::<(isize,)>()?.0,
        };
        Ok(Some(Self {
            kind,
            item_bytes,
            unit: unit.trim_matches(['[', ']']).to_owned(),
            address,
            stride,
            len,
            owner: object.clone(),
        }))
    }

    fn view(&self) -> View {
        View {
            address: self.address,
            stride: self.stride,
            item_bytes: self.item_bytes,
            len: self.len,
        }
    }
}

/// Where the items lie. The array that owns them must be held while this is used, and nobody may
/// write to it meanwhile, as for every function that works without the interpreter's lock.
#[derive(Clone, Copy)]
struct View {
    address: usize,
    stride: isize,
    item_bytes: usize,
    len: usize,
}

impl View {
    fn item(&self, at: usize) -> &[u8] {
        let offset = self.stride * at as isize;
        let address = self.address.wrapping_add_signed(offset) as *const u8;
        #[expect(unsafe_code, reason = "the interface gives the address of the items")]
        // SAFETY: `at` is below the length, so that the item lies in the array's memory, which its
        // owner keeps alive; items are plain bytes.
        unsafe {
            std::slice::from_raw_parts(address, self.item_bytes)
        }
    }

    fn items(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len).map(|at| self.item(at))
    }

    fn numbers<const N: usize, T>(
        &self,
        read: impl Fn([u8; N]) -> T,
    ) -> impl ExactSizeIterator<Item = T> {
        // The size was checked by the caller's choice of type.
        self.items()
            .map(move |item| read(item.try_into().unwrap_or([0; N])))
    }
}

/// An array as a column; `None` when the object is no array, or one of Python objects.
pub(super) fn column(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Option<Column>> {
    let Some(array) = Array::of(name, object)? else {
        return Ok(None);
    };
    if array.len == 0 {
        return Ok(None);
    }
    let (kind, view) = (array.kind, array.view());
    let chunk = object
        .py()
        .detach(|| chunk(name, kind, view))
        .into_python()?;
    drop(array.owner);
    Ok(Some(Column::of_chunks(vec![chunk])))
}

fn chunk(name: &str, kind: char, view: View) -> Result<Chunk, Error> {
    Ok(match (kind, view.item_bytes) {
        ('S', _) => {
            let mut collector = Collector::with_capacity(view.len, view.len * view.item_bytes);
            for item in view.items() {
                let end = item
                    .iter()
                    .rposition(|byte| *byte != 0)
                    .map_or(0, |at| at + 1);
                collector.push(item.get(..end).unwrap_or_default());
            }
            collector.finish()
        }
        ('U', _) => return text(name, view),
        ('b', 1) => {
            let mut collector = Collector::with_capacity(view.len, view.len * 5);
            for item in view.items() {
                collector.push(arrow::truth(item != [0]));
            }
            collector.finish()
        }
        ('i', 1) => arrow::of_integers(view.numbers(i8::from_ne_bytes)),
        ('i', 2) => arrow::of_integers(view.numbers(i16::from_ne_bytes)),
        ('i', 4) => arrow::of_integers(view.numbers(i32::from_ne_bytes)),
        ('i', 8) => arrow::of_integers(view.numbers(i64::from_ne_bytes)),
        ('u', 1) => arrow::of_integers(view.numbers(u8::from_ne_bytes)),
        ('u', 2) => arrow::of_integers(view.numbers(u16::from_ne_bytes)),
        ('u', 4) => arrow::of_integers(view.numbers(u32::from_ne_bytes)),
        ('u', 8) => arrow::of_integers(view.numbers(u64::from_ne_bytes)),
        ('f', 4) => return arrow::floats(name, view.numbers(f32::from_ne_bytes), 0),
        ('f', 8) => return arrow::floats(name, view.numbers(f64::from_ne_bytes), 0),
        _ => {
            return Err(Error::invalid(format!(
                "`{name}` is a NumPy array of kind {kind}{}, which has no form as bytes: convert \
                 it to str, bytes or a number",
                view.item_bytes
            ))
            .with("argument", name));
        }
    })
}

/// Fixed-width text, four bytes a character, filled with zeros at the end.
fn text(name: &str, view: View) -> Result<Chunk, Error> {
    let mut collector = Collector::with_capacity(view.len, view.len * view.item_bytes / 4);
    for (at, item) in view.items().enumerate() {
        let (characters, _) = item.as_chunks::<4>();
        let end = characters
            .iter()
            .rposition(|character| *character != [0; 4])
            .map_or(0, |at| at + 1);
        for character in characters.iter().take(end) {
            let code = u32::from_ne_bytes(*character);
            if code < 0x80 {
                collector.data.push(code as u8);
            } else if let Some(character) = char::from_u32(code) {
                let mut buffer = [0; 4];
                let bytes = character.encode_utf8(&mut buffer).as_bytes();
                collector.data.extend_from_slice(bytes);
            } else {
                return Err(no_text(name, at));
            }
        }
        collector.end();
    }
    Ok(collector.finish())
}

pub(super) fn no_text(name: &str, at: usize) -> Error {
    Error::invalid(format!(
        "`{name}` has text for entry {at} that cannot be encoded as UTF-8 (a lone surrogate): pass \
         bytes; nothing was written"
    ))
    .with("argument", name)
}

/// Timestamps of an array: integers as they are, points in time as milliseconds.
pub(super) fn stamps(object: &Bound<'_, PyAny>) -> PyResult<Option<Vec<i64>>> {
    let Some(array) = Array::of("timestamp", object)? else {
        return Ok(None);
    };
    let view = array.view();
    let convert = |scale: fn(i64) -> i64| -> PyResult<Option<Vec<i64>>> {
        let stamps: Vec<i64> = view.numbers(i64::from_ne_bytes).collect();
        // NaT is the smallest number.
        if array.kind == 'M'
            && let Some(at) = stamps.iter().position(|stamp| *stamp == i64::MIN)
        {
            return Err(super::stamps::missing(at)).into_python();
        }
        Ok(Some(stamps.into_iter().map(scale).collect()))
    };
    match (array.kind, array.item_bytes, array.unit.as_str()) {
        ('i', 8, _) | ('M', 8, "ms") => convert(|stamp| stamp),
        ('M', 8, "s") => convert(|stamp| stamp.saturating_mul(1000)),
        ('M', 8, "us") => convert(|stamp| stamp.div_euclid(1000)),
        ('M', 8, "ns") => convert(|stamp| stamp.div_euclid(1_000_000)),
        ('i' | 'u' | 'M', _, _) => {
            let wider = if array.kind == 'M' { "M8[ms]" } else { "i8" };
            stamps(&object.call_method1("astype", (wider,))?)
        }
        _ => Ok(None),
    }
}
