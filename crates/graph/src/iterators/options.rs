//! Reads options.

use std::str::FromStr;

use ostrakon_cell::{Error, IteratorOptions, Result};

use crate::KeyRanges;
use crate::number::parse_number;

/// Refuses unknown options: a misspelt one would silently have no effect.
pub(super) fn only(options: &IteratorOptions, known: &[&str]) -> Result<()> {
    match options.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(Error::invalid(format!(
            "unknown option; the options are {}",
            known.join(", ")
        ))
        .with("given", name)),
    }
}

pub(super) fn required<'a>(options: &'a IteratorOptions, name: &'static str) -> Result<&'a str> {
    options
        .get(name)
        .map(String::as_str)
        .ok_or_else(|| Error::invalid("a required option is missing").with("option", name))
}

pub(super) fn parsed<T: FromStr<Err = Error>>(
    options: &IteratorOptions,
    name: &'static str,
) -> Result<T> {
    required(options, name)?
        .parse()
        .map_err(|error: Error| error.with("option", name))
}

pub(super) fn number(options: &IteratorOptions, name: &'static str) -> Result<Option<f64>> {
    options
        .get(name)
        .map(|text| {
            parse_number(text.as_bytes()).ok_or_else(|| {
                Error::invalid("the option takes a number")
                    .with("option", name)
                    .with("given", text)
            })
        })
        .transpose()
}

pub(super) fn key_ranges(options: &IteratorOptions, name: &'static str) -> Result<KeyRanges> {
    options.get(name).map_or_else(
        || Ok(KeyRanges::all()),
        |text| KeyRanges::decode(text).map_err(|error| error.with("option", name)),
    )
}
