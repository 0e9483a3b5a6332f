//! Ends of records of JSON lines: objects, which may also stand on several lines.

use memchr::memchr2;

/// Follows the nesting of a text as far as it takes to find where its records end. What is not JSON is left to the reader.
#[derive(Debug, Default)]
pub(super) struct Objects {
    depth: u64,
    in_string: bool,
    /// After a backslash in a string.
    is_escaped: bool,
    /// Number of bytes read.
    read: u64,
    /// Where the record begins that has not ended.
    started: u64,
}

impl Objects {
    /// Where the record begins that has not ended.
    pub(super) fn started(&self) -> u64 {
        self.started
    }

    pub(super) fn read(&mut self, chunk: &[u8]) {
        let mut at = 0;
        while let Some(rest) = chunk.get(at..).filter(|rest| !rest.is_empty()) {
            if self.in_string {
                at += self.pass_string(rest);
                continue;
            }
            let byte = rest.first().copied().unwrap_or_default();
            at += 1;
            let place = self.read + at as u64;
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        self.started = place;
                    }
                }
                b' ' | b'\t' | b'\n' | b'\r' if self.depth == 0 => self.started = place,
                _ => {}
            }
        }
        self.read += chunk.len() as u64;
    }

    /// The bytes of a text that begins in a string, up to its end.
    fn pass_string(&mut self, text: &[u8]) -> usize {
        if self.is_escaped {
            self.is_escaped = false;
            return 1;
        }
        let Some(found) = memchr2(b'"', b'\\', text) else {
            return text.len();
        };
        match text.get(found) {
            Some(b'"') => self.in_string = false,
            _ => self.is_escaped = true,
        }
        found + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_end_where_their_objects_do() {
        for (text, rest) in [
            (r#"{"a":1}"#, ""),
            ("{\"a\":1}\n\n {\"b\"", "{\"b\""),
            (r#"{"a":"}\"}"}{"b":["#, r#"{"b":["#),
            ("{\n\"a\":[{},\n{}]\n", "{\n\"a\":[{},\n{}]\n"),
            (r#"{"a":"\\"} {"#, "{"),
            (r#"{"a":"\"} {"#, r#"{"a":"\"} {"#),
            ("12 34", "34"),
            ("]]{", "{"),
            ("", ""),
        ] {
            for cut in 0..=text.len() {
                let mut objects = Objects::default();
                objects.read(&text.as_bytes()[..cut]);
                objects.read(&text.as_bytes()[cut..]);
                let started = usize::try_from(objects.started()).unwrap();
                assert_eq!(text.get(started..), Some(rest), "{text} {cut}");
            }
        }
    }
}
