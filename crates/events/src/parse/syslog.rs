//! Syslog: RFC 5424, RFC 3164, and files with ISO 8601 times.

use jiff::{Timestamp, civil, tz::TimeZone};

use super::web::word;
use super::{LineParser, Names};
use crate::record::Record;
use crate::time::{SECOND, parse_time, show_time, utc};

pub(super) const NAMES: [&str; 9] = [
    "time",
    "host",
    "program",
    "pid",
    "message",
    "facility",
    "severity",
    "message_id",
    "structured_data",
];

pub(super) struct Syslog {
    /// The moment from which a missing year follows.
    pub(super) reference: i64,
}

/// Whether a line looks like this format.
pub(super) fn fits(line: &[u8]) -> bool {
    let mut record = Record::default();
    Syslog { reference: 0 }.parse(line, &mut Names::of(&NAMES), &mut record) == Ok(true)
}

impl LineParser for Syslog {
    fn parse(&mut self, line: &[u8], _: &mut Names, record: &mut Record) -> Result<bool, String> {
        let mut rest = line;
        if let Some(priority) = priority(&mut rest) {
            record.push(5, (priority / 8).to_string().as_bytes());
            record.push(6, (priority % 8).to_string().as_bytes());
            if let Some(after) = rest.strip_prefix(b"1 ") {
                return rfc5424(after, record);
            }
        }
        let time = self.time(&mut rest).ok_or(
            "the line does not begin with a time such as `May 17 10:05:03` or `2015-05-17T10:05:03Z`",
        )?;
        record.push(0, time.as_bytes());
        record.push(1, word(&mut rest));
        let tag_end = rest.iter().position(|byte| b":[ ".contains(byte));
        let message = match tag_end.and_then(|at| rest.split_at_checked(at)) {
            Some((tag, after)) if !after.starts_with(b" ") && !tag.is_empty() => {
                record.push(2, tag);
                pid(after, record)
            }
            _ => rest,
        };
        record.push(4, message);
        Ok(true)
    }
}

/// Reads `[123]: message` or `: message`; returns the message.
fn pid<'a>(after: &'a [u8], record: &mut Record) -> &'a [u8] {
    let mut rest = after;
    if let Some(inside) = after.strip_prefix(b"[")
        && let Some(end) = memchr::memchr(b']', inside)
    {
        record.push(3, inside.get(..end).unwrap_or_default());
        rest = inside.get(end + 1..).unwrap_or_default();
    }
    let rest = rest.strip_prefix(b":").unwrap_or(rest);
    rest.strip_prefix(b" ").unwrap_or(rest)
}

/// Takes `<34>`.
fn priority(rest: &mut &[u8]) -> Option<u16> {
    let inside = rest.strip_prefix(b"<")?;
    let end = memchr::memchr(b'>', inside.get(..inside.len().min(4))?)?;
    let number: u16 = std::str::from_utf8(inside.get(..end)?).ok()?.parse().ok()?;
    *rest = inside.get(end + 1..)?;
    (number < 192).then_some(number)
}

fn rfc5424(line: &[u8], record: &mut Record) -> Result<bool, String> {
    let mut rest = line;
    let time = word(&mut rest);
    parse_time(time).ok_or("the time is not of RFC 5424")?;
    record.push(0, time);
    for name in [1, 2, 3, 7] {
        let value = word(&mut rest);
        if value != b"-" {
            record.push(name, value);
        }
    }
    let data_end = match rest.first() {
        Some(b'[') => structured_end(rest).ok_or("the structured data is not ended")?,
        _ => rest.len().min(1),
    };
    let (data, message) = rest
        .split_at_checked(data_end)
        .ok_or("the structured data is not ended")?;
    if data.starts_with(b"[") {
        record.push(8, data);
    }
    let message = message.strip_prefix(b" ").unwrap_or(message);
    record.push(4, message.strip_prefix(b"\xef\xbb\xbf").unwrap_or(message));
    Ok(true)
}

/// Where the elements in brackets end. Brackets in quotes do not count.
fn structured_end(text: &[u8]) -> Option<usize> {
    let (mut quoted, mut at) = (false, 0);
    loop {
        match text.get(at)? {
            b'\\' => at += 1,
            b'"' => quoted = !quoted,
            b']' if !quoted && text.get(at + 1) != Some(&b'[') => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
}

impl Syslog {
    /// Takes the time, as ISO 8601.
    fn time(&self, rest: &mut &[u8]) -> Option<String> {
        let mut after = *rest;
        let first = word(&mut after);
        if first.contains(&b'T') && parse_time(first).is_some() {
            *rest = after;
            return Some(String::from_utf8_lossy(first).into_owned());
        }
        let months: [&[u8]; 12] = [
            b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov",
            b"Dec",
        ];
        let month = months.iter().position(|month| *month == first)? as i8 + 1;
        let day: i8 = std::str::from_utf8(word(&mut after)).ok()?.parse().ok()?;
        let clock = std::str::from_utf8(word(&mut after)).ok()?;
        let clock: civil::Time = clock.parse().ok()?;
        let newest = self.reference.saturating_add(86400 * SECOND);
        let year = Timestamp::from_microsecond(newest)
            .ok()?
            .to_zoned(TimeZone::UTC)
            .year();
        // 29 February exists every fourth year, but for turns of centuries.
        let moment = (0..9).find_map(|back| {
            let date = civil::Date::new(year - back, month, day).ok()?;
            utc(date.to_datetime(clock)).filter(|moment| *moment <= newest)
        })?;
        *rest = after;
        Some(show_time(moment))
    }
}
