//! The words of an expression.

use ostrakon_cell::{Error, Result};

/// A word and where it begins.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) at: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// A name or a keyword.
    Word(String),
    /// A name in backquotes: never a keyword.
    Name(String),
    Text(Vec<u8>),
    Number(String),
    Symbol(&'static str),
    End,
}

/// The longer symbols first.
const SYMBOLS: [&str; 13] = [
    "==", "!=", "<>", "<=", ">=", "=~", "!~", "(", ")", ",", "=", "<", ">",
];

/// An error that shows the place in the expression.
pub(super) fn wrong(
    text: &str,
    at: usize,
    message: impl Into<std::borrow::Cow<'static, str>>,
) -> Error {
    Error::invalid(message).with("at", place(text, at)).with(
        "position",
        text.get(..at).map_or(at, |before| before.chars().count()) + 1,
    )
}

/// The text from a position on, shortened.
pub(super) fn place(text: &str, at: usize) -> String {
    let rest = text.get(at..).unwrap_or_default();
    match rest.chars().take(24).collect::<String>() {
        rest if rest.is_empty() => "the end".to_owned(),
        rest => format!("`{rest}`"),
    }
}

pub(super) fn words(text: &str) -> Result<Vec<Token>> {
    let bytes = text.as_bytes();
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        let kind = match byte {
            b' ' | b'\t' | b'\n' | b'\r' => {
                at += 1;
                continue;
            }
            b'\'' | b'"' => Kind::Text(quoted(text, &mut at, byte)?),
            b'`' => {
                let name = quoted(text, &mut at, byte)?;
                let name = String::from_utf8(name)
                    .map_err(|_| wrong(text, start, "the name of a field is not text"))?;
                Kind::Name(name)
            }
            b'0'..=b'9' | b'-' | b'+' => Kind::Number(run(text, &mut at, |byte| {
                byte.is_ascii_alphanumeric() || b"-+._:".contains(&byte)
            })),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'@' => Kind::Word(run(text, &mut at, |byte| {
                byte.is_ascii_alphanumeric() || b"_.@/-".contains(&byte)
            })),
            _ => {
                let rest = text.get(at..).unwrap_or_default();
                let found = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol));
                let symbol = found.ok_or_else(|| wrong(text, at, no_symbol(byte)))?;
                at += symbol.len();
                Kind::Symbol(symbol)
            }
        };
        tokens.push(Token { kind, at: start });
    }
    tokens.push(Token {
        kind: Kind::End,
        at: text.len(),
    });
    Ok(tokens)
}

/// What to write instead of a character that is no word.
fn no_symbol(byte: u8) -> &'static str {
    match byte {
        b'&' => "this character has no meaning here; use `and` between tests",
        b'|' => "this character has no meaning here; use `or` between tests",
        b'!' => "this character has no meaning here; use `not` before a test",
        _ => "this character has no meaning here; write text in quotes",
    }
}

fn run(text: &str, at: &mut usize, mut fits: impl FnMut(u8) -> bool) -> String {
    let start = *at;
    *at += 1;
    while text.as_bytes().get(*at).is_some_and(|byte| fits(*byte)) {
        *at += 1;
    }
    text.get(start..*at).unwrap_or_default().to_owned()
}

fn quoted(text: &str, at: &mut usize, quote: u8) -> Result<Vec<u8>> {
    let (start, bytes) = (*at, text.as_bytes());
    let mut value = Vec::new();
    *at += 1;
    loop {
        match bytes.get(*at) {
            None => {
                let message = format!("the text is not ended: add {}", char::from(quote));
                return Err(wrong(text, start, message));
            }
            Some(&byte) if byte == quote => {
                *at += 1;
                return Ok(value);
            }
            Some(b'\\') => {
                let (byte, length) = match bytes.get(*at + 1) {
                    Some(&byte @ (b'\\' | b'\'' | b'"' | b'`')) => (byte, 2),
                    Some(b'n') => (b'\n', 2),
                    Some(b't') => (b'\t', 2),
                    Some(b'x') => {
                        let digits = text.get(*at + 2..*at + 4);
                        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                        let byte = byte
                            .ok_or_else(|| wrong(text, *at, "two hexadecimal digits follow \\x"))?;
                        (byte, 4)
                    }
                    _ => {
                        return Err(wrong(
                            text,
                            *at,
                            "not an escape; write \\\\ for a backslash, \\' for a quote, \\xNN for a byte",
                        ));
                    }
                };
                value.push(byte);
                *at += length;
            }
            Some(&byte) => {
                value.push(byte);
                *at += 1;
            }
        }
    }
}
