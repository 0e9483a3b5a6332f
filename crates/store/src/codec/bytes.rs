//! Reads fields from the front of a byte slice. Every method returns `None` if the bytes end too
//! early.

use super::varint;

/// The unread part of a byte slice. Integers of fixed size are little-endian.
#[derive(Clone, Copy, Debug)]
pub struct ByteReader<'a> {
    rest: &'a [u8],
}

impl<'a> ByteReader<'a> {
    /// Starts at the first byte.
    #[must_use]
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Bytes not yet read.
    #[must_use]
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Number of bytes not yet read.
    #[must_use]
    #[inline]
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Whether everything was read.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `len` bytes.
    #[inline]
    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    /// The next `N` bytes, as an array.
    #[inline]
    pub fn take_array<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(taken)
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// Two bytes.
    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        self.take_array().map(|bytes| u16::from_le_bytes(*bytes))
    }

    /// Four bytes.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        self.take_array().map(|bytes| u32::from_le_bytes(*bytes))
    }

    /// Eight bytes.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        self.take_array().map(|bytes| u64::from_le_bytes(*bytes))
    }

    /// Eight bytes, signed.
    #[inline]
    pub fn i64(&mut self) -> Option<i64> {
        self.take_array().map(|bytes| i64::from_le_bytes(*bytes))
    }

    /// A [`varint`] of at most 32 bits.
    #[inline]
    pub fn varint_u32(&mut self) -> Option<u32> {
        let (value, len) = varint::get_u32(self.rest)?;
        self.rest = self.rest.get(len..)?;
        Some(value)
    }

    /// A [`varint`] of at most 64 bits.
    #[inline]
    pub fn varint_u64(&mut self) -> Option<u64> {
        let (value, len) = varint::get_u64(self.rest)?;
        self.rest = self.rest.get(len..)?;
        Some(value)
    }

    /// Bytes that follow their own length, a [`varint`].
    #[inline]
    pub fn length_prefixed(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.varint_u64()?).ok()?;
        self.take(len)
    }
}

/// Appends `bytes` after their length, as [`ByteReader::length_prefixed`] reads them.
#[inline]
pub fn put_length_prefixed(out: &mut Vec<u8>, bytes: &[u8]) {
    varint::put_u64(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_in_order_then_nothing() {
        let mut out = vec![7];
        out.extend_from_slice(&0x0102_u16.to_le_bytes());
        out.extend_from_slice(&0x0304_0506_u32.to_le_bytes());
        out.extend_from_slice(&u64::MAX.to_le_bytes());
        out.extend_from_slice(&(-5_i64).to_le_bytes());
        varint::put_u32(&mut out, 300);
        varint::put_u64(&mut out, 1 << 40);
        put_length_prefixed(&mut out, b"row");
        let read_all = |bytes: &[u8]| {
            let mut reader = ByteReader::new(bytes);
            let fields = (
                reader.u8()?,
                reader.u16()?,
                reader.u32()?,
                reader.u64()?,
                reader.i64()?,
                reader.varint_u32()?,
                reader.varint_u64()?,
                reader.length_prefixed()?.to_vec(),
            );
            reader.is_empty().then_some(fields)
        };
        let expected = (
            7,
            0x0102,
            0x0304_0506,
            u64::MAX,
            -5,
            300,
            1 << 40,
            b"row".to_vec(),
        );
        assert_eq!(read_all(&out), Some(expected));
        for cut in 0..out.len() {
            assert_eq!(read_all(&out[..cut]), None, "cut at {cut}");
        }
    }

    #[test]
    fn a_length_larger_than_the_rest_is_refused() {
        let mut out = Vec::new();
        varint::put_u64(&mut out, u64::MAX);
        out.extend_from_slice(b"abc");
        assert_eq!(ByteReader::new(&out).length_prefixed(), None);
    }
}
