//! Field types, and the comparable form of a value.
//!
//! An event keeps the bytes of each value as they were read. For comparisons and for the index a value has a *typed
//! form*: bytes that sort as the values do.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ostrakon_cell::lexicoder::{
    decode_f64, decode_i64, decode_u64, encode_f64, encode_i64, encode_u64,
};
use serde::{Deserialize, Serialize};

use crate::time::parse_time;

/// The type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldType {
    /// Text, compared byte by byte. Need not be valid UTF-8.
    Text,
    /// Bytes; as text, but shown with escapes.
    Bytes,
    /// A signed integer.
    I64,
    /// An unsigned integer.
    U64,
    /// A floating-point number; not NaN.
    F64,
    /// `true` or `false`, also as `T`, `F`, `1`, `0`.
    Bool,
    /// A moment; see [`parse_time`].
    Time,
    /// An IPv4 or IPv6 address. An IPv4 address equals its IPv4-mapped IPv6 address.
    Ip,
}

impl FieldType {
    /// The name in a type's TOML.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Bytes => "bytes",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::F64 => "f64",
            Self::Bool => "bool",
            Self::Time => "time",
            Self::Ip => "ip",
        }
    }

    /// The type of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [
            Self::Text,
            Self::Bytes,
            Self::I64,
            Self::U64,
            Self::F64,
            Self::Bool,
            Self::Time,
            Self::Ip,
        ]
        .into_iter()
        .find(|kind| kind.as_str() == name)
    }

    /// Whether values are compared as the bytes that they are.
    #[must_use]
    pub fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Bytes)
    }
}

/// The typed form of `text`, or `None` if it is not a value of that type. `scratch` holds the form if it is not the
/// text itself.
#[inline]
pub(crate) fn typed<'a>(
    kind: FieldType,
    text: &'a [u8],
    scratch: &'a mut Vec<u8>,
) -> Option<&'a [u8]> {
    scratch.clear();
    match kind {
        FieldType::Text | FieldType::Bytes => return Some(text),
        FieldType::I64 => encode_i64(utf8(text)?.parse().ok()?, scratch),
        FieldType::U64 => encode_u64(utf8(text)?.parse().ok()?, scratch),
        FieldType::F64 => {
            let number: f64 = utf8(text)?.parse().ok()?;
            if number.is_nan() {
                return None;
            }
            // The two zeros are one value.
            encode_f64(number + 0.0, scratch);
        }
        FieldType::Bool => scratch.push(u8::from(parse_bool(text)?)),
        FieldType::Time => encode_i64(parse_time(text)?, scratch),
        FieldType::Ip => scratch.extend_from_slice(&address(text)?.octets()),
    }
    Some(scratch)
}

/// The text that is shown for a value. The two zeros of a floating-point field are one value, so that they are shown as
/// one; every other text is shown as it was read.
#[inline]
pub(crate) fn shown(kind: FieldType, text: &[u8]) -> &[u8] {
    if kind != FieldType::F64 || text.first() != Some(&b'-') {
        return text;
    }
    match utf8(text).and_then(|text| text.parse::<f64>().ok()) {
        Some(0.0) => b"0",
        _ => text,
    }
}

/// Text for a typed form, as an expression or a report shows it.
pub(crate) fn untyped(kind: FieldType, form: &[u8]) -> Cow<'_, [u8]> {
    Cow::Owned(match kind {
        FieldType::Text | FieldType::Bytes => return Cow::Borrowed(form),
        FieldType::I64 => decode_i64(form)
            .unwrap_or_default()
            .to_string()
            .into_bytes(),
        FieldType::U64 => decode_u64(form)
            .unwrap_or_default()
            .to_string()
            .into_bytes(),
        FieldType::F64 => decode_f64(form)
            .unwrap_or_default()
            .to_string()
            .into_bytes(),
        FieldType::Bool => match form {
            [1] => b"true".to_vec(),
            _ => b"false".to_vec(),
        },
        FieldType::Time => {
            let moment = decode_i64(form).unwrap_or_default();
            crate::time::show_time(moment).into_bytes()
        }
        FieldType::Ip => {
            let octets: [u8; 16] = form.try_into().unwrap_or_default();
            let address = Ipv6Addr::from(octets);
            match address.to_ipv4_mapped() {
                Some(v4) => v4.to_string().into_bytes(),
                None => address.to_string().into_bytes(),
            }
        }
    })
}

/// An address as IPv6.
pub(crate) fn address(text: &[u8]) -> Option<Ipv6Addr> {
    Some(match utf8(text)?.parse().ok()? {
        IpAddr::V4(address) => Ipv4Addr::to_ipv6_mapped(&address),
        IpAddr::V6(address) => address,
    })
}

fn utf8(text: &[u8]) -> Option<&str> {
    std::str::from_utf8(text).ok()
}

fn parse_bool(text: &[u8]) -> Option<bool> {
    match text {
        b"T" | b"1" | b"t" | b"true" | b"True" | b"TRUE" => Some(true),
        b"F" | b"0" | b"f" | b"false" | b"False" | b"FALSE" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn form(kind: FieldType, text: &str) -> Option<Vec<u8>> {
        typed(kind, text.as_bytes(), &mut Vec::new()).map(<[u8]>::to_vec)
    }

    #[test]
    fn values_of_another_type_have_no_typed_form() {
        for (kind, text) in [
            (FieldType::I64, "1.5"),
            (FieldType::U64, "-1"),
            (FieldType::F64, "NaN"),
            (FieldType::Bool, "maybe"),
            (FieldType::Ip, "1.2.3"),
            (FieldType::Time, "yesterday"),
            (FieldType::I64, "9223372036854775808"),
        ] {
            assert_eq!(form(kind, text), None, "{kind:?} {text}");
        }
    }

    #[test]
    fn different_texts_of_one_value_have_one_form() {
        for (kind, one, other) in [
            (FieldType::I64, "80", "080"),
            (FieldType::F64, "-0.0", "0"),
            (FieldType::Bool, "T", "true"),
            (FieldType::Ip, "10.0.0.1", "::ffff:10.0.0.1"),
            (FieldType::Ip, "2001:db8::1", "2001:DB8:0:0::1"),
            (FieldType::Time, "1379288667", "2013-09-15T23:44:27Z"),
        ] {
            assert!(form(kind, one).is_some(), "{one}");
            assert_eq!(form(kind, one), form(kind, other), "{one} {other}");
        }
    }

    #[test]
    fn the_negative_zero_is_shown_as_zero() {
        for text in ["-0", "-0.0", "-0e5", "-1e-999"] {
            assert_eq!(shown(FieldType::F64, text.as_bytes()), b"0", "{text}");
            assert_eq!(shown(FieldType::Text, text.as_bytes()), text.as_bytes());
        }
        for text in ["0.0", "-0.5", "-", "-x", "", "1e3"] {
            assert_eq!(shown(FieldType::F64, text.as_bytes()), text.as_bytes());
        }
    }

    proptest! {
        #[test]
        fn forms_sort_as_numbers_do(a: i64, b: i64, x: f64, y: f64) {
            let one = form(FieldType::I64, &a.to_string());
            let other = form(FieldType::I64, &b.to_string());
            prop_assert_eq!(one.cmp(&other), a.cmp(&b));
            prop_assume!(!x.is_nan() && !y.is_nan());
            let one = form(FieldType::F64, &x.to_string()).expect("number");
            let other = form(FieldType::F64, &y.to_string()).expect("number");
            prop_assert_eq!(Some(one.cmp(&other)), x.partial_cmp(&y));
            let shown = untyped(FieldType::F64, &one).into_owned();
            let mut scratch = Vec::new();
            prop_assert_eq!(typed(FieldType::F64, &shown, &mut scratch), Some(one.as_slice()));
        }
    }
}
