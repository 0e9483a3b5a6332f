//! Integers of variable length: LEB128, seven bits per byte, low bits first, the high bit set on
//! all but the last byte.
//!
//! Each value has one encoding: decoders reject one that is longer than needed or does not fit.

/// Most bytes a `u32` takes.
pub const U32_BYTES_MAX: usize = 5;
/// Most bytes a `u64` takes.
pub const U64_BYTES_MAX: usize = 10;

/// Appends `value` in 1 to 5 bytes.
#[inline]
pub fn put_u32(out: &mut Vec<u8>, value: u32) {
    put_u64(out, u64::from(value));
}

/// Appends `value` in 1 to 10 bytes.
#[inline]
pub fn put_u64(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Bytes that [`put_u64`] appends for `value`.
#[must_use]
#[inline]
pub fn len_u64(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// The integer at the start of `bytes` and its length. `None` if the bytes end inside it, or it is
/// longer than needed or larger than a `u32`.
#[must_use]
#[inline]
pub fn get_u32(bytes: &[u8]) -> Option<(u32, usize)> {
    let (value, len) = get_u64(bytes)?;
    Some((u32::try_from(value).ok()?, len))
}

/// The integer at the start of `bytes` and its length. `None` if the bytes end inside it, or it is
/// longer than needed or larger than a `u64`.
#[must_use]
#[inline]
pub fn get_u64(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((u64::from(first), 1));
    }
    get_u64_long(bytes)
}

fn get_u64_long(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for (index, &byte) in bytes.iter().take(U64_BYTES_MAX).enumerate() {
        // The tenth byte holds the one remaining bit.
        if index == U64_BYTES_MAX - 1 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            // A last byte of zero adds nothing: the same value has a shorter form.
            return (byte != 0 || index == 0).then_some((value, index + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_bytes() {
        for (value, bytes) in [
            (0_u64, &[0_u8][..]),
            (127, &[0x7f]),
            (128, &[0x80, 0x01]),
            (300, &[0xac, 0x02]),
            (
                u64::MAX,
                &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            ),
        ] {
            let mut out = Vec::new();
            put_u64(&mut out, value);
            assert_eq!(out, bytes);
            assert_eq!(get_u64(bytes), Some((value, bytes.len())));
        }
    }

    #[test]
    fn refused() {
        let cases: [(&str, &[u8]); 6] = [
            ("empty", &[]),
            ("ends inside", &[0x80]),
            ("longer than needed", &[0x80, 0x00]),
            ("longer than needed", &[0xff, 0x80, 0x00]),
            (
                "65 bits",
                &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02],
            ),
            (
                "eleven bytes",
                &[
                    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01,
                ],
            ),
        ];
        for (why, bytes) in cases {
            assert_eq!(get_u64(bytes), None, "{why}");
        }
        let mut out = Vec::new();
        put_u64(&mut out, u64::from(u32::MAX) + 1);
        assert_eq!(get_u32(&out), None, "33 bits");
    }

    proptest! {
        #[test]
        fn round_trip(bits in 0..=64_u32, seed: u64, tail: Vec<u8>) {
            let value = seed.checked_shr(64 - bits).unwrap_or(0);
            let mut out = Vec::new();
            put_u64(&mut out, value);
            let len = out.len();
            prop_assert_eq!(len, len_u64(value));
            out.extend_from_slice(&tail);
            prop_assert_eq!(get_u64(&out), Some((value, len)));
            for cut in 0..len {
                prop_assert_eq!(get_u64(&out[..cut]), None);
            }
        }

        #[test]
        fn any_bytes_decode_to_what_encodes_to_them(bytes: Vec<u8>) {
            if let Some((value, len)) = get_u64(&bytes) {
                let mut out = Vec::new();
                put_u64(&mut out, value);
                prop_assert_eq!(&out[..], &bytes[..len]);
            }
        }
    }
}
