//! Fields separated by one byte, with a header line.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};

use super::{LineParser, Names, Quotes};
use crate::record::Record;
use crate::value::{FieldType, typed};

/// Maximum number of names in a header.
const MAX_NAMES: usize = 65_536;

const LONE_RETURN: &str = "the header has a carriage return (CR) in a name: lines end with a line feed (LF) or CR LF, so convert the \
     line ends of a file in which CR alone ends a line";

/// What to do about a file without a header.
const NO_HEADER: &str =
    "if the file has no header, put a line with the names of its fields before the first record";

pub(super) struct Csv {
    reader: Reader,
    delimiter: u8,
    columns: Vec<u32>,
    /// The fields of a line with quotes, and where each ends.
    out: Vec<u8>,
    ends: Vec<usize>,
    /// Where the fields of the line begin and end: in `out`, or in the line itself.
    fields: Vec<(usize, usize)>,
    is_quoted: bool,
}

impl Csv {
    /// A reader of fields between `delimiter`. Tab-separated values have no quotes: a quote in them is data.
    pub(super) fn new(delimiter: u8) -> Self {
        Self {
            // Lines come without their ends; any other carriage return is data.
            reader: ReaderBuilder::new()
                .delimiter(delimiter)
                .quoting(delimiter != b'\t')
                .terminator(Terminator::Any(b'\n'))
                .build(),
            delimiter,
            columns: Vec::new(),
            out: Vec::new(),
            ends: vec![0; 64],
            fields: Vec::new(),
            is_quoted: false,
        }
    }

    /// Finds the fields of a record; returns their number.
    fn split(&mut self, line: &[u8]) -> usize {
        self.fields.clear();
        self.is_quoted = self.delimiter != b'\t' && memchr::memchr(b'"', line).is_some();
        let mut start = 0;
        if self.is_quoted {
            let ended = self.unquote(line);
            for &end in self.ends.get(..ended).unwrap_or_default() {
                self.fields.push((start, end));
                start = end;
            }
        } else {
            for end in memchr::memchr_iter(self.delimiter, line).chain([line.len()]) {
                self.fields.push((start, end));
                start = end + 1;
            }
        }
        self.fields.len()
    }

    /// Writes the fields of a record without their quotes; returns their number.
    fn unquote(&mut self, line: &[u8]) -> usize {
        self.reader.reset();
        // Without an empty line before, the reader would take a byte order mark out of each record.
        self.reader.read_record(b"\n", &mut [], &mut []);
        self.out.resize(line.len() + 1, 0);
        let (mut input, mut written, mut fields) = (line, 0, 0);
        loop {
            let out = self.out.get_mut(written..).unwrap_or_default();
            let ends = self.ends.get_mut(fields..).unwrap_or_default();
            let (result, read, wrote, ended) = self.reader.read_record(input, out, ends);
            input = input.get(read..).unwrap_or_default();
            written += wrote;
            fields += ended;
            match result {
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::OutputFull => self.out.resize(self.out.len() * 2, 0),
                // An empty input tells the reader that the record has ended.
                ReadRecordResult::InputEmpty => input = b"",
                ReadRecordResult::Record | ReadRecordResult::End => return fields,
            }
        }
    }

    fn field<'a>(&'a self, line: &'a [u8], at: usize) -> &'a [u8] {
        let (start, end) = self.fields.get(at).copied().unwrap_or_default();
        let text = if self.is_quoted { &self.out } else { line };
        text.get(start..end).unwrap_or_default()
    }
}

/// What a name in a header is, if it looks like a value of a record, and whether it can be nothing else: a column may be
/// called by a year.
fn value_kind(name: &str) -> Option<(&'static str, bool)> {
    let mut scratch = Vec::new();
    let mut fits = |kind| typed(kind, name.as_bytes(), &mut scratch).is_some();
    // `inf` is a number, and may be a name.
    let has_digit = name.bytes().any(|byte| byte.is_ascii_digit());
    // Seconds since 1970 have nine digits from 1973 on.
    let is_epoch = name.len() >= 9 && name.bytes().all(|byte| byte.is_ascii_digit());
    if is_epoch {
        Some(("a time", true))
    } else if has_digit && fits(FieldType::F64) {
        Some(("a number", name.contains(['.', '-', '+'])))
    } else if has_digit && fits(FieldType::Time) {
        Some(("a time", true))
    } else if fits(FieldType::Ip) {
        Some(("an address", has_digit))
    } else {
        None
    }
}

/// Whether a carriage return stands in it that no line feed follows.
fn has_lone_return(name: &[u8]) -> bool {
    memchr::memchr_iter(b'\r', name).any(|at| name.get(at + 1) != Some(&b'\n'))
}

impl LineParser for Csv {
    fn parse(
        &mut self,
        line: &[u8],
        names: &mut Names,
        record: &mut Record,
    ) -> Result<bool, String> {
        let fields = self.split(line);
        if self.columns.is_empty() {
            if (0..fields).any(|at| has_lone_return(self.field(line, at))) {
                return Err(LONE_RETURN.into());
            }
            if fields > MAX_NAMES {
                return Err(format!(
                    "the header has {fields} field names; at most {MAX_NAMES} are possible"
                ));
            }
            let mut columns = Vec::with_capacity(fields);
            let mut values = 0;
            for at in 0..fields {
                let name = String::from_utf8_lossy(self.field(line, at)).into_owned();
                let kind = value_kind(&name);
                values += usize::from(kind.is_some());
                if let Some((kind, is_sure)) = kind
                    && (is_sure || values > fields / 2)
                {
                    return Err(format!(
                        "the file seems to have no header: in its first line, `{name}` is {kind} and no name for a field; \
                         {NO_HEADER}"
                    ));
                }
                let column = names.position(&name);
                // A name that is new has the next position.
                if column as usize != at {
                    return Err(format!("the header names `{name}` twice; {NO_HEADER}"));
                }
                columns.push(column);
            }
            self.columns = columns;
            return Ok(false);
        }
        if fields != self.columns.len() {
            return Err(format!(
                "the line has {fields} fields and the header {}",
                self.columns.len()
            ));
        }
        for (at, &column) in self.columns.iter().enumerate() {
            // An empty field is one that the record does not have.
            let value = self.field(line, at);
            if !value.is_empty() {
                record.push(column, value);
            }
        }
        Ok(true)
    }

    fn lacks_head(&self) -> bool {
        self.columns.is_empty()
    }

    fn quotes(&self, line: &[u8], open: bool) -> Quotes {
        if self.delimiter == b'\t' {
            return Quotes::Closed;
        }
        if memchr::memchr(b'"', line).is_none() {
            return if open { Quotes::Open } else { Quotes::Closed };
        }
        let (mut at, mut quoted, mut at_start) = (0, open, !open);
        while let Some(&byte) = line.get(at) {
            if !quoted {
                quoted = at_start && byte == b'"';
                at_start = byte == self.delimiter;
            } else if byte == b'"' {
                match line.get(at + 1) {
                    Some(b'"') => at += 1,
                    // Of a quote that was opened by mistake on an earlier line, this is the opening quote of another
                    // field.
                    Some(next) if *next != self.delimiter => return Quotes::Wrong,
                    _ => quoted = false,
                }
            }
            at += 1;
        }
        if quoted { Quotes::Open } else { Quotes::Closed }
    }
}
