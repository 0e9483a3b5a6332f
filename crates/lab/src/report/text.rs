//! Numbers and words as HTML.

use crate::experiments::Unit;
use crate::measure::Spread;

/// Text with what HTML would take for markup escaped.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Three significant digits with a letter for thousands, as on axes and in tables.
pub(super) fn short(value: f64) -> String {
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
pub(super) fn bytes(value: f64) -> String {
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

/// A value with its unit.
pub(super) fn value(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Count | Unit::PerSecond | Unit::PerMinute => short(value),
        Unit::Seconds => format!("{} s", digits(value)),
        Unit::Millis => format!("{} ms", digits(value)),
        Unit::Micros if value >= 1e6 => format!("{} s", digits(value / 1e6)),
        Unit::Micros if value >= 1e3 => format!("{} ms", digits(value / 1e3)),
        Unit::Micros => format!("{} µs", digits(value)),
        Unit::Bytes => bytes(value),
        Unit::Exact => grouped(value),
    }
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

/// Mean and, where there is one, deviation.
pub(super) fn spread(spread: &Spread, unit: Unit) -> String {
    let mean = value(spread.mean, unit);
    if spread.deviation == 0.0 || spread.mean == 0.0 {
        return mean;
    }
    let percent = 100.0 * spread.deviation / spread.mean.abs();
    format!(
        "{mean} <small title=\"standard deviation {} over {} repetitions\">±{} %</small>",
        value(spread.deviation, unit),
        spread.count,
        digits(percent)
    )
}

/// A moment as date and time (UTC), by the civil calendar.
pub(super) fn moment(millis: u64) -> String {
    let seconds = millis / 1000;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01, in eras of 400 years; Howard Hinnant's days-from-civil, turned round.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02} UTC",
        rest / 3600,
        rest / 60 % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_honest() {
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
        assert_eq!(bytes(1536.0), "1.5 KiB");
        assert_eq!(value(1500.0, Unit::Micros), "1.5 ms");
        assert_eq!(value(999_878.4, Unit::Exact), "999,878");
        assert_eq!(value(-1_048_576.0, Unit::Exact), "-1,048,576");
        assert_eq!(value(12.0, Unit::Exact), "12");
    }

    #[test]
    fn moments_follow_the_calendar() {
        assert_eq!(moment(0), "1970-01-01 00:00 UTC");
        assert_eq!(moment(951_782_400_000), "2000-02-29 00:00 UTC");
        assert_eq!(moment(1_795_219_199_000), "2026-11-20 23:59 UTC");
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(escape("<a & \"b\">"), "&lt;a &amp; &quot;b&quot;&gt;");
    }
}
