//! Checks the text of a field against its type.

use std::net::IpAddr;

use super::timestamp::TimestampFormat;
use crate::args::FieldType;
use crate::output::escape;

/// An error if the text does not have the type.
pub(super) fn check(
    kind: FieldType,
    text: &[u8],
    time: Option<&TimestampFormat>,
) -> Result<(), String> {
    let utf8 = std::str::from_utf8(text).ok();
    let (good, what) = match kind {
        FieldType::Bytes => (true, "byte string"),
        FieldType::Text => (utf8.is_some(), "UTF-8 text"),
        FieldType::Int => (parses::<i64>(utf8), "64-bit integer"),
        FieldType::Uint => (parses::<u64>(utf8), "64-bit integer of 0 or more"),
        FieldType::Float => (parses::<f64>(utf8), "number"),
        FieldType::Ip => (parses::<IpAddr>(utf8), "IP address"),
        FieldType::Bool => (
            utf8.is_some_and(|text| {
                ["true", "false", "t", "f", "yes", "no", "y", "n", "1", "0"]
                    .iter()
                    .any(|known| text.eq_ignore_ascii_case(known))
            }),
            "boolean",
        ),
        FieldType::Time => match time {
            Some(time) => return time.millis(text).map(drop),
            None => (true, "time"),
        },
    };
    if good {
        return Ok(());
    }
    let shown: String = escape(text).chars().take(60).collect();
    Err(format!("`{shown}` is not a valid {what}"))
}

fn parses<T: std::str::FromStr>(text: Option<&str>) -> bool {
    text.is_some_and(|text| text.parse::<T>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_judged_by_their_type() {
        use FieldType::{Bool, Bytes, Float, Int, Ip, Text, Uint};
        for (kind, good, bad) in [
            (Text, "Zürich".as_bytes(), &b"\xff"[..]),
            (Int, b"-9223372036854775808", b"9223372036854775808"),
            (Uint, b"18446744073709551615", b"-1"),
            (Float, b"1.5e3", b"1,5"),
            (Bool, b"T", b"maybe"),
            (Ip, b"::1", b"1.2.3.256"),
        ] {
            assert_eq!(check(kind, good, None), Ok(()), "{kind:?}");
            assert!(check(kind, bad, None).is_err(), "{kind:?}");
        }
        assert_eq!(check(Bytes, b"\xff", None), Ok(()));
    }
}
