//! `WholeRowIterator`: packs a row into one entry.

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, Entry, EntryRef, Error, Escaped,
    IteratorClass, IteratorEnvironment, IteratorOptions, Key, KeyPart, KeyRef, MAX_VALUE_BYTES,
    Range, SortedKeyValueIterator,
};

use super::options;
use crate::error::StoreResult;

/// Packs the entries of a row into one entry: its key has the row, an empty column and the greatest
/// timestamp, its value is the output of [`encode_row`]. So a reader sees a whole row or nothing of
/// it.
///
/// A range that begins or ends inside a row packs the part of the row inside the range, as in
/// Accumulo, where a reader selects some columns of a row this way. Only a range that begins
/// *after* a key that this iterator returned continues with the next row.
pub struct WholeRowIterator {
    source: BoxedIterator,
    /// Maximum bytes of a packed row.
    max: usize,
    look_ahead: Batch,
    at: usize,
    exhausted: bool,
    row: Vec<u8>,
    /// The row packed so far; empty between rows. Kept when the source fails in the middle.
    packed: Vec<u8>,
    count: u32,
}

impl WholeRowIterator {
    /// Packs the rows of `source`, which may take `max` bytes each.
    #[must_use]
    pub fn new(source: BoxedIterator, max: usize) -> Self {
        Self {
            source,
            max: max.min(MAX_VALUE_BYTES),
            look_ahead: Batch::new(),
            at: 0,
            exhausted: true,
            row: Vec::new(),
            packed: Vec::new(),
            count: 0,
        }
    }

    fn fill(&mut self, limit: BatchLimit) -> StoreResult<bool> {
        while self.at >= self.look_ahead.len() {
            if self.exhausted {
                return Ok(false);
            }
            self.look_ahead.clear();
            self.at = 0;
            self.exhausted = !self.source.next_batch(&mut self.look_ahead, limit)?;
        }
        Ok(true)
    }

    /// Reads entries until the row is complete; `false` when there is no further row.
    fn pack(&mut self, limit: BatchLimit) -> StoreResult<bool> {
        while self.fill(limit)? {
            let entry = self.look_ahead.entry(self.at);
            if self.count == 0 {
                self.row.clear();
                self.row.extend_from_slice(entry.key.row);
                self.packed.clear();
                self.packed.extend_from_slice(&[0; 4]);
            } else if entry.key.row != self.row {
                return Ok(true);
            }
            if self.packed.len() + encoded_len(entry) > self.max {
                return Err(Error::invalid(
                    "a row is too large to be packed into one entry: raise maxBufferSize, or \
                     fetch fewer columns",
                )
                .with("data", "a row")
                .with("maxBufferSize", self.max));
            }
            encode_entry(entry, &mut self.packed);
            self.count += 1;
            self.at += 1;
        }
        Ok(self.count > 0)
    }
}

impl SortedKeyValueIterator for WholeRowIterator {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> StoreResult<()> {
        self.look_ahead.clear();
        self.at = 0;
        self.count = 0;
        self.exhausted = true;
        let returned = range.start().filter(|start| {
            !range.start_inclusive()
                && start.timestamp == i64::MAX
                && start.family.is_empty()
                && start.qualifier.is_empty()
                && start.visibility.is_empty()
        });
        match returned {
            None => self.source.seek(range, columns)?,
            Some(start) => {
                let next = start.following(KeyPart::Row);
                if range.after_end(next.as_ref()) {
                    return Ok(());
                }
                let end = (range.end().cloned(), range.end_inclusive());
                let rest = Range::keys(Some(next), true, end.0, end.1)?;
                self.source.seek(&rest, columns)?;
            }
        }
        self.exhausted = false;
        Ok(())
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> StoreResult<bool> {
        while !out.is_full(limit) {
            if !self.pack(limit)? {
                return Ok(false);
            }
            if let Some(place) = self.packed.first_chunk_mut() {
                *place = self.count.to_be_bytes();
            }
            let key = KeyRef {
                row: &self.row,
                family: &[],
                qualifier: &[],
                visibility: &[],
                timestamp: i64::MAX,
                deleted: false,
            };
            out.push(key, &self.packed)?;
            self.count = 0;
        }
        Ok(true)
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self::new(self.source.deep_copy(), self.max))
    }
}

fn encoded_len(entry: EntryRef<'_>) -> usize {
    24 + entry.key.byte_len() - entry.key.row.len() + entry.value.len()
}

fn encode_entry(entry: EntryRef<'_>, out: &mut Vec<u8>) {
    let field = |out: &mut Vec<u8>, bytes: &[u8]| {
        out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
        out.extend_from_slice(bytes);
    };
    field(out, entry.key.family);
    field(out, entry.key.qualifier);
    field(out, entry.key.visibility);
    out.extend_from_slice(&entry.key.timestamp.to_be_bytes());
    field(out, entry.value);
}

/// Packs entries of one row into a value, as Accumulo's `WholeRowIterator` does: the number of
/// entries, then for each the family, qualifier and visibility, the timestamp, and the value. Byte
/// strings have their length before them. Count and lengths take 4 bytes, timestamps 8, all
/// big-endian. Neither the row nor delete markers have a place in it.
pub fn encode_row<'a>(entries: impl IntoIterator<Item = EntryRef<'a>>) -> Vec<u8> {
    let mut packed = vec![0; 4];
    let mut count = 0_u32;
    for entry in entries {
        encode_entry(entry, &mut packed);
        count += 1;
    }
    if let Some(place) = packed.first_chunk_mut() {
        *place = count.to_be_bytes();
    }
    packed
}

/// The entries in a value that [`encode_row`] wrote, or Accumulo.
///
/// ```
/// use ostrakon_cell::{Entry, Key};
/// use ostrakon_store::iterator::user::{decode_row, encode_row};
/// let entry = Entry { key: Key::new("alice", "edge", "bob"), value: b"cited".to_vec() };
/// let packed = encode_row([entry.as_ref()]);
/// assert_eq!(decode_row(b"alice", &packed)?, [entry]);
/// # Ok::<(), ostrakon_cell::Error>(())
/// ```
///
/// # Errors
/// [`Corruption`](crate::error::ErrorKind::Corruption) when the value is not a packed row.
pub fn decode_row(row: &[u8], value: &[u8]) -> StoreResult<Vec<Entry>> {
    let mut rest = value;
    let decoded = (|| {
        let count = u32::from_be_bytes(take(&mut rest)?);
        let mut entries = Vec::new();
        for _ in 0..count {
            let (family, qualifier) = (field(&mut rest)?, field(&mut rest)?);
            let visibility = field(&mut rest)?;
            let timestamp = i64::from_be_bytes(take(&mut rest)?);
            entries.push(Entry {
                key: Key {
                    row: row.to_vec(),
                    family,
                    qualifier,
                    visibility,
                    timestamp,
                    deleted: false,
                },
                value: field(&mut rest)?,
            });
        }
        rest.is_empty().then_some(entries)
    })();
    decoded
        .ok_or_else(|| Error::corruption("the value is not a packed row").with("row", Escaped(row)))
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (bytes, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(*bytes)
}

fn field(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let len = u32::from_be_bytes(take(rest)?) as usize;
    let (bytes, behind) = rest.split_at_checked(len)?;
    *rest = behind;
    Some(bytes.to_vec())
}

/// Default maximum of the bytes of a packed row.
const DEFAULT_MAX_BYTES: usize = 64 << 20;

/// The class of [`WholeRowIterator`].
pub(super) struct WholeRow;

impl WholeRow {
    fn max(options: &IteratorOptions) -> StoreResult<usize> {
        options::only(options, &["maxBufferSize"])?;
        let max = options::size(options, "maxBufferSize")?;
        Ok(max.map_or(DEFAULT_MAX_BYTES, |max| {
            usize::try_from(max).unwrap_or(usize::MAX)
        }))
    }
}

impl IteratorClass for WholeRow {
    fn names(&self) -> &[&str] {
        &["org.apache.accumulo.core.iterators.user.WholeRowIterator"]
    }

    fn describe(&self) -> &str {
        "Packs each row into one entry. For scans only. Option: maxBufferSize (64M, at most 256M): \
         the largest packed row in bytes; K, M and G are accepted. A larger row is an error."
    }

    fn validate(&self, options: &IteratorOptions) -> StoreResult<()> {
        Self::max(options).map(|_| ())
    }

    fn scans_only(&self) -> bool {
        true
    }

    fn init(
        &self,
        source: BoxedIterator,
        options: &IteratorOptions,
        _: &IteratorEnvironment,
    ) -> StoreResult<BoxedIterator> {
        Ok(Box::new(WholeRowIterator::new(source, Self::max(options)?)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::iterator::testing::{MemorySource, entry, init, read};

    fn sample() -> Vec<Entry> {
        vec![
            entry("a", "p", "", 3, "one"),
            entry("a", "q", "A|B", 2, "two"),
            entry("b", "p", "", 1, ""),
            entry("c", "p", "", 5, "three"),
            entry("c", "r", "", 5, "four"),
        ]
    }

    fn rows(range: &Range, step: usize) -> Vec<Entry> {
        let source = MemorySource::boxed(sample(), step);
        let mut whole = init("WholeRowIterator", &[], source).expect("sound");
        let packed = read(&mut *whole, range, &ColumnSelection::all(), 2).expect("reads");
        for entry in &packed {
            assert_eq!(entry.key.timestamp, i64::MAX);
            assert!(!entry.key.deleted && entry.key.as_ref().byte_len() == entry.key.row.len());
        }
        packed
    }

    fn unpacked(packed: &[Entry]) -> Vec<Entry> {
        packed
            .iter()
            .flat_map(|entry| decode_row(&entry.key.row, &entry.value).expect("a packed row"))
            .collect()
    }

    #[test]
    fn rows_are_packed_whole_and_come_back() {
        for step in 1..=6 {
            let packed = rows(&Range::all(), step);
            assert_eq!(packed.len(), 3);
            assert_eq!(unpacked(&packed), sample());
        }
    }

    #[test]
    fn the_bytes_are_accumulos() {
        let packed = rows(&Range::row("a"), 2);
        let wanted = b"\0\0\0\x02\
            \0\0\0\x01f\0\0\0\x01p\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\x03one\
            \0\0\0\x01f\0\0\0\x01q\0\0\0\x03A|B\0\0\0\0\0\0\0\x02\0\0\0\x03two";
        assert_eq!(packed[0].value, wanted);
    }

    #[test]
    fn a_scan_goes_on_behind_a_row_it_got() {
        let first = rows(&Range::all(), 3).remove(0);
        let rest = Range::all().after(first.key.as_ref()).expect("not empty");
        assert_eq!(unpacked(&rows(&rest, 3)), sample()[2..]);
        let ended = Range::keys(Some(first.key.clone()), false, Some(first.key), true);
        assert!(rows(&ended.expect("sound"), 3).is_empty());
    }

    #[test]
    fn a_range_inside_a_row_packs_that_part() {
        let packed = rows(&Range::row_column("c", "f", "r"), 1);
        assert_eq!(unpacked(&packed), sample()[4..]);
    }

    #[test]
    fn rows_too_large_are_refused() {
        let whole = |max: &str| {
            let source = MemorySource::boxed(sample(), 1);
            let mut whole = init("WholeRowIterator", &[("maxBufferSize", max)], source)?;
            read(&mut *whole, &Range::all(), &ColumnSelection::all(), 9)
        };
        assert_eq!(whole("1K").expect("fits").len(), 3);
        assert_eq!(whole("65").expect("just fits").len(), 3, "4 + 29 + 32");
        let error = whole("64").expect_err("one byte too many");
        let said = error.to_string();
        assert!(
            said.contains("maxBufferSize: 64") && !said.contains("row: "),
            "{said}"
        );
        assert!(whole("lots").is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(entries) = decode_row(b"row", &bytes) {
                prop_assert_eq!(encode_row(entries.iter().map(Entry::as_ref)), bytes);
            }
        }
    }
}
