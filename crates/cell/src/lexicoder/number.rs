//! Numbers and UUIDs.
//!
//! An unsigned number is written big-endian without its leading bytes of 0x00, or of 0xff if its highest bit is set.
//! The byte before them is the number of bytes that follow, or 16 (8 for 32 bits) less that number after leading bytes
//! of 0xff. Numbers near zero and near the maximum are short; the first byte sorts numbers of different lengths.

use crate::{Error, Result};

const SIGN_64: u64 = 1 << 63;
const SIGN_32: u32 = 1 << 31;

/// Appends `value`: 1 to 9 bytes.
#[inline]
pub fn encode_u64(value: u64, out: &mut Vec<u8>) {
    encode(&value.to_be_bytes(), out);
}

/// Appends `value`: 1 to 5 bytes.
#[inline]
pub fn encode_u32(value: u32, out: &mut Vec<u8>) {
    encode(&value.to_be_bytes(), out);
}

/// Appends `value`: 1 to 9 bytes. `-1` and `0` have 9 bytes, the numbers of largest magnitude have 1.
#[inline]
pub fn encode_i64(value: i64, out: &mut Vec<u8>) {
    encode_u64(value.cast_unsigned() ^ SIGN_64, out);
}

/// Appends `value`: 1 to 5 bytes.
#[inline]
pub fn encode_i32(value: i32, out: &mut Vec<u8>) {
    encode_u32(value.cast_unsigned() ^ SIGN_32, out);
}

/// Appends `value`: 1 to 9 bytes. The order is that of [`f64::total_cmp`]: `-0.0` sorts before `0.0`, negative NaN
/// first, positive NaN last.
#[inline]
pub fn encode_f64(value: f64, out: &mut Vec<u8>) {
    let bits = value.to_bits();
    encode_u64(
        if bits < SIGN_64 {
            bits ^ SIGN_64
        } else {
            !bits
        },
        out,
    );
}

/// Appends `value`: 1 to 5 bytes, in the order of [`f32::total_cmp`].
#[inline]
pub fn encode_f32(value: f32, out: &mut Vec<u8>) {
    let bits = value.to_bits();
    encode_u32(
        if bits < SIGN_32 {
            bits ^ SIGN_32
        } else {
            !bits
        },
        out,
    );
}

/// Appends the 16 bytes of a UUID, in the order of Java's `UUID.compareTo`, which takes both halves as signed numbers.
#[inline]
pub fn encode_uuid(value: [u8; 16], out: &mut Vec<u8>) {
    out.extend_from_slice(&flip_halves(value));
}

/// The number that [`encode_u64`] wrote as `bytes`.
///
/// # Errors
/// `bytes` are not exactly one such number.
pub fn decode_u64(bytes: &[u8]) -> Result<u64> {
    let mut be = [0; 8];
    decode(bytes, &mut be)?;
    Ok(u64::from_be_bytes(be))
}

/// The number that [`encode_u32`] wrote as `bytes`.
///
/// # Errors
/// `bytes` are not exactly one such number.
pub fn decode_u32(bytes: &[u8]) -> Result<u32> {
    let mut be = [0; 4];
    decode(bytes, &mut be)?;
    Ok(u32::from_be_bytes(be))
}

/// The number that [`encode_i64`] wrote as `bytes`.
///
/// # Errors
/// `bytes` are not exactly one such number.
pub fn decode_i64(bytes: &[u8]) -> Result<i64> {
    Ok((decode_u64(bytes)? ^ SIGN_64).cast_signed())
}

/// The number that [`encode_i32`] wrote as `bytes`.
///
/// # Errors
/// `bytes` are not exactly one such number.
pub fn decode_i32(bytes: &[u8]) -> Result<i32> {
    Ok((decode_u32(bytes)? ^ SIGN_32).cast_signed())
}

/// The number that [`encode_f64`] wrote as `bytes`, with the same bits.
///
/// # Errors
/// `bytes` are not exactly one such number.
pub fn decode_f64(bytes: &[u8]) -> Result<f64> {
    let bits = decode_u64(bytes)?;
    Ok(f64::from_bits(if bits < SIGN_64 {
        !bits
    } else {
        bits ^ SIGN_64
    }))
}

/// The number that [`encode_f32`] wrote as `bytes`, with the same bits.
///
/// # Errors
/// `bytes` are not exactly one such number.
pub fn decode_f32(bytes: &[u8]) -> Result<f32> {
    let bits = decode_u32(bytes)?;
    Ok(f32::from_bits(if bits < SIGN_32 {
        !bits
    } else {
        bits ^ SIGN_32
    }))
}

/// The UUID that [`encode_uuid`] wrote as `bytes`.
///
/// # Errors
/// `bytes` are not 16 bytes.
pub fn decode_uuid(bytes: &[u8]) -> Result<[u8; 16]> {
    let bytes = bytes.try_into().map_err(|_| not_encoded(bytes.len()))?;
    Ok(flip_halves(bytes))
}

fn flip_halves(mut value: [u8; 16]) -> [u8; 16] {
    value[0] ^= 0x80;
    value[8] ^= 0x80;
    value
}

#[inline]
fn encode<const N: usize>(be: &[u8; N], out: &mut Vec<u8>) {
    let prefix = prefix_of(be[0]);
    let skipped = be.iter().take_while(|&&byte| byte == prefix).count();
    let length = (N - skipped) as u8;
    out.push(if prefix == 0 {
        length
    } else {
        2 * N as u8 - length
    });
    out.extend_from_slice(&be[skipped..]);
}

/// The leading byte that is left out: 0xff if the highest bit is set.
fn prefix_of(first: u8) -> u8 {
    if first < 0x80 { 0 } else { 0xff }
}

/// Accepts only what [`encode`] writes, so that equal numbers have equal bytes.
fn decode<const N: usize>(bytes: &[u8], be: &mut [u8; N]) -> Result<()> {
    let fault = || not_encoded(bytes.len());
    let (&head, rest) = bytes.split_first().ok_or_else(fault)?;
    let skipped = N.checked_sub(rest.len()).ok_or_else(fault)?;
    let length = rest.len() as u8;
    // With all N bytes both forms have the same first byte.
    let prefix = match head {
        _ if length as usize == N => prefix_of(rest[0]),
        head if head == length => 0,
        head if head == 2 * N as u8 - length => 0xff,
        _ => return Err(fault()),
    };
    let own = if prefix == 0 {
        length
    } else {
        2 * N as u8 - length
    };
    be[..skipped].fill(prefix);
    be[skipped..].copy_from_slice(rest);
    let shortest = skipped == N || be[skipped] != prefix;
    if own != head || !shortest || prefix_of(be[0]) != prefix {
        return Err(fault());
    }
    Ok(())
}

/// Never shows the bytes: they are part of a cell.
fn not_encoded(length: usize) -> Error {
    Error::invalid("the bytes are not an encoded value of this type")
        .with("length", length)
        .with("data", "an encoded value")
}
