//! Quotes of delimited text. The reader takes the rest of a file for a field whose quote is not closed.

use memchr::{memchr, memrchr2};

const QUOTE: u8 = b'"';

/// What a file of Unicode text may begin with, which the reader leaves out.
pub(super) const MARK: &[u8] = "\u{feff}".as_bytes();

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Plain,
    Quoted,
    /// After a quote that ends the field, unless another one follows.
    Ended,
}

/// Follows the quotes of a text as its reader does: a quote at the start of a field opens it, others are text.
#[derive(Debug)]
pub(super) struct Quotes {
    delimiter: u8,
    state: State,
    /// The last byte of what was read.
    before: u8,
    /// Number of bytes read.
    read: u64,
    /// Where the last field with quotes begins.
    opened: u64,
    /// Where the record begins.
    started: u64,
    /// Where the first field with quotes begins that has text after them.
    continued: Option<u64>,
}

impl Quotes {
    pub(super) fn new(delimiter: u8) -> Self {
        Self {
            delimiter,
            state: State::Plain,
            before: b'\n',
            read: 0,
            opened: 0,
            started: 0,
            continued: None,
        }
    }

    pub(super) fn delimiter(&self) -> u8 {
        self.delimiter
    }

    /// Where the record begins that has not ended.
    pub(super) fn started(&self) -> u64 {
        self.started
    }

    /// Where the record that has not ended, or its last field with quotes, begins.
    pub(super) fn suspect(&self) -> u64 {
        self.opened.max(self.started)
    }

    /// Where the quote is that was not closed.
    pub(super) fn unclosed(&self) -> Option<u64> {
        (self.state == State::Quoted).then_some(self.opened)
    }

    /// Where the quote is of a field that goes on after its closing quote. The reader would leave the quotes out.
    pub(super) fn continued(&self) -> Option<u64> {
        self.continued
    }

    pub(super) fn read(&mut self, chunk: &[u8]) {
        let is_first = self.read == 0 && chunk.starts_with(MARK);
        let mut at = if is_first { MARK.len() } else { 0 };
        while let Some(rest) = chunk.get(at..).filter(|rest| !rest.is_empty()) {
            if self.state == State::Ended {
                let next = rest.first().copied();
                let is_doubled = next == Some(QUOTE);
                let is_end = matches!(next, Some(b'\n' | b'\r')) || next == Some(self.delimiter);
                if !is_doubled && !is_end {
                    self.continued = self.continued.or(Some(self.opened));
                }
                self.state = if is_doubled {
                    State::Quoted
                } else {
                    State::Plain
                };
                at += usize::from(is_doubled);
                continue;
            }
            let found = memchr(QUOTE, rest);
            if self.state == State::Plain {
                let plain = rest.get(..found.unwrap_or(rest.len()));
                self.end_records(plain.unwrap_or_default(), self.read + at as u64);
            }
            let Some(found) = found else {
                break;
            };
            let place = at + found;
            if self.state == State::Quoted {
                self.state = State::Ended;
            } else if self.begins_field(chunk, place, is_first) {
                self.state = State::Quoted;
                self.opened = self.read + place as u64;
            }
            at = place + 1;
        }
        self.before = match chunk.last() {
            Some(_) if is_first && chunk.len() == MARK.len() => b'\n',
            last => last.copied().unwrap_or(self.before),
        };
        self.read += chunk.len() as u64;
    }

    /// Finds the last end of a record in a part of the text that is not in quotes, and begins at `place`.
    fn end_records(&mut self, part: &[u8], place: u64) {
        if let Some(end) = memrchr2(b'\n', b'\r', part) {
            self.started = place + end as u64 + 1;
        }
    }

    fn begins_field(&self, chunk: &[u8], place: usize, is_first: bool) -> bool {
        let before = match place.checked_sub(1).and_then(|before| chunk.get(before)) {
            Some(_) if is_first && place == MARK.len() => b'\n',
            Some(before) => *before,
            None => self.before,
        };
        before == self.delimiter || matches!(before, b'\n' | b'\r')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the reader of the same rules is inside of quotes at the end of a text: then a line end ends no record.
    fn expected(text: &[u8]) -> bool {
        let mut reader = csv_core::Reader::new();
        let (mut output, mut ends) = ([0; 1024], [0; 64]);
        let mut rest = text.to_vec();
        rest.extend_from_slice(b"\nx");
        let mut rest = rest.as_slice();
        let mut consumed = 0;
        loop {
            let (result, read, ..) = reader.read_record(rest, &mut output, &mut ends);
            rest = &rest[read..];
            consumed += read;
            match result {
                csv_core::ReadRecordResult::Record => {}
                _ => break,
            }
        }
        assert_eq!(consumed, text.len() + 2);
        // The last letter is a record of its own, unless it is in quotes.
        let (result, ..) = reader.read_record(b"\n", &mut output, &mut ends);
        result != csv_core::ReadRecordResult::Record
    }

    #[test]
    fn fields_that_go_on_after_their_quotes_are_found() {
        for (text, expected) in [
            ("\"a\"b\n", Some(0)),
            ("x,\"a\" ,b\n\"c\"d\n", Some(2)),
            ("x\n\"a\"\"b\"c", Some(2)),
            ("\u{feff}\"a\"b", Some(3)),
            ("\"a\"\"b\",\"c\"\r\n\"d\"\n\"e\"", None),
            ("a\"b\"c,d\n", None),
            ("\"a,\nb\",c", None),
        ] {
            for cut in 0..=text.len() {
                // The mark is not cut in two: the first chunk of a file is larger.
                if text.starts_with('\u{feff}') && cut < MARK.len() {
                    continue;
                }
                let mut quotes = Quotes::new(b',');
                quotes.read(&text.as_bytes()[..cut]);
                quotes.read(&text.as_bytes()[cut..]);
                assert_eq!(quotes.continued(), expected, "{text:?} {cut}");
            }
        }
    }

    #[test]
    fn quotes_are_followed_as_the_reader_does() {
        let letters = [QUOTE, b',', b'\n', b'a', b'\r'];
        for length in 0..7_u32 {
            for number in 0..letters.len().pow(length) {
                let mut rest = number;
                let text: Vec<u8> = (0..length)
                    .map(|_| {
                        let letter = letters[rest % letters.len()];
                        rest /= letters.len();
                        letter
                    })
                    .collect();
                for cut in 0..=text.len() {
                    let mut quotes = Quotes::new(b',');
                    quotes.read(&text[..cut]);
                    quotes.read(&text[cut..]);
                    let shown = String::from_utf8_lossy(&text);
                    assert_eq!(
                        quotes.unclosed().is_some(),
                        expected(&text),
                        "{shown:?} {cut}"
                    );
                }
            }
        }
    }
}
