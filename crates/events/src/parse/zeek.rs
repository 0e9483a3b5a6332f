//! Zeek's logs. Source: the header that Zeek's ASCII log writer puts before its records.

use std::borrow::Cow;
use std::io::{BufRead, Read as _};

use super::{LineParser, Names};
use crate::record::Record;
use crate::value::FieldType;

pub(super) struct Zeek {
    separator: u8,
    unset: Vec<u8>,
    empty: Vec<u8>,
    /// The names of the columns, by position.
    columns: Vec<u32>,
}

impl Default for Zeek {
    fn default() -> Self {
        Self {
            separator: b'\t',
            unset: b"-".to_vec(),
            empty: b"(empty)".to_vec(),
            columns: Vec::new(),
        }
    }
}

impl Zeek {
    fn directive(&mut self, line: &[u8], names: &mut Names) -> Result<(), String> {
        if let Some(separator) = separator_of(line) {
            self.separator = separator?;
            return Ok(());
        }
        let mut parts = line.split(|byte| *byte == self.separator);
        match parts.next().unwrap_or_default() {
            b"#unset_field" => self.unset = parts.next().unwrap_or_default().to_vec(),
            b"#empty_field" => self.empty = parts.next().unwrap_or_default().to_vec(),
            b"#fields" => {
                self.columns = parts
                    .map(|name| names.position(&String::from_utf8_lossy(name)))
                    .collect();
            }
            b"#types" => {
                for (&column, kind) in self.columns.iter().zip(parts) {
                    let at = column as usize;
                    if names.kinds.len() <= at {
                        names.kinds.resize(at + 1, None);
                    }
                    if let Some(known) = names.kinds.get_mut(at) {
                        *known = Some(field_type(kind));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl LineParser for Zeek {
    fn parse(
        &mut self,
        line: &[u8],
        names: &mut Names,
        record: &mut Record,
    ) -> Result<bool, String> {
        if line.starts_with(b"#") {
            return self.directive(line, names).map(|()| false);
        }
        if self.columns.is_empty() {
            return Err("the line comes before a #fields line".into());
        }
        let mut columns = self.columns.iter();
        let ends = memchr::memchr_iter(self.separator, line).chain([line.len()]);
        let mut start = 0;
        for end in ends {
            let value = line.get(start..end).unwrap_or_default();
            start = end + 1;
            let Some(&column) = columns.next() else {
                return Err(format!(
                    "the line has more than {} fields",
                    self.columns.len()
                ));
            };
            if value == self.empty {
                record.push(column, b"");
            } else if value != self.unset {
                record.push(column, &unescape(value));
            }
        }
        match columns.len() {
            0 => Ok(true),
            missing => Err(format!(
                "the line has {missing} fields fewer than the #fields line"
            )),
        }
    }
}

/// The byte that a `#separator` line names; `None` for other lines.
fn separator_of(line: &[u8]) -> Option<Result<u8, String>> {
    let separator = line.strip_prefix(b"#separator ")?;
    Some(match unescape(separator).as_ref() {
        &[byte] => Ok(byte),
        _ => Err("the #separator line does not name one byte".into()),
    })
}

/// The separator of a log without a `#separator` line.
const TABS: &[u8] = b"#separator \\x09";

/// The lines that say how to read those after them, without those that later ones have replaced: what has to be read
/// before a part of a log.
pub struct Directives {
    /// The byte, and the line that named it.
    separator: (u8, Vec<u8>),
    /// Each with the `#separator` line that it was written with.
    unset: Option<Directive>,
    empty: Option<Directive>,
    fields: Option<Directive>,
    types: Option<Directive>,
}

/// The most bytes of such a line.
const DIRECTIVE_MAX: u64 = 64 << 10;

struct Directive {
    separator: Vec<u8>,
    line: Vec<u8>,
}

impl std::fmt::Debug for Directives {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Directives").finish_non_exhaustive()
    }
}

impl Default for Directives {
    fn default() -> Self {
        Self {
            separator: (Zeek::default().separator, TABS.to_vec()),
            unset: None,
            empty: None,
            fields: None,
            types: None,
        }
    }
}

impl Directives {
    /// Takes the lines of a text that begin with `#`.
    ///
    /// # Errors
    /// The text cannot be read.
    pub fn read(&mut self, mut text: impl BufRead) -> std::io::Result<()> {
        let mut line = Vec::new();
        loop {
            match text.fill_buf()?.first() {
                None => return Ok(()),
                Some(b'#') => {
                    line.clear();
                    (&mut text)
                        .take(DIRECTIVE_MAX)
                        .read_until(b'\n', &mut line)?;
                    let whole = line.strip_suffix(b"\n");
                    if whole.is_none() {
                        text.skip_until(b'\n')?;
                    }
                    let line = whole.unwrap_or(&line);
                    self.add(line.strip_suffix(b"\r").unwrap_or(line));
                }
                Some(_) => {
                    text.skip_until(b'\n')?;
                }
            }
        }
    }

    /// Takes a line that begins with `#`, without its end. Comments are left out.
    pub(crate) fn add(&mut self, line: &[u8]) {
        match separator_of(line) {
            Some(Ok(byte)) => {
                self.separator = (byte, line.to_vec());
                return;
            }
            // The part that has the line rejects it.
            Some(Err(_)) => return,
            None => {}
        }
        let (byte, separator) = &self.separator;
        let name = line.split(|found| found == byte).next();
        let place = match name.unwrap_or_default() {
            b"#unset_field" => &mut self.unset,
            b"#empty_field" => &mut self.empty,
            b"#types" => &mut self.types,
            b"#fields" => {
                // They were of the fields before.
                self.types = None;
                &mut self.fields
            }
            _ => return,
        };
        *place = Some(Directive {
            separator: separator.clone(),
            line: line.to_vec(),
        });
    }

    /// The lines, which a parser reads with the same result as all that were added.
    #[must_use]
    pub fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        let mut current = TABS;
        let mut push = |line: &[u8]| {
            text.extend_from_slice(line);
            text.push(b'\n');
        };
        let all = [&self.unset, &self.empty, &self.fields, &self.types];
        for directive in all.into_iter().flatten() {
            if directive.separator != current {
                push(&directive.separator);
                current = &directive.separator;
            }
            push(&directive.line);
        }
        if self.separator.1 != current {
            push(&self.separator.1);
        }
        text
    }
}

/// Replaces `\xNN` by the byte.
fn unescape(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\\', text).is_none() {
        return Cow::Borrowed(text);
    }
    let (mut plain, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.strip_prefix(b"x").and_then(|digits| digits.get(..2));
        let code = digits
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        match code {
            Some(code) if byte == b'\\' => {
                plain.push(code);
                rest = after.get(3..).unwrap_or_default();
            }
            _ => {
                plain.push(byte);
                rest = after;
            }
        }
    }
    Cow::Owned(plain)
}

/// The type for a type of Zeek.
fn field_type(name: &[u8]) -> FieldType {
    match name {
        b"time" => FieldType::Time,
        b"count" | b"port" => FieldType::U64,
        b"int" => FieldType::I64,
        b"double" | b"interval" => FieldType::F64,
        b"bool" => FieldType::Bool,
        b"addr" => FieldType::Ip,
        _ => FieldType::Text,
    }
}
