//! Labels as text and back.
//!
//! A label has backslashes of its own, within quotes: `\\` and `\"`. They stay as they are, and what is not printable is
//! `\xNN`, which is nothing in a label. So the text of a label, given as an argument, is the same label.

use std::borrow::Cow;

use super::escape::{escape_part, unescape};

/// The label as text without spaces.
pub(crate) fn escape_label(label: &[u8]) -> Cow<'_, str> {
    if !label.contains(&b'\\') {
        return escape_part(label, " ");
    }
    let parts = label.split(|byte| *byte == b'\\');
    let parts: Vec<_> = parts.map(|part| escape_part(part, " ")).collect();
    Cow::Owned(parts.join("\\"))
}

/// The label that a text stands for. What is no escape is left to the parser of labels.
pub(crate) fn unescape_label(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'\\') {
        return Cow::Borrowed(text);
    }
    let mut label = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        let used = match (first, after.first()) {
            (b'\\', Some(b'x' | b'X')) => {
                let escaped = rest.get(..4).unwrap_or(rest);
                match unescape(escaped).as_deref() {
                    Ok(&[byte]) => {
                        // Within quotes, these have backslashes before them.
                        if matches!(byte, b'"' | b'\\') {
                            label.push(b'\\');
                        }
                        label.push(byte);
                    }
                    _ => label.extend_from_slice(escaped),
                }
                escaped.len()
            }
            (b'\\', Some(&escaped)) => {
                label.extend_from_slice(&[first, escaped]);
                2
            }
            _ => {
                label.push(first);
                1
            }
        };
        rest = rest.get(used..).unwrap_or_default();
    }
    Cow::Owned(label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostrakon_cell::VisibilityExpression;

    #[test]
    fn the_text_of_a_label_is_the_label() {
        let terms = [
            "hr it",
            "b\\s",
            "\\x20",
            "\\",
            "\"",
            "a\"b\\",
            "\n\t",
            "ü\u{202e}",
            "x]\u{301}",
            "\\\u{301}",
        ];
        for term in terms {
            let quoted = term.replace('\\', "\\\\").replace('"', "\\\"");
            let label = format!("\"{quoted}\"|a");
            VisibilityExpression::parse(&label).expect("a label");
            let text = escape_label(label.as_bytes());
            assert!(
                !text.contains(|c: char| c.is_control() || c == ' '),
                "{text}"
            );
            assert_eq!(unescape_label(text.as_bytes()), label.as_bytes(), "{text}");
            // What a user writes in the syntax of labels alone stays, too.
            assert_eq!(unescape_label(label.as_bytes()), label.as_bytes());
        }
        assert_eq!(escape_label(b"\"hr it\"|a"), "\"hr\\x20it\"|a");
        assert_eq!(escape_label(b"\"b\\\\s\"|a"), "\"b\\\\s\"|a");
        assert_eq!(&*unescape_label(b"\"\\x22\\x5c\""), b"\"\\\"\\\\\"");
        for wrong in ["\"\\x4\"", "\"\\xzz\"", "a\\", "\"\\q\""] {
            let label = unescape_label(wrong.as_bytes());
            assert!(VisibilityExpression::parse(&label).is_err(), "{wrong}");
        }
    }
}
