//! Whole numbers as values: the encodings of Accumulo's `LongCombiner`.

use ostrakon_cell::Error;

use crate::error::StoreResult;

/// The encoding of a 64-bit number in a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberEncoding {
    /// Hadoop's variable-length `VLong`, 1 to 9 bytes: a number from −112 to 127 is its own byte.
    /// Otherwise the first byte tells sign and length (−113 … −120: positive, 1 … 8 bytes follow;
    /// −121 … −128: negative, 1 … 8 bytes follow) and the number, or its complement if negative,
    /// follows big-endian without leading zeros.
    VarLen,
    /// 8 bytes, big-endian two's complement.
    FixedLen,
    /// Decimal text with an optional sign.
    String,
}

impl std::str::FromStr for NumberEncoding {
    type Err = Error;

    fn from_str(text: &str) -> StoreResult<Self> {
        match text {
            "VARLEN" => Ok(Self::VarLen),
            "FIXEDLEN" => Ok(Self::FixedLen),
            "STRING" => Ok(Self::String),
            _ => Err(Error::invalid(
                "the type is one of VARLEN, FIXEDLEN, STRING; Java classes cannot be run",
            )
            .with("given", text)),
        }
    }
}

impl NumberEncoding {
    /// Appends `number` to `out`.
    pub fn encode(self, number: i64, out: &mut Vec<u8>) {
        match self {
            Self::FixedLen => out.extend_from_slice(&number.to_be_bytes()),
            Self::String => {
                use std::io::Write;
                // Writing to a vector cannot fail.
                let _ = write!(out, "{number}");
            }
            Self::VarLen => {
                if (-112..=127).contains(&number) {
                    out.push(number as u8);
                    return;
                }
                let (magnitude, first) = if number < 0 {
                    (!number, -120_i8)
                } else {
                    (number, -112_i8)
                };
                let skip = (magnitude.leading_zeros() / 8) as usize;
                out.push((first - (8 - skip) as i8) as u8);
                out.extend(magnitude.to_be_bytes().iter().skip(skip));
            }
        }
    }

    /// Whether `value` is certainly the output of [`encode`](Self::encode) for its number. `false`
    /// means unknown. True for short numbers, which nearly all are.
    #[inline]
    #[must_use]
    pub fn is_as_encoded(self, value: &[u8]) -> bool {
        match self {
            Self::FixedLen => value.len() == 8,
            Self::VarLen => matches!(value, &[byte] if byte as i8 >= -112),
            Self::String => match value {
                [b'0'] => true,
                [b'-', digits @ ..] | digits => {
                    // Numbers of 18 digits are all in range.
                    matches!(digits, [b'1'..=b'9', rest @ ..]
                        if rest.len() < 18 && rest.iter().all(u8::is_ascii_digit))
                }
            },
        }
    }

    /// The number in `value`, or `None` if it is not one. As in Accumulo, bytes after a number of
    /// known length are ignored.
    #[must_use]
    pub fn decode(self, value: &[u8]) -> Option<i64> {
        match self {
            Self::FixedLen => value.first_chunk().copied().map(i64::from_be_bytes),
            Self::String => std::str::from_utf8(value).ok()?.parse().ok(),
            Self::VarLen => {
                let (&first, rest) = value.split_first()?;
                let first = first as i8;
                let (len, negative) = match first {
                    -112..=127 => return Some(i64::from(first)),
                    -120..=-113 => (-112 - i32::from(first), false),
                    _ => (-120 - i32::from(first), true),
                };
                let bytes = rest.get(..len as usize)?;
                let magnitude = bytes
                    .iter()
                    .fold(0_i64, |number, &byte| (number << 8) | i64::from(byte));
                Some(if negative { !magnitude } else { magnitude })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [NumberEncoding; 3] = [
        NumberEncoding::VarLen,
        NumberEncoding::FixedLen,
        NumberEncoding::String,
    ];

    #[test]
    fn variable_lengths_are_hadoops() {
        let written = |number| {
            let mut out = Vec::new();
            NumberEncoding::VarLen.encode(number, &mut out);
            out
        };
        assert_eq!(written(127), [0x7f]);
        assert_eq!(written(-112), [0x90]);
        assert_eq!(written(128), [0x8f, 0x80]);
        assert_eq!(written(256), [0x8e, 0x01, 0x00]);
        assert_eq!(written(-113), [0x87, 0x70]);
        assert_eq!(written(-256), [0x87, 0xff]);
        assert_eq!(
            written(i64::MAX),
            [0x88, 0x7f, 255, 255, 255, 255, 255, 255, 255]
        );
        assert_eq!(
            written(i64::MIN),
            [0x80, 0x7f, 255, 255, 255, 255, 255, 255, 255]
        );
    }

    #[test]
    fn what_is_not_a_number_is_refused() {
        assert_eq!(NumberEncoding::VarLen.decode(b""), None);
        assert_eq!(NumberEncoding::VarLen.decode(&[0x8e, 1]), None);
        assert_eq!(NumberEncoding::FixedLen.decode(&[0; 7]), None);
        for text in [
            "",
            " 1",
            "1 ",
            "0x1",
            "1.0",
            "9223372036854775808",
            "\u{663}",
        ] {
            assert_eq!(
                NumberEncoding::String.decode(text.as_bytes()),
                None,
                "{text}"
            );
        }
        assert_eq!(NumberEncoding::String.decode(b"+7"), Some(7));
    }

    proptest! {
        #[test]
        fn numbers_come_back(number in any::<i64>(), shift in 0_u32..64) {
            for encoding in ALL {
                for number in [number, number >> shift] {
                    let mut out = Vec::new();
                    encoding.encode(number, &mut out);
                    prop_assert_eq!(encoding.decode(&out), Some(number));
                }
            }
        }

        #[test]
        fn values_taken_for_encoded_ones_are(value in "[-+]?0?[0-9]{0,20}|[\\x00-\\xff]{0,9}") {
            for encoding in ALL {
                if encoding.is_as_encoded(value.as_bytes()) {
                    let mut out = Vec::new();
                    let number = encoding.decode(value.as_bytes());
                    prop_assert!(number.is_some());
                    encoding.encode(number.unwrap_or_default(), &mut out);
                    prop_assert_eq!(&out[..], value.as_bytes());
                }
            }
        }

        #[test]
        fn short_numbers_are_taken_for_encoded_ones(number in -112_i64..=127, places in 0_u32..15) {
            let taken = |encoding: NumberEncoding, number| {
                let mut out = Vec::new();
                encoding.encode(number, &mut out);
                encoding.is_as_encoded(&out)
            };
            prop_assert!(ALL.iter().all(|&encoding| taken(encoding, number)));
            prop_assert!(taken(NumberEncoding::String, number * 10_i64.pow(places)));
        }

        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            for encoding in ALL {
                let _ = encoding.decode(&bytes);
            }
        }
    }
}
