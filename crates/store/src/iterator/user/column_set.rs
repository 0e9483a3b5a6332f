//! Columns encoded in an option: `family` or `family:qualifier`, separated by commas, every byte
//! outside of `A-Z a-z 0-9 _ -` as `%` and two hexadecimal digits.

use std::fmt::Write;

use ostrakon_cell::{Column, ColumnSelection, Error};

use crate::error::StoreResult;

/// Encodes columns for the `columns` option of combiners.
///
/// ```
/// use ostrakon_cell::Column;
/// use ostrakon_store::iterator::user::encode_columns;
/// let columns = [Column::family("deg"), Column::new("a b", "c")];
/// assert_eq!(encode_columns(&columns), "deg,a%20b:c");
/// ```
#[must_use]
pub fn encode_columns(columns: &[Column]) -> String {
    let mut text = String::new();
    for (at, column) in columns.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        encode(&mut text, &column.family);
        if let Some(qualifier) = &column.qualifier {
            text.push(':');
            encode(&mut text, qualifier);
        }
    }
    text
}

fn encode(text: &mut String, bytes: &[u8]) {
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-' {
            text.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02x}");
        }
    }
}

/// Decodes the output of [`encode_columns`]. At least one column is required: an empty selection
/// would mean all.
pub(super) fn decode_columns(text: &str) -> StoreResult<ColumnSelection> {
    let wrong = || {
        Error::invalid(
            "columns are written family or family:qualifier, separated by commas, with bytes \
             outside of A-Z a-z 0-9 _ - as %xx",
        )
        .with("given", text)
    };
    let columns = text
        .split(',')
        .map(|column| {
            let mut parts = column.split(':');
            let family = decode(parts.next()?)?;
            let qualifier = match parts.next() {
                // `family:` means the whole family, as for Accumulo.
                None | Some("") => None,
                Some(part) => Some(decode(part)?),
            };
            parts
                .next()
                .is_none()
                .then_some(Column { family, qualifier })
        })
        .collect::<Option<Vec<Column>>>()
        .ok_or_else(wrong)?;
    Ok(ColumnSelection::new(columns))
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let (high, low) = (digit()?, digit()?);
                bytes.push((high * 16 + low) as u8);
            }
            b'_' | b'-' => bytes.push(byte),
            _ if byte.is_ascii_alphanumeric() => bytes.push(byte),
            _ => return None,
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_back() {
        let columns = [
            Column::family([0, 255, b'%']),
            Column::family("a_b-C9"),
            Column::new("a:b", "c,d"),
        ];
        let text = encode_columns(&columns);
        assert_eq!(text, "%00%ff%25,a_b-C9,a%3ab:c%2cd");
        assert_eq!(
            decode_columns(&text).expect("sound"),
            ColumnSelection::new(columns)
        );
        assert_eq!(
            decode_columns("a:").expect("sound"),
            ColumnSelection::new([Column::family("a")])
        );
        assert_eq!(
            decode_columns("%4A").expect("sound"),
            ColumnSelection::new([Column::family("J")])
        );
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["a b", "a:b:c", "%", "%4", "%zz", "a.b", "\u{e9}"] {
            assert!(decode_columns(text).is_err(), "{text}");
        }
    }
}
