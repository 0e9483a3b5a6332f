//! Checks names and values when a user sets a property.

use ostrakon_cell::{Durability, IteratorScope};

use super::names::{KNOWN, Kind, PREFIXES, SERVER_PREFIXES};
use super::values::{
    parse_bytes, parse_compression, parse_fraction, parse_functor, parse_millis, parse_visibility,
};
use crate::error::{Error, StoreResult};

/// Checks one property's name and value for the whole store, which also accepts the properties of
/// Accumulo's servers; these have no effect here.
///
/// # Errors
/// As [`check_property`].
pub fn check_system_property(name: &str, value: &str) -> StoreResult<()> {
    let is_of_servers = SERVER_PREFIXES
        .iter()
        .any(|prefix| name.len() > prefix.len() && name.starts_with(prefix));
    if is_of_servers {
        return Ok(());
    }
    check_property(name, value)
}

/// Checks one property's name and value.
///
/// # Errors
/// [`NotFound`](ostrakon_cell::ErrorKind::NotFound) for an unknown name, with the nearest known one
/// as `similar`; [`InvalidArgument`](ostrakon_cell::ErrorKind::InvalidArgument) for a malformed
/// value.
pub fn check_property(name: &str, value: &str) -> StoreResult<()> {
    let Some((_, _, kind)) = KNOWN.iter().find(|(known, _, _)| *known == name) else {
        if PREFIXES
            .iter()
            .any(|prefix| name.len() > prefix.len() && name.starts_with(prefix))
        {
            return check_iterator_scope(name);
        }
        return Err(unknown(name));
    };
    let takes = match kind {
        Kind::Bytes if parse_bytes(value).is_none() => "a number of bytes such as 512K, 64M or 1G",
        Kind::Count if value.parse::<u64>().is_err() => "a whole number",
        Kind::Time if parse_millis(value).is_none() => "a time such as 500ms, 30s, 5m, 1h or 2d",
        Kind::Fraction if parse_fraction(value).is_none() => "a number such as 3, 0.5 or 0.5%",
        Kind::Boolean if !matches!(value, "true" | "false") => "true or false",
        Kind::Durability if value.parse::<Durability>().is_err() => "none, log, flush or sync",
        Kind::Compression if parse_compression(value).is_none() => {
            "none, lz4, zstd or zstd:LEVEL with a level from 1 to 19, or a codec of Accumulo's in place of which one \
             of these is used: gz, bzip2, snappy, lzo"
        }
        Kind::Functor if parse_functor(value).is_none() => {
            "RowFunctor, ColumnFamilyFunctor or ColumnQualifierFunctor"
        }
        Kind::Behaviour if !matches!(value, "process" | "fail") => "process or fail",
        Kind::Visibility if !value.is_empty() => return parse_visibility(value).map(drop),
        _ => return Ok(()),
    };
    Err(Error::invalid(format!("this property takes {takes}"))
        .with("property", name)
        .with("given", value))
}

/// Rejects an iterator of a scope that does not exist, which would never run.
fn check_iterator_scope(name: &str) -> StoreResult<()> {
    let Some(rest) = name.strip_prefix("table.iterator.") else {
        return Ok(());
    };
    let scope = rest.split_once('.').map_or("", |(scope, _)| scope);
    match IteratorScope::ALL
        .iter()
        .any(|known| known.as_str() == scope)
    {
        true => Ok(()),
        false => Err(Error::invalid(
            "the scope of an iterator is scan, minc or majc, as in table.iterator.scan.NAME",
        )
        .with("property", name)),
    }
}

fn unknown(name: &str) -> Error {
    let known = KNOWN.iter().map(|(known, _, _)| *known);
    let nearest = known
        .chain(PREFIXES.iter().copied())
        .map(|known| (strsim::damerau_levenshtein(known, name), known))
        .min();
    let error = Error::not_found("no such table property").with("property", name);
    match nearest {
        Some((distance, known)) if distance <= known.len() / 4 => error.with("similar", known),
        _ => error,
    }
}
