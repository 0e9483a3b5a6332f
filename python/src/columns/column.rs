//! One column of byte strings, in the layout in which it came where that can be read in place.

use arrow_array::{Array, BinaryViewArray};
use arrow_buffer::{Buffer, OffsetBuffer};
use ostrakon_cell::Error;

/// A run of byte strings.
pub(super) enum Chunk {
    /// Arrow's binary and string.
    Small(OffsetBuffer<i32>, Buffer),
    /// Arrow's large binary and string, and whatever was converted.
    Large(OffsetBuffer<i64>, Buffer),
    /// Arrow's binary and string views.
    View(BinaryViewArray),
    /// A dictionary: positions in other strings.
    Dictionary(Vec<u32>, Box<Self>),
}

impl Chunk {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Small(offsets, _) => offsets.len() - 1,
            Self::Large(offsets, _) => offsets.len() - 1,
            Self::View(array) => array.len(),
            Self::Dictionary(keys, _) => keys.len(),
        }
    }

    /// Entry `at`; panics past the end.
    #[inline]
    pub(super) fn get(&self, at: usize) -> &[u8] {
        match self {
            Self::Small(offsets, data) => &data[offsets[at] as usize..offsets[at + 1] as usize],
            Self::Large(offsets, data) => &data[offsets[at] as usize..offsets[at + 1] as usize],
            Self::View(array) => array.value(at),
            Self::Dictionary(keys, values) => values.get(keys[at] as usize),
        }
    }

    /// The longest entry, in bytes.
    fn longest(&self) -> usize {
        match self {
            Self::Small(offsets, _) => longest(offsets),
            Self::Large(offsets, _) => longest(offsets),
            Self::Dictionary(_, values) => values.longest(),
            Self::View(array) => array.lengths().max().unwrap_or(0) as usize,
        }
    }
}

fn longest<O: Copy + Into<i64>>(offsets: &[O]) -> usize {
    let lengths = offsets.windows(2).map(|pair| match pair {
        [from, to] => (*to).into() - (*from).into(),
        _ => 0,
    });
    lengths.max().unwrap_or(0) as usize
}

/// Collects byte strings one after the other.
pub(super) struct Collector {
    offsets: Vec<i64>,
    pub(super) data: Vec<u8>,
}

impl Collector {
    pub(super) fn with_capacity(entries: usize, bytes: usize) -> Self {
        let mut offsets = Vec::with_capacity(entries + 1);
        offsets.push(0);
        Self {
            offsets,
            data: Vec::with_capacity(bytes),
        }
    }

    /// Ends the entry whose bytes were appended to `data`.
    #[inline]
    pub(super) fn end(&mut self) {
        self.offsets.push(self.data.len() as i64);
    }

    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.data.extend_from_slice(bytes);
        self.end();
    }

    pub(super) fn finish(self) -> Chunk {
        Chunk::Large(
            OffsetBuffer::new(self.offsets.into()),
            Buffer::from_vec(self.data),
        )
    }
}

/// A column: one value for all entries, or chunks one after the other.
pub(crate) enum Column {
    /// The same for every entry.
    Constant(Vec<u8>),
    /// One for each entry.
    Chunks(Chunks),
}

/// Chunks and where each begins.
pub(crate) struct Chunks {
    chunks: Vec<Chunk>,
    starts: Vec<usize>,
    len: usize,
}

impl Column {
    pub(super) fn of_chunks(chunks: Vec<Chunk>) -> Self {
        let mut len = 0;
        let starts = chunks
            .iter()
            .map(|chunk| {
                let start = len;
                len += chunk.len();
                start
            })
            .collect();
        Self::Chunks(Chunks {
            chunks,
            starts,
            len,
        })
    }

    /// Entries, or `None` for a constant.
    pub(crate) fn len(&self) -> Option<usize> {
        match self {
            Self::Constant(_) => None,
            Self::Chunks(chunks) => Some(chunks.len),
        }
    }

    /// The longest entry, in bytes.
    pub(super) fn longest(&self) -> usize {
        match self {
            Self::Constant(bytes) => bytes.len(),
            Self::Chunks(chunks) => chunks.chunks.iter().map(Chunk::longest).max().unwrap_or(0),
        }
    }

    /// Entry `at`; panics past the end.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> &[u8] {
        match self {
            Self::Constant(bytes) => bytes,
            Self::Chunks(chunks) => match chunks.chunks.as_slice() {
                [one] => one.get(at),
                _ => self.segment(at).0.get(0),
            },
        }
    }

    /// Entries from `at` on that lie in one chunk, and how many there are (`usize::MAX` for a
    /// constant).
    pub(super) fn segment(&self, at: usize) -> (Segment<'_>, usize) {
        match self {
            Self::Constant(bytes) => (Segment::Constant(bytes), usize::MAX),
            Self::Chunks(chunks) => {
                // The last chunk that starts at or before `at`; empty ones are skipped.
                let index = chunks.starts.partition_point(|start| *start <= at) - 1;
                let offset = at - chunks.starts[index];
                let chunk = &chunks.chunks[index];
                (Segment::Chunk(chunk, offset), chunk.len() - offset)
            }
        }
    }

    /// The entries in order; a constant again and again without end.
    pub(crate) fn entries(&self) -> Box<dyn Iterator<Item = &[u8]> + '_> {
        match self {
            Self::Constant(bytes) => Box::new(std::iter::repeat(bytes.as_slice())),
            Self::Chunks(chunks) => Box::new(
                chunks
                    .chunks
                    .iter()
                    .flat_map(|chunk| (0..chunk.len()).map(|at| chunk.get(at))),
            ),
        }
    }

    /// Calls `visit` on every entry in order; a constant is one entry.
    pub(crate) fn each(&self, mut visit: impl FnMut(&[u8])) {
        match self {
            Self::Constant(bytes) => visit(bytes),
            Self::Chunks(chunks) => {
                for chunk in &chunks.chunks {
                    (0..chunk.len()).for_each(|at| visit(chunk.get(at)));
                }
            }
        }
    }

    /// Every distinct entry at least once, few of them twice: what a check of labels looks at.
    pub(super) fn try_each_candidate(
        &self,
        mut visit: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match self {
            Self::Constant(bytes) => visit(bytes),
            Self::Chunks(chunks) => {
                for chunk in &chunks.chunks {
                    let distinct = match chunk {
                        Chunk::Dictionary(_, values) => values,
                        other => other,
                    };
                    let mut last: Option<&[u8]> = None;
                    for at in 0..distinct.len() {
                        let entry = distinct.get(at);
                        if last != Some(entry) {
                            visit(entry)?;
                            last = Some(entry);
                        }
                    }
                }
                Ok(())
            }
        }
    }
}

/// Entries of a column that lie together.
pub(super) enum Segment<'a> {
    Constant(&'a [u8]),
    Chunk(&'a Chunk, usize),
}

impl<'a> Segment<'a> {
    /// Entry `at` of the segment; panics past its end.
    #[inline]
    pub(super) fn get(&self, at: usize) -> &'a [u8] {
        match self {
            Self::Constant(bytes) => bytes,
            Self::Chunk(chunk, offset) => chunk.get(offset + at),
        }
    }
}
