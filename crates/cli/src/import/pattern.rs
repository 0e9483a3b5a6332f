//! Lines split by a regular expression with named groups; web server logs; whole lines.

use regex::bytes::{CaptureLocations, Regex};

use super::fields::Fields;
use super::lines::{Line, Lines, line_into};
use super::record::{Presence, Record, RecordReader, Step};
use crate::args::FieldType;
use crate::failure::{Failure, Result};

/// The common and the combined log format. An invalid request line is kept whole as `request`.
const WEBLOG: &str = concat!(
    r#"^(?<host>\S+) (?<ident>\S+) (?<user>\S+) \[(?<time>[^\]]+)\] "#,
    r#""(?:(?<method>[A-Za-z]+) (?<path>\S+)(?: (?<protocol>[^"\s]+))?"#,
    r#"|(?<request>(?:[^"\\]|\\.)*))" (?<status>\d{3}|-) (?<bytes>\d+|-)"#,
    r#"(?: "(?<referrer>(?:[^"\\]|\\.)*)" "(?<agent>(?:[^"\\]|\\.)*)")?"#,
);

/// Reads lines by a pattern.
pub(super) struct Pattern {
    lines: Lines,
    line: Line,
    fields: Fields,
    regex: Regex,
    found: CaptureLocations,
    /// Positions of the named groups in the pattern.
    groups: Vec<usize>,
    /// A text that stands for a missing field, in addition to those of the plan.
    missing: Option<&'static [u8]>,
}

impl Pattern {
    /// Fields are the named groups of `pattern`.
    pub(super) fn new(lines: Lines, pattern: &str) -> Result<Self> {
        let regex = Regex::new(pattern).map_err(|error| {
            Failure::usage("--pattern is not a valid regular expression")
                .with("reason", error.to_string())
                .next("write it in single quotes, with a group (?<name>…) for each field")
        })?;
        let named = regex.capture_names().enumerate();
        let (groups, names): (Vec<usize>, Vec<String>) = named
            .filter_map(|(at, name)| Some((at, name?.to_owned())))
            .unzip();
        if names.is_empty() {
            return Err(Failure::usage("--pattern has no named group")
                .next("name the parts that become fields: (?<name>…)"));
        }
        let mut fields = Fields::default();
        fields.reset(names)?;
        Ok(Self {
            lines,
            line: Line::default(),
            fields,
            found: regex.capture_locations(),
            regex,
            groups,
            missing: None,
        })
    }

    /// Whether the first line comes from a web server's log.
    pub(super) fn is_weblog(start: &[u8]) -> bool {
        let line = start.split(|byte| *byte == b'\n').next();
        line.is_some_and(|line| Regex::new(WEBLOG).is_ok_and(|regex| regex.is_match(line)))
    }

    /// Web server logs.
    pub(super) fn weblog(lines: Lines) -> Result<Self> {
        let mut reader = Self::new(lines, WEBLOG)?;
        reader.missing = Some(b"-");
        let kinds: Vec<_> = (0..reader.fields.len() as u32)
            .map(|id| match reader.fields.name(id) {
                "status" | "bytes" => Some(FieldType::Uint),
                _ => None,
            })
            .collect();
        reader.fields.set_types(kinds);
        Ok(reader)
    }

    /// Whole lines as the field `line`.
    pub(super) fn whole_lines(lines: Lines) -> Result<Self> {
        Self::new(lines, "(?s-u)^(?<line>.*)$")
    }
}

impl RecordReader for Pattern {
    fn next(&mut self, record: &mut Record) -> Result<Step> {
        loop {
            if let Some(step) = line_into(&mut self.lines, &mut self.line, record)? {
                return Ok(step);
            }
            if self.line.text.is_empty() {
                continue;
            }
            let text = &self.line.text;
            if self.regex.captures_read(&mut self.found, text).is_none() {
                return Ok(Step::Reject("the line does not match the pattern".into()));
            }
            for (id, &group) in self.groups.iter().enumerate() {
                let (start, end, presence) = match self.found.get(group) {
                    None => (0, 0, Presence::Missing),
                    Some((start, end)) => {
                        let missing =
                            self.missing.is_some() && text.get(start..end) == self.missing;
                        let presence = if missing {
                            Presence::Missing
                        } else {
                            Presence::ByText
                        };
                        (start, end, presence)
                    }
                };
                record.add_slice(id as u32, start, end, presence);
            }
            return Ok(Step::Record);
        }
    }

    fn fields(&self) -> &Fields {
        &self.fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(reader: &mut Pattern) -> Vec<(String, String)> {
        let mut record = Record::default();
        assert_eq!(reader.next(&mut record).expect("memory"), Step::Record);
        record
            .fields()
            .iter()
            .filter(|field| field.presence != Presence::Missing)
            .map(|field| {
                let text = String::from_utf8_lossy(record.bytes(field)).into_owned();
                (reader.fields().name(field.id).to_owned(), text)
            })
            .collect()
    }

    #[test]
    fn both_log_formats_are_cut_up_and_odd_requests_kept_whole() {
        let text: &[u8] = b"::1 - bob [17/May/2015:10:05:03 +0000] \"GET /a?b HTTP/1.1\" 200 - \"http://x/\\\"q\" \"M (x)\"\n\
            1.2.3.4 - - [t] \"\\x16\\x03\" 400 0\nnonsense\n";
        let mut reader = Pattern::weblog(Lines::new(Box::new(text))).expect("our pattern");
        let first = fields(&mut reader);
        let get = |name: &str| {
            first
                .iter()
                .find(|(n, _)| n == name)
                .map(|(_, v)| v.as_str())
        };
        assert_eq!(get("user"), Some("bob"));
        assert_eq!(get("path"), Some("/a?b"));
        assert_eq!(get("bytes"), None);
        assert_eq!(get("referrer"), Some("http://x/\\\"q"));
        let second = fields(&mut reader);
        assert!(second.contains(&("request".into(), "\\x16\\x03".into())));
        let mut record = Record::default();
        assert!(matches!(reader.next(&mut record), Ok(Step::Reject(_))));
    }

    #[test]
    fn whole_lines_take_any_bytes() {
        let text: &[u8] = b"a\xff b\n";
        let mut reader = Pattern::whole_lines(Lines::new(Box::new(text))).expect("our pattern");
        let mut record = Record::default();
        assert_eq!(reader.next(&mut record).expect("memory"), Step::Record);
        assert_eq!(record.bytes(&record.fields()[0]), b"a\xff b");
    }
}
