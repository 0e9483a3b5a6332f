//! Arrow columns: strings and bytes in place, numbers and booleans as text.

use std::io::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_schema::DataType;
use ostrakon_cell::{Error, Result};

use super::column::{Chunk, Collector, Column};

/// A column of the chunks, which are of one type.
pub(super) fn column(name: &str, chunks: &[ArrayRef]) -> Result<Column> {
    let mut before = 0;
    let mut converted = Vec::with_capacity(chunks.len());
    for array in chunks {
        converted.push(chunk(name, array, before)?);
        before += array.len();
    }
    Ok(Column::of_chunks(converted))
}

pub(super) fn missing(name: &str, at: usize) -> Error {
    Error::invalid(format!(
        "`{name}` has no value for entry {at} (null, None or NaN): drop such entries or fill them; \
         nothing was written"
    ))
    .with("argument", name)
}

fn chunk(name: &str, array: &ArrayRef, before: usize) -> Result<Chunk> {
    if let Some(nulls) = array.logical_nulls()
        && let Some(at) = (0..array.len()).find(|at| nulls.is_null(*at))
    {
        return Err(missing(name, before + at));
    }
    Ok(match array.data_type() {
        DataType::Utf8 => {
            let array = array.as_string::<i32>();
            Chunk::Small(array.offsets().clone(), array.values().clone())
        }
        DataType::Binary => {
            let array = array.as_binary::<i32>();
            Chunk::Small(array.offsets().clone(), array.values().clone())
        }
        DataType::LargeUtf8 => {
            let array = array.as_string::<i64>();
            Chunk::Large(array.offsets().clone(), array.values().clone())
        }
        DataType::LargeBinary => {
            let array = array.as_binary::<i64>();
            Chunk::Large(array.offsets().clone(), array.values().clone())
        }
        DataType::Utf8View => Chunk::View(array.as_string_view().clone().to_binary_view()),
        DataType::BinaryView => Chunk::View(array.as_binary_view().clone()),
        DataType::FixedSizeBinary(_) => {
            let array = array.as_fixed_size_binary();
            let mut collector =
                Collector::with_capacity(array.len(), array.len() * array.value_length() as usize);
            (0..array.len()).for_each(|at| collector.push(array.value(at)));
            collector.finish()
        }
        // Positions in no strings at all: the library asserts that there are some.
        DataType::Dictionary(_, _) if array.is_empty() => Collector::with_capacity(0, 0).finish(),
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            let keys = dictionary.normalized_keys();
            let keys = keys.into_iter().map(|key| key as u32).collect();
            Chunk::Dictionary(keys, Box::new(values(name, dictionary.values(), before)?))
        }
        DataType::Boolean => {
            let array = array.as_boolean();
            let mut collector = Collector::with_capacity(array.len(), array.len() * 5);
            for at in 0..array.len() {
                collector.push(truth(array.value(at)));
            }
            collector.finish()
        }
        DataType::Int8 => integers::<Int8Type>(array),
        DataType::Int16 => integers::<Int16Type>(array),
        DataType::Int32 => integers::<Int32Type>(array),
        DataType::Int64 => integers::<Int64Type>(array),
        DataType::UInt8 => integers::<UInt8Type>(array),
        DataType::UInt16 => integers::<UInt16Type>(array),
        DataType::UInt32 => integers::<UInt32Type>(array),
        DataType::UInt64 => integers::<UInt64Type>(array),
        DataType::Float32 => {
            let numbers = array.as_primitive::<Float32Type>().values();
            floats(name, numbers, before)?
        }
        DataType::Float64 => {
            let numbers = array.as_primitive::<Float64Type>().values();
            floats(name, numbers, before)?
        }
        other => {
            return Err(Error::invalid(format!(
                "`{name}` is of Arrow type {other}, which has no form as bytes: cast it to string, \
                 binary or a number"
            ))
            .with("argument", name));
        }
    })
}

/// The values of a dictionary. Nulls that no key refers to become empty.
fn values(name: &str, array: &ArrayRef, before: usize) -> Result<Chunk> {
    if array.null_count() == 0 {
        return chunk(name, array, before);
    }
    Err(Error::invalid(format!(
        "the dictionary of `{name}` holds a null: drop it or fill it; nothing was written"
    ))
    .with("argument", name))
}

pub(super) fn truth(value: bool) -> &'static [u8] {
    if value { b"true" } else { b"false" }
}

fn integers<T: ArrowPrimitiveType>(array: &ArrayRef) -> Chunk
where
    T::Native: itoa::Integer,
{
    let numbers = array.as_primitive::<T>().values();
    let mut collector = Collector::with_capacity(numbers.len(), numbers.len() * 8);
    push_integers(numbers.iter().copied(), &mut collector);
    collector.finish()
}

/// Integers in decimal.
pub(super) fn push_integers<I: itoa::Integer>(
    numbers: impl Iterator<Item = I>,
    collector: &mut Collector,
) {
    let mut buffer = itoa::Buffer::new();
    for number in numbers {
        collector.push(buffer.format(number).as_bytes());
    }
}

fn floats<F: Into<f64> + std::fmt::Debug + Copy>(
    name: &str,
    numbers: &[F],
    before: usize,
) -> Result<Chunk> {
    let mut collector = Collector::with_capacity(numbers.len(), numbers.len() * 10);
    push_floats(name, numbers.iter().copied(), before, &mut collector)?;
    Ok(collector.finish())
}

/// Floating-point numbers as the shortest text that reads back as the same number.
pub(super) fn push_floats<F: Into<f64> + std::fmt::Debug + Copy>(
    name: &str,
    numbers: impl Iterator<Item = F>,
    before: usize,
    collector: &mut Collector,
) -> Result<()> {
    for (at, number) in numbers.enumerate() {
        if number.into().is_nan() {
            return Err(missing(name, before + at));
        }
        // Writing to memory does not fail.
        let _ = write!(collector.data, "{number:?}");
        collector.end();
    }
    Ok(())
}
