#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::vfs::{MemoryVfs, Vfs};

fn written(payloads: &[&[u8]], sync_after: usize) -> (Arc<dyn Vfs>, std::path::PathBuf) {
    let vfs = MemoryVfs::shared();
    let dir = Path::new("/wal");
    vfs.create_dir_all(dir).unwrap();
    let mut writer = WalWriter::create(&vfs, dir, 7).unwrap();
    for (at, payload) in payloads.iter().enumerate() {
        let header = RecordHeader {
            sequence: at as u64 + 1,
            table: 3,
            ..RecordHeader::default()
        };
        writer.append([(header, *payload)].into_iter()).unwrap();
        if at + 1 == sync_after {
            writer.sync().unwrap();
        }
    }
    let (number, path) = list_segments(&*vfs, dir).unwrap().pop().unwrap();
    assert_eq!(number, 7);
    (vfs, path)
}

fn read(vfs: &dyn Vfs, path: &Path, is_last: bool) -> (Vec<Vec<u8>>, Option<Damage>) {
    let mut reader = SegmentReader::open(vfs, path, is_last).unwrap();
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
    // Its beginning may be bytes that a failed sync left behind, gone with the next power cut.
    for tail in [&b""[..], b"torn"] {
        let (vfs, path) = written(&[], 0);
        rewrite(&*vfs, &path, |bytes| bytes.extend_from_slice(tail));
        let mut reader = SegmentReader::open(&*vfs, &path, true).unwrap();
        assert!(reader.next_record().is_none() && reader.damage().is_none());
        reader.settle(&*vfs).unwrap();
        assert!(!vfs.exists(&path).unwrap());
    }
}

#[test]
fn records_come_back_in_order() {
    let (vfs, path) = written(&[b"one", b"", b"three"], 3);
    let (payloads, damage) = read(&*vfs, &path, true);
    assert_eq!(payloads, [b"one".to_vec(), b"".to_vec(), b"three".to_vec()]);
    assert_eq!(damage, None);
}

#[test]
fn a_torn_end_is_no_damage_in_the_last_segment_and_damage_in_others() {
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
        let mut reader = SegmentReader::open(&*vfs, &path, true).unwrap();
        while reader.next_record().is_some() {}
        reader.settle(&*vfs).unwrap();
        let (payloads, damage) = read(&*vfs, &path, false);
        assert_eq!((payloads.len(), damage), (2 - usize::from(cut > 0), None));
    }
    let (vfs, path) = written(&[], 0);
    rewrite(&*vfs, &path, |bytes| bytes.truncate(5));
    let reader = SegmentReader::open(&*vfs, &path, true).unwrap();
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
    // Without any later proof the same flip reads as a torn end.
    let (vfs, path) = written(&[b"first", b"second", b"third"], 9);
    rewrite(&*vfs, &path, |bytes| bytes[first_payload] ^= 1);
    assert_eq!(read(&*vfs, &path, true), (Vec::new(), None));
}

#[test]
fn a_segment_of_a_newer_version_is_refused_by_name() {
    let (vfs, path) = written(&[b"x"], 1);
    rewrite(&*vfs, &path, |bytes| {
        bytes[8] = 9;
        let sum = crate::codec::checksum(&bytes[..20]).to_le_bytes();
        bytes[20..24].copy_from_slice(&sum);
    });
    let error = SegmentReader::open(&*vfs, &path, true).err().unwrap();
    assert_eq!(error.kind(), crate::error::ErrorKind::NewerFormat);
    rewrite(&*vfs, &path, |bytes| bytes[0] = 0);
    let error = SegmentReader::open(&*vfs, &path, true).err().unwrap();
    assert!(error.to_string().contains(".wal"), "{error}");
}
