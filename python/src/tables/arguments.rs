//! Ranges, authorizations and iterators as Python passes them.

use std::collections::BTreeMap;

use ostrakon_cell::{
    Authorizations, Column, Durability, Error, IteratorSetting, Key, KeyPart, Range,
};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::errors::IntoPython;

/// Bytes, or text that is taken as UTF-8.
#[derive(FromPyObject)]
pub(crate) enum Text {
    Text(String),
    Bytes(PyBackedBytes),
}

impl Text {
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.into_bytes(),
            Self::Bytes(bytes) => bytes.to_vec(),
        }
    }
}

/// Bytes of all texts.
pub(super) fn all_bytes(texts: Vec<Text>) -> Vec<Vec<u8>> {
    texts.into_iter().map(Text::into_bytes).collect()
}

/// A range: start and whether it belongs to it, end and whether it does; each a row and, for a part
/// of a row, a family and a qualifier.
#[derive(FromPyObject)]
pub(super) struct RangeArgument(Option<Vec<Text>>, bool, Option<Vec<Text>>, bool);

impl RangeArgument {
    pub(super) fn into_range(self) -> Result<Range, Error> {
        let Self(start, start_inclusive, end, end_inclusive) = self;
        // An end behind a part of a key lies behind all keys that begin with the part.
        let bound = |parts: Option<Vec<Text>>, after: bool| {
            let parts = parts.map(all_bytes)?;
            let deepest = match parts.len() {
                0 | 1 => KeyPart::Row,
                2 => KeyPart::Family,
                _ => KeyPart::Qualifier,
            };
            let mut parts = parts.into_iter();
            let key = Key {
                family: Vec::new(),
                ..Key::first_of_row(parts.next().unwrap_or_default())
            };
            let key = Key {
                family: parts.next().unwrap_or_default(),
                qualifier: parts.next().unwrap_or_default(),
                ..key
            };
            Some(if after { key.following(deepest) } else { key })
        };
        let start = bound(start, !start_inclusive);
        let end = bound(end, end_inclusive);
        Range::keys(start, true, end, false).map_err(|error| error.with("argument", "ranges"))
    }
}

/// The authorizations of a scan: those asked for, or all that are held. Asking for more than is held
/// is refused.
pub(super) fn authorizations(
    asked: Option<Vec<Text>>,
    held: Option<&Authorizations>,
) -> PyResult<Authorizations> {
    let Some(asked) = asked else {
        return Ok(held.cloned().unwrap_or_default());
    };
    let asked = set_of(asked)?;
    match held {
        Some(held) if !asked.is_subset(held) => Err(Error::new(
            ostrakon_cell::ErrorKind::BadAuthorizations,
            "`auths` asks for authorizations that the store was not opened with",
        )
        .with("argument", "auths")
        .with("unknown", asked.difference(held))
        .with("held", held)),
        _ => Ok(asked),
    }
    .into_python()
}

/// A set of authorizations.
pub(super) fn set_of(names: Vec<Text>) -> PyResult<Authorizations> {
    Authorizations::new(all_bytes(names))
        .map_err(|error| {
            Error::invalid("`auths` holds an invalid name")
                .with("argument", "auths")
                .with_source(error)
        })
        .into_python()
}

/// A column asked for: a family and perhaps a qualifier.
pub(super) fn column_of((family, qualifier): (Text, Option<Text>)) -> Column {
    Column {
        family: family.into_bytes(),
        qualifier: qualifier.map(Text::into_bytes),
    }
}

/// An iterator: priority, name, class, options.
pub(super) type IteratorArgument = (u32, String, String, BTreeMap<String, String>);

pub(super) fn iterator_of(argument: IteratorArgument) -> IteratorSetting {
    let (priority, name, class, options) = argument;
    IteratorSetting {
        priority,
        name,
        class,
        options,
    }
}

/// A durability by its name.
pub(super) fn durability_of(name: Option<&str>) -> PyResult<Option<Durability>> {
    name.map(|name| {
        name.parse()
            .map_err(|error: Error| error.with("argument", "durability"))
    })
    .transpose()
    .into_python()
}
