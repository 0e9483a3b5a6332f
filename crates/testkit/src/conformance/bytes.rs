//! Bytes as words of a script.
//!
//! Printable ASCII stands for itself, `\xHH` for any byte, `\e` for the empty string; `\*N;` repeats the byte
//! before it N times more. Words that are written never contain a space, a comma, an equals sign or a backslash of
//! the data.

use std::fmt::Write as _;

/// The bytes of a word.
pub(super) fn parse(word: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = match (first, tail) {
            (b'\\', [b'x', high, low, tail @ ..]) => {
                bytes.push(digit(*high, word)? << 4 | digit(*low, word)?);
                tail
            }
            (b'\\', [b'e', tail @ ..]) => tail,
            (b'\\', [b'*', tail @ ..]) => {
                let (count, tail) = count(tail, word)?;
                let last = *bytes
                    .last()
                    .ok_or_else(|| format!("no byte to repeat: {word}"))?;
                bytes.resize(bytes.len() + count, last);
                tail
            }
            (b'\\', _) => return Err(format!("a backslash is followed by xHH, e or *N;: {word}")),
            (0x21..=0x7e, _) => {
                bytes.push(first);
                tail
            }
            _ => return Err(format!("write the bytes of {word} as \\xHH")),
        };
    }
    Ok(bytes)
}

/// The number before a semicolon, and what follows that.
fn count<'a>(tail: &'a [u8], word: &str) -> Result<(usize, &'a [u8]), String> {
    let wrong = || format!("\\* takes a number and a semicolon: {word}");
    let end = tail
        .iter()
        .position(|&byte| byte == b';')
        .ok_or_else(wrong)?;
    let (digits, tail) = tail.split_at(end);
    let digits = std::str::from_utf8(digits).map_err(|_| wrong())?;
    Ok((digits.parse().map_err(|_| wrong())?, &tail[1..]))
}

fn digit(byte: u8, word: &str) -> Result<u8, String> {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
        .ok_or_else(|| format!("\\x takes two hexadecimal digits: {word}"))
}

/// The word for bytes.
pub(super) fn show(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "\\e".to_owned();
    }
    let mut word = String::with_capacity(bytes.len());
    for &byte in bytes {
        if matches!(byte, 0x21..=0x7e) && !matches!(byte, b'\\' | b',' | b'=') {
            word.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(word, "\\x{byte:02x}");
        }
    }
    word
}
