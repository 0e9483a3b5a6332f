//! Parts of the calendar and of the clock, and where the one with a time begins.

use chrono::{DateTime, Datelike, MappedLocalTime, NaiveDate, NaiveTime, Offset, TimeZone};
use datafusion::arrow::array::timezone::Tz;

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
/// A midnight that clocks skip is less than this after the time from which they skip.
const GAP: i64 = 3 * HOUR;

/// What a time is truncated to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Of which a second has so many.
    OfSecond(i64),
    /// Of so many seconds.
    Seconds(i64),
    Week,
    Month,
    Quarter,
    Year,
}

impl Part {
    /// The part with this name in SQL.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name.to_lowercase().as_str() {
            "microsecond" => Self::OfSecond(1_000_000),
            "millisecond" => Self::OfSecond(1000),
            "second" => Self::Seconds(1),
            "minute" => Self::Seconds(60),
            "hour" => Self::Seconds(HOUR),
            "day" => Self::Seconds(DAY),
            "week" => Self::Week,
            "month" => Self::Month,
            "quarter" => Self::Quarter,
            "year" => Self::Year,
            _ => return None,
        })
    }

    /// Where the part with a time begins, of times of which a second has `units`; `None` if that is out of range.
    pub(super) fn begin(self, time: i64, units: i64, zone: Option<Tz>) -> Option<i64> {
        match (self.step(units), zone) {
            (Some(step), _) => time.checked_sub(time.rem_euclid(step)),
            (None, None) => self
                .begin_in_calendar(time.div_euclid(units))?
                .checked_mul(units),
            (None, Some(zone)) => self
                .begin_in_zone(time.div_euclid(units), zone)?
                .checked_mul(units),
        }
    }

    /// The length of the parts that begin together in all zones.
    fn step(self, units: i64) -> Option<i64> {
        match self {
            Self::OfSecond(count) => Some((units / count).max(1)),
            Self::Seconds(1) => Some(units),
            _ => None,
        }
    }

    fn begin_in_calendar(self, second: i64) -> Option<i64> {
        // 1970 began on a Thursday; weeks begin on Mondays.
        const THURSDAY: i64 = 3;
        let day = second.div_euclid(DAY);
        let date = || Some(DateTime::from_timestamp(second, 0)?.date_naive());
        let (year, month) = match self {
            Self::OfSecond(_) => return Some(second),
            Self::Seconds(length) => return second.checked_sub(second.rem_euclid(length)),
            Self::Week => return (day - (day + THURSDAY).rem_euclid(7)).checked_mul(DAY),
            Self::Month => (date()?.year(), date()?.month()),
            Self::Quarter => (date()?.year(), date()?.month0() / 3 * 3 + 1),
            Self::Year => (date()?.year(), 1),
        };
        let first = NaiveDate::from_ymd_opt(year, month, 1)?;
        Some(first.and_time(NaiveTime::MIN).and_utc().timestamp())
    }

    /// The same by the clocks of a zone.
    fn begin_in_zone(self, second: i64, zone: Tz) -> Option<i64> {
        let utc = DateTime::from_timestamp(second, 0)?.naive_utc();
        let offset = zone.offset_from_utc_datetime(&utc).fix();
        let clock = second.checked_add(offset.local_minus_utc().into())?;
        let begin = self.begin_in_calendar(clock)?;
        // Where clocks go back, there are two of such an hour; it is the one that the time is in.
        if matches!(self, Self::OfSecond(_) | Self::Seconds(..DAY)) {
            return second.checked_sub(clock.checked_sub(begin)?);
        }
        first_on_clock(zone, begin)
    }
}

/// The first second at which the clocks of a zone show a time, or go over it.
pub(in crate::checked) fn first_on_clock(zone: Tz, clock: i64) -> Option<i64> {
    let on_clock = |second| {
        let clock = DateTime::from_timestamp(second, 0)?.naive_utc();
        Some(zone.from_local_datetime(&clock))
    };
    match on_clock(clock)? {
        // A day with two midnights begins with the first one.
        MappedLocalTime::Single(time) | MappedLocalTime::Ambiguous(time, _) => {
            Some(time.timestamp())
        }
        // Clocks went over it: the day begins when they did.
        MappedLocalTime::None => {
            let before = on_clock(clock.checked_sub(GAP)?)?.earliest()?.timestamp();
            change(zone, before, before.checked_add(GAP)?)
        }
    }
}

/// The first second of the clocks that are in force at the second `after`, if those at `before` are others.
fn change(zone: Tz, mut before: i64, mut after: i64) -> Option<i64> {
    let offset = |second| {
        let utc = DateTime::from_timestamp(second, 0)?.naive_utc();
        Some(zone.offset_from_utc_datetime(&utc).fix())
    };
    let old = offset(before)?;
    while after - before > 1 {
        let middle = before + (after - before) / 2;
        match offset(middle)? == old {
            true => before = middle,
            false => after = middle,
        }
    }
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROS: i64 = 1_000_000;

    /// The microseconds of a text with an offset from UTC.
    fn time(text: &str) -> i64 {
        DateTime::parse_from_rfc3339(text)
            .unwrap()
            .timestamp_micros()
    }

    #[test]
    fn parts_begin_where_the_calendar_says() {
        for (part, at, begin) in [
            (
                "microsecond",
                "1969-12-31T23:59:59.999501Z",
                "1969-12-31T23:59:59.999501Z",
            ),
            (
                "millisecond",
                "1969-12-31T23:59:59.9995Z",
                "1969-12-31T23:59:59.999Z",
            ),
            (
                "second",
                "1969-12-31T23:59:59.9995Z",
                "1969-12-31T23:59:59Z",
            ),
            ("minute", "9999-12-31T23:59:59.9Z", "9999-12-31T23:59:00Z"),
            ("week", "1970-01-01T23:59:59.9Z", "1969-12-29T00:00:00Z"),
            ("week", "2026-11-23T00:00:00Z", "2026-11-23T00:00:00Z"),
            ("week", "1191-01-01T00:00:00Z", "1190-12-31T00:00:00Z"),
            ("month", "2300-02-28T01:00:00Z", "2300-02-01T00:00:00Z"),
            ("quarter", "1600-06-30T01:00:00Z", "1600-04-01T00:00:00Z"),
            ("quarter", "2024-12-31T01:00:00Z", "2024-10-01T00:00:00Z"),
            ("YEAR", "0001-12-31T01:00:00Z", "0001-01-01T00:00:00Z"),
            ("day", "1191-01-01T01:00:00Z", "1191-01-01T00:00:00Z"),
        ] {
            let part = Part::named(part).unwrap();
            for zone in [None, Some("+00:00"), Some("UTC")] {
                let zone = zone.map(|zone| zone.parse().unwrap());
                let found = part.begin(time(at), MICROS, zone);
                assert_eq!(found, Some(time(begin)), "{part:?} {at} {zone:?}");
            }
        }
    }

    #[test]
    fn parts_begin_by_the_clocks_of_the_zone() {
        for (part, zone, at, begin) in [
            (
                "day",
                "Europe/Berlin",
                "2026-11-27T00:30:00+01:00",
                "2026-11-27T00:00:00+01:00",
            ),
            (
                "day",
                "Europe/Berlin",
                "9999-12-31T12:00:00+01:00",
                "9999-12-31T00:00:00+01:00",
            ),
            (
                "hour",
                "+05:30",
                "2026-11-27T10:45:00+05:30",
                "2026-11-27T10:00:00+05:30",
            ),
            // Clocks went back: the second of the two hours begins at its own start.
            (
                "hour",
                "Europe/Berlin",
                "2026-10-25T02:30:00+02:00",
                "2026-10-25T02:00:00+02:00",
            ),
            (
                "hour",
                "Europe/Berlin",
                "2026-10-25T02:30:00+01:00",
                "2026-10-25T02:00:00+01:00",
            ),
            // They went back to midnight or from it: the day begins once.
            (
                "day",
                "America/Havana",
                "2026-11-01T00:30:00-04:00",
                "2026-11-01T00:00:00-04:00",
            ),
            (
                "day",
                "America/Havana",
                "2026-11-01T12:00:00-05:00",
                "2026-11-01T00:00:00-04:00",
            ),
            (
                "day",
                "Atlantic/Azores",
                "2026-10-25T12:00:00-01:00",
                "2026-10-25T00:00:00+00:00",
            ),
            // They went over the start of an hour, and over midnight: no part begins after a time in it.
            (
                "hour",
                "America/St_Johns",
                "2006-04-02T01:30:00-02:30",
                "2006-04-02T01:00:00-02:30",
            ),
            (
                "day",
                "America/Toronto",
                "1919-03-31T00:45:00-04:00",
                "1919-03-31T00:30:00-04:00",
            ),
            // They went from midnight to one o'clock.
            (
                "day",
                "America/Sao_Paulo",
                "2018-11-04T05:00:00-02:00",
                "2018-11-04T01:00:00-02:00",
            ),
            (
                "month",
                "America/New_York",
                "2300-03-31T12:00:00-04:00",
                "2300-03-01T00:00:00-05:00",
            ),
        ] {
            let part = Part::named(part).unwrap();
            let found = part.begin(time(at), MICROS, Some(zone.parse().unwrap()));
            assert_eq!(found, Some(time(begin)), "{part:?} {zone} {at}");
        }
    }

    #[test]
    fn times_out_of_range_begin_nowhere() {
        for zone in [None, Some("UTC".parse().unwrap())] {
            for time in [i64::MIN, i64::MAX] {
                assert_eq!(Part::Year.begin(time, 1, zone), None);
            }
            assert_eq!(Part::Week.begin(i64::MIN, MICROS, zone), None);
        }
        assert_eq!(Part::Seconds(1).begin(i64::MIN, 1_000_000_000, None), None);
    }
}
