//! Timestamps: none, one for all, or one each; milliseconds where they were points in time.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use ostrakon_cell::{Error, Result};
use pyo3::prelude::*;

use super::numpy;
use crate::capsule;
use crate::errors::IntoPython;

/// The timestamps of the entries of one call.
pub(crate) enum Stamps {
    /// The table sets them.
    Table,
    /// The same for every entry.
    Constant(i64),
    /// One for each entry.
    Each(Vec<i64>),
}

impl Stamps {
    pub(super) fn len(&self) -> Option<usize> {
        match self {
            Self::Each(stamps) => Some(stamps.len()),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<i64> {
        match self {
            Self::Table => None,
            Self::Constant(stamp) => Some(*stamp),
            Self::Each(stamps) => stamps.get(at).copied(),
        }
    }
}

/// Reads the argument `timestamp`.
pub(crate) fn stamps(object: &Bound<'_, PyAny>) -> PyResult<Stamps> {
    if object.is_none() {
        return Ok(Stamps::Table);
    }
    if let Some(imported) = capsule::import(object)? {
        let mut stamps = Vec::new();
        for chunk in &imported.chunks {
            of_arrow(chunk, &mut stamps).into_python()?;
        }
        return Ok(Stamps::Each(stamps));
    }
    if let Some(stamps) = numpy::stamps(object)? {
        return Ok(Stamps::Each(stamps));
    }
    if let Ok(stamp) = object.extract::<i64>() {
        return Ok(Stamps::Constant(stamp));
    }
    let wrong = || {
        Error::invalid(
            "`timestamp` takes integers (milliseconds), datetime, datetime64 or Arrow timestamps, one each \
             or one for all",
        )
        .with("argument", "timestamp")
    };
    match object.extract::<Vec<i64>>() {
        Ok(stamps) => Ok(Stamps::Each(stamps)),
        Err(_) => Err(wrong()).into_python(),
    }
}

pub(super) fn missing(at: usize) -> Error {
    Error::invalid(format!(
        "`timestamp` has no value for entry {at}: leave the argument out to let the table set all"
    ))
    .with("argument", "timestamp")
}

/// Appends the timestamps of an Arrow array.
pub(super) fn of_arrow(array: &ArrayRef, stamps: &mut Vec<i64>) -> Result<()> {
    if let Some(nulls) = array.nulls()
        && let Some(at) = (0..array.len()).find(|at| nulls.is_null(*at))
    {
        return Err(missing(stamps.len() + at));
    }
    match array.data_type() {
        DataType::Int64 => stamps.extend_from_slice(array.as_primitive::<Int64Type>().values()),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            stamps.extend_from_slice(array.as_primitive::<TimestampMillisecondType>().values());
        }
        DataType::Timestamp(TimeUnit::Second, _) => {
            let seconds = array.as_primitive::<TimestampSecondType>().values();
            for stamp in seconds.iter() {
                stamps.push(stamp.checked_mul(1000).ok_or_else(|| {
                    Error::invalid(
                        "`timestamp` has a time that milliseconds of 64 bits do not have",
                    )
                    .with("argument", "timestamp")
                    .with("seconds", stamp)
                })?);
            }
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            let micros = array.as_primitive::<TimestampMicrosecondType>().values();
            stamps.extend(micros.iter().map(|stamp| stamp.div_euclid(1000)));
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            let nanos = array.as_primitive::<TimestampNanosecondType>().values();
            stamps.extend(nanos.iter().map(|stamp| stamp.div_euclid(1_000_000)));
        }
        other => {
            return Err(Error::invalid(format!(
                "`timestamp` is of Arrow type {other}: cast it to int64 (milliseconds) or to a \
                 timestamp"
            ))
            .with("argument", "timestamp"));
        }
    }
    Ok(())
}
