//! Numbers for people: as short as they are precise, with their unit.

use serde::{Deserialize, Serialize};

use crate::measure::Spread;

/// Units of numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// A plain count.
    #[default]
    Count,
    /// Units a second.
    PerSecond,
    /// Units a minute.
    PerMinute,
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Millis,
    /// Microseconds.
    Micros,
    /// Bytes.
    Bytes,
    /// A count shown to its last digit.
    Exact,
}

impl Unit {
    /// The value with its unit, in plain text.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Count | Self::PerSecond | Self::PerMinute => short(value),
            Self::Seconds => format!("{} s", digits(value)),
            Self::Millis => format!("{} ms", digits(value)),
            Self::Micros if value >= 1e6 => format!("{} s", digits(value / 1e6)),
            Self::Micros if value >= 1e3 => format!("{} ms", digits(value / 1e3)),
            Self::Micros => format!("{} µs", digits(value)),
            Self::Bytes => bytes(value),
            Self::Exact => grouped(value),
        }
    }

    /// Mean and, where there is one, deviation, in plain text.
    #[must_use]
    pub fn show_spread(self, spread: &Spread) -> String {
        let mean = self.show(spread.mean);
        // Equal values have a deviation of rounding errors.
        if spread.deviation <= spread.mean.abs() * 1e-12 {
            return mean;
        }
        format!("{mean} ± {}", self.show(spread.deviation))
    }
}

/// Three significant digits with a letter for thousands, as on axes and in tables.
pub(crate) fn short(value: f64) -> String {
    let size = value.abs();
    let (scaled, letter) = match size {
        _ if size >= 1e12 => (value / 1e12, " T"),
        _ if size >= 1e9 => (value / 1e9, " B"),
        _ if size >= 1e6 => (value / 1e6, " M"),
        _ if size >= 1e4 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    format!("{}{letter}", digits(scaled))
}

/// Three significant digits, without zeros that say nothing.
fn digits(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || (size >= 1.0 && (value.fract() == 0.0 || size >= 100.0)) {
        return format!("{value:.0}");
    }
    let places = (2 - size.log10().floor() as i64).clamp(0, 6) as usize;
    let text = format!("{value:.places$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Bytes with a binary unit.
fn bytes(value: f64) -> String {
    let mut scaled = value;
    let mut unit = "B";
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if scaled < 1024.0 {
            break;
        }
        scaled /= 1024.0;
        unit = larger;
    }
    format!("{} {unit}", digits(scaled))
}

/// A whole number with a comma after every third digit.
fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if value < 0.0 {
        text.push('-');
    }
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_exact() {
        for (number, expected) in [
            (0.0, "0"),
            (7.0, "7"),
            (1234.0, "1234"),
            (12_345.0, "12.3 k"),
            (2_005_000.0, "2 M"),
            (2_050_000.0, "2.05 M"),
            (0.012_345, "0.0123"),
            (151.7, "152"),
            (9.999, "10"),
        ] {
            assert_eq!(short(number), expected);
        }
        let equal = Spread {
            mean: 0.3,
            deviation: 5.6e-17,
            ..Spread::default()
        };
        assert_eq!(Unit::Count.show_spread(&equal), "0.3");
        assert_eq!(Unit::Bytes.show(1536.0), "1.5 KiB");
        assert_eq!(Unit::Micros.show(1500.0), "1.5 ms");
        assert_eq!(Unit::Exact.show(999_878.4), "999,878");
        assert_eq!(Unit::Exact.show(-1_048_576.0), "-1,048,576");
        assert_eq!(Unit::Exact.show(12.0), "12");
    }
}
