//! Delimited files: CSV, TSV, Zeek's logs, edge lists.
//!
//! A quoted field may contain line ends, so a quote that is never closed could swallow the rest of
//! the file. To lose only one line, a record that does not end within bounds, or has the wrong number
//! of fields, is given up: its first line is rejected, and reading continues with the second.

use std::collections::HashSet;

use csv_core::{ReadRecordResult, ReaderBuilder, Terminator};

use super::blanks::{self, Found, Quotes};
use super::fields::Fields;
use super::lines::{Got, Line, LineEnd, Lines, too_long};
use super::record::{Presence, Record, RecordReader, Step};
use super::zeek::Zeek;
use crate::failure::{Failure, Result};

/// Bounds of a record with quotes.
const MAX_RECORD_LINES: usize = 1000;
const MAX_RECORD_BYTES: usize = 4 << 20;

const NO_RECORD: &str =
    "an opening quote is not closed on its line, and with the next lines it makes no record";
const TEXT_AFTER_QUOTE: &str = "text follows the closing quote of a field; a quote within quotes is written twice, and with --no-quotes quotes are data";

/// What separates fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Separator {
    Byte(u8),
    /// Any run of blanks, tabs and commas, as in edge lists: [`blanks`].
    Blanks,
}

/// How a delimited file is written.
#[derive(Debug, Clone)]
pub(super) struct Dialect {
    pub(super) separator: Separator,
    /// Whether `"` quotes fields.
    pub(super) quotes: bool,
    /// The byte that escapes a quote; with `None`, quotes are doubled.
    pub(super) escape: Option<u8>,
    /// Lines that begin with this are skipped.
    pub(super) comment: Option<Vec<u8>>,
    /// Whether the first line names the fields.
    pub(super) header: bool,
    /// Names given by the user.
    pub(super) names: Vec<String>,
    /// Number of fields that a record may lack at its end.
    pub(super) optional: usize,
}

/// Reads a delimited file.
pub(super) struct Delimited {
    lines: Lines,
    line: Line,
    dialect: Dialect,
    zeek: Option<Zeek>,
    fields: Fields,
    named: bool,
    quoted: csv_core::Reader,
    unquoted: Vec<u8>,
    ends: Vec<usize>,
}

impl Delimited {
    pub(super) fn new(lines: Lines, dialect: Dialect, zeek: Option<Zeek>) -> Result<Self> {
        let quoted = ReaderBuilder::new()
            .delimiter(delimiter(&dialect))
            .escape(dialect.escape)
            .double_quote(dialect.escape.is_none())
            // Lines come without their ends; any other carriage return is data.
            .terminator(Terminator::Any(b'\n'))
            .build();
        let mut fields = Fields::default();
        let named = !dialect.names.is_empty();
        if named {
            fields.reset(dialect.names.iter().cloned())?;
        }
        Ok(Self {
            lines,
            line: Line::default(),
            named,
            dialect,
            zeek,
            fields,
            quoted,
            unquoted: vec![0; 1024],
            ends: vec![0; 64],
        })
    }

    fn split(&mut self, record: &mut Record) -> Option<String> {
        if self.dialect.separator == Separator::Blanks {
            return self.split_blanks(record);
        }
        let quoted = self.dialect.quotes && memchr::memchr(b'"', record.text()).is_some();
        if quoted {
            return self.split_quoted(record);
        }
        let Self {
            dialect,
            zeek,
            line,
            ..
        } = self;
        let mut cut = Cut {
            record,
            zeek: zeek.as_ref(),
            text: &line.text,
            id: 0,
        };
        let delimiter = delimiter(dialect);
        let mut start = 0;
        for end in memchr::memchr_iter(delimiter, &line.text) {
            cut.field(start, end);
            start = end + 1;
        }
        cut.field(start, line.text.len());
        None
    }

    /// Edge lists: a quoted name ends on its line.
    fn split_blanks(&mut self, record: &mut Record) -> Option<String> {
        let quotes = self.dialect.quotes.then_some(Quotes {
            escape: self.dialect.escape,
        });
        let mut id = 0;
        let cut = blanks::split(&self.line.text, quotes, |found| {
            match found {
                Found::Slice(start, end) => record.add_slice(id, start, end, Presence::ByText),
                Found::Quoted(text) => record.add_decoded(id, &text, Presence::ByText),
            }
            id += 1;
        });
        cut.err()
    }

    /// Reads a record with quotes, over several lines if necessary; returns the reason if it is invalid.
    fn split_quoted(&mut self, record: &mut Record) -> Option<String> {
        let mut held: Vec<Line> = Vec::new();
        let reason = self.read_quoted(record, &mut held).or_else(|| {
            let is_well_quoted = self.is_well_quoted(record.text());
            match held.is_empty() {
                true if is_well_quoted => None,
                true => Some(TEXT_AFTER_QUOTE.to_owned()),
                false if is_well_quoted && self.wrong_width(record).is_none() => None,
                false => Some(NO_RECORD.to_owned()),
            }
        });
        if reason.is_some() && !held.is_empty() {
            let number = record.line();
            let first = record.text().split(|&byte| byte == b'\n').next();
            let first = first.unwrap_or_default();
            let first = first.strip_suffix(b"\r").unwrap_or(first).to_vec();
            record.begin(number, &first);
            self.lines.put_back(held.into_iter());
        }
        reason
    }

    fn read_quoted(&mut self, record: &mut Record, held: &mut Vec<Line>) -> Option<String> {
        self.quoted.reset();
        // Without an empty line before, the reader would take a byte order mark out of each record.
        self.quoted.read_record(b"\n", &mut [], &mut []);
        let (mut written, mut ended) = (0, 0);
        let mut end = self.line.end;
        let mut complete = self.feed((record.text(), end), &mut written, &mut ended);
        while !complete {
            if held.len() >= MAX_RECORD_LINES || record.text().len() > MAX_RECORD_BYTES {
                return Some("an opening quote is not closed within the limits of a record".into());
            }
            let mut line = Line::default();
            match self.lines.next(&mut line) {
                Ok(Got::Line) => {}
                // An error is returned again when the next line is read.
                Ok(Got::End | Got::TooLong) | Err(_) => {
                    return Some(
                        "an opening quote is not closed before the end of the file".into(),
                    );
                }
            }
            record.more_text(end.within(), &line.text);
            end = line.end;
            complete = self.feed((&line.text, end), &mut written, &mut ended);
            held.push(line);
        }
        let mut start = 0;
        for (id, &end) in self.ends.iter().take(ended).enumerate() {
            let bytes = self.unquoted.get(start..end).unwrap_or_default();
            record.add_decoded(id as u32, bytes, Presence::ByText);
            start = end;
        }
        None
    }

    /// Feeds a line and its end; returns whether the record is complete.
    fn feed(
        &mut self,
        (text, end): (&[u8], LineEnd),
        written: &mut usize,
        ended: &mut usize,
    ) -> bool {
        for mut input in [text, end.within()] {
            while !input.is_empty() {
                let (result, used, wrote, ends) = self.quoted.read_record(
                    input,
                    self.unquoted.get_mut(*written..).unwrap_or_default(),
                    self.ends.get_mut(*ended..).unwrap_or_default(),
                );
                input = input.get(used..).unwrap_or_default();
                *written += wrote;
                *ended += ends;
                match result {
                    ReadRecordResult::InputEmpty => break,
                    ReadRecordResult::OutputFull => {
                        self.unquoted.resize(self.unquoted.len() * 2, 0);
                    }
                    ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                    ReadRecordResult::Record | ReadRecordResult::End => {
                        // Outside of quotes, the carriage return is of the line end and not of the last field.
                        if end == LineEnd::ReturnAndFeed
                            && let Some(last) = self.ends.get_mut(ended.saturating_sub(1))
                        {
                            *last = last.saturating_sub(1);
                        }
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Whether every closing quote is at the end of its field. A quote that was opened by mistake is
    /// closed by the opening quote of the next field, which is followed by text.
    fn is_well_quoted(&self, text: &[u8]) -> bool {
        let delimiter = delimiter(&self.dialect);
        let ends_field = |byte: Option<&u8>| {
            byte.is_none_or(|byte| *byte == delimiter || matches!(byte, b'\n' | b'\r'))
        };
        let mut at = 0;
        // `at` is where a field begins.
        while let Some(field) = text.get(at..).filter(|rest| !rest.is_empty()) {
            if field.first() != Some(&b'"') {
                match memchr::memchr2(delimiter, b'\n', field) {
                    Some(end) => at += end + 1,
                    None => return true,
                }
                continue;
            }
            let Some(end) = closing_quote(field, self.dialect.escape) else {
                return true;
            };
            if !ends_field(field.get(end + 1)) {
                return false;
            }
            at += end + 2;
        }
        true
    }

    fn wrong_width(&self, record: &Record) -> Option<String> {
        let (found, wanted) = (record.fields().len(), self.fields.len());
        if !self.named || (found <= wanted && found + self.dialect.optional >= wanted) {
            return None;
        }
        let least = wanted - self.dialect.optional.min(wanted);
        let wanted = match least {
            _ if least == wanted => wanted.to_string(),
            least => format!("{least} or {wanted}"),
        };
        let plural = if found == 1 { "" } else { "s" };
        let hint = match self.dialect.separator {
            Separator::Blanks => "; use --format csv for files that are not edge lists",
            Separator::Byte(_) => "",
        };
        Some(format!(
            "{found} field{plural} where {wanted} are expected{hint}"
        ))
    }

    /// Rejects a file in which carriage returns end the lines: all of it would be one line.
    fn check_line_ends(&self, record: &Record, header: bool) -> Result<()> {
        let is_first = header || record.line() == 1 && !self.named;
        let has_lone_return = |text: &[u8]| {
            memchr::memchr_iter(b'\r', text).any(|at| text.get(at + 1) != Some(&b'\n'))
        };
        let mut fields = record.fields().iter();
        if !is_first
            || self.dialect.separator == Separator::Blanks
            || !fields.any(|field| has_lone_return(record.bytes(field)))
        {
            return Ok(());
        }
        Err(Failure::usage(
            "a carriage return (CR) stands within the first line: lines end with a line feed (LF) or with CR LF",
        )
        .next("convert the line ends, for example with `tr '\\r' '\\n' < FILE`"))
    }

    /// Takes the names from the header row, or numbers the fields of the first record.
    fn name_fields(&mut self, record: &Record, header: bool) -> Result<()> {
        self.named = true;
        let names: Vec<String> = if header {
            record
                .fields()
                .iter()
                .map(|field| {
                    String::from_utf8_lossy(record.bytes(field))
                        .trim()
                        .to_owned()
                })
                .collect()
        } else {
            (1..=record.fields().len())
                .map(|number| number.to_string())
                .collect()
        };
        if header {
            check_header(&names)?;
        }
        self.fields.reset(names)
    }
}

/// Rejects a header row with a name twice, of which one field would replace the other, and warns of one
/// that looks like data.
fn check_header(names: &[String]) -> Result<()> {
    let mut seen = HashSet::new();
    if let Some(name) = names
        .iter()
        .find(|name| !name.is_empty() && !seen.insert(*name))
    {
        return Err(
            Failure::usage("two fields of the header row have the same name")
                .with("field", name.clone())
                .next(
                    "use --no-header if the first line is data; otherwise correct the header row",
                ),
        );
    }
    if names.iter().any(|name| name.parse::<f64>().is_ok()) {
        Failure::warning("the first line was taken for the header row, although it has numbers")
            .with("line", names.join(" "))
            .next("use --no-header if it is data")
            .warn();
    }
    Ok(())
}

/// Where the quote is that closes a field; the field begins with one.
fn closing_quote(field: &[u8], escape: Option<u8>) -> Option<usize> {
    let mut at = 1;
    loop {
        let rest = field.get(at..)?;
        at += match escape {
            Some(escape) => memchr::memchr2(b'"', escape, rest),
            None => memchr::memchr(b'"', rest),
        }?;
        let is_escape = field.get(at).copied() == escape;
        if !is_escape && (escape.is_some() || field.get(at + 1) != Some(&b'"')) {
            return Some(at);
        }
        at += 2;
    }
}

/// The byte between fields; edge lists are split by [`blanks`] instead.
fn delimiter(dialect: &Dialect) -> u8 {
    match dialect.separator {
        Separator::Byte(byte) => byte,
        Separator::Blanks => b' ',
    }
}

/// Adds fields to a record as they are found.
struct Cut<'a> {
    record: &'a mut Record,
    zeek: Option<&'a Zeek>,
    text: &'a [u8],
    id: u32,
}

impl Cut<'_> {
    #[inline]
    fn field(&mut self, start: usize, end: usize) {
        match self.zeek {
            None => self.record.add_slice(self.id, start, end, Presence::ByText),
            Some(zeek) => {
                let text = self.text.get(start..end).unwrap_or_default();
                let presence = zeek.presence(text);
                let end = if zeek.is_empty_field(text) {
                    start
                } else {
                    end
                };
                self.record.add_slice(self.id, start, end, presence);
            }
        }
        self.id += 1;
    }
}

impl RecordReader for Delimited {
    fn next(&mut self, record: &mut Record) -> Result<Step> {
        loop {
            match self.lines.next(&mut self.line)? {
                Got::End => return Ok(Step::End),
                Got::TooLong => {
                    record.begin(self.line.number, &[]);
                    return Ok(Step::Reject(too_long()));
                }
                Got::Line => {}
            }
            let text = &self.line.text;
            if text.is_empty() {
                continue;
            }
            if let Some(zeek) = &mut self.zeek
                && text.first() == Some(&b'#')
            {
                if let Some(separator) = zeek.directive(text, &mut self.fields)? {
                    self.dialect.separator = Separator::Byte(separator);
                }
                self.named = self.fields.len() > 0;
                continue;
            }
            if self
                .dialect
                .comment
                .as_ref()
                .is_some_and(|mark| text.starts_with(mark))
            {
                continue;
            }
            if let Some(zeek) = &self.zeek {
                zeek.check_head(self.named)?;
            }
            record.begin(self.line.number, text);
            if let Some(reason) = self.split(record) {
                if self.dialect.header {
                    // The next line is a record and no header row.
                    return Err(Failure::usage("the header row cannot be read")
                        .with("reason", reason)
                        .next(
                            "correct the header row, or use --no-header if the first line is data",
                        ));
                }
                return Ok(Step::Reject(reason));
            }
            let header = std::mem::take(&mut self.dialect.header);
            if header || self.line.end == LineEnd::Nothing {
                self.check_line_ends(record, header)?;
            }
            if !self.named {
                self.name_fields(record, header)?;
            }
            if header {
                continue;
            }
            return Ok(match self.wrong_width(record) {
                Some(reason) => Step::Reject(reason),
                None => Step::Record,
            });
        }
    }

    fn fields(&self) -> &Fields {
        &self.fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialect(separator: Separator) -> Dialect {
        Dialect {
            separator,
            quotes: separator == Separator::Byte(b','),
            escape: None,
            comment: Some(b"#".to_vec()),
            header: true,
            names: Vec::new(),
            optional: 0,
        }
    }

    /// Records as `line:field|field`, rejected lines as `line! text`.
    fn read(text: &'static str, dialect: Dialect) -> Vec<String> {
        let lines = Lines::new(Box::new(text.as_bytes()));
        let mut reader = Delimited::new(lines, dialect, None).expect("few names");
        let mut record = Record::default();
        let mut seen = Vec::new();
        loop {
            match reader.next(&mut record).expect("memory") {
                Step::End => return seen,
                Step::Reject(_) => seen.push(format!(
                    "{}! {}",
                    record.line(),
                    String::from_utf8_lossy(record.text())
                )),
                Step::Record => {
                    let fields: Vec<_> = record
                        .fields()
                        .iter()
                        .map(|field| String::from_utf8_lossy(record.bytes(field)).into_owned())
                        .collect();
                    seen.push(format!("{}:{}", record.line(), fields.join("|")));
                }
            }
        }
    }

    #[test]
    fn quotes_hold_delimiters_quotes_and_line_ends() {
        let text = "a,b\n1,\"x,\"\"y\"\"\"\n2,\"two\n\nlines\"\n3,z\n";
        assert_eq!(
            read(text, dialect(Separator::Byte(b','))),
            ["2:1|x,\"y\"", "3:2|two\n\nlines", "6:3|z"]
        );
    }

    #[test]
    fn line_ends_within_quotes_are_data_as_they_are() {
        let text = "a,b\r\n1,\"two\r\n\r\nlines\"\r\n2,\"x\ny\"\r\n3,\"a\rb\"\n4\r5,\"z\"\r\n6,\"open\r\n7,x\r\n";
        assert_eq!(
            read(text, dialect(Separator::Byte(b','))),
            [
                "2:1|two\r\n\r\nlines",
                "5:2|x\ny",
                "7:3|a\rb",
                "8:4\r5|z",
                "9! 6,\"open",
                "10:7|x"
            ]
        );
        // A field that fills the buffer up to the line end.
        for length in 1015..1030 {
            let field = "x".repeat(length);
            let text = format!("a,b\n1,\"{field}\r\ny\"\r\n");
            assert_eq!(
                read(
                    Box::leak(text.into_boxed_str()),
                    dialect(Separator::Byte(b','))
                ),
                [format!("2:1|{field}\r\ny")]
            );
        }
    }

    #[test]
    fn files_with_carriage_returns_alone_or_too_many_names_are_refused() {
        let first = |text: String, dialect: Dialect| {
            let lines = Lines::new(Box::new(std::io::Cursor::new(text)));
            let mut reader = Delimited::new(lines, dialect, None).expect("few names");
            let step = reader.next(&mut Record::default());
            step.map_err(|failure| failure.message().to_owned())
        };
        let head = dialect(Separator::Byte(b','));
        let no_head = Dialect {
            header: false,
            ..head.clone()
        };
        for dialect in [&head, &no_head] {
            let refused = first("a,b\r1,2\r3,4\r".into(), dialect.clone()).expect_err("one line");
            assert!(refused.contains("carriage return"), "{refused}");
            let many = (0..65_537).map(|at| format!("n{at}"));
            let many = many.collect::<Vec<_>>().join(",");
            let refused = first(many, dialect.clone()).expect_err("too many");
            assert!(refused.contains("65536"), "{refused}");
        }
        assert_eq!(
            first("a,\"b\r\nc\"\r\n1,2\r3\r\n".into(), head),
            Ok(Step::Record)
        );
        assert_eq!(first("1,2\r3\n".into(), no_head), Ok(Step::Record));
    }

    #[test]
    fn a_quote_that_is_never_closed_costs_one_line() {
        let text = "a,b\n1,\"open\n2,x\n3,\"open again\n4,y\n";
        assert_eq!(
            read(text, dialect(Separator::Byte(b','))),
            ["2! 1,\"open", "3:2|x", "4! 3,\"open again", "5:4|y"]
        );
    }

    #[test]
    fn text_after_a_closing_quote_is_rejected() {
        let text = "a,b\n1,\"a\"b\"c\"\n2,\"x\"y\n3,\"x\" \n4,\"\"\n5,\"\"\"\"\n6,x\"y\"\n\"7\",\"x\"\"\"\n";
        let csv = dialect(Separator::Byte(b','));
        assert_eq!(
            read(text, csv.clone()),
            [
                "2! 1,\"a\"b\"c\"",
                "3! 2,\"x\"y",
                "4! 3,\"x\" ",
                "5:4|",
                "6:5|\"",
                "7:6|x\"y\"",
                "8:7|x\""
            ]
        );
        let escaped = Dialect {
            escape: Some(b'\\'),
            ..csv.clone()
        };
        assert_eq!(
            read("a,b\n1,\"x\\\"y\"\n2,\"x\"\"y\"\n3,\"\\\\\"\n", escaped),
            ["2:1|x\"y", "3! 2,\"x\"\"y\"", "4:3|\\"]
        );
        let lines = Lines::new(Box::new("a,\"b\"c\n1,2\n".as_bytes()));
        let mut reader = Delimited::new(lines, csv, None).expect("few names");
        let failure = reader
            .next(&mut Record::default())
            .expect_err("a wrong header");
        assert!(failure.message().contains("header row"), "{failure:?}");
    }

    #[test]
    fn a_byte_order_mark_within_a_file_is_data() {
        assert_eq!(
            read(
                "\u{feff}a,b\n\u{feff}1,\"x\"\n\u{feff}2,x\n",
                dialect(Separator::Byte(b','))
            ),
            ["2:\u{feff}1|x", "3:\u{feff}2|x"]
        );
    }

    #[test]
    fn a_line_with_too_many_or_too_few_fields_is_rejected() {
        let text = "a,b\n1\n2,x,y\n\n# comment\n3,z\n";
        assert_eq!(
            read(text, dialect(Separator::Byte(b','))),
            ["2! 1", "3! 2,x,y", "6:3|z"]
        );
    }

    #[test]
    fn edge_lists_take_any_blanks_and_may_lack_the_weight() {
        let edges = Dialect {
            header: false,
            names: vec!["from".into(), "to".into(), "weight".into()],
            optional: 1,
            ..dialect(Separator::Blanks)
        };
        assert_eq!(
            read("# c\na b\n c\t d  0.5 \ne\nf,g,1,2\n", edges.clone()),
            ["2:a|b", "3:c|d|0.5", "4! e", "5! f,g,1,2"]
        );
        let quoted = Dialect {
            quotes: true,
            ..edges
        };
        assert_eq!(
            read("\"New York\" \"San José\" 7\n\"open b\nc d\n", quoted),
            ["1:New York|San José|7", "2! \"open b", "3:c|d"]
        );
    }

    #[test]
    fn without_a_head_line_the_first_record_counts() {
        let plain = Dialect {
            header: false,
            ..dialect(Separator::Byte(b','))
        };
        assert_eq!(read("x,y\nz,\n", plain.clone()), ["1:x|y", "2:z|"]);
        let named = Dialect {
            header: true,
            names: vec!["p".into(), "q".into()],
            ..plain
        };
        assert_eq!(read("x,y\nz,w\n", named), ["2:z|w"]);
    }

    #[test]
    fn long_quoted_fields_and_many_fields_grow_the_buffers() {
        let wide: String = (0..200).map(|n| format!("\"{n}\",")).collect();
        let text = format!("{wide}\"{}\"\n", "x".repeat(5000));
        let plain = Dialect {
            header: false,
            ..dialect(Separator::Byte(b','))
        };
        let seen = read(Box::leak(text.into_boxed_str()), plain);
        assert_eq!(seen.len(), 1);
        assert!(seen[0].ends_with(&"x".repeat(5000)) && seen[0].contains("|199|x"));
    }
}
