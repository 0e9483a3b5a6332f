//! Parses times to milliseconds since 1970.

use jiff::Timestamp;
use jiff::fmt::strtime;

use crate::failure::Failure;

/// How times are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TimestampFormat {
    /// Seconds since 1970, with or without a fraction.
    Seconds,
    /// Milliseconds since 1970, or any integer for tables with logical time.
    Millis,
    /// Microseconds since 1970.
    Micros,
    /// `2015-05-17T10:05:03Z`.
    Rfc3339,
    /// A pattern of `strptime`.
    Pattern(String),
}

impl TimestampFormat {
    /// The format with this name, or the pattern.
    pub(super) fn parse(name: &str) -> Result<Self, Failure> {
        Ok(match name {
            "seconds" => Self::Seconds,
            "millis" => Self::Millis,
            "micros" => Self::Micros,
            "rfc3339" => Self::Rfc3339,
            pattern if pattern.contains('%') => {
                let format = Self::Pattern(pattern.to_owned());
                format.check_pattern(pattern)?;
                format
            }
            _ => {
                return Err(
                    Failure::usage(format!("`{name}` is not a valid timestamp format")).next(
                        "use seconds, millis, micros, rfc3339, or a pattern such as \
                     '%Y-%m-%d %H:%M:%S %z'",
                    ),
                );
            }
        })
    }

    /// Refuses a pattern with which no text is a time.
    fn check_pattern(&self, pattern: &str) -> Result<(), Failure> {
        let sample = Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC);
        let text = strtime::format(pattern, &sample).map_err(|error| error.to_string());
        let read = text.and_then(|text| self.millis(text.as_bytes()));
        read.map(drop).map_err(|reason| {
            Failure::usage(format!("`{pattern}` is not a valid timestamp format"))
                .with("reason", reason)
                .next("write a date and a time, such as '%Y-%m-%d %H:%M:%S %z'")
        })
    }

    /// The time that a text stands for, or why it is invalid.
    pub(super) fn millis(&self, text: &[u8]) -> Result<i64, String> {
        let shown = || String::from_utf8_lossy(text).into_owned();
        let refuse = |what: &str| format!("`{}` is not a valid {what}", shown());
        let text = std::str::from_utf8(text)
            .map_err(|_| refuse("time"))?
            .trim();
        match self {
            Self::Millis => text
                .parse()
                .map_err(|_| refuse("time in whole milliseconds")),
            Self::Micros => text
                .parse::<i64>()
                .map(|micros| micros.div_euclid(1000))
                .map_err(|_| refuse("time in whole microseconds")),
            Self::Seconds => seconds(text).ok_or_else(|| refuse("time in seconds")),
            Self::Rfc3339 => text
                .parse::<Timestamp>()
                .map(Timestamp::as_millisecond)
                .map_err(|_| refuse("time such as 2015-05-17T10:05:03Z")),
            Self::Pattern(pattern) => strtime::parse(pattern, text)
                .and_then(|time| match time.to_timestamp() {
                    Ok(time) => Ok(time),
                    // Without a zone the time is UTC.
                    Err(error) => match time.to_datetime() {
                        Ok(time) => time
                            .to_zoned(jiff::tz::TimeZone::UTC)
                            .map(|t| t.timestamp()),
                        Err(_) => Err(error),
                    },
                })
                .map(Timestamp::as_millisecond)
                .map_err(|_| refuse(&format!("time in the form {pattern}"))),
        }
    }
}

/// Decimal seconds to milliseconds, without floating-point numbers.
fn seconds(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let negative = whole.starts_with('-');
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let thousandths = fraction
        .bytes()
        .chain([b'0'; 3])
        .take(3)
        .fold(0_i64, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    let whole = whole.parse::<i64>().ok()?.checked_mul(1000)?;
    whole.checked_add(if negative { -thousandths } else { thousandths })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_formats_give_the_same_time() {
        let moment = 1_431_857_103_000;
        for (format, text) in [
            ("seconds", "1431857103"),
            ("seconds", "1431857103.0004"),
            ("millis", "1431857103000"),
            ("micros", "1431857103000999"),
            ("rfc3339", "2015-05-17T12:05:03+02:00"),
            ("%d/%b/%Y:%H:%M:%S %z", "17/May/2015:10:05:03 +0000"),
            ("%Y-%m-%d %H:%M:%S", "2015-05-17 10:05:03"),
        ] {
            let format = TimestampFormat::parse(format).expect("a format");
            assert_eq!(format.millis(text.as_bytes()), Ok(moment), "{format:?}");
            assert!(format.millis(b"yesterday").is_err(), "{format:?}");
        }
        assert_eq!(TimestampFormat::Seconds.millis(b"-1.5"), Ok(-1500));
        assert!(TimestampFormat::parse("epoch").is_err());
    }
}
