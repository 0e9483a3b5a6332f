//! Numbers as values: decimal text, as D4M and Graphulo keep them.

use std::io::Write;

use ostrakon_cell::{Error, Result};

/// Whole numbers up to here are exact in a 64-bit float.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The number in a value: decimal text with optional sign, fraction and exponent. `None` when the
/// bytes are not a finite number.
///
/// ```
/// use ostrakon_graph::parse_number;
/// assert_eq!(parse_number(b"-12"), Some(-12.0));
/// assert_eq!(parse_number(b"1.5e3"), Some(1500.0));
/// assert_eq!(parse_number(b"cited"), None);
/// ```
#[must_use]
#[inline]
pub fn parse_number(value: &[u8]) -> Option<f64> {
    let (negative, digits) = match value {
        [b'-', rest @ ..] => (true, rest),
        all => (false, all),
    };
    // Nearly all weights and counts: up to 15 digits, exact as they are read.
    if !digits.is_empty() && digits.len() <= 15 {
        let mut number = 0_u64;
        let mut plain = true;
        for &digit in digits {
            let digit = digit.wrapping_sub(b'0');
            plain &= digit < 10;
            number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        }
        if plain {
            let number = number as f64;
            return Some(if negative { -number } else { number });
        }
    }
    let number: f64 = std::str::from_utf8(value).ok()?.parse().ok()?;
    number.is_finite().then_some(number)
}

/// Appends a number as text that [`parse_number`] reads back exactly; whole numbers without
/// fraction, so that a `SummingCombiner` of type `STRING` can add them.
///
/// # Errors
/// The number is infinite or no number (an overflow, or 0/0 in a semiring of the caller's).
pub fn format_number(number: f64, out: &mut Vec<u8>) -> Result<()> {
    if number.fract() == 0.0 && number.abs() < EXACT {
        let mut digits = [0; 17];
        let mut at = digits.len();
        let mut rest = number.abs() as u64;
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if number < 0.0 {
            out.push(b'-');
        }
        out.extend_from_slice(&digits[at..]);
        Ok(())
    } else if number.is_finite() {
        // Writing to a vector cannot fail.
        let _ = write!(out, "{number:?}");
        Ok(())
    } else {
        Err(Error::invalid(
            "a result is infinite or not a number, and values must be finite: scale the input or take \
             another semiring",
        ))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(number: f64) -> String {
        let mut out = Vec::new();
        format_number(number, &mut out).expect("finite");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn whole_numbers_have_no_fraction() {
        assert_eq!(written(0.0), "0");
        assert_eq!(written(-120.0), "-120");
        assert_eq!(written(9_007_199_254_740_991.0), "9007199254740991");
        assert_eq!(written(0.5), "0.5");
        assert_eq!(written(1e300), "1e300");
        assert!(format_number(f64::INFINITY, &mut Vec::new()).is_err());
        assert!(format_number(f64::NAN, &mut Vec::new()).is_err());
    }

    #[test]
    fn other_texts_are_no_numbers() {
        for text in ["", "-", "1 ", "1x", "inf", "nan", "--1", "1e999", "\u{663}"] {
            assert_eq!(parse_number(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn numbers_come_back(bits in any::<u64>(), whole in -1_000_000_i64..1_000_000) {
            for number in [f64::from_bits(bits), whole as f64, whole as f64 / 8.0] {
                if number.is_finite() {
                    prop_assert_eq!(parse_number(written(number).as_bytes()), Some(number));
                }
            }
        }
    }
}
