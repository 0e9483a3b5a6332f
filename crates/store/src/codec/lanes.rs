//! Arrays of integers, all of the same width, chosen by the largest: 0, 1, 2, 4 or 8 bytes each,
//! little-endian.
//!
//! The position of any element takes one multiplication, as binary search in a block needs.

/// Bytes per element. On disk it is that number, in one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LaneWidth {
    /// Nothing: all elements are zero.
    Zero = 0,
    /// One byte.
    One = 1,
    /// Two bytes.
    Two = 2,
    /// Four bytes.
    Four = 4,
    /// Eight bytes.
    Eight = 8,
}

impl LaneWidth {
    /// The narrowest width that holds `largest`.
    #[must_use]
    #[inline]
    pub fn for_largest(largest: u64) -> Self {
        match largest {
            0 => Self::Zero,
            0x1..=0xff => Self::One,
            0x100..=0xffff => Self::Two,
            0x1_0000..=0xffff_ffff => Self::Four,
            _ => Self::Eight,
        }
    }

    /// The width with this number on disk.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Zero),
            1 => Some(Self::One),
            2 => Some(Self::Two),
            4 => Some(Self::Four),
            8 => Some(Self::Eight),
            _ => None,
        }
    }

    /// The number on disk, which is the bytes per element.
    #[must_use]
    #[inline]
    pub fn number(self) -> u8 {
        self as u8
    }

    /// Bytes of one element.
    #[must_use]
    #[inline]
    pub fn bytes(self) -> usize {
        self as usize
    }
}

/// Appends `values` in the narrowest width that holds them all; returns that width, which the
/// caller stores with the count.
pub fn pack_u32(values: &[u32], out: &mut Vec<u8>) -> LaneWidth {
    let largest = values.iter().copied().max().unwrap_or(0);
    let width = LaneWidth::for_largest(u64::from(largest));
    out.reserve(values.len() * width.bytes());
    match width {
        LaneWidth::Zero => {}
        LaneWidth::One => out.extend(values.iter().map(|&v| v as u8)),
        LaneWidth::Two => out.extend(values.iter().flat_map(|&v| (v as u16).to_le_bytes())),
        LaneWidth::Four | LaneWidth::Eight => {
            out.extend(values.iter().flat_map(|&v| v.to_le_bytes()));
        }
    }
    width
}

/// Appends `values` in the narrowest width that holds them all; returns that width, which the
/// caller stores with the count.
pub fn pack_u64(values: &[u64], out: &mut Vec<u8>) -> LaneWidth {
    let largest = values.iter().copied().max().unwrap_or(0);
    let width = LaneWidth::for_largest(largest);
    out.reserve(values.len() * width.bytes());
    match width {
        LaneWidth::Zero => {}
        LaneWidth::One => out.extend(values.iter().map(|&v| v as u8)),
        LaneWidth::Two => out.extend(values.iter().flat_map(|&v| (v as u16).to_le_bytes())),
        LaneWidth::Four => out.extend(values.iter().flat_map(|&v| (v as u32).to_le_bytes())),
        LaneWidth::Eight => out.extend(values.iter().flat_map(|&v| v.to_le_bytes())),
    }
    width
}

/// A packed array, read in place.
#[derive(Clone, Copy, Debug)]
pub struct Lanes<'a> {
    bytes: &'a [u8],
    width: LaneWidth,
    count: usize,
}

impl<'a> Lanes<'a> {
    /// The array of `count` elements at the start of `bytes`, and the bytes after it. `None` if
    /// they end too early.
    #[must_use]
    pub fn split_from(bytes: &'a [u8], width: LaneWidth, count: usize) -> Option<(Self, &'a [u8])> {
        let (bytes, rest) = bytes.split_at_checked(count.checked_mul(width.bytes())?)?;
        Some((
            Self {
                bytes,
                width,
                count,
            },
            rest,
        ))
    }

    /// How many elements there are.
    #[must_use]
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Bytes of one element.
    #[must_use]
    #[inline]
    pub fn width(&self) -> LaneWidth {
        self.width
    }

    /// The element at `index`; `None` if there are not that many.
    #[must_use]
    #[inline]
    pub fn get(&self, index: usize) -> Option<u64> {
        match self.width {
            LaneWidth::Zero => (index < self.count).then_some(0),
            LaneWidth::One => self.bytes.get(index).map(|&v| u64::from(v)),
            LaneWidth::Two => self
                .element(index)
                .map(|v| u64::from(u16::from_le_bytes(v))),
            LaneWidth::Four => self
                .element(index)
                .map(|v| u64::from(u32::from_le_bytes(v))),
            LaneWidth::Eight => self.element(index).map(u64::from_le_bytes),
        }
    }

    #[inline]
    fn element<const N: usize>(&self, index: usize) -> Option<[u8; N]> {
        self.bytes.as_chunks::<N>().0.get(index).copied()
    }

    /// Replaces the content of `out` by all elements; `None` if one does not fit 32 bits.
    pub fn unpack_u32(&self, out: &mut Vec<u32>) -> Option<()> {
        out.clear();
        match self.width {
            LaneWidth::Zero => out.resize(self.count, 0),
            LaneWidth::One => out.extend(self.bytes.iter().map(|&v| u32::from(v))),
            LaneWidth::Two => {
                out.extend(
                    self.bytes
                        .as_chunks()
                        .0
                        .iter()
                        .map(|&v| u32::from(u16::from_le_bytes(v))),
                );
            }
            LaneWidth::Four => out.extend(
                self.bytes
                    .as_chunks()
                    .0
                    .iter()
                    .map(|&v| u32::from_le_bytes(v)),
            ),
            LaneWidth::Eight => {
                for &v in self.bytes.as_chunks().0 {
                    out.push(u32::try_from(u64::from_le_bytes(v)).ok()?);
                }
            }
        }
        Some(())
    }

    /// Replaces the content of `out` by all elements.
    pub fn unpack_u64(&self, out: &mut Vec<u64>) {
        out.clear();
        match self.width {
            LaneWidth::Zero => out.resize(self.count, 0),
            LaneWidth::One => out.extend(self.bytes.iter().map(|&v| u64::from(v))),
            LaneWidth::Two => {
                out.extend(
                    self.bytes
                        .as_chunks()
                        .0
                        .iter()
                        .map(|&v| u64::from(u16::from_le_bytes(v))),
                );
            }
            LaneWidth::Four => {
                out.extend(
                    self.bytes
                        .as_chunks()
                        .0
                        .iter()
                        .map(|&v| u64::from(u32::from_le_bytes(v))),
                );
            }
            LaneWidth::Eight => out.extend(
                self.bytes
                    .as_chunks()
                    .0
                    .iter()
                    .map(|&v| u64::from_le_bytes(v)),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_width_is_the_narrowest() {
        for (largest, width) in [
            (0, 0),
            (1, 1),
            (0xff, 1),
            (0x100, 2),
            (0xffff, 2),
            (0x1_0000, 4),
            (0xffff_ffff, 4),
            (0x1_0000_0000, 8),
            (u64::MAX, 8),
        ] {
            assert_eq!(
                LaneWidth::for_largest(largest).bytes(),
                width,
                "{largest:#x}"
            );
        }
        for number in 0..=u8::MAX {
            let width = LaneWidth::from_number(number);
            assert_eq!(
                width.map(LaneWidth::number),
                [0, 1, 2, 4, 8].contains(&number).then_some(number)
            );
        }
    }

    #[test]
    fn a_count_that_does_not_fit_is_refused() {
        assert!(Lanes::split_from(&[0; 7], LaneWidth::Four, 2).is_none());
        assert!(Lanes::split_from(&[0; 7], LaneWidth::Eight, usize::MAX).is_none());
        let (zeros, rest) = Lanes::split_from(&[9], LaneWidth::Zero, 3).unwrap();
        assert_eq!(
            (zeros.get(2), zeros.get(3), rest),
            (Some(0), None, &[9][..])
        );
    }

    #[test]
    fn eight_byte_elements_are_checked_when_read_as_four() {
        let mut out = Vec::new();
        let width = pack_u64(&[1, 1 << 32], &mut out);
        let (lanes, _) = Lanes::split_from(&out, width, 2).unwrap();
        assert_eq!(lanes.unpack_u32(&mut Vec::new()), None);
    }

    proptest! {
        #[test]
        fn round_trip_u64(bits in 0..=64_u32, seeds: Vec<u64>, tail: Vec<u8>) {
            let values: Vec<u64> =
                seeds.iter().map(|v| v.checked_shr(64 - bits).unwrap_or(0)).collect();
            let mut out = Vec::new();
            let width = pack_u64(&values, &mut out);
            prop_assert_eq!(out.len(), values.len() * width.bytes());
            out.extend_from_slice(&tail);
            let (lanes, rest) = Lanes::split_from(&out, width, values.len()).unwrap();
            prop_assert_eq!(rest, &tail[..]);
            for (index, value) in values.iter().enumerate() {
                prop_assert_eq!(lanes.get(index), Some(*value));
            }
            prop_assert_eq!(lanes.get(values.len()), None);
            let mut unpacked = vec![7];
            lanes.unpack_u64(&mut unpacked);
            prop_assert_eq!(unpacked, values);
        }

        #[test]
        fn round_trip_u32(bits in 0..=32_u32, seeds: Vec<u32>) {
            let values: Vec<u32> =
                seeds.iter().map(|v| v.checked_shr(32 - bits).unwrap_or(0)).collect();
            let mut out = Vec::new();
            let width = pack_u32(&values, &mut out);
            let (lanes, rest) = Lanes::split_from(&out, width, values.len()).unwrap();
            prop_assert!(rest.is_empty());
            let mut unpacked = vec![7];
            prop_assert_eq!(lanes.unpack_u32(&mut unpacked), Some(()));
            prop_assert_eq!(unpacked, values);
        }
    }
}
