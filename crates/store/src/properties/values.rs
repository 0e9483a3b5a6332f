//! Values of properties: byte counts, times, fractions, codecs.

use ostrakon_cell::VisibilityExpression;

use super::config::BloomFunctor;
use crate::codec::Compression;
use crate::error::{Error, StoreResult};

pub(super) fn parse_visibility(label: &str) -> StoreResult<VisibilityExpression> {
    VisibilityExpression::parse(label).map_err(|error| {
        Error::invalid("the default visibility is not a valid expression")
            .with("property", "table.security.scan.visibility.default")
            .with_source(error)
    })
}

/// Bytes with Accumulo's suffixes: `B` (or none), `K`, `M`, `G`, powers of 1,024.
#[must_use]
pub fn parse_bytes(text: &str) -> Option<u64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at_checked(end)?;
    let number: u64 = digits.parse().ok()?;
    let shift = match unit {
        "" | "B" | "b" => 0,
        "K" | "k" => 10,
        "M" | "m" => 20,
        "G" | "g" => 30,
        "T" | "t" => 40,
        _ => return None,
    };
    number.checked_mul(1 << shift)
}

/// A time with Accumulo's suffixes: `ms`, `s` (or none), `m`, `h`, `d`.
pub(super) fn parse_millis(text: &str) -> Option<i64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at_checked(end)?;
    let number: i64 = digits.parse().ok()?;
    let millis = match unit {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.checked_mul(millis)
}

pub(super) fn parse_fraction(text: &str) -> Option<f64> {
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.parse::<f64>().ok()? / 100.0,
        None => text.parse::<f64>().ok()?,
    };
    (value.is_finite() && value >= 0.0).then_some(value)
}

/// Codecs of Accumulo that this store does not have, with their replacements.
pub(super) const STAND_INS: &[(&str, &str)] = &[
    ("bzip2", "zstd:9"),
    ("gz", "zstd"),
    ("lzo", "lz4"),
    ("snappy", "lz4"),
];

pub(super) fn parse_compression(text: &str) -> Option<Compression> {
    let stand_in = STAND_INS.iter().find(|(codec, _)| *codec == text);
    match stand_in.map_or(text, |(_, used)| *used) {
        "none" => Some(Compression::None),
        "lz4" => Some(Compression::Lz4),
        "zstd" => Some(Compression::Zstd(3)),
        text => {
            let level = text.strip_prefix("zstd:")?.parse().ok()?;
            (1..=19)
                .contains(&level)
                .then_some(Compression::Zstd(level))
        }
    }
}

pub(super) fn parse_functor(text: &str) -> Option<BloomFunctor> {
    match text.rsplit('.').next()? {
        "RowFunctor" => Some(BloomFunctor::Row),
        "ColumnFamilyFunctor" => Some(BloomFunctor::RowFamily),
        "ColumnQualifierFunctor" => Some(BloomFunctor::RowFamilyQualifier),
        _ => None,
    }
}
