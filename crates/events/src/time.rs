//! Moments as microseconds since 1970, and spans of time.

use jiff::{SignedDuration, Timestamp, civil, fmt::temporal::Pieces};
use ostrakon_cell::{Error, Result};

/// Microseconds per second.
pub(crate) const SECOND: i64 = 1_000_000;

/// How a record may say when it was, for errors.
pub(crate) const TIME_FORMS: &str =
    "2024-05-17, 2024-05-17T10:05:03Z, 17/May/2024:10:05:03 +0000, or seconds since 1970";

/// Numbers of seconds below this, before March 1973, are not taken as moments that a person asks for: years and dates
/// such as 20250101 are among them.
const SMALL: i64 = 100_000_000;

/// The largest offset of a zone in seconds, as in Java.
const OFFSET_MAX: i64 = 18 * 3600;

/// The first and the last moment of the years -9999 and 9999.
const FIRST: i64 = -377_705_116_800_000_000;
const LAST: i64 = 253_402_300_799_999_999;
const EPOCH: civil::DateTime = civil::DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// Reads a moment. Accepted are seconds since 1970 with or without a fraction (integers of 12 and more digits are
/// milliseconds, of 15 and more microseconds, of 18 and more nanoseconds), ISO 8601 dates and times (UTC unless an
/// offset of at most 18 hours is given), and the form of web servers' logs (`17/May/2015:10:05:03 +0000`). A leap second is the second
/// before it. Moments before the year -9999 or after 9999 are refused.
#[must_use]
pub fn parse_time(text: &[u8]) -> Option<i64> {
    if let Some(number) = epoch(text) {
        return Some(number);
    }
    let text = std::str::from_utf8(text).ok()?.trim();
    if !text.is_ascii() || text.len() < 8 || has_wrong_offset(text) {
        return None;
    }
    let micros = if let Ok(moment) = text.parse::<Timestamp>() {
        // Not towards 1970.
        i64::try_from(moment.as_nanosecond().div_euclid(1000)).ok()?
    } else if let Some(moment) = of_the_last_hours(text) {
        moment
    } else if let Ok(local) = text.parse::<civil::DateTime>() {
        // An offset would be left out here.
        utc(local)?
    } else {
        let parsed = jiff::fmt::strtime::parse("%d/%b/%Y:%H:%M:%S %z", text).ok()?;
        let offset = i64::from(parsed.offset()?.seconds());
        if offset.abs() > OFFSET_MAX {
            return None;
        }
        utc(parsed.to_datetime().ok()?)?.checked_sub(offset * SECOND)?
    };
    // What is shown of it must be read as the same moment.
    is_supported(micros).then_some(micros)
}

/// Reads a moment that is asked for, of a query or a condition: all that [`parse_time`] reads, but numbers below
/// 100,000,000 seconds, a year such as `2025` among them, only with an `@` before them. The times of records are not
/// read so: in a log, all numbers are seconds.
///
/// # Errors
/// [`InvalidArgument`](ostrakon_cell::ErrorKind::InvalidArgument), which says what to write.
pub fn parse_moment(text: &str) -> Result<i64> {
    if let Some(moment) = marked(text.as_bytes()) {
        return Ok(moment);
    }
    if is_small(text.as_bytes()) {
        let (date, number) = (date_of(text), text);
        return Err(Error::invalid(format!(
            "a number this small could be a year, a date or seconds since 1970: write a date such as {date}, or @{number} \
             for seconds"
        ))
        .with("given", text));
    }
    parse_time(text.as_bytes()).ok_or_else(|| {
        Error::invalid("not a time: write 2015-05-17 or 2015-05-17T10:05:03Z").with("given", text)
    })
}

/// A number after `@`.
fn marked(text: &[u8]) -> Option<i64> {
    epoch(text.strip_prefix(b"@")?)
}

/// Whether this is a number of seconds too small to be taken as a moment without `@`.
pub(crate) fn is_small(text: &[u8]) -> bool {
    epoch(text).is_some_and(|micros| micros.abs() < SMALL * SECOND)
}

/// The date that a small number may stand for; another one if it stands for none.
fn date_of(number: &str) -> String {
    let part = |range| number.get(range).unwrap_or_default();
    let date = match number.len() {
        4 => format!("{number}-01-01"),
        8 => format!("{}-{}-{}", part(0..4), part(4..6), part(6..8)),
        _ => String::new(),
    };
    match date.parse::<civil::Date>() {
        Ok(date) => date.to_string(),
        Err(_) => "2025-01-01".to_owned(),
    }
}

/// A local time of UTC.
pub(crate) fn utc(local: civil::DateTime) -> Option<i64> {
    i64::try_from(local.duration_since(EPOCH).as_nanos().div_euclid(1000)).ok()
}

/// Whether a time of ISO 8601 has an offset that no zone ever had, such as `+25:00`.
fn has_wrong_offset(text: &str) -> bool {
    // Most times have none, and are not parsed twice.
    if !text
        .bytes()
        .skip("2015-05-17".len())
        .any(|byte| matches!(byte, b'+' | b'-'))
    {
        return false;
    }
    let offset = Pieces::parse(text)
        .ok()
        .and_then(|pieces| pieces.to_numeric_offset());
    offset.is_some_and(|offset| i64::from(offset.seconds()).abs() > OFFSET_MAX)
}

/// A time with an offset, also in the first and last hours of the years -9999 and 9999, which a `Timestamp` leaves to local
/// times.
fn of_the_last_hours(text: &str) -> Option<i64> {
    let pieces = Pieces::parse(text).ok()?;
    let offset = i64::from(pieces.to_numeric_offset()?.seconds()) * SECOND;
    utc(pieces.date().to_datetime(pieces.time()?))?.checked_sub(offset)
}

/// A number of seconds, or of smaller units if it is large.
fn epoch(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, text),
    };
    let whole = digits
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if whole == 0 || whole > 19 {
        return None;
    }
    let (integer, rest) = digits.split_at(whole);
    let number = integer.iter().try_fold(0_i64, |sum, digit| {
        sum.checked_mul(10)?.checked_add(i64::from(digit - b'0'))
    })?;
    let micros = match rest.split_first() {
        None => match whole {
            0..=11 => number.checked_mul(SECOND)?,
            12..=14 => number.checked_mul(1000)?,
            15..=17 => number,
            _ if negative => number.checked_add(999)? / 1000,
            _ => number / 1000,
        },
        Some((b'.', fraction)) if !fraction.is_empty() => {
            if !fraction.iter().all(u8::is_ascii_digit) {
                return None;
            }
            let mut micros = 0;
            for at in 0..6 {
                micros = micros * 10 + fraction.get(at).map_or(0, |digit| i64::from(digit - b'0'));
            }
            let has_more = fraction.iter().skip(6).any(|digit| *digit != b'0');
            let rounded = i64::from(negative && has_more);
            number.checked_mul(SECOND)?.checked_add(micros + rounded)?
        }
        Some(_) => return None,
    };
    let micros = if negative { -micros } else { micros };
    is_supported(micros).then_some(micros)
}

/// Whether a moment lies between the years -9999 and 9999, so that it can be shown, rounded and compared.
pub(crate) fn is_supported(micros: i64) -> bool {
    (FIRST..=LAST).contains(&micros)
}

/// A moment as ISO 8601 in UTC, with as many digits as it needs.
#[must_use]
pub fn show_time(micros: i64) -> String {
    if let Ok(moment) = Timestamp::from_microsecond(micros) {
        return moment.to_string();
    }
    EPOCH
        .checked_add(SignedDuration::from_micros(micros))
        .map_or_else(
            |_| {
                format!(
                    "{}.{:06}",
                    micros.div_euclid(SECOND),
                    micros.rem_euclid(SECOND)
                )
            },
            |moment| format!("{moment}Z"),
        )
}

/// Reads a span such as `30s`, `15m`, `1h`, `7d` or `2w`, as microseconds; more than 0.
///
/// # Errors
/// [`InvalidArgument`](ostrakon_cell::ErrorKind::InvalidArgument).
pub fn parse_span(text: &str) -> Result<i64> {
    let wrong = || {
        Error::invalid(
            "not a span of time: give a number and a unit (us, ms, s, m, h, d, w), such as 15m",
        )
        .with("given", text)
    };
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits).ok_or_else(wrong)?;
    let unit = match unit.trim() {
        "us" => 1,
        "ms" => 1000,
        "s" => SECOND,
        "m" | "min" => 60 * SECOND,
        "h" => 3600 * SECOND,
        "d" => 86400 * SECOND,
        "w" => 7 * 86400 * SECOND,
        _ => return Err(wrong()),
    };
    if number.is_empty() {
        return Err(wrong());
    }
    let span = number.parse::<i64>().ok();
    match span.and_then(|number| number.checked_mul(unit)) {
        Some(0) => Err(Error::invalid(
            "a span of time is longer than 0: give a number from 1 on and a unit, such as 15m",
        )
        .with("given", text)),
        Some(span) => Ok(span),
        None => {
            let most = i64::MAX / unit;
            Err(Error::invalid(
                "the span of time is too long: it has to be less than 292,000 years",
            )
            .with("given", text)
            .with("most in this unit", most))
        }
    }
}

/// The span as [`parse_span`] reads it.
#[must_use]
pub fn show_span(micros: i64) -> String {
    for (unit, name) in [
        (7 * 86400 * SECOND, "w"),
        (86400 * SECOND, "d"),
        (3600 * SECOND, "h"),
        (60 * SECOND, "m"),
        (SECOND, "s"),
        (1000, "ms"),
    ] {
        if micros != 0 && micros % unit == 0 {
            return format!("{}{name}", micros / unit);
        }
    }
    format!("{micros}us")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_forms_of_one_moment() {
        let moment = 1_431_857_103 * SECOND;
        for text in [
            "1431857103",
            "1431857103.000000",
            "1431857103000",
            "1431857103000000",
            "1431857103000000000",
            "2015-05-17T10:05:03Z",
            "2015-05-17T12:05:03+02:00",
            "2015-05-17 10:05:03",
            "17/May/2015:10:05:03 +0000",
            "17/May/2015:12:05:03 +0200",
        ] {
            assert_eq!(parse_time(text.as_bytes()), Some(moment), "{text}");
        }
        assert_eq!(show_time(moment), "2015-05-17T10:05:03Z");
        assert_eq!(parse_time(b"2015-05-17"), Some(1_431_820_800 * SECOND));
        assert_eq!(parse_time(b"-1.5"), Some(-1_500_000));
        for (text, is_time) in [
            ("2015-05-17T10:05:03+18:00", true),
            ("2015-05-17T10:05:03-18:00", true),
            ("2015-05-17T10:05:03+18:01", false),
            ("2015-05-17T10:05:03+25:00", false),
            ("2015-05-17 10:05:03-2359", false),
            ("9999-12-31T23:59:59-25:00", false),
            ("17/May/2015:10:05:03 +1801", false),
        ] {
            assert_eq!(parse_time(text.as_bytes()).is_some(), is_time, "{text}");
        }
        // Parts of a microsecond are cut off downwards, also before 1970.
        for (text, micros) in [
            ("1969-12-31T23:59:59.9999999Z", -1),
            ("1969-12-31T23:59:59.9999999+00:00", -1),
            ("1969-12-31 23:59:58.1234567", -1_876_544),
            ("-1.9999999", -2_000_000),
            ("-1.999999", -1_999_999),
            ("-1000000000000000001", -1_000_000_000_000_001),
            ("1970-01-01T00:00:00.0000019Z", 1),
            ("1.9999999", 1_999_999),
        ] {
            assert_eq!(parse_time(text.as_bytes()), Some(micros), "{text}");
        }
    }

    #[test]
    fn all_of_the_years_9999_are_moments() {
        for (text, micros) in [
            ("9999-12-31T23:59:59.999999Z", LAST),
            ("-009999-01-01T00:00:00Z", FIRST),
        ] {
            assert_eq!(parse_time(text.as_bytes()), Some(micros), "{text}");
            assert_eq!(show_time(micros), text);
            let local = text.trim_end_matches('Z');
            assert_eq!(parse_time(local.as_bytes()), Some(micros), "{local}");
        }
        for text in [
            "9999-12-31T23:59:59.999999+00:00",
            "9999-12-31T22:59:59.999999-01:00",
            "253402300799.999999",
        ] {
            assert_eq!(parse_time(text.as_bytes()), Some(LAST), "{text}");
        }
        assert_eq!(
            parse_time(b"31/Dec/9999:23:59:59 +0000"),
            Some(LAST - 999_999)
        );
        for text in [
            "9999-12-31T23:59:59-00:01",
            "-009999-01-01T00:00:00+00:01",
            "31/Dec/9999:23:59:59 -0001",
            "10000-01-01T00:00:00Z",
        ] {
            assert_eq!(parse_time(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn small_numbers_are_moments_only_with_a_sign_that_says_so() {
        for (text, moment) in [
            ("@2025", 2025 * SECOND),
            ("@-1.5", -1_500_000),
            ("@0", 0),
            ("@1431857103", 1_431_857_103 * SECOND),
            ("100000000", SMALL * SECOND),
            ("-100000000", -SMALL * SECOND),
            ("100000000000", SMALL * SECOND),
            ("2025-01-01", 1_735_689_600 * SECOND),
        ] {
            assert_eq!(parse_moment(text).expect(text), moment, "{text}");
        }
        for (text, hint) in [
            (
                "2025",
                "write a date such as 2025-01-01, or @2025 for seconds",
            ),
            ("20250607", "such as 2025-06-07, or @20250607"),
            ("20259999", "such as 2025-01-01, or @20259999"),
            ("99999999", "or @99999999"),
            ("202506", "such as 2025-01-01, or @202506"),
            ("2025.5", "or @2025.5"),
            ("-5", "or @-5"),
            ("0", "or @0"),
            ("@", "not a time"),
            ("@2025-01-01", "not a time"),
            ("noon", "not a time"),
            ("2025-1-1", "not a time"),
        ] {
            let error = parse_moment(text).expect_err(text).to_string();
            assert!(error.contains(hint), "{text}: {error}");
            // Records have seconds.
            let is_number = !text.starts_with('@') && text.parse::<f64>().is_ok();
            assert_eq!(parse_time(text.as_bytes()).is_some(), is_number, "{text}");
        }
    }

    #[test]
    fn a_leap_second_is_the_second_before() {
        let before = parse_time(b"2016-12-31T23:59:59Z");
        assert!(before.is_some());
        assert_eq!(parse_time(b"2016-12-31T23:59:60Z"), before);
    }

    #[test]
    fn other_text_is_not_a_moment() {
        for text in [
            "",
            "-",
            "x",
            "12:30",
            "1.5.2",
            "99999999999999999999",
            "2015-13-01",
            "9223372036854.775807",
            "-9223372036854.775807",
            "-9223372036854.0",
            "253402300800.0",
            "999999999999.0",
            "-999999999999999999.0",
            "\u{661}",
        ] {
            assert_eq!(parse_time(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn spans() {
        for text in ["30s", "15m", "1h", "7ms", "3us", "2d", "1w"] {
            assert_eq!(show_span(parse_span(text).expect("span")), text);
        }
        for text in ["", "1", "h", "0s", "-1h", "99999999999999w"] {
            assert!(parse_span(text).is_err(), "{text}");
        }
        for (text, said) in [
            ("0d", "longer than 0"),
            ("00 h", "longer than 0"),
            ("99999999999999w", "too long"),
            ("99999999999999999999s", "too long"),
            ("h", "a number and a unit"),
            ("5 years", "a number and a unit"),
        ] {
            let error = parse_span(text).expect_err(text).to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
