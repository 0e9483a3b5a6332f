//! Files that other processes wrote come into a table whole, all at once, or not at all.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostrakon_cell::{
    Batch, CompactOptions, Error, ErrorKind, ImportDirectoryOptions, ImportTransfer, Key, Scanner,
    Source, Table, TableOptions,
};
use ostrakon_store::sorted_file::{BulkFileWriter, SortedFileWriter, WriterOptions};
use ostrakon_store::vfs::Vfs;
use ostrakon_store::{Store, StoreOptions};
use ostrakon_testkit::disk::{Crash, Faults, FaultyVfs};

use crate::harness::{DIRECTORY, open, tiny};

const PARTS: &str = "/parts";

/// What is done to a file.
type Damage = fn(&FaultyVfs, &Path);

/// Rows `begin..end` as a writer takes them.
fn entries(begin: u32, end: u32) -> Batch {
    let mut batch = Batch::new();
    for row in begin..end {
        let mut key = Key::new(format!("{row:05}"), "f", format!("{}", row % 7));
        key.timestamp = 5;
        batch.push(key.as_ref(), b"value").unwrap();
    }
    batch
}

/// A file of the kind another process leaves, on any disk.
fn put_file(disk: &Arc<dyn Vfs>, path: &Path, batch: &Batch) {
    let mut writer = SortedFileWriter::create(disk, path, WriterOptions::default()).unwrap();
    writer.append(batch, 0..batch.len()).unwrap();
    writer.finish().unwrap();
}

/// Three files whose rows overlap, over several tablets and many blocks.
fn parts(disk: &FaultyVfs) -> Vec<PathBuf> {
    let shared = disk.shared();
    shared.create_dir_durably(Path::new(PARTS)).unwrap();
    let ranges = [(0, 6_000), (3_000, 9_000), (9_000, 9_001)];
    let parts = ranges.iter().enumerate().map(|(number, (begin, end))| {
        let path = Path::new(PARTS).join(format!("part-{number}.sorted"));
        put_file(&shared, &path, &entries(*begin, *end));
        path
    });
    parts.collect()
}

fn table(store: &Store) -> Arc<dyn Table> {
    if store.table("t").is_err() {
        let options = TableOptions {
            splits: vec![b"02500".to_vec(), b"05000".to_vec(), b"08000".to_vec()],
            ..TableOptions::default()
        };
        store.create_table("t", &options).unwrap();
    }
    store.table("t").unwrap()
}

fn rows(table: &Arc<dyn Table>) -> Vec<String> {
    let found = Scanner::new(table.clone()).entries().unwrap();
    let row = |entry: &ostrakon_cell::Entry| String::from_utf8_lossy(&entry.key.row).into_owned();
    found.iter().map(row).collect()
}

fn every_row() -> Vec<String> {
    (0..9_001).map(|row| format!("{row:05}")).collect()
}

fn import(table: &Arc<dyn Table>) -> Result<ostrakon_cell::ImportReport, Error> {
    table.import_directory(Path::new(PARTS), &ImportDirectoryOptions::default())
}

#[test]
fn all_files_come_at_once_and_leave_the_directory() {
    let disk = FaultyVfs::new(1);
    parts(&disk);
    let shared = disk.shared();
    shared.create(&Path::new(PARTS).join("_SUCCESS")).unwrap();
    put_file(
        &shared,
        &Path::new(PARTS).join("none.sorted"),
        &Batch::new(),
    );
    let store = open(&disk, &tiny()).unwrap();
    let table = table(&store);
    let report = import(&table).unwrap();
    assert_eq!(
        (
            report.files,
            report.entries,
            report.empty_files,
            report.copied_files,
            report.files_left
        ),
        (3, 12_001, 1, 0, 0)
    );
    assert_eq!(rows(&table), every_row());
    let left = shared.list(Path::new(PARTS)).unwrap();
    assert_eq!(left.len(), 1, "{left:?}");
    let error = import(&table).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error:?}");
    let options = ImportDirectoryOptions {
        allow_empty: true,
        ..ImportDirectoryOptions::default()
    };
    let nothing = table.import_directory(Path::new(PARTS), &options).unwrap();
    assert_eq!(nothing.files, 0);
    table.compact(&CompactOptions::default()).unwrap();
    assert_eq!(rows(&table), every_row());
    drop((table, store));
    disk.crash(Crash::PowerLost);
    let store = open(&disk, &tiny()).unwrap();
    assert_eq!(rows(&store.table("t").unwrap()), every_row());
    let report = store.check(&mut |_, _| true).unwrap();
    assert_eq!(report.problems, []);
}

#[test]
fn whenever_the_disk_stops_it_is_all_or_nothing() {
    let mut finished = 0;
    let (mut with, mut without) = (0, 0);
    for stop in 0..400 {
        let disk = FaultyVfs::new(stop);
        parts(&disk);
        let store = open(&disk, &tiny()).unwrap();
        let into = table(&store);
        disk.set_faults(Faults {
            fail_after_operations: Some(stop),
            ..Faults::default()
        });
        let outcome = import(&into);
        let crash = Crash::ALL[stop as usize % Crash::ALL.len()];
        disk.crash(crash);
        drop((into, store));
        let store = open(&disk, &tiny()).unwrap();
        let found = rows(&table(&store));
        let left = disk.shared().list(Path::new(PARTS)).unwrap().len();
        if found.is_empty() {
            without += 1;
            assert!(outcome.is_err(), "{stop}: an acknowledged import is gone");
            assert_eq!(left, 3, "{stop}: neither imported nor in the directory");
            // What was not imported can be, now.
            import(&table(&store)).unwrap();
            assert_eq!(rows(&table(&store)), every_row());
        } else {
            with += 1;
            assert_eq!(found, every_row(), "{stop} {crash:?}: a part of an import");
        }
        assert_eq!(store.check(&mut |_, _| true).unwrap().problems, []);
        finished += u32::from(outcome.is_ok_and(|report| report.files_left == 0));
        if finished > 3 {
            break;
        }
    }
    assert!(
        finished > 3 && with > 3 && without > 10,
        "{finished} {with} {without}"
    );
}

#[test]
fn a_damaged_sorted_file_is_refused_by_name_and_nothing_is_imported() {
    let damages: [(&str, Damage); 6] = [
        ("the footer is cut off", |disk, path| {
            let file = disk.shared().open_random(path).unwrap();
            file.set_len(file.len().unwrap() - 1).unwrap();
        }),
        ("the description is damaged", |disk, path| {
            let len = disk.shared().len(path).unwrap();
            assert!(disk.flip_bit(path, len - 60, 3).unwrap());
        }),
        ("the first block is damaged", |disk, path| {
            assert!(disk.flip_bit(path, 100, 3).unwrap());
        }),
        ("the header is damaged", |disk, path| {
            assert!(disk.flip_bit(path, 2, 3).unwrap());
        }),
        ("a text", |disk, path| {
            disk.shared()
                .replace(
                    path,
                    b"not a sorted file at all, though long enough for one",
                )
                .unwrap();
        }),
        ("nothing", |disk, path| {
            disk.shared().replace(path, b"").unwrap();
        }),
    ];
    for (what, damage) in damages {
        let disk = FaultyVfs::new(1);
        let paths = parts(&disk);
        let store = open(&disk, &tiny()).unwrap();
        let into = table(&store);
        damage(&disk, &paths[1]);
        let error = import(&into).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{what}: {error:?}");
        assert!(
            error.to_string().contains("/parts/part-1.sorted"),
            "{what}: {error}"
        );
        assert_eq!(rows(&into), [""; 0], "{what}");
        assert_eq!(
            disk.shared().list(Path::new(PARTS)).unwrap().len(),
            3,
            "{what}"
        );
        let files = disk
            .shared()
            .list(&Path::new(DIRECTORY).join("files"))
            .unwrap();
        assert_eq!(files, [], "{what}");
    }
}

#[test]
fn damage_in_the_middle_is_found() {
    for verify in [true, false] {
        let disk = FaultyVfs::new(1);
        let path = &parts(&disk)[0];
        let store = open(&disk, &tiny()).unwrap();
        let into = table(&store);
        // Blocks fill most of the file; the second of them lies here.
        let middle = disk.shared().len(path).unwrap() / 3;
        assert!(disk.flip_bit(path, middle, 1).unwrap());
        let options = ImportDirectoryOptions {
            verify,
            ..ImportDirectoryOptions::default()
        };
        let error = into
            .import_directory(Path::new(PARTS), &options)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{error:?}");
        assert_eq!(rows(&into), [""; 0]);
    }
}

#[test]
fn unexpected_files_directories_and_the_store_itself_are_refused() {
    let disk = FaultyVfs::new(1);
    parts(&disk);
    let store = open(&disk, &tiny()).unwrap();
    let into = table(&store);
    let strange = Path::new(PARTS).join("notes.txt");
    disk.shared().create(&strange).unwrap();
    let error = import(&into).unwrap_err();
    assert!(error.to_string().contains("notes.txt"), "{error}");
    disk.shared().remove(&strange).unwrap();
    import(&into).unwrap();
    for inside in ["files", "wal", "."] {
        let directory = Path::new(DIRECTORY).join(inside);
        let options = ImportDirectoryOptions::default();
        let error = into.import_directory(&directory, &options).unwrap_err();
        assert_eq!(
            error.kind(),
            ErrorKind::InvalidArgument,
            "{inside}: {error:?}"
        );
    }
    let absent = Path::new("/there/is/no/such/folder");
    let error = into
        .import_directory(absent, &ImportDirectoryOptions::default())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error:?}");
    store.set_online("t", false).unwrap();
    assert_eq!(import(&into).unwrap_err().kind(), ErrorKind::Offline);
    assert_eq!(store.check(&mut |_, _| true).unwrap().problems, []);
}

#[test]
fn local_files_are_moved_linked_or_copied() {
    for in_memory in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("parts");
        std::fs::create_dir(&directory).unwrap();
        let path = directory.join("one.sorted");
        let mut writer = BulkFileWriter::create(&path, WriterOptions::default()).unwrap();
        writer.append(&entries(0, 10)).unwrap();
        let error = writer.append(&entries(5, 6)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error:?}");
        assert!(error.to_string().contains("entry: 10"), "{error}");
        drop(writer);
        assert!(!path.exists());
        let mut writer = BulkFileWriter::create(&path, WriterOptions::default()).unwrap();
        writer.append(&entries(0, 10)).unwrap();
        assert_eq!(writer.finish().unwrap().entries, 10);
        for name in ["one", ".one.sorted"] {
            let named = BulkFileWriter::create(&directory.join(name), WriterOptions::default());
            assert_eq!(named.unwrap_err().kind(), ErrorKind::InvalidArgument);
        }
        let store = if in_memory {
            Store::in_memory().unwrap()
        } else {
            Store::open(folder.path().join("store"), StoreOptions::default()).unwrap()
        };
        let into = table(&store);
        for (transfer, copied, stays) in [
            (ImportTransfer::Copy, 1, true),
            (ImportTransfer::Link, u64::from(in_memory), true),
            (ImportTransfer::Move, u64::from(in_memory), false),
        ] {
            let options = ImportDirectoryOptions {
                transfer,
                verify: true,
                ..ImportDirectoryOptions::default()
            };
            let report = into.import_directory(&directory, &options).unwrap();
            assert_eq!(
                (report.files, report.copied_files),
                (1, copied),
                "{transfer:?}"
            );
            assert_eq!(path.exists(), stays, "{transfer:?}");
            assert_eq!(rows(&into).len(), 10);
        }
        into.compact(&CompactOptions::default()).unwrap();
        assert_eq!(rows(&into).len(), 10);
    }
}

/// A batch of rows, each with a label.
fn labelled(rows: std::ops::Range<u32>, label: impl Fn(u32) -> &'static str) -> Batch {
    let mut batch = Batch::new();
    for row in rows {
        let mut key = Key::new(format!("{row:05}"), "f", "q");
        key.visibility = label(row).into();
        batch.push(key.as_ref(), &[7; 50]).unwrap();
    }
    batch
}

/// A malformed label hides its entry from every reader for good, so no file brings one into a table.
#[test]
fn malformed_labels_are_refused_wherever_they_are_in_a_file() {
    for (bad, verify) in [0, 4_999, 9_999]
        .into_iter()
        .flat_map(|bad| [(bad, false), (bad, true)])
    {
        let disk = FaultyVfs::new(1);
        let shared = disk.shared();
        shared.create_dir_durably(Path::new(PARTS)).unwrap();
        let right = labelled(0..10_000, |row| ["", "a&b", "\"x y\"|c"][row as usize % 3]);
        put_file(&shared, &Path::new(PARTS).join("right.sorted"), &right);
        let wrong = labelled(0..10_000, |row| if row == bad { "secret&" } else { "a" });
        put_file(&shared, &Path::new(PARTS).join("wrong.sorted"), &wrong);
        let store = open(&disk, &tiny()).unwrap();
        let into = table(&store);
        let options = ImportDirectoryOptions {
            verify,
            ..ImportDirectoryOptions::default()
        };
        let error = into
            .import_directory(Path::new(PARTS), &options)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error:?}");
        let said = format!("{error:?}");
        assert!(said.contains("/parts/wrong.sorted"), "{said}");
        assert!(said.contains(&format!("{bad:05}")), "{said}");
        assert!(!said.contains("secret"), "{said}");
        assert_eq!(rows(&into), [""; 0]);
        let left = shared.list(Path::new(PARTS)).unwrap().len();
        assert_eq!(left, 2, "the files stay in their directory");
        shared
            .remove(&Path::new(PARTS).join("wrong.sorted"))
            .unwrap();
        into.import_directory(Path::new(PARTS), &options).unwrap();
        assert_eq!(store.check(&mut |_, _| true).unwrap().problems, []);
    }
}

#[test]
fn a_writer_of_sorted_files_refuses_malformed_labels() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.sorted");
    let mut writer = BulkFileWriter::create(&path, WriterOptions::default()).unwrap();
    writer.append(&labelled(0..10, |_| "a|b")).unwrap();
    let error = writer
        .append(&labelled(
            10..20,
            |row| if row == 15 { "(secret" } else { "a" },
        ))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error:?}");
    let said = format!("{error:?}");
    assert!(
        said.contains("one.sorted") && !said.contains("secret"),
        "{said}"
    );
    drop(writer);
    assert!(!path.exists());
}

/// An import that went on after its file was lost told of all entries, and had only the later ones.
#[test]
fn an_import_that_failed_is_not_acknowledged() {
    let prepare = || {
        let disk = FaultyVfs::new(1);
        drop(open(&disk, &tiny()).unwrap());
        disk
    };
    let mut failures = 0;
    for operation in 0.. {
        let disk = prepare();
        let store = open(&disk, &tiny()).unwrap();
        let table = table(&store);
        let mut import = table.bulk_writer().unwrap();
        disk.set_faults(Faults {
            fail_operation: Some(operation),
            ..Faults::default()
        });
        let before = disk.counters().operations;
        let mut refused = false;
        for part in 0..4 {
            let batch = entries(part * 2_000, (part + 1) * 2_000);
            // Again, as one would after a lack of file descriptors.
            let appended = import.append(&batch).or_else(|_| import.append(&batch));
            refused |= appended.is_err();
        }
        let finished = import.finish();
        let all = disk.counters().operations - before;
        disk.heal();
        let found = rows(&table).len();
        match finished {
            Ok(count) => assert_eq!((count, found), (8_000, 8_000), "{operation}"),
            Err(error) => assert_eq!(found, 0, "{operation}: {error}"),
        }
        failures += usize::from(refused);
        if all <= operation {
            break;
        }
    }
    assert!(failures > 3, "an append failed {failures} times");
}
