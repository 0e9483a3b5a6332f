//! Sorted files with a part of any bytes, every checksum right, and a reader that tries everything on them.

use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::{Batch, BatchLimit, ColumnSelection, Key, Range, SortedKeyValueIterator};
use ostrakon_store::cache::{BlockCache, CacheOptions};
use ostrakon_store::catalog::Fence;
use ostrakon_store::codec::BlockCodec;
use ostrakon_store::metrics::Metrics;
use ostrakon_store::sorted_file::format::{
    Description, Group, PartPlace, Partition, begin_frame, end_frame, put_footer, put_header,
};
use ostrakon_store::sorted_file::{FilterFunctor, SortedFile};
use ostrakon_store::vfs::{MemoryVfs, Vfs};

const IDENTITY: u64 = 7;

/// A file in the making.
pub(crate) struct Forge(Vec<u8>);

impl Forge {
    pub(crate) fn new() -> Self {
        let mut bytes = Vec::new();
        put_header(&mut bytes);
        Self(bytes)
    }

    /// Adds a part.
    pub(crate) fn part(&mut self, payload: &[u8]) -> PartPlace {
        let offset = self.0.len() as u64;
        let start = begin_frame(&mut self.0);
        self.0.extend_from_slice(payload);
        let bytes = payload.len();
        end_frame(
            &mut self.0,
            start,
            BlockCodec::None,
            bytes,
            offset,
            IDENTITY,
        );
        let bytes = self.0.len() as u64 - offset;
        PartPlace { offset, bytes }
    }

    /// Adds the rest and reads the whole.
    pub(crate) fn read(
        self,
        index: PartPlace,
        filter: Option<PartPlace>,
        blocks: u64,
        entries: u64,
    ) {
        self.read_as(false, index, filter, blocks, entries);
    }

    /// As `read`; the index may be the root of a partitioned one.
    pub(crate) fn read_as(
        mut self,
        partitioned: bool,
        index: PartPlace,
        filter: Option<PartPlace>,
        blocks: u64,
        entries: u64,
    ) {
        let description = Description {
            entries,
            last_row: vec![255; 4],
            functor: filter.map(|_| FilterFunctor::Row),
            partitions: filter
                .map(|place| Partition {
                    first_row: Vec::new(),
                    place,
                })
                .into_iter()
                .collect(),
            groups: vec![Group {
                index,
                partitioned,
                blocks,
                entries,
                ..Group::default()
            }],
            ..Description::default()
        };
        let place = self.part(&description.encode());
        read_all(&self.finish(place));
    }

    /// The bytes, with a footer that names the description.
    pub(crate) fn finish(mut self, description: PartPlace) -> Vec<u8> {
        put_footer(description, IDENTITY, &mut self.0);
        self.0
    }
}

/// Tries everything on a file of these bytes.
pub(crate) fn read_all(bytes: &[u8]) {
    let disk: Arc<dyn Vfs> = Arc::new(MemoryVfs::new());
    let path = Path::new("/1.sf");
    let Ok(mut file) = disk.create(path) else {
        return;
    };
    let written = file.write_all(bytes);
    assert!(written.is_ok(), "memory takes all bytes");
    let metrics = Arc::new(Metrics::default());
    let Ok(cache) = BlockCache::new(CacheOptions::default(), metrics.clone()) else {
        return;
    };
    let Ok(file) = SortedFile::open(&disk, path, 1, &cache, &metrics) else {
        return;
    };
    let _ = file.verify(&mut |_| {});
    let _ = file.estimate(&Fence::ALL);
    let _ = file.middle_rows(&Fence::ALL, 3);
    let mut iterator = file.iterator(&[Fence::ALL]);
    let mut batch = Batch::new();
    let small = BatchLimit {
        entries: 7,
        bytes: 1 << 20,
    };
    let ranges = [
        Range::all(),
        Range::row("b"),
        Range::row_column("", "a", ""),
        Range::keys(Some(Key::new("a", "b", "c")), false, None, false).unwrap_or_default(),
    ];
    for range in &ranges {
        if iterator.seek(range, &ColumnSelection::all()).is_err() {
            continue;
        }
        for _ in 0..64 {
            batch.clear();
            if !iterator.next_batch(&mut batch, small).unwrap_or(false) {
                break;
            }
        }
    }
}

/// The index of one block; entries as many as the block says in its first bytes.
pub(crate) fn index_of(block: PartPlace, entries: u64) -> Vec<u8> {
    fn varint(mut value: u64, out: &mut Vec<u8>) {
        while value > 127 {
            out.push(value as u8 | 128);
            value >>= 7;
        }
        out.push(value as u8);
    }
    let mut out = vec![1];
    varint(entries, &mut out);
    // No row prefix, an order prefix of zeros, one separator: the empty row.
    out.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0]);
    for number in [block.offset, block.bytes, 0] {
        out.push(0);
        varint(number, &mut out);
    }
    out
}
