//! Lanes: integers of equal width above a base, and byte strings of any length.

use crate::codec::{ByteReader, LaneWidth, prefetch, varint};

/// Entries between two positions at which decoding can start.
pub(crate) const RESTART_INTERVAL: usize = 16;

/// The offset in `whole` of the unread rest.
pub(super) fn offset_of(whole: &[u8], rest: &ByteReader<'_>) -> usize {
    whole.len() - rest.remaining()
}

/// Integers stored as differences to the smallest one, each in the same number of bytes. On disk:
/// width (1 byte), base (varint), the differences.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IntLane {
    base: u64,
    // The start of the differences, in 48 bits: a point read in a block that is not in the CPU
    // caches pays for every cache line of its layout.
    start_low: u32,
    start_high: u16,
    width: LaneWidth,
}

impl IntLane {
    /// Parses the lane of `count` integers at the position of `reader`, a reader of `whole`.
    pub(crate) fn parse(whole: &[u8], reader: &mut ByteReader<'_>, count: usize) -> Option<Self> {
        let width = LaneWidth::from_number(reader.u8()?)?;
        let base = reader.varint_u64()?;
        let start = offset_of(whole, reader);
        reader.take(count.checked_mul(width.bytes())?)?;
        Some(Self {
            base,
            start_low: start as u32,
            start_high: u16::try_from(start >> 32).ok()?,
            width,
        })
    }

    #[inline]
    fn start(&self) -> usize {
        (usize::from(self.start_high) << 32) | self.start_low as usize
    }

    /// Whether all integers are equal.
    #[inline]
    pub(crate) fn is_constant(&self) -> bool {
        self.width == LaneWidth::Zero
    }

    /// The smallest integer.
    #[inline]
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// The integer at `at`, which must be below the count given to [`parse`](Self::parse).
    #[inline]
    pub(crate) fn get(&self, whole: &[u8], at: usize) -> Option<u64> {
        let lane = whole.get(self.start()..)?;
        let distance = match self.width {
            LaneWidth::Zero => 0,
            LaneWidth::One => u64::from(*lane.get(at)?),
            LaneWidth::Two => u64::from(u16::from_le_bytes(element(lane, at)?)),
            LaneWidth::Four => u64::from(u32::from_le_bytes(element(lane, at)?)),
            LaneWidth::Eight => u64::from_le_bytes(element(lane, at)?),
        };
        Some(self.base.wrapping_add(distance))
    }

    /// The position in the block of the difference at `at`.
    #[inline]
    pub(super) fn place(&self, at: usize) -> usize {
        self.start() + at * self.width.bytes()
    }

    /// The integers from `from` up to, not including, `to`, if each is stored as one byte with base
    /// 0.
    #[inline]
    pub(super) fn bytes<'a>(&self, whole: &'a [u8], from: usize, to: usize) -> Option<&'a [u8]> {
        if self.width != LaneWidth::One || self.base != 0 {
            return None;
        }
        whole.get(self.start() + from..self.start() + to)
    }

    /// The differences from `from` up to, not including, `to`, as they are stored.
    #[inline]
    fn stored<'a>(&self, whole: &'a [u8], from: usize, to: usize) -> Option<&'a [u8]> {
        let (start, width) = (self.start(), self.width.bytes());
        whole.get(start + from * width..start + to * width)
    }

    /// Replaces the content of `into` with the integers from `from` up to, not including, `to`. Those of valid blocks have 32
    /// bits; a larger one becomes `u32::MAX`, which is valid nowhere.
    // Not by `for_each`: loops that extend a vector by a known length are vectorized.
    pub(super) fn unpack(
        &self,
        whole: &[u8],
        from: usize,
        to: usize,
        into: &mut Vec<u32>,
    ) -> Option<()> {
        let bytes = self.stored(whole, from, to)?;
        let base = u32::try_from(self.base).unwrap_or(u32::MAX);
        let above = |difference: u32| base.saturating_add(difference);
        into.clear();
        match self.width {
            LaneWidth::Zero => into.resize(to - from, base),
            LaneWidth::One => into.extend(bytes.iter().map(|&v| above(u32::from(v)))),
            LaneWidth::Two => {
                let all = bytes.as_chunks().0.iter();
                into.extend(all.map(|&v| above(u32::from(u16::from_le_bytes(v)))));
            }
            LaneWidth::Four => {
                let all = bytes.as_chunks().0.iter();
                into.extend(all.map(|&v| above(u32::from_le_bytes(v))));
            }
            LaneWidth::Eight => {
                let all = bytes.as_chunks().0.iter();
                let narrow = |v| u32::try_from(u64::from_le_bytes(v)).unwrap_or(u32::MAX);
                into.extend(all.map(|&v| above(narrow(v))));
            }
        }
        Some(())
    }

    /// Calls `each` with the integers from `from` up to, not including, `to`.
    #[inline]
    pub(super) fn for_each(
        &self,
        whole: &[u8],
        from: usize,
        to: usize,
        mut each: impl FnMut(u64),
    ) -> Option<()> {
        let bytes = self.stored(whole, from, to)?;
        let base = self.base;
        match self.width {
            LaneWidth::Zero => (from..to).for_each(|_| each(base)),
            LaneWidth::One => bytes
                .iter()
                .for_each(|&v| each(base.wrapping_add(u64::from(v)))),
            LaneWidth::Two => bytes
                .as_chunks()
                .0
                .iter()
                .for_each(|&v| each(base.wrapping_add(u64::from(u16::from_le_bytes(v))))),
            LaneWidth::Four => bytes
                .as_chunks()
                .0
                .iter()
                .for_each(|&v| each(base.wrapping_add(u64::from(u32::from_le_bytes(v))))),
            LaneWidth::Eight => bytes
                .as_chunks()
                .0
                .iter()
                .for_each(|&v| each(base.wrapping_add(u64::from_le_bytes(v)))),
        }
        Some(())
    }
}

#[inline]
fn element<const N: usize>(lane: &[u8], at: usize) -> Option<[u8; N]> {
    lane.get(at * N..)?.first_chunk::<N>().copied()
}

/// Appends a lane of integers.
pub(crate) fn put_ints_u64(values: &[u64], out: &mut Vec<u8>) {
    let low = values.iter().copied().min().unwrap_or(0);
    let high = values.iter().copied().max().unwrap_or(0);
    let width = put_lane_head(low, high, out);
    match width {
        LaneWidth::Zero => {}
        LaneWidth::One => out.extend(values.iter().map(|&v| (v - low) as u8)),
        LaneWidth::Two => out.extend(
            values
                .iter()
                .flat_map(|&v| ((v - low) as u16).to_le_bytes()),
        ),
        LaneWidth::Four => {
            out.extend(
                values
                    .iter()
                    .flat_map(|&v| ((v - low) as u32).to_le_bytes()),
            );
        }
        LaneWidth::Eight => out.extend(values.iter().flat_map(|&v| (v - low).to_le_bytes())),
    }
}

/// Appends a lane of integers.
pub(crate) fn put_ints_u32(values: &[u32], out: &mut Vec<u8>) {
    let low = values.iter().copied().min().unwrap_or(0);
    let high = values.iter().copied().max().unwrap_or(0);
    let width = put_lane_head(u64::from(low), u64::from(high), out);
    match width {
        LaneWidth::Zero => {}
        LaneWidth::One => out.extend(values.iter().map(|&v| (v - low) as u8)),
        LaneWidth::Two => out.extend(
            values
                .iter()
                .flat_map(|&v| ((v - low) as u16).to_le_bytes()),
        ),
        LaneWidth::Four | LaneWidth::Eight => {
            out.extend(values.iter().flat_map(|&v| (v - low).to_le_bytes()));
        }
    }
}

fn put_lane_head(low: u64, high: u64, out: &mut Vec<u8>) -> LaneWidth {
    let width = LaneWidth::for_largest(high - low);
    out.push(width.number());
    varint::put_u64(out, low);
    width
}

/// A run of bytes inside a block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run {
    pub(super) start: usize,
    pub(super) len: usize,
}

impl Run {
    /// Length (varint), then the bytes.
    pub(super) fn parse(whole: &[u8], reader: &mut ByteReader<'_>) -> Option<Self> {
        let len = usize::try_from(reader.varint_u64()?).ok()?;
        let start = offset_of(whole, reader);
        reader.take(len)?;
        Some(Self { start, len })
    }

    #[inline]
    pub(super) fn of<'a>(&self, whole: &'a [u8]) -> Option<&'a [u8]> {
        whole.get(self.start..self.start + self.len)
    }
}

/// Byte strings, one per entry.
#[derive(Clone, Copy, Debug)]
pub(super) enum BytesLane {
    /// Concatenated, with their lengths. If the lengths differ, `starts` holds the offset of every
    /// [`RESTART_INTERVAL`]th.
    Plain {
        lens: IntLane,
        starts: Option<IntLane>,
        data: Run,
    },
    /// The distinct ones, and the id of each entry's.
    Dictionary {
        count: usize,
        ends: IntLane,
        data: Run,
        ids: IntLane,
    },
}

const PLAIN: u8 = 0;
const DICTIONARY: u8 = 1;

impl BytesLane {
    pub(super) fn parse(whole: &[u8], reader: &mut ByteReader<'_>, count: usize) -> Option<Self> {
        match reader.u8()? {
            PLAIN => {
                let lens = IntLane::parse(whole, reader, count)?;
                let starts = if lens.is_constant() {
                    None
                } else {
                    let restarts = count.div_ceil(RESTART_INTERVAL);
                    Some(IntLane::parse(whole, reader, restarts)?)
                };
                let data = Run::parse(whole, reader)?;
                Some(Self::Plain { lens, starts, data })
            }
            DICTIONARY => {
                let distinct = usize::try_from(reader.varint_u64()?).ok()?;
                if distinct == 0 || distinct > count {
                    return None;
                }
                let ends = IntLane::parse(whole, reader, distinct)?;
                let data = Run::parse(whole, reader)?;
                let ids = IntLane::parse(whole, reader, count)?;
                Some(Self::Dictionary {
                    count: distinct,
                    ends,
                    data,
                    ids,
                })
            }
            _ => None,
        }
    }

    /// The start of entry `at`'s string in the data, and its length.
    #[inline]
    pub(super) fn locate(&self, whole: &[u8], at: usize) -> Option<(usize, usize)> {
        match self {
            Self::Plain { lens, starts, .. } => {
                let len = lens.get(whole, at)? as usize;
                let start = match starts {
                    None => at.checked_mul(len)?,
                    Some(starts) => {
                        let restart = at / RESTART_INTERVAL;
                        let mut start = starts.get(whole, restart)?;
                        for before in restart * RESTART_INTERVAL..at {
                            start = start.checked_add(lens.get(whole, before)?)?;
                        }
                        usize::try_from(start).ok()?
                    }
                };
                Some((start, len))
            }
            Self::Dictionary { ids, .. } => self.locate_id(whole, ids.get(whole, at)? as usize),
        }
    }

    /// The start of the dictionary's string `id` in the data, and its length.
    #[inline]
    pub(super) fn locate_id(&self, whole: &[u8], id: usize) -> Option<(usize, usize)> {
        let Self::Dictionary { count, ends, .. } = self else {
            return None;
        };
        if id >= *count {
            return None;
        }
        let start = match id.checked_sub(1) {
            None => 0,
            Some(before) => ends.get(whole, before)? as usize,
        };
        let len = (ends.get(whole, id)? as usize).checked_sub(start)?;
        Some((start, len))
    }

    /// The start of the data in the block.
    #[inline]
    pub(super) fn data_start(&self) -> usize {
        match self {
            Self::Plain { data, .. } | Self::Dictionary { data, .. } => data.start,
        }
    }

    /// Prefetches what is needed to find the strings of `count` entries from `at` on, as far as
    /// that is known without reading.
    #[inline]
    pub(super) fn prefetch(&self, whole: &[u8], at: usize, count: usize) {
        match self {
            Self::Plain {
                lens,
                starts: None,
                data,
            } => {
                let len = lens.base() as usize;
                let start = data.start.saturating_add(len.saturating_mul(at));
                prefetch(whole, start);
                prefetch(whole, start.saturating_add(len.saturating_mul(count)));
            }
            Self::Plain {
                lens,
                starts: Some(starts),
                ..
            } => {
                prefetch(whole, lens.place(at));
                prefetch(whole, starts.place(at / RESTART_INTERVAL));
            }
            Self::Dictionary { ids, .. } => prefetch(whole, ids.place(at)),
        }
    }

    #[inline]
    pub(super) fn data<'a>(&self, whole: &'a [u8]) -> Option<&'a [u8]> {
        match self {
            Self::Plain { data, .. } | Self::Dictionary { data, .. } => data.of(whole),
        }
    }

    /// The string of entry `at`.
    #[inline]
    pub(super) fn get<'a>(&self, whole: &'a [u8], at: usize) -> Option<&'a [u8]> {
        let (start, len) = self.locate(whole, at)?;
        self.data(whole)?.get(start..start.checked_add(len)?)
    }

    /// The strings from entry `at` on, in order.
    pub(super) fn walk(&self, whole: &[u8], at: usize) -> Option<LaneWalk> {
        let start = match self {
            Self::Plain { .. } => self.locate(whole, at)?.0,
            Self::Dictionary { .. } => 0,
        };
        Some(LaneWalk {
            lane: *self,
            at,
            start,
        })
    }

    /// The string `id` of the dictionary.
    #[inline]
    pub(super) fn word<'a>(&self, whole: &'a [u8], id: usize) -> Option<&'a [u8]> {
        let (start, len) = self.locate_id(whole, id)?;
        self.data(whole)?.get(start..start.checked_add(len)?)
    }

    /// The strings of the dictionary, to look up many of them. Their ends are unpacked into `ends`.
    pub(super) fn dictionary<'a>(
        &self,
        whole: &'a [u8],
        ends: &'a mut Vec<u32>,
    ) -> Option<Dictionary<'a>> {
        let Self::Dictionary {
            count,
            ends: lane,
            data,
            ..
        } = self
        else {
            return None;
        };
        lane.unpack(whole, 0, *count, ends)?;
        Some(Dictionary {
            ends,
            data: data.of(whole)?,
        })
    }

    /// Number of distinct strings, if there is a dictionary.
    pub(super) fn words(&self) -> Option<usize> {
        match self {
            Self::Plain { .. } => None,
            Self::Dictionary { count, .. } => Some(*count),
        }
    }
}

/// The strings of a dictionary.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dictionary<'a> {
    ends: &'a [u32],
    data: &'a [u8],
}

impl<'a> Dictionary<'a> {
    /// The string `id`.
    #[inline]
    pub(super) fn get(&self, id: u32) -> Option<&'a [u8]> {
        let id = id as usize;
        let start = match id.checked_sub(1) {
            None => 0,
            Some(before) => *self.ends.get(before)?,
        };
        self.data.get(start as usize..*self.ends.get(id)? as usize)
    }
}

/// Iterates over a lane of byte strings.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaneWalk {
    lane: BytesLane,
    at: usize,
    /// The start of entry `at`'s string in the data, in a plain lane.
    start: usize,
}

impl LaneWalk {
    /// The string of the next entry, which must be one of the block.
    #[inline]
    pub(super) fn next<'a>(&mut self, whole: &'a [u8]) -> Option<&'a [u8]> {
        let at = self.at;
        self.at += 1;
        let BytesLane::Plain { lens, .. } = &self.lane else {
            return self.lane.get(whole, at);
        };
        let end = self.start.checked_add(lens.get(whole, at)? as usize)?;
        let string = self.lane.data(whole)?.get(self.start..end)?;
        self.start = end;
        Some(string)
    }
}

/// Appends a lane of byte strings that follow each other in `data`.
pub(super) fn put_plain(lens: &[u32], data: &[u8], out: &mut Vec<u8>, starts: &mut Vec<u64>) {
    out.push(PLAIN);
    put_ints_u32(lens, out);
    let constant = lens.windows(2).all(|pair| pair[0] == pair[1]);
    if !constant {
        starts.clear();
        let mut at = 0;
        for group in lens.chunks(RESTART_INTERVAL) {
            starts.push(at);
            at += group.iter().map(|&len| u64::from(len)).sum::<u64>();
        }
        put_ints_u64(starts, out);
    }
    varint::put_u64(out, data.len() as u64);
    out.extend_from_slice(data);
}

/// Appends a lane of ids into a dictionary whose words end at `ends` in `data`.
pub(super) fn put_dictionary(ends: &[u32], data: &[u8], ids: &[u32], out: &mut Vec<u8>) {
    out.push(DICTIONARY);
    varint::put_u64(out, ends.len() as u64);
    put_ints_u32(ends, out);
    varint::put_u64(out, data.len() as u64);
    out.extend_from_slice(data);
    put_ints_u32(ids, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_beyond_32_bits_stay_out_of_range_when_unpacked() {
        let most = u64::from(u32::MAX);
        for values in [
            [1, 200],
            [most, most + 1],
            [most + 1, most + 2],
            [5, u64::MAX],
        ] {
            let mut bytes = Vec::new();
            put_ints_u64(&values, &mut bytes);
            let lane = IntLane::parse(&bytes, &mut ByteReader::new(&bytes), 2).expect("a lane");
            let mut unpacked = vec![7];
            assert_eq!(lane.unpack(&bytes, 0, 2, &mut unpacked), Some(()));
            let expected = values.map(|value| u32::try_from(value).unwrap_or(u32::MAX));
            assert_eq!(unpacked, expected);
        }
    }
}
