//! Squid's native access log.

use super::web::{skip_blanks, word};
use super::{LineParser, Names};
use crate::record::Record;
use crate::time::parse_time;

pub(super) const NAMES: [&str; 12] = [
    "time",
    "elapsed",
    "client",
    "result",
    "status",
    "bytes",
    "method",
    "url",
    "user",
    "hierarchy",
    "peer",
    "content_type",
];

pub(super) struct Squid;

/// Whether a line looks like this format.
pub(super) fn fits(line: &[u8]) -> bool {
    let mut record = Record::default();
    Squid.parse(line, &mut Names::of(&NAMES), &mut record) == Ok(true)
}

impl LineParser for Squid {
    fn parse(&mut self, line: &[u8], _: &mut Names, record: &mut Record) -> Result<bool, String> {
        let mut rest = skip_blanks(line);
        let words: Vec<&[u8]> =
            std::iter::from_fn(|| (!rest.is_empty()).then(|| word(&mut rest))).collect();
        let &[
            time,
            elapsed,
            client,
            result,
            bytes,
            method,
            url,
            user,
            hierarchy,
            kind,
        ] = words.as_slice()
        else {
            return Err(format!("the line has {} words, not 10", words.len()));
        };
        let is_epoch = time
            .iter()
            .all(|byte| byte.is_ascii_digit() || *byte == b'.');
        if !is_epoch || parse_time(time).is_none() {
            return Err("the line does not begin with seconds since 1970".into());
        }
        let (result, status) = split(result);
        let (hierarchy, peer) = split(hierarchy);
        if result.is_empty() || status.is_empty() {
            return Err(
                "the fourth word is not a result and a status, such as TCP_MISS/200".into(),
            );
        }
        let values = [
            time, elapsed, client, result, status, bytes, method, url, user, hierarchy, peer, kind,
        ];
        for (name, value) in (0..).zip(values) {
            if !value.is_empty() && value != b"-" {
                record.push(name, value);
            }
        }
        Ok(true)
    }
}

/// What comes before and after the first slash.
fn split(word: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b'/', word) {
        Some(at) => (
            word.get(..at).unwrap_or_default(),
            word.get(at + 1..).unwrap_or_default(),
        ),
        None => (word, b""),
    }
}
