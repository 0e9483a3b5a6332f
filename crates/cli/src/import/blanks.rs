//! Fields separated by runs of blanks, tabs and commas, as in edge lists. A name that contains blanks
//! is quoted.

/// A field of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A range of the line.
    Slice(usize, usize),
    /// The text of a quoted field, with inner quotes unescaped.
    Quoted(Vec<u8>),
}

/// How quotes are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quotes {
    /// The byte that escapes the quote after it; with `None`, quotes are doubled.
    pub(super) escape: Option<u8>,
}

const UNCLOSED: &str = "an opening quote is not closed on its line; --no-quotes treats quotes as \
                        ordinary bytes";

/// Calls `take` for each field; returns the reason if the line is not a record. Without `quotes`,
/// quotes are ordinary bytes.
pub(super) fn split(
    line: &[u8],
    quotes: Option<Quotes>,
    mut take: impl FnMut(Found),
) -> Result<(), String> {
    let mut at = 0;
    while let Some(&byte) = line.get(at) {
        if is_blank(byte) {
            at += 1;
        } else if byte == b'"'
            && let Some(quotes) = quotes
        {
            let (text, after) = quoted(line, at + 1, quotes)?;
            take(Found::Quoted(text));
            at = after;
        } else {
            let rest = line.get(at..).unwrap_or_default();
            let end = rest
                .iter()
                .position(|byte| is_blank(*byte))
                .map_or(line.len(), |length| at + length);
            take(Found::Slice(at, end));
            at = end;
        }
    }
    Ok(())
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b',')
}

/// The text after an opening quote, and the position after the closing quote.
fn quoted(line: &[u8], start: usize, quotes: Quotes) -> Result<(Vec<u8>, usize), String> {
    let mut text = Vec::new();
    let mut at = start;
    while let Some(&byte) = line.get(at) {
        let next = line.get(at + 1).copied();
        match (byte, quotes.escape) {
            (byte, Some(escape)) if byte == escape => {
                text.extend(next);
                at += 2;
            }
            (b'"', None) if next == Some(b'"') => {
                text.push(b'"');
                at += 2;
            }
            (b'"', _) if next.is_none_or(is_blank) => return Ok((text, at + 1)),
            (b'"', _) => {
                return Err(
                    "a closing quote is followed by text; --no-quotes treats quotes as \
                            ordinary bytes"
                        .into(),
                );
            }
            (byte, _) => {
                text.push(byte);
                at += 1;
            }
        }
    }
    Err(UNCLOSED.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(line: &str, quotes: Option<Quotes>) -> Result<Vec<String>, String> {
        let mut fields = Vec::new();
        split(line.as_bytes(), quotes, |found| {
            let bytes = match found {
                Found::Slice(start, end) => line.as_bytes()[start..end].to_vec(),
                Found::Quoted(text) => text,
            };
            fields.push(String::from_utf8_lossy(&bytes).into_owned());
        })?;
        Ok(fields)
    }

    fn list(fields: &[&str]) -> Result<Vec<String>, String> {
        Ok(fields.iter().map(|field| (*field).to_owned()).collect())
    }

    #[test]
    fn quotes_hold_blanks_and_quotes() {
        let doubled = Some(Quotes { escape: None });
        assert_eq!(fields(" a\t,b  c ", doubled), list(&["a", "b", "c"]));
        let line = "\"New York\" \"a \"\"b\"\"\",5";
        assert_eq!(fields(line, doubled), list(&["New York", "a \"b\"", "5"]));
        // A quote inside an unquoted field is an ordinary byte.
        assert_eq!(fields("5\" 3\"4", doubled), list(&["5\"", "3\"4"]));
        assert_eq!(fields("\"\" x", doubled), list(&["", "x"]));
        let escape = Some(Quotes {
            escape: Some(b'\\'),
        });
        assert_eq!(
            fields(r#""a \"b\" \\" c"#, escape),
            list(&["a \"b\" \\", "c"])
        );
        assert_eq!(fields("\"a b\"", None), list(&["\"a", "b\""]));
    }

    #[test]
    fn an_unclosed_quote_is_rejected() {
        for line in ["\"a b", "a \"", "\"a\"b c", "\"a\"\""] {
            let reason = fields(line, Some(Quotes { escape: None })).expect_err(line);
            assert!(reason.contains("--no-quotes"), "{reason}");
        }
        let escaped = fields(
            "\"a\\",
            Some(Quotes {
                escape: Some(b'\\'),
            }),
        );
        assert!(escaped.is_err());
    }
}
