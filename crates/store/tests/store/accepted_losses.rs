//! What a store keeps when the loss of damaged files is accepted.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostrakon_cell::{Mutation, MutationBatch, Scanner, Source, TableOptions};
use ostrakon_store::error::ErrorKind;
use ostrakon_store::{Store, StoreOptions};

fn put(directory: &Path, row: &str, value: &str) {
    let store = Store::open(directory, StoreOptions::default()).unwrap();
    if store.table("t").is_err() {
        store.create_table("t", &TableOptions::default()).unwrap();
    }
    let mut batch = MutationBatch::new();
    let mut mutation = Mutation::new(row);
    batch.push(mutation.put("f", "q", value).unwrap()).unwrap();
    let table = store.table("t").unwrap();
    table.submit(batch, None).unwrap().wait().unwrap();
    drop(table);
    store.close().unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

fn values(store: &Arc<Store>) -> Vec<String> {
    let entries = Scanner::new(store.table("t").unwrap()).entries().unwrap();
    let values = entries.iter().map(|entry| entry.value.clone());
    values
        .map(|value| String::from_utf8(value).unwrap())
        .collect()
}

fn only_file(directory: &Path) -> PathBuf {
    let mut files = fs::read_dir(directory).unwrap();
    let file = files.next().unwrap().unwrap().path();
    assert!(files.next().is_none());
    file
}

/// The segment of a copy of the store, with other records of the same or another length, was put in the place of the
/// store's own, whose end is known.
#[test]
fn records_that_were_written_to_a_copy_are_not_replayed() {
    for foreign in ["othr", "other and longer"] {
        let directory = tempfile::tempdir().unwrap();
        let (own, other) = (directory.path().join("own"), directory.path().join("copy"));
        put(&own, "r1", "both");
        copy(&own, &other);
        put(&own, "r2", "mine");
        put(&other, "r2", foreign);
        fs::copy(only_file(&other.join("wal")), only_file(&own.join("wal"))).unwrap();
        let opened = Store::open(&own, StoreOptions::default());
        let error = opened.expect_err("damage");
        assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
        let reading = StoreOptions {
            read_only: true,
            allow_damage: true,
            ..StoreOptions::default()
        };
        for options in [reading, accepting(), StoreOptions::default()] {
            let store = Store::open(&own, options).unwrap();
            let values = values(&store);
            assert!(!values.contains(&foreign.to_owned()), "{values:?}");
            store.close().unwrap();
        }
    }
}

#[test]
fn a_file_that_is_given_up_does_not_replace_an_earlier_one() {
    let directory = tempfile::tempdir().unwrap();
    put(directory.path(), "r", "v");
    let store = Store::open(directory.path(), StoreOptions::default()).unwrap();
    store.table("t").unwrap().flush(true).unwrap();
    store.close().unwrap();
    let file = only_file(&directory.path().join("files"));
    let name = file.file_name().unwrap().to_str().unwrap();
    let lost = directory.path().join("lost");
    fs::create_dir(&lost).unwrap();
    fs::write(lost.join(name), "earlier").unwrap();
    fs::write(&file, "damaged").unwrap();
    drop(store);
    let store = Store::open(directory.path(), StoreOptions::default()).unwrap();
    let dropped = store.drop_file(Path::new(name)).unwrap();
    assert_eq!(dropped.moved_to.unwrap(), format!("lost/{name}.1"));
    assert_eq!(fs::read(lost.join(name)).unwrap(), b"earlier");
    assert_eq!(
        fs::read(lost.join(format!("{name}.1"))).unwrap(),
        b"damaged"
    );
    assert_eq!(values(&store), Vec::<String>::new());
}

/// Writes rows with a kill after each, so that each has a segment of its own; returns the segments.
fn segments(directory: &Path, rows: &[&str]) -> Vec<PathBuf> {
    for row in rows {
        let store = Store::open(directory, StoreOptions::default()).unwrap();
        if store.table("t").is_err() {
            store.create_table("t", &TableOptions::default()).unwrap();
        }
        let mut batch = MutationBatch::new();
        let mut mutation = Mutation::new(*row);
        batch.push(mutation.put("f", "q", *row).unwrap()).unwrap();
        let table = store.table("t").unwrap();
        table.submit(batch, None).unwrap().wait().unwrap();
        // What is on the disk now is what a kill leaves.
        let image = tempfile::tempdir().unwrap();
        copy(directory, image.path());
        drop((table, store));
        fs::remove_dir_all(directory).unwrap();
        copy(image.path(), directory);
    }
    let mut segments: Vec<PathBuf> = fs::read_dir(directory.join("wal"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    segments.sort();
    segments
}

fn accepting() -> StoreOptions {
    StoreOptions {
        accept_log_loss: true,
        ..StoreOptions::default()
    }
}

#[test]
fn bytes_behind_a_complete_segment_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().join("store");
    let segments = segments(&directory, &["r1", "r2", "r3"]);
    assert!(segments.len() >= 3, "{segments:?}");
    let second = &segments[segments.len() - 2];
    let mut bytes = fs::read(second).unwrap();
    bytes.extend([7; 100]);
    fs::write(second, bytes).unwrap();
    Store::open(&directory, StoreOptions::default()).expect_err("damage");
    let store = Store::open(&directory, accepting()).unwrap();
    assert_eq!(values(&store), ["r1", "r2", "r3"]);
}

#[test]
fn segments_that_are_not_needed_any_more_are_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().join("store");
    segments(&directory, &["r1", "r2"]);
    let store = Store::open(&directory, StoreOptions::default()).unwrap();
    store.table("t").unwrap().flush(true).unwrap();
    store.close().unwrap();
    drop(store);
    put(&directory, "r3", "r3");
    let stale = directory.join("wal/0000000000000001.wal");
    let newer = [&b"OSTKWAL\n\x09\0\0\0"[..], &[0; 100]].concat();
    for content in [
        &b""[..],
        b"not a segment, but as long as a header would be, or longer: 64 bytes and more",
        &newer,
    ] {
        for options in [StoreOptions::default(), accepting()] {
            fs::write(&stale, content).unwrap();
            let store = Store::open(&directory, options).unwrap();
            assert_eq!(values(&store), ["r1", "r2", "r3"]);
            assert_eq!(store.check(&mut |_, _| true).unwrap().problems, []);
            store.close().unwrap();
        }
    }
}

/// A segment of an older copy, whose header says that the segment before it was shorter when the copy was made.
#[test]
fn a_later_segment_does_not_disprove_what_closing_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let (own, other) = (directory.path().join("own"), directory.path().join("copy"));
    put(&own, "r1", "both");
    copy(&own, &other);
    put(&own, "r2", "mine");
    // As after a crash: the copy begins another segment.
    fs::remove_file(other.join("closed")).unwrap();
    put(&other, "r2", "other");
    let mut segments: Vec<_> = fs::read_dir(other.join("wal"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    segments.sort();
    assert_eq!(segments.len(), 2, "{segments:?}");
    let added = own.join("wal").join(segments[1].file_name().unwrap());
    fs::copy(&segments[1], added).unwrap();
    let opened = Store::open(&own, StoreOptions::default());
    let error = opened.expect_err("damage");
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    let store = Store::open(&own, accepting()).unwrap();
    let values = values(&store);
    assert!(values.contains(&"mine".to_owned()), "{values:?}");
    store.close().unwrap();
}

#[test]
fn a_directory_in_the_place_of_a_table_file_is_moved_away_when_the_file_is_restored() {
    let directory = tempfile::tempdir().unwrap();
    let (own, backup) = (directory.path().join("own"), directory.path().join("copy"));
    put(&own, "r", "v");
    let store = Store::open(&own, StoreOptions::default()).unwrap();
    store.table("t").unwrap().flush(true).unwrap();
    store.close().unwrap();
    drop(store);
    copy(&own, &backup);
    let file = only_file(&own.join("files"));
    let name = file.file_name().unwrap().to_str().unwrap();
    for what in ["directory", "loop", "pipe"] {
        fs::remove_file(&file).unwrap();
        match what {
            "loop" => std::os::unix::fs::symlink(&file, &file).unwrap(),
            "directory" => {
                fs::create_dir(&file).unwrap();
                fs::write(file.join("note"), "kept").unwrap();
            }
            _ => {
                let made = std::process::Command::new("mkfifo").arg(&file).status();
                assert!(made.unwrap().success());
            }
        }
        let store = Store::open(&own, StoreOptions::default()).unwrap();
        let restored = store
            .restore_file(&backup.join("files").join(name))
            .unwrap();
        assert_eq!(restored.tables, ["t"], "{what}");
        assert_eq!(values(&store), ["v"], "{what}");
        assert_eq!(store.check(&mut |_, _| true).unwrap().problems, []);
        store.close().unwrap();
    }
    let note = own.join("lost").join(name).join("note");
    assert_eq!(fs::read(note).unwrap(), b"kept");
}

/// A directory, a link to nothing and a pipe are damage, which is named, and may be accepted.
#[test]
fn something_else_in_the_place_of_a_segment_is_damage() {
    for what in ["directory", "link", "loop", "pipe"] {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path().join("store");
        let segments = segments(&directory, &["r1", "r2", "r3"]);
        let second = &segments[segments.len() - 2];
        fs::remove_file(second).unwrap();
        match what {
            "directory" => fs::create_dir(second).unwrap(),
            "link" => std::os::unix::fs::symlink("absent", second).unwrap(),
            "loop" => std::os::unix::fs::symlink(second, second).unwrap(),
            _ => {
                let made = std::process::Command::new("mkfifo").arg(second).status();
                assert!(made.unwrap().success());
            }
        }
        let opened = Store::open(&directory, StoreOptions::default());
        let error = opened.expect_err("damage");
        assert_eq!(error.kind(), ErrorKind::Corruption, "{what}: {error}");
        let store = Store::open(&directory, accepting()).unwrap();
        assert_eq!(values(&store), ["r1"], "{what}");
        store.close().unwrap();
        drop(store);
        put(&directory, "r4", "r4");
        let store = Store::open(&directory, StoreOptions::default()).unwrap();
        assert_eq!(values(&store), ["r1", "r4"], "{what}");
    }
}
