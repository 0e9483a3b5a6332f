//! Values in descending order, and several values in one.
//!
//! Both escape: a byte 0x00 is written as 0x01 0x01, and 0x01 as 0x01 0x02. Afterwards no byte is 0x00, and the order is
//! kept.

use std::borrow::Cow;

use crate::{Error, Result};

/// Appends `encoded` so that it sorts in descending order.
///
/// ```
/// use ostrakon_cell::lexicoder::{decode_reversed, reverse};
/// let (mut a, mut b) = (Vec::new(), Vec::new());
/// reverse(b"a", &mut a);
/// reverse(b"b", &mut b);
/// assert!(b < a);
/// assert_eq!(decode_reversed(&a)?, b"a");
/// # Ok::<(), ostrakon_cell::Error>(())
/// ```
pub fn reverse(encoded: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    escape(encoded, out);
    for byte in &mut out[start..] {
        *byte = !*byte;
    }
    // Sorts a value after all of which it is a prefix.
    out.push(0xff);
}

/// The bytes that [`reverse`] was given.
///
/// # Errors
/// `bytes` were not written by [`reverse`].
pub fn decode_reversed(bytes: &[u8]) -> Result<Vec<u8>> {
    let Some((0xff, escaped)) = bytes.split_last() else {
        return Err(not_escaped());
    };
    let escaped: Vec<u8> = escaped.iter().map(|byte| !byte).collect();
    if escaped.contains(&0) {
        return Err(not_escaped());
    }
    Ok(unescape(&escaped)?.into_owned())
}

/// Appends one more part of a value that has several: a zero byte, unless it is the first one, and `encoded`, escaped.
/// Values sort by their first part, then by their second one, and so on.
///
/// ```
/// use ostrakon_cell::lexicoder::{encode_i64, parts, push_part};
/// let mut number = Vec::new();
/// encode_i64(-7, &mut number);
/// let mut pair = Vec::new();
/// push_part(true, b"alice", &mut pair);
/// push_part(false, &number, &mut pair);
/// assert_eq!(parts(&pair)?, [b"alice".as_slice(), &number]);
/// # Ok::<(), ostrakon_cell::Error>(())
/// ```
pub fn push_part(first: bool, encoded: &[u8], out: &mut Vec<u8>) {
    if !first {
        out.push(0);
    }
    escape(encoded, out);
}

/// The parts of a value, as [`push_part`] was given them. There is at least one.
///
/// # Errors
/// `bytes` were not written by [`push_part`].
pub fn parts(bytes: &[u8]) -> Result<Vec<Cow<'_, [u8]>>> {
    bytes.split(|byte| *byte == 0).map(unescape).collect()
}

fn escape(encoded: &[u8], out: &mut Vec<u8>) {
    let mut rest = encoded;
    while let Some(at) = rest.iter().position(|byte| *byte < 2) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(&[1, rest[at] + 1]);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

fn unescape(escaped: &[u8]) -> Result<Cow<'_, [u8]>> {
    let Some(first) = escaped.iter().position(|byte| *byte == 1) else {
        return Ok(Cow::Borrowed(escaped));
    };
    let mut plain = escaped[..first].to_vec();
    let mut rest = &escaped[first..];
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != 1 {
            plain.push(byte);
            continue;
        }
        match rest.split_first() {
            Some((&code @ (1 | 2), after)) => {
                plain.push(code - 1);
                rest = after;
            }
            _ => return Err(not_escaped()),
        }
    }
    Ok(Cow::Owned(plain))
}

fn not_escaped() -> Error {
    Error::invalid("the bytes are not an escaped value").with("data", "an encoded value")
}
