//! Bytes as text and back.
//!
//! Keys and values are bytes. They are shown as text that is safe in a terminal and in a line: what is printable by
//! its Unicode category stays (letters, digits, punctuation, symbols, and marks that follow such a character), a
//! backslash is `\\`, and everything else is `\xNN`. Files keep all text but control characters. The same text as an
//! argument stands for the same bytes. JSON has its own way: [`super::json`].

use std::borrow::Cow;
use std::fmt;

/// The bytes as text; borrowed if nothing needs escaping.
pub(crate) fn escape(bytes: &[u8]) -> Cow<'_, str> {
    escape_part(bytes, "")
}

/// The bytes as text in which the ASCII characters of `separators` are escaped too, so that they can stand
/// between texts.
pub(crate) fn escape_part<'b>(bytes: &'b [u8], separators: &str) -> Cow<'b, str> {
    let separators = separators.as_bytes();
    let plain =
        |byte: &u8| matches!(byte, 0x20..=0x7e) && *byte != b'\\' && !separators.contains(byte);
    if bytes.iter().all(plain)
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        // A mark without a character before it would change one that is not part of the bytes.
        let mut follows = false;
        for character in chunk.valid().chars() {
            let stays = match character {
                '\\' => {
                    text.push_str("\\\\");
                    follows = false;
                    continue;
                }
                ' '..='~' => !separators.contains(&(character as u8)),
                _ => is_printable(character) || follows && is_mark(character),
            };
            follows = stays && character != ' ';
            push(&mut text, character, stays);
        }
        for &byte in chunk.invalid() {
            push_hex(&mut text, byte);
        }
    }
    Cow::Owned(text)
}

/// The bytes as text for a file: all that is UTF-8 stays, but control characters and backslashes are escaped.
pub(crate) fn escape_controls(bytes: &[u8]) -> Cow<'_, str> {
    let is_escaped = |character: char| character.is_control() || character == '\\';
    if let Ok(text) = std::str::from_utf8(bytes)
        && !text.contains(is_escaped)
    {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid();
        let mut copied = 0;
        for (at, character) in valid.char_indices() {
            if !is_escaped(character) {
                continue;
            }
            text.push_str(valid.get(copied..at).unwrap_or_default());
            match character {
                '\\' => text.push_str("\\\\"),
                _ => push(&mut text, character, false),
            }
            copied = at + character.len_utf8();
        }
        text.push_str(valid.get(copied..).unwrap_or_default());
        for &byte in chunk.invalid() {
            push_hex(&mut text, byte);
        }
    }
    Cow::Owned(text)
}

/// Adds a character, or the escapes of its bytes.
fn push(text: &mut String, character: char, stays: bool) {
    if stays {
        text.push(character);
        return;
    }
    for byte in character.encode_utf8(&mut [0; 4]).bytes() {
        push_hex(text, byte);
    }
}

/// Whether a character can be seen by itself. The standard library knows the categories: it escapes control and format
/// characters, separators, marks, and characters that are private or not assigned. Some marks are letters, too.
fn is_printable(character: char) -> bool {
    character.is_alphanumeric() || character.escape_debug().eq([character])
}

/// Whether a character is a mark, which changes how the one before it is drawn. Within a text, the standard library
/// escapes marks only at the beginning.
fn is_mark(character: char) -> bool {
    let mut buffer = [b'x', 0, 0, 0, 0];
    let length = 1 + character.encode_utf8(&mut buffer[1..]).len();
    let text = std::str::from_utf8(&buffer[..length]).unwrap_or_default();
    text.escape_debug().eq(text.chars())
}

/// Text with the bytes of hidden characters as `\xNN`; everything else stays, backslashes too.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        push(&mut shown, character, !is_hidden(character));
    }
    Cow::Owned(shown)
}

/// Whether a terminal may hide the character, obey it, or let it change the order of others.
pub(super) fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn push_hex(text: &mut String, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    text.push_str("\\x");
    text.push(char::from(DIGITS[usize::from(byte >> 4)]));
    text.push(char::from(DIGITS[usize::from(byte & 15)]));
}

/// Why a text does not stand for bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnescapeError {
    /// Byte offset of the backslash.
    at: usize,
}

impl fmt::Display for UnescapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the backslash at position {} does not begin a valid escape: write \\xNN with two \
             hexadecimal digits for a byte, and \\\\ for a backslash",
            self.at + 1
        )
    }
}

impl std::error::Error for UnescapeError {}

/// The bytes that a text with `\xNN` and `\\` stands for.
pub(crate) fn unescape(text: &[u8]) -> Result<Cow<'_, [u8]>, UnescapeError> {
    let Some(first) = memchr::memchr(b'\\', text) else {
        return Ok(Cow::Borrowed(text));
    };
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = first;
    bytes.extend_from_slice(&text[..first]);
    while let Some(&byte) = text.get(at) {
        if byte != b'\\' {
            bytes.push(byte);
            at += 1;
            continue;
        }
        match text.get(at + 1) {
            Some(b'\\') => {
                bytes.push(b'\\');
                at += 2;
            }
            Some(b'x' | b'X') => {
                let high = text.get(at + 2).copied().and_then(nibble);
                let low = text.get(at + 3).copied().and_then(nibble);
                let (Some(high), Some(low)) = (high, low) else {
                    return Err(UnescapeError { at });
                };
                bytes.push(high << 4 | low);
                at += 4;
            }
            _ => return Err(UnescapeError { at }),
        }
    }
    Ok(Cow::Owned(bytes))
}

fn nibble(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_string_comes_back() {
        let mut all: Vec<u8> = (0..=255).collect();
        all.extend_from_slice("Zürich \u{202e}東京 e\u{301} ≤“🙂”\u{301} \\x41".as_bytes());
        for end in 0..all.len() {
            let bytes = &all[end / 2..end];
            for text in [escape(bytes), escape_controls(bytes)] {
                assert!(!text.chars().any(char::is_control));
                assert_eq!(unescape(text.as_bytes()).expect("our own escapes"), bytes);
            }
        }
    }

    #[test]
    fn printable_characters_stay_and_invisible_ones_are_escaped() {
        for text in [
            "≤ “q” 🙂 — € ½ ²",
            "हिन्दी ไทย עברית",
            "e\u{301}",
            "❤\u{fe0f}",
        ] {
            assert_eq!(escape(text.as_bytes()), text);
            assert_eq!(escape_controls(text.as_bytes()), text);
        }
        // A mark by itself, behind a blank, and behind an escape; a joiner; a blank of another width; private use.
        for (text, shown) in [
            ("\u{301}", "\\xcc\\x81"),
            ("a \u{301}", "a \\xcc\\x81"),
            ("\\\u{301}", "\\\\\\xcc\\x81"),
            ("a\u{200d}", "a\\xe2\\x80\\x8d"),
            ("a\u{a0}", "a\\xc2\\xa0"),
            ("\u{e000}", "\\xee\\x80\\x80"),
        ] {
            assert_eq!(escape(text.as_bytes()), shown);
        }
        assert_eq!(
            escape_controls("a\u{200d}\u{a0}".as_bytes()),
            "a\u{200d}\u{a0}"
        );
        assert_eq!(
            escape_controls("\u{85}\t\\".as_bytes()),
            "\\xc2\\x85\\x09\\\\"
        );
        assert_eq!(escape("Zürich".as_bytes()), "Zürich");
        assert_eq!(escape(b"a\\b\0\xff"), "a\\\\b\\x00\\xff");
        assert_eq!(escape("\u{202e}".as_bytes()), "\\xe2\\x80\\xae");
    }

    #[test]
    fn separators_are_escaped_too() {
        assert_eq!(escape_part(b"a b:c", " :"), "a\\x20b\\x3ac");
        assert_eq!(escape_part("ü b".as_bytes(), " "), "ü\\x20b");
        assert_eq!(unescape(b"a\\x20b").expect("valid"), &b"a b"[..]);
    }

    #[test]
    fn an_incomplete_escape_is_rejected_with_its_position() {
        for (text, at) in [("ab\\", 2), ("\\q", 0), ("a\\x4", 1), ("\\xzz", 0)] {
            assert_eq!(unescape(text.as_bytes()), Err(UnescapeError { at }));
        }
        assert_eq!(unescape(b"\\x41\\\\").expect("valid"), &b"A\\"[..]);
    }
}
