//! NumPy arrays of one dimension, in blocks: a block is copied while the interpreter's lock is held and
//! turned into bytes without it, so what is read cannot change.

use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use ostrakon_cell::Error;
use pyo3::prelude::*;

use super::arrow;
use super::column::{Collector, Column};
use crate::arrays::{append_bytes, untyped};
use crate::errors::IntoPython;

/// Bytes copied at once.
const BLOCK_BYTES: usize = 4 << 20;

/// A one-dimensional array of the machine's byte order.
struct Array<'py> {
    array: Bound<'py, PyUntypedArray>,
    form: Form,
    len: usize,
}

/// What an item is.
#[derive(Clone, Copy)]
struct Form {
    kind: char,
    item_bytes: usize,
}

impl<'py> Array<'py> {
    /// The array; `None` if the object is not an array, `Err` if its form is not supported.
    fn of(name: &str, object: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        let Some(array) = untyped(object)? else {
            return Ok(None);
        };
        let &[len] = array.shape() else {
            return Err(Error::invalid(format!(
                "`{name}` is an array of {} dimensions and takes one: use ravel()",
                array.ndim()
            ))
            .with("argument", name))
            .into_python();
        };
        if array.get_type().name()? == "MaskedArray" {
            return Err(Error::invalid(format!(
                "`{name}` is a masked array: pass compressed() or filled(), so that it is said what \
                 becomes of masked items; nothing was written"
            ))
            .with("argument", name))
            .into_python();
        }
        let dtype = array.dtype();
        let kind = char::from(dtype.kind());
        // Strings of variable width and objects are read as what they hold.
        if !matches!(kind, 'S' | 'U' | 'b' | 'i' | 'u' | 'f' | 'c' | 'M') {
            return Ok(None);
        }
        if dtype.is_native_byteorder() == Some(false) {
            let dtype = dtype.call_method1("newbyteorder", ("=",))?;
            return Self::of(name, &object.call_method1("astype", (dtype,))?);
        }
        let item_bytes = dtype.itemsize();
        Ok(Some(Self {
            array,
            form: Form { kind, item_bytes },
            len,
        }))
    }

    /// Gives `visit` the items in blocks: the first item's position, and their bytes.
    fn each_block(
        &self,
        name: &str,
        mut visit: impl FnMut(usize, &[u8]) -> Result<(), Error> + Send,
    ) -> PyResult<()> {
        let py = self.array.py();
        let width = self.form.item_bytes;
        let count = (BLOCK_BYTES / width.max(1)).max(1);
        let mut block = Vec::with_capacity(count.min(self.len) * width);
        for from in (0..self.len).step_by(count) {
            let to = (from + count).min(self.len);
            block.clear();
            if append_bytes(&self.array, (from, to), width, &mut block).is_none() {
                return Err(Error::invalid(format!(
                    "`{name}` got another shape or type while it was read: give each thread an array \
                     of its own; nothing was written"
                ))
                .with("argument", name))
                .into_python();
            }
            py.detach(|| visit(from, &block)).into_python()?;
            py.check_signals()?;
        }
        Ok(())
    }
}

/// The numbers in a block.
fn numbers<const N: usize, T>(
    block: &[u8],
    read: impl Fn([u8; N]) -> T,
) -> impl ExactSizeIterator<Item = T> {
    let (items, _) = block.as_chunks::<N>();
    items.iter().map(move |item| read(*item))
}

/// An array as a column; `None` when the object is no array, or one of Python objects.
pub(super) fn column(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Option<Column>> {
    let Some(array) = Array::of(name, object)? else {
        return Ok(None);
    };
    if array.len == 0 {
        return Ok(None);
    }
    let (form, len) = (array.form, array.len);
    // Text has four bytes per character.
    let item_bytes = match form.kind {
        'U' => form.item_bytes / 4,
        'b' => 5,
        'f' => 10,
        _ => form.item_bytes,
    };
    let mut collector = Collector::with_capacity(len, len * item_bytes);
    if form.item_bytes == 0 {
        (0..len).for_each(|_| collector.end());
    }
    array.each_block(name, |from, block| {
        push(name, form, (from, block), &mut collector)
    })?;
    Ok(Some(Column::of_chunks(vec![collector.finish()])))
}

/// Appends the items of a block.
fn push(
    name: &str,
    form: Form,
    (from, block): (usize, &[u8]),
    out: &mut Collector,
) -> Result<(), Error> {
    match (form.kind, form.item_bytes) {
        ('S' | 'U', 0) => {}
        ('S', width) => {
            for item in block.chunks_exact(width) {
                let last = item.iter().rposition(|byte| *byte != 0);
                out.push(item.get(..last.map_or(0, |at| at + 1)).unwrap_or_default());
            }
        }
        ('U', width) => push_text(name, (from, block), width, out)?,
        ('b', 1) => block
            .iter()
            .for_each(|byte| out.push(arrow::truth(*byte != 0))),
        ('i', 1) => arrow::push_integers(numbers(block, i8::from_ne_bytes), out),
        ('i', 2) => arrow::push_integers(numbers(block, i16::from_ne_bytes), out),
        ('i', 4) => arrow::push_integers(numbers(block, i32::from_ne_bytes), out),
        ('i', 8) => arrow::push_integers(numbers(block, i64::from_ne_bytes), out),
        ('u', 1) => arrow::push_integers(numbers(block, u8::from_ne_bytes), out),
        ('u', 2) => arrow::push_integers(numbers(block, u16::from_ne_bytes), out),
        ('u', 4) => arrow::push_integers(numbers(block, u32::from_ne_bytes), out),
        ('u', 8) => arrow::push_integers(numbers(block, u64::from_ne_bytes), out),
        ('f', 4) => arrow::push_floats(name, numbers(block, f32::from_ne_bytes), from, out)?,
        ('f', 8) => arrow::push_floats(name, numbers(block, f64::from_ne_bytes), from, out)?,
        (kind, bytes) => {
            return Err(Error::invalid(format!(
                "`{name}` is a NumPy array of kind {kind}{bytes}, which has no form as bytes: convert \
                 it to str, bytes or a number"
            ))
            .with("argument", name));
        }
    }
    Ok(())
}

/// Fixed-width text, four bytes per character, filled with zeros at the end.
fn push_text(
    name: &str,
    (from, block): (usize, &[u8]),
    width: usize,
    out: &mut Collector,
) -> Result<(), Error> {
    for (at, item) in block.chunks_exact(width).enumerate() {
        let (characters, _) = item.as_chunks::<4>();
        let end = characters
            .iter()
            .rposition(|character| *character != [0; 4])
            .map_or(0, |at| at + 1);
        for character in characters.iter().take(end) {
            let code = u32::from_ne_bytes(*character);
            if code < 0x80 {
                out.data.push(code as u8);
            } else if let Some(character) = char::from_u32(code) {
                let mut buffer = [0; 4];
                let bytes = character.encode_utf8(&mut buffer).as_bytes();
                out.data.extend_from_slice(bytes);
            } else {
                return Err(no_text(name, from + at));
            }
        }
        out.end();
    }
    Ok(())
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
    let Form { kind, item_bytes } = array.form;
    // As in `<M8[ms]`.
    let form: String = array.array.dtype().getattr("str")?.extract()?;
    let unit = form.split(['[', ']']).nth(1).unwrap_or_default();
    let scale: fn(i64) -> i64 = match (kind, item_bytes, unit) {
        ('i', 8, _) | ('M', 8, "ms") => |stamp| stamp,
        ('M', 8, "s") => |stamp| stamp.saturating_mul(1000),
        ('M', 8, "us") => |stamp| stamp.div_euclid(1000),
        ('M', 8, "ns") => |stamp| stamp.div_euclid(1_000_000),
        ('i' | 'u' | 'M', _, _) => {
            let wider = if kind == 'M' { "M8[ms]" } else { "i8" };
            return stamps(&object.call_method1("astype", (wider,))?);
        }
        _ => return Ok(None),
    };
    let mut stamps = Vec::with_capacity(array.len);
    array.each_block("timestamp", |_, block| {
        for stamp in numbers(block, i64::from_ne_bytes) {
            // NaT is the smallest number.
            if kind == 'M' && stamp == i64::MIN {
                return Err(super::stamps::missing(stamps.len()));
            }
            stamps.push(scale(stamp));
        }
        Ok(())
    })?;
    Ok(Some(stamps))
}
