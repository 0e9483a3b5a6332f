//! Formats numbers and text as HTML.

use crate::experiments::{Unit, short};
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

/// Mean and, where there is one, deviation.
pub(super) fn spread(spread: &Spread, unit: Unit) -> String {
    let mean = unit.show(spread.mean);
    if spread.deviation == 0.0 || spread.mean == 0.0 {
        return mean;
    }
    let percent = 100.0 * spread.deviation / spread.mean.abs();
    format!(
        "{mean} <small title=\"standard deviation {} over {} repetitions\">±{} %</small>",
        unit.show(spread.deviation),
        spread.count,
        short(percent)
    )
}

/// A moment as date and time (UTC), by the civil calendar.
pub(super) fn moment(millis: u64) -> String {
    let seconds = millis / 1000;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01, in eras of 400 years; Howard Hinnant's days-from-civil, inverted.
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
