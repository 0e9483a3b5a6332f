//! The combined and the common log format of web servers.

use std::borrow::Cow;

use super::{LineParser, Names};
use crate::record::Record;

/// `extra` is what follows the fields of the combined format, such as the time that a request took.
pub(super) const NAMES: [&str; 13] = [
    "time", "client", "ident", "user", "method", "path", "protocol", "status", "bytes", "referer",
    "agent", "request", "extra",
];

pub(super) struct Web;

/// Whether a line looks like this format.
pub(super) fn fits(line: &[u8]) -> bool {
    let mut record = Record::default();
    Web.parse(line, &mut Names::of(&NAMES), &mut record) == Ok(true)
}

impl LineParser for Web {
    fn parse(&mut self, line: &[u8], _: &mut Names, record: &mut Record) -> Result<bool, String> {
        let mut rest = line;
        let client = word(&mut rest);
        let ident = word(&mut rest);
        // Names of users may hold blanks; the time in brackets ends them.
        let bracket = memchr::memmem::find(rest, b" [").ok_or("there is no time in brackets")?;
        let (user, after) = rest
            .split_at_checked(bracket)
            .ok_or("there is no time in brackets")?;
        rest = after.get(2..).unwrap_or_default();
        let end = memchr::memchr(b']', rest).ok_or("the time in brackets is not ended")?;
        let (time, after) = rest
            .split_at_checked(end)
            .ok_or("the time in brackets is not ended")?;
        if crate::time::parse_time(time).is_none() {
            return Err("the time in brackets is not like 17/May/2015:10:05:03 +0000".into());
        }
        rest = skip_blanks(after.get(1..).unwrap_or_default());
        let request = quoted(&mut rest).ok_or("there is no request in quotes")?;
        let status = word(&mut rest);
        if status.len() != 3 || !status.iter().all(u8::is_ascii_digit) {
            return Err("the status is not a number of three digits".into());
        }
        let bytes = word(&mut rest);
        let mut put = |name: u32, value: &[u8]| {
            if value != b"-" {
                record.push(name, value);
            }
        };
        for (name, value) in [
            (0, time),
            (1, client),
            (2, ident),
            (3, user),
            (7, status),
            (8, bytes),
        ] {
            put(name, value);
        }
        let mut words = request.splitn(3, |byte| *byte == b' ');
        match (words.next(), words.next(), words.next()) {
            (Some(method), Some(path), Some(protocol)) if protocol.starts_with(b"HTTP/") => {
                put(4, method);
                put(5, path);
                put(6, protocol);
            }
            _ => put(11, &request),
        }
        if let Some(referer) = quoted(&mut rest) {
            put(9, &referer);
        }
        if let Some(agent) = quoted(&mut rest) {
            put(10, &agent);
        }
        let extra = rest.trim_ascii_end();
        if !extra.is_empty() {
            put(12, extra);
        }
        Ok(true)
    }
}

/// Takes everything up to the next blank, and the blanks.
pub(super) fn word<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let text: &'a [u8] = rest;
    let end = memchr::memchr(b' ', text).unwrap_or(text.len());
    let (word, after) = text.split_at_checked(end).unwrap_or((text, b""));
    *rest = skip_blanks(after);
    word
}

pub(super) fn skip_blanks(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|byte| **byte == b' ').count();
    text.get(blanks..).unwrap_or_default()
}

/// Takes text in quotes, in which `\"` and `\\` are escapes, and the blanks after it.
fn quoted<'a>(rest: &mut &'a [u8]) -> Option<Cow<'a, [u8]>> {
    let inner: &'a [u8] = rest.strip_prefix(b"\"")?;
    let end = memchr::memchr2(b'"', b'\\', inner)?;
    if inner.get(end) == Some(&b'"') {
        let (text, after) = inner.split_at_checked(end)?;
        *rest = skip_blanks(after.get(1..).unwrap_or_default());
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = inner.iter().enumerate();
    let mut text = Vec::new();
    while let Some((at, &byte)) = bytes.next() {
        match byte {
            b'"' => {
                *rest = skip_blanks(inner.get(at + 1..).unwrap_or_default());
                return Some(Cow::Owned(text));
            }
            b'\\' => match bytes.next() {
                Some((_, &byte @ (b'"' | b'\\'))) => text.push(byte),
                Some((_, &byte)) => text.extend_from_slice(&[b'\\', byte]),
                None => return None,
            },
            _ => text.push(byte),
        }
    }
    None
}
