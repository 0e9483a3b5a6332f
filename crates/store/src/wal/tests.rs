#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostrakon_cell::{ColumnUpdate, MutationBatch};

use super::*;
use crate::vfs::{MemoryVfs, RealVfs, Vfs};

const ORIGIN: LogOrigin = LogOrigin {
    store: 11,
    session: 12,
};

fn begin(vfs: &Arc<dyn Vfs>, dir: &Path, number: u64, previous: SegmentEnd) -> WalWriter {
    WalWriter::create(vfs, dir, number, ORIGIN, previous).unwrap()
}

fn open(vfs: &dyn Vfs, path: &Path, is_last: bool) -> crate::error::StoreResult<SegmentReader> {
    let place = SegmentPlace {
        number: 7,
        store: 11,
        is_last,
        ..SegmentPlace::default()
    };
    SegmentReader::open(vfs, path, place)
}

fn written(payloads: &[&[u8]], sync_after: usize) -> (Arc<dyn Vfs>, PathBuf) {
    let vfs = MemoryVfs::shared();
    let dir = Path::new("/wal");
    vfs.create_dir_all(dir).unwrap();
    let mut writer = begin(&vfs, dir, 7, SegmentEnd::default());
    for (at, payload) in payloads.iter().enumerate() {
        let header = RecordHeader {
            sequence: at as u64 + 1,
            table: 3,
            ..RecordHeader::default()
        };
        writer
            .append([(header, *payload)].into_iter(), true)
            .unwrap();
        if at + 1 == sync_after {
            writer.sync().unwrap();
        }
    }
    let (number, path) = list_segments(&*vfs, dir).unwrap().pop().unwrap();
    assert_eq!(number, 7);
    (vfs, path)
}

fn read(vfs: &dyn Vfs, path: &Path, is_last: bool) -> (Vec<Vec<u8>>, Option<Damage>) {
    let mut reader = open(vfs, path, is_last).unwrap();
    let mut payloads = Vec::new();
    while let Some((header, payload)) = reader.next_record() {
        assert_eq!(header.sequence, payloads.len() as u64 + 1);
        payloads.push(payload.to_vec());
    }
    (payloads, reader.damage().cloned())
}

fn rewrite(vfs: &dyn Vfs, path: &Path, change: impl Fn(&mut Vec<u8>)) {
    let mut bytes = vfs.read_to_vec(path, u64::MAX).unwrap();
    change(&mut bytes);
    vfs.replace(path, &bytes).unwrap();
}

#[test]
fn a_segment_without_records_is_removed() {
    // Its beginning may be bytes left by a failed sync, which are lost with the next power failure.
    for tail in [&b""[..], b"torn"] {
        let (vfs, path) = written(&[], 0);
        rewrite(&*vfs, &path, |bytes| bytes.extend_from_slice(tail));
        let mut reader = open(&*vfs, &path, true).unwrap();
        assert!(reader.next_record().is_none() && reader.damage().is_none());
        assert!(!reader.settle(&*vfs).unwrap());
        assert!(!vfs.exists(&path).unwrap());
    }
}

#[test]
fn a_segment_with_an_incomplete_header_is_empty() {
    // A file may have its length before it has its bytes.
    for begun in [vec![], vec![0; 7], vec![0; SEGMENT_HEADER_BYTES]] {
        let (vfs, path) = written(&[], 0);
        rewrite(&*vfs, &path, |bytes| *bytes = begun.clone());
        assert_eq!(read(&*vfs, &path, true), (vec![], None), "{begun:?}");
        assert!(open(&*vfs, &path, false).is_err());
    }
    let (vfs, path) = written(&[b"x"], 1);
    rewrite(&*vfs, &path, |bytes| bytes[..SEGMENT_HEADER_BYTES].fill(0));
    assert!(open(&*vfs, &path, true).is_err());
}

#[test]
fn a_segment_shorter_than_recorded_is_damage() {
    let payloads: [&[u8]; 3] = [b"one", b"two", b"three"];
    let (vfs, path) = written(&payloads, 3);
    let whole = vfs.read_to_vec(&path, u64::MAX).unwrap();
    let damage = |len: usize, end: u64| {
        rewrite(&*vfs, &path, |bytes| *bytes = whole[..len].to_vec());
        let place = SegmentPlace {
            number: 7,
            is_last: true,
            written: end,
            ..SegmentPlace::default()
        };
        let mut reader = SegmentReader::open(&*vfs, &path, place).unwrap();
        while reader.next_record().is_some() {}
        reader.damage().cloned()
    };
    let last_begins = (whole.len() - RECORD_HEADER_BYTES - 5) as u64;
    for len in 0..whole.len() {
        assert_eq!(damage(len, 0), None, "cut to {len}: nothing is known");
        let known = damage(len, whole.len() as u64).unwrap();
        assert!(known.offset <= len as u64, "cut to {len}: {known:?}");
        assert_eq!(
            damage(len, last_begins).is_none(),
            len as u64 >= last_begins
        );
    }
    assert_eq!(damage(whole.len(), whole.len() as u64), None);
}

#[test]
fn missing_segments_are_found_by_their_names() {
    let missing = |present: &[u64], first, last| -> Vec<String> {
        let present: Vec<_> = present.iter().map(|n| (*n, PathBuf::new())).collect();
        let gaps = missing_segments(Path::new("/wal"), &present, first, last);
        gaps.iter()
            .map(|gap| {
                let name = gap.path.file_stem().unwrap().to_string_lossy();
                let number: u64 = name.parse().unwrap();
                format!("{number}: {}", gap.message.split(' ').next().unwrap())
            })
            .collect()
    };
    let none: [&str; 0] = [];
    assert_eq!(missing(&[], 0, 0), none);
    assert_eq!(missing(&[3, 9], 0, 7), none, "nothing is known");
    assert_eq!(
        missing(&[], 5, 0),
        none,
        "the newest may never have existed"
    );
    assert_eq!(missing(&[], 5, 4), none);
    assert_eq!(
        missing(&[1, 3, 5, 6], 5, 0),
        none,
        "older ones may be deleted"
    );
    assert_eq!(missing(&[5, 6, 7], 5, 6), none, "later ones may exist");
    assert_eq!(missing(&[6, 7], 5, 0), ["5: a"]);
    assert_eq!(missing(&[5, 7], 5, 0), ["6: a"]);
    assert_eq!(missing(&[5, 6], 5, 7), ["7: a"]);
    assert_eq!(missing(&[], 5, 5), ["5: a"]);
    assert_eq!(missing(&[2, 7, 11], 5, 12), ["5: 2", "8: 3", "12: a"]);
    let far = u64::MAX - 1;
    assert_eq!(missing(&[5, far], 5, 0), [format!("6: {}", far - 6)]);
}

#[test]
fn records_come_back_in_order() {
    let (vfs, path) = written(&[b"one", b"", b"three"], 3);
    let (payloads, damage) = read(&*vfs, &path, true);
    assert_eq!(payloads, [b"one".to_vec(), b"".to_vec(), b"three".to_vec()]);
    assert_eq!(damage, None);
}

#[test]
fn a_torn_end_is_damage_except_in_the_last_segment() {
    for cut in 1..(RECORD_HEADER_BYTES + 5) {
        let (vfs, path) = written(&[b"first", b"other"], 1);
        rewrite(&*vfs, &path, |bytes| bytes.truncate(bytes.len() - cut));
        let (payloads, damage) = read(&*vfs, &path, true);
        assert_eq!((payloads.len(), damage), (1, None), "cut {cut}");
        assert!(read(&*vfs, &path, false).1.is_some(), "cut {cut}");
    }
}

#[test]
fn a_settled_segment_may_be_followed_by_others() {
    for cut in 0..(RECORD_HEADER_BYTES + 5) {
        let (vfs, path) = written(&[b"first", b"other"], 1);
        rewrite(&*vfs, &path, |bytes| bytes.truncate(bytes.len() - cut));
        let mut reader = open(&*vfs, &path, true).unwrap();
        while reader.next_record().is_some() {}
        reader.settle(&*vfs).unwrap();
        let (payloads, damage) = read(&*vfs, &path, false);
        assert_eq!((payloads.len(), damage), (2 - usize::from(cut > 0), None));
    }
    let (vfs, path) = written(&[], 0);
    rewrite(&*vfs, &path, |bytes| bytes.truncate(5));
    let reader = open(&*vfs, &path, true).unwrap();
    reader.settle(&*vfs).unwrap();
    assert!(!vfs.exists(&path).unwrap());
}

#[test]
fn a_flipped_bit_before_synced_records_is_damage() {
    let (vfs, path) = written(&[b"first", b"second", b"third"], 2);
    let first_payload = SEGMENT_HEADER_BYTES + RECORD_HEADER_BYTES;
    rewrite(&*vfs, &path, |bytes| bytes[first_payload] ^= 1);
    let (payloads, damage) = read(&*vfs, &path, true);
    assert!(payloads.is_empty());
    let damage = damage.expect("the third record proves that the first was synced");
    assert_eq!(damage.offset, SEGMENT_HEADER_BYTES as u64);
    // Without a later record as proof the same flipped bit counts as a torn end.
    let (vfs, path) = written(&[b"first", b"second", b"third"], 9);
    rewrite(&*vfs, &path, |bytes| bytes[first_payload] ^= 1);
    assert_eq!(read(&*vfs, &path, true), (Vec::new(), None));
}

/// Ends a segment as earlier versions did on close.
fn seal(writer: &mut WalWriter) {
    writer.sync().unwrap();
    let seal = RecordHeader {
        table: format::NO_TABLE,
        sequence: 1,
        ..RecordHeader::default()
    };
    writer
        .append([(seal, &b""[..])].into_iter(), false)
        .unwrap();
}

#[test]
fn a_segment_is_continued_where_it_ended() {
    let (vfs, path) = written(&[b"first", b"second"], 2);
    let end = || {
        let mut reader = open(&*vfs, &path, true).unwrap();
        while reader.next_record().is_some() {}
        let len = vfs.len(&path).unwrap();
        assert!(reader.open_end(len - 1).is_none());
        reader.open_end(len).unwrap()
    };
    let header = |sequence| RecordHeader {
        sequence,
        table: 3,
        ..RecordHeader::default()
    };
    let dir = Path::new("/wal");
    for sequence in [3, 4] {
        let mut writer = WalWriter::resume(&vfs, dir, ORIGIN, &end()).unwrap();
        assert_eq!(
            (writer.number(), writer.make_way_for(100).unwrap()),
            (7, false)
        );
        let record = [(header(sequence), &b"more"[..])];
        writer.append(record.into_iter(), true).unwrap();
        writer.sync().unwrap();
    }
    let mut writer = WalWriter::resume(&vfs, dir, ORIGIN, &end()).unwrap();
    let before = writer.end();
    assert!(writer.make_way_for(1 << 20).unwrap());
    assert_eq!(writer.number(), 8);
    let (payloads, damage) = read(&*vfs, &path, false);
    assert_eq!(payloads, [&b"first"[..], b"second", b"more", b"more"]);
    assert_eq!(damage, None);
    let place = SegmentPlace {
        number: 8,
        is_last: true,
        ..SegmentPlace::default()
    };
    let next = SegmentReader::open(&*vfs, &dir.join("0000000000000008.wal"), place).unwrap();
    assert_eq!(next.previous(), before);
}

#[test]
fn a_flipped_bit_in_a_sealed_segment_is_damage_even_in_its_last_record() {
    let vfs = MemoryVfs::shared();
    let dir = Path::new("/wal");
    vfs.create_dir_all(dir).unwrap();
    let mut writer = begin(&vfs, dir, 7, SegmentEnd::default());
    let header = RecordHeader {
        sequence: 1,
        table: 3,
        ..RecordHeader::default()
    };
    writer
        .append([(header, &b"only"[..])].into_iter(), false)
        .unwrap();
    seal(&mut writer);
    let path = list_segments(&*vfs, dir).unwrap().pop().unwrap().1;
    let whole = vfs.read_to_vec(&path, u64::MAX).unwrap();
    for at in SEGMENT_HEADER_BYTES..SEGMENT_HEADER_BYTES + RECORD_HEADER_BYTES + 4 {
        vfs.replace(&path, &whole).unwrap();
        rewrite(&*vfs, &path, |bytes| bytes[at] ^= 0x10);
        let (payloads, damage) = read(&*vfs, &path, true);
        assert!(payloads.is_empty() && damage.is_some(), "byte {at}");
    }
    // The seal itself may be torn: it was not acknowledged.
    vfs.replace(&path, &whole).unwrap();
    rewrite(&*vfs, &path, |bytes| bytes.truncate(bytes.len() - 1));
    let (payloads, damage) = read(&*vfs, &path, true);
    assert_eq!((payloads.len(), damage), (1, None));
}

#[test]
fn a_segment_of_a_newer_version_is_rejected_by_name() {
    let (vfs, path) = written(&[b"x"], 1);
    rewrite(&*vfs, &path, |bytes| {
        bytes[8] = 9;
        let end = SEGMENT_HEADER_BYTES - 4;
        let sum = crate::codec::checksum(&bytes[..end]).to_le_bytes();
        bytes[end..SEGMENT_HEADER_BYTES].copy_from_slice(&sum);
    });
    let error = open(&*vfs, &path, true).err().unwrap();
    assert_eq!(error.kind(), crate::error::ErrorKind::NewerFormat);
    // A flipped bit in the number of this version is not taken for a newer version.
    let (vfs, path) = written(&[b"x"], 1);
    rewrite(&*vfs, &path, |bytes| bytes[8] ^= 8);
    let error = open(&*vfs, &path, true).err().unwrap();
    assert_eq!(error.kind(), crate::error::ErrorKind::Corruption);
    // Nor are other bytes in its place.
    rewrite(&*vfs, &path, |bytes| bytes[10..14].fill(b'Z'));
    let error = open(&*vfs, &path, true).err().unwrap();
    assert_eq!(error.kind(), crate::error::ErrorKind::Corruption);
    rewrite(&*vfs, &path, |bytes| bytes[0] = 0);
    let error = open(&*vfs, &path, true).err().unwrap();
    assert!(error.to_string().contains(".wal"), "{error}");
}

/// Row, qualifier, label, timestamp, value; none for a delete.
type Update<'a> = (&'a str, &'a str, &'a str, Option<i64>, Option<&'a str>);

/// Puts, a delete, labels, long and empty parts, timestamps given and not.
fn specimen() -> Vec<(RecordHeader, MutationBatch)> {
    let long = "l".repeat(300);
    let rows: [Update<'_>; 6] = [
        ("alice", "bob", "", None, Some("1")),
        ("alice", "carl", "a&(b|c)", Some(-7), Some("")),
        ("alice", "dora", "a", Some(i64::MAX), None),
        ("bob", "", "", None, None),
        (&long, &long, "", Some(0), Some(&long)),
        ("", "\0\u{ff}", "a", None, Some("2")),
    ];
    let batch = |rows: &[Update<'_>]| {
        let mut batch = MutationBatch::new();
        for (row, qualifier, visibility, timestamp, value) in rows {
            let update = ColumnUpdate {
                family: b"edge",
                qualifier: qualifier.as_bytes(),
                visibility: visibility.as_bytes(),
                timestamp: *timestamp,
                value: value.map(str::as_bytes),
            };
            batch.put(row.as_bytes(), update).unwrap();
        }
        batch
    };
    let of = |at: u64, batch: MutationBatch| {
        let header = RecordHeader {
            sequence: 41 + at,
            table: 1 + at as u32 % 2,
            updates: batch.len() as u32,
            timestamp: 1_700_000_000_000 + at as i64,
            ..RecordHeader::default()
        };
        (header, batch)
    };
    vec![
        of(0, batch(&rows[..3])),
        of(1, batch(&rows[3..5])),
        of(2, batch(&rows[5..])),
    ]
}

/// The specimen as this version writes it: two records, a sync, one more.
fn write_specimen(vfs: &Arc<dyn Vfs>, dir: &Path) -> PathBuf {
    vfs.create_dir_all(dir).unwrap();
    let mut writer = begin(vfs, dir, 7, SegmentEnd::default());
    let records = specimen();
    let payload = |at: usize| (records[at].0, records[at].1.encoded());
    writer
        .append([payload(0), payload(1)].into_iter(), false)
        .unwrap();
    writer.sync().unwrap();
    writer.append([payload(2)].into_iter(), true).unwrap();
    list_segments(&**vfs, dir).unwrap().pop().unwrap().1
}

fn fixture_folder(version: u32) -> PathBuf {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    repository.join(format!("fixtures/wal-{version}"))
}

/// Reads the specimen from the fixture of a version; returns its file.
fn read_fixture(version: u32) -> PathBuf {
    let (_, path) = list_segments(&RealVfs, &fixture_folder(version))
        .ok()
        .and_then(|mut segments| segments.pop())
        .expect("a new format needs a fixture: run writes_the_fixture_of_this_format");
    let mut reader = open(&RealVfs, &path, false).unwrap();
    let mut synced = Vec::new();
    for (expected, batch) in specimen() {
        let (header, payload) = reader.next_record().unwrap();
        synced.push(header.synced);
        let expected = RecordHeader {
            payload_len: batch.byte_len() as u32,
            synced: header.synced,
            offset: header.offset,
            ..expected
        };
        assert_eq!(header, expected);
        let read = MutationBatch::from_encoded(payload.to_vec()).unwrap();
        let (read, wrote): (Vec<_>, Vec<_>) = (read.updates().collect(), batch.updates().collect());
        assert_eq!(format!("{read:?}"), format!("{wrote:?}"));
    }
    assert!(reader.next_record().is_none() && reader.damage().is_none());
    assert!(
        synced[0] == synced[1] && synced[1] < synced[2],
        "{synced:?}"
    );
    path
}

#[test]
fn a_segment_of_version_1_is_read() {
    let path = read_fixture(1);
    let bytes = RealVfs.read_to_vec(&path, u64::MAX).unwrap();
    // Its number and the order of its records are checked, although its header has few fields.
    let vfs = MemoryVfs::shared();
    let renamed = Path::new("/0000000000000008.wal");
    vfs.replace(renamed, &bytes).unwrap();
    let place = SegmentPlace {
        number: 8,
        is_last: true,
        ..SegmentPlace::default()
    };
    let error = SegmentReader::open(&*vfs, renamed, place).err().unwrap();
    assert!(error.to_string().contains("renamed"), "{error}");
    let first_record = 24..24 + 40 + specimen()[0].1.byte_len();
    let doubled = [&bytes[..first_record.end], &bytes[first_record]].concat();
    vfs.replace(&path_of(7), &doubled).unwrap();
    let mut reader = open(&*vfs, &path_of(7), true).unwrap();
    while reader.next_record().is_some() {}
    assert!(reader.damage().is_some());
}

fn path_of(number: u64) -> PathBuf {
    PathBuf::from(format!("/{number:016}.wal"))
}

/// A log left by a crash is replayed by any version started next: neither the segments nor the
/// batches in them may change without a new version number.
#[test]
fn the_fixture_of_this_format_still_reads_and_writes_the_same() {
    let path = read_fixture(format::VERSION);
    let disk = MemoryVfs::shared();
    let fresh = write_specimen(&disk, Path::new("/wal"));
    assert_eq!(
        disk.read_to_vec(&fresh, u64::MAX).unwrap(),
        RealVfs.read_to_vec(&path, u64::MAX).unwrap(),
        "the written bytes have changed without a new version"
    );
}

#[test]
#[ignore = "run by hand when the format changes; never replaces a fixture"]
fn writes_the_fixture_of_this_format() {
    write_specimen(&RealVfs::shared(), &fixture_folder(format::VERSION));
}

/// Three segments with three records each, the last one not closed.
fn log_of_three() -> (Arc<dyn Vfs>, Vec<PathBuf>) {
    let vfs = MemoryVfs::shared();
    let dir = Path::new("/wal");
    vfs.create_dir_all(dir).unwrap();
    let mut writer = begin(&vfs, dir, 7, SegmentEnd::default());
    for sequence in 1..=9 {
        let header = RecordHeader {
            sequence,
            table: 3,
            ..RecordHeader::default()
        };
        let payload = format!("record {sequence}");
        let records = [(header, payload.as_bytes())];
        writer.append(records.into_iter(), true).unwrap();
        if sequence == 3 || sequence == 6 {
            writer.roll().unwrap();
        }
    }
    let segments = list_segments(&*vfs, dir).unwrap();
    let paths = segments.into_iter().map(|(_, path)| path).collect();
    (vfs, paths)
}

/// The sequences that are read, and the files that are damaged.
fn read_log(vfs: &dyn Vfs) -> (Vec<u64>, Vec<PathBuf>) {
    let known = KnownLog {
        store: 11,
        first: 7,
        ..KnownLog::default()
    };
    let mut log = LogReader::open(vfs, Path::new("/wal"), known).unwrap();
    let (mut sequences, mut damaged) = (Vec::new(), Vec::new());
    while let Some(part) = log.next_part().unwrap() {
        match part {
            LogPart::Damage(damage) => damaged.push(damage.path),
            LogPart::Segment(mut reader) => {
                while let Some((header, _)) = reader.next_record() {
                    sequences.push(header.sequence);
                }
                damaged.extend(log.close(&reader).map(|damage| damage.path.clone()));
            }
        }
    }
    (sequences, damaged)
}

const RECORD: usize = RECORD_HEADER_BYTES + "record 1".len();

/// A segment that is not the last, cut at the end of a record: all remaining records are complete.
#[test]
fn a_closed_segment_that_was_cut_at_the_end_of_a_record_is_named() {
    let (vfs, paths) = log_of_three();
    assert_eq!(read_log(&*vfs), ((1..=9).collect(), vec![]));
    for records in 0..3 {
        let (vfs, paths) = log_of_three();
        let len = SEGMENT_HEADER_BYTES + records * RECORD;
        rewrite(&*vfs, &paths[1], |bytes| bytes.truncate(len));
        let (sequences, damaged) = read_log(&*vfs);
        assert_eq!(sequences.len(), 6 + records);
        assert_eq!(damaged, [paths[1].clone()]);
    }
    // A crash may cut off the end of the last one.
    for records in 0..3 {
        let len = SEGMENT_HEADER_BYTES + records * RECORD;
        rewrite(&*vfs, &paths[2], |bytes| bytes.truncate(len));
        // From the second round on it is shorter and the same file is found again.
        if records == 0 {
            assert_eq!(read_log(&*vfs), ((1..=6).collect(), vec![]));
        }
    }
}

#[test]
fn segments_that_changed_places_are_named() {
    for (from, to) in [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)] {
        // Copied over.
        let (vfs, paths) = log_of_three();
        let bytes = vfs.read_to_vec(&paths[from], u64::MAX).unwrap();
        vfs.replace(&paths[to], &bytes).unwrap();
        let (_, damaged) = read_log(&*vfs);
        assert!(
            damaged.contains(&paths[to]),
            "{from} over {to}: {damaged:?}"
        );
        // Swapped.
        let (vfs, paths) = log_of_three();
        let other = vfs.read_to_vec(&paths[to], u64::MAX).unwrap();
        vfs.replace(&paths[to], &bytes).unwrap();
        vfs.replace(&paths[from], &other).unwrap();
        let (_, damaged) = read_log(&*vfs);
        for path in [&paths[from], &paths[to]] {
            assert!(damaged.contains(path), "{from} and {to}: {damaged:?}");
        }
    }
    // The same number in another store.
    let (vfs, paths) = log_of_three();
    let mut known = KnownLog {
        store: 99,
        ..KnownLog::default()
    };
    for expected in [3, 0] {
        let mut log = LogReader::open(&*vfs, Path::new("/wal"), known).unwrap();
        let mut damages = 0;
        while let Some(part) = log.next_part().unwrap() {
            damages += usize::from(matches!(part, LogPart::Damage(_)));
        }
        assert_eq!(damages, expected, "{paths:?}");
        known.store = 0;
    }
}

/// Records duplicated, removed, swapped or overwritten, each of them valid in itself.
#[test]
fn a_misplaced_record_is_damage() {
    type Surgery = fn(&mut Vec<u8>);
    const FIRST: usize = SEGMENT_HEADER_BYTES;
    let surgeries: [(&str, Surgery); 6] = [
        ("doubled", |bytes| {
            let record = bytes[FIRST..FIRST + RECORD].to_vec();
            bytes.splice(FIRST + RECORD..FIRST + RECORD, record);
        }),
        ("doubled at the end", |bytes| {
            let record = bytes[bytes.len() - RECORD..].to_vec();
            bytes.extend_from_slice(&record);
        }),
        ("removed", |bytes| {
            bytes.drain(FIRST + RECORD..FIRST + 2 * RECORD);
        }),
        ("the first removed", |bytes| {
            bytes.drain(FIRST..FIRST + RECORD);
        }),
        ("swapped", |bytes| {
            let (one, other) = bytes[FIRST..].split_at_mut(RECORD);
            one.swap_with_slice(&mut other[..RECORD]);
        }),
        ("copied over", |bytes| {
            bytes.copy_within(FIRST..FIRST + RECORD, FIRST + RECORD);
        }),
    ];
    for (what, surgery) in surgeries {
        for segment in 0..3 {
            let (vfs, paths) = log_of_three();
            rewrite(&*vfs, &paths[segment], surgery);
            let (sequences, damaged) = read_log(&*vfs);
            assert_eq!(damaged, [paths[segment].clone()], "{what} in {segment}");
            assert!(
                sequences.is_sorted_by(|a, b| a < b),
                "{what}: {sequences:?}"
            );
        }
    }
}
