//! One record of a file: its text, and its fields as ranges of bytes.

use crate::failure::Result;

use super::fields::Fields;

/// Whether a field is present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Present according to the format, even if empty.
    There,
    /// Missing according to the format.
    Missing,
    /// The plan decides by the text.
    ByText,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    /// Number in [`Fields`].
    pub(crate) id: u32,
    start: usize,
    end: usize,
    pub(crate) presence: Presence,
}

/// A record; reused from line to line.
#[derive(Debug, Default)]
pub(crate) struct Record {
    line: u64,
    /// The text from the file, then the decoded fields.
    bytes: Vec<u8>,
    text_end: usize,
    fields: Vec<Field>,
}

impl Record {
    /// Starts over with the text of a line.
    pub(super) fn begin(&mut self, line: u64, text: &[u8]) {
        self.line = line;
        self.bytes.clear();
        self.bytes.extend_from_slice(text);
        self.text_end = text.len();
        self.fields.clear();
    }

    /// Adds another line of the same record after the bytes that end the last one.
    pub(super) fn more_text(&mut self, end: &[u8], text: &[u8]) {
        self.bytes.truncate(self.text_end);
        self.bytes.extend_from_slice(end);
        self.bytes.extend_from_slice(text);
        self.text_end = self.bytes.len();
        self.fields.clear();
    }

    /// Number of the first line, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// The text from the file.
    pub(super) fn text(&self) -> &[u8] {
        self.bytes.get(..self.text_end).unwrap_or_default()
    }

    /// Adds a field that is a range of the text.
    pub(super) fn add_slice(&mut self, id: u32, start: usize, end: usize, presence: Presence) {
        self.fields.push(Field {
            id,
            start,
            end,
            presence,
        });
    }

    /// Adds a decoded field.
    pub(super) fn add_decoded(&mut self, id: u32, bytes: &[u8], presence: Presence) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.add_slice(id, start, self.bytes.len(), presence);
    }

    pub(crate) fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// A field's bytes.
    pub(crate) fn bytes(&self, field: &Field) -> &[u8] {
        self.bytes.get(field.start..field.end).unwrap_or_default()
    }

    /// The field with this number, if the record has it.
    pub(super) fn field(&self, id: u32) -> Option<&Field> {
        // In delimited files, the number is the position.
        match self.fields.get(id as usize) {
            Some(field) if field.id == id => Some(field),
            _ => self.fields.iter().find(|field| field.id == id),
        }
    }
}

/// What a reader found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A record.
    Record,
    /// A line that is not a record, and why; the record holds its text.
    Reject(String),
    /// The end of the file.
    End,
}

/// Splits a file into records.
pub(crate) trait RecordReader {
    /// The next record or rejected line, in place of what `record` holds.
    ///
    /// # Errors
    /// The file cannot be read, or its header is invalid.
    fn next(&mut self, record: &mut Record) -> Result<Step>;

    /// The fields known so far.
    fn fields(&self) -> &Fields;
}
