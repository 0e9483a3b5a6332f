//! Base64 of RFC 4648 §4, with padding: Accumulo's encoding of authorizations. Strict in both
//! directions: a text decodes only if it is the canonical encoding of its bytes.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends the encoding of `bytes` to `out`.
pub(crate) fn encode(bytes: &[u8], out: &mut String) {
    for chunk in bytes.chunks(3) {
        let group = chunk
            .iter()
            .fold(0_u32, |group, byte| group << 8 | u32::from(*byte));
        let group = group << (8 * (3 - chunk.len()));
        for place in 0..4 {
            // n bytes make n + 1 digits; padding fills the rest.
            if place <= chunk.len() {
                let digit = group >> (18 - 6 * place) & 63;
                out.push(char::from(ALPHABET[digit as usize]));
            } else {
                out.push('=');
            }
        }
    }
}

/// The bytes encoded in `text`. The error is the position of the first invalid byte.
pub(crate) fn decode(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let groups = text.chunks(4);
    let last = groups.len().saturating_sub(1);
    for (index, chunk) in groups.enumerate() {
        let start = index * 4;
        if chunk.len() < 4 {
            return Err(text.len());
        }
        let padding = if index == last {
            chunk.iter().rev().take_while(|byte| **byte == b'=').count()
        } else {
            0
        };
        if padding > 2 {
            return Err(start);
        }
        let digits = 4 - padding;
        let mut group = 0_u32;
        for (place, byte) in chunk.iter().take(digits).enumerate() {
            group = group << 6 | value(*byte).ok_or(start + place)?;
        }
        group <<= 6 * padding;
        let [_, decoded @ ..] = group.to_be_bytes();
        let (kept, dropped) = decoded.split_at(3 - padding);
        if dropped.iter().any(|byte| *byte != 0) {
            return Err(start + digits - 1);
        }
        bytes.extend_from_slice(kept);
    }
    Ok(bytes)
}

fn value(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(bytes: &[u8]) -> String {
        let mut text = String::new();
        encode(bytes, &mut text);
        text
    }

    #[test]
    fn vectors_of_the_rfc() {
        let vectors = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let texts = [
            "", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy",
        ];
        for (bytes, text) in vectors.iter().zip(texts) {
            assert_eq!(encoded(bytes.as_bytes()), text);
            assert_eq!(decode(text.as_bytes()), Ok(bytes.as_bytes().to_vec()));
        }
        assert_eq!(encoded(&[0xfb, 0xff, 0xfe]), "+//+");
    }

    #[test]
    fn rejects_non_canonical_text() {
        let cases: [(&str, usize); 8] = [
            ("Zg", 2),
            ("Zg=", 3),
            ("Zh==", 1),
            ("Zm9=", 2),
            ("Zg==Zg==", 2),
            ("====", 0),
            ("Z===", 0),
            ("Zm-v", 2),
        ];
        for (text, position) in cases {
            assert_eq!(decode(text.as_bytes()), Err(position), "{text}");
        }
    }

    proptest! {
        #[test]
        fn round_trip(bytes: Vec<u8>) {
            prop_assert_eq!(decode(encoded(&bytes).as_bytes()), Ok(bytes));
        }

        #[test]
        fn only_canonical_text_decodes(text in "[A-Za-h/+=]{0,12}") {
            if let Ok(bytes) = decode(text.as_bytes()) {
                prop_assert_eq!(encoded(&bytes), text);
            }
        }
    }
}
