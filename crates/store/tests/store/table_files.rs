//! A table file proves which file it is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostrakon_cell::{
    Batch, BatchWriter, BatchWriterConfig, ColumnUpdate, CompactOptions, ErrorKind,
    ImportDirectoryOptions, Key, Range, Result, ScanOptions, Scanner, Source, Table, TableOptions,
    TimeType,
};
use ostrakon_store::sorted_file::{SortedFileWriter, WriterOptions};
use ostrakon_store::vfs::{MemoryVfs, Vfs};
use ostrakon_store::{Components, Store, StoreOptions};

const DIR: &str = "/store";
const ROWS: usize = 1_000;

fn open(vfs: &Arc<dyn Vfs>) -> Arc<Store> {
    let components = Components {
        vfs: vfs.clone(),
        ..Components::default()
    };
    let options = StoreOptions {
        background: false,
        ..StoreOptions::default()
    };
    Store::open_with(components, DIR, options).unwrap()
}

/// Rows of equal length, a letter before each, and values of equal length that differ by table.
fn fill(table: &Arc<dyn Table>, letter: char, value: &str) {
    let mut writer = BatchWriter::new(table.clone(), BatchWriterConfig::default());
    for row in 0..ROWS {
        let update = ColumnUpdate {
            family: b"f",
            qualifier: b"q",
            timestamp: Some(7),
            value: Some(value.as_bytes()),
            ..ColumnUpdate::default()
        };
        writer
            .put(format!("{letter}{row:05}").as_bytes(), update)
            .unwrap();
    }
    writer.close().unwrap();
}

fn read(table: &Arc<dyn Table>, range: Range) -> Result<Vec<String>> {
    let entries = Scanner::new(table.clone()).range(range).entries()?;
    let value = |entry: &ostrakon_cell::Entry| String::from_utf8_lossy(&entry.value).into_owned();
    Ok(entries.iter().map(value).collect())
}

/// Table files, the oldest first.
fn files(vfs: &Arc<dyn Vfs>, dir: &Path) -> Vec<PathBuf> {
    let mut names = vfs.list(&dir.join("files")).unwrap();
    names.sort_by(|a, b| a.name.cmp(&b.name));
    let path = |entry: &ostrakon_store::vfs::DirectoryEntry| dir.join("files").join(&entry.name);
    names.iter().map(path).collect()
}

fn swap(vfs: &Arc<dyn Vfs>, one: &Path, other: &Path) {
    let aside = Path::new("/aside");
    vfs.rename(one, aside).unwrap();
    vfs.rename(other, one).unwrap();
    vfs.rename(aside, other).unwrap();
}

/// Two tables whose files have the same length, rows and counts, and a third one.
fn three_tables(vfs: &Arc<dyn Vfs>) -> Arc<Store> {
    let store = open(vfs);
    for (name, value) in [("t", "of t"), ("u", "of u"), ("other", "other")] {
        store.create_table(name, &TableOptions::default()).unwrap();
        let table = store.table(name).unwrap();
        fill(&table, 'r', value);
        table.flush(true).unwrap();
    }
    store
}

fn wrong_file(error: &ostrakon_cell::Error, path: &Path) {
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    let text = format!("{error:?}");
    assert!(text.contains(&path.display().to_string()), "{text}");
    assert!(text.contains("another table file"), "{text}");
}

#[test]
fn the_newest_timestamp_is_known_without_reading_entries() {
    let vfs = MemoryVfs::shared();
    let store = open(&vfs);
    store.create_table("t", &TableOptions::default()).unwrap();
    let table = store.table("t").unwrap();
    let newest = || table.newest_timestamp().unwrap();
    let put = |timestamp: i64, label: &[u8]| {
        let mut writer = BatchWriter::new(table.clone(), BatchWriterConfig::default());
        let update = ColumnUpdate {
            visibility: label,
            timestamp: Some(timestamp),
            value: Some(b"v"),
            ..ColumnUpdate::default()
        };
        writer
            .put(timestamp.to_string().as_bytes(), update)
            .unwrap();
        writer.close().unwrap();
    };
    assert_eq!(newest(), None);
    put(-5, b"");
    assert_eq!(newest(), Some(-5));
    table.flush(true).unwrap();
    assert_eq!(newest(), Some(-5));
    // Of any label, in memory and in files, also after runs in memory are merged.
    for timestamp in (1..40).rev() {
        put(timestamp, b"hidden");
    }
    assert_eq!(newest(), Some(39));
    table.flush(true).unwrap();
    put(7, b"");
    assert_eq!(newest(), Some(39));
    table.compact(&CompactOptions::default()).unwrap();
    assert_eq!(newest(), Some(39));
    table.delete_rows(None, None).unwrap();
    assert_eq!(newest(), None);
    // Without the file, it is not known.
    put(8, b"");
    table.flush(true).unwrap();
    store.close().unwrap();
    drop((table, store));
    let file = files(&vfs, Path::new(DIR)).pop().unwrap();
    vfs.remove(&file).unwrap();
    let store = open(&vfs);
    let error = store.table("t").unwrap().newest_timestamp().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn swapped_files_are_named_and_affect_only_their_tables() {
    let vfs: Arc<dyn Vfs> = MemoryVfs::shared();
    let store = three_tables(&vfs);
    store.checkpoint(Path::new("/copy")).unwrap();
    store.close().unwrap();
    drop(store);
    let paths = files(&vfs, Path::new(DIR));
    assert_eq!(paths.len(), 3);
    assert_eq!(vfs.len(&paths[0]).unwrap(), vfs.len(&paths[1]).unwrap());
    swap(&vfs, &paths[0], &paths[1]);

    let store = open(&vfs);
    let [t, u, other] = ["t", "u", "other"].map(|name| store.table(name).unwrap());
    for (table, path) in [(&t, &paths[0]), (&u, &paths[1])] {
        wrong_file(&read(table, Range::all()).unwrap_err(), path);
        wrong_file(&read(table, Range::row("r00007")).unwrap_err(), path);
    }
    assert_eq!(read(&other, Range::all()).unwrap(), vec!["other"; ROWS]);
    let problems = store.problems().unwrap();
    let tables: Vec<_> = problems
        .iter()
        .map(|problem| problem.table.as_deref())
        .collect();
    assert_eq!(tables, [Some("t"), Some("u")], "{problems:?}");
    let report = store.check(&mut |_, _| true).unwrap();
    for path in &paths[..2] {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let found = report.problems.iter().find(|p| p.file.contains(&name));
        let message = &found.unwrap().message;
        assert!(message.contains("another table file"), "{message}");
        // Which one it is.
        assert!(message.contains("written as"), "{message}");
    }

    // What was put under the other's name is refused, the right one taken.
    let copies = files(&vfs, Path::new("/copy"));
    let wrong = Path::new("/wrong").join(paths[0].file_name().unwrap());
    vfs.create_dir_all(Path::new("/wrong")).unwrap();
    let bytes = vfs.read_to_vec(&copies[1], u64::MAX).unwrap();
    vfs.replace(&wrong, &bytes).unwrap();
    wrong_file(&store.restore_file(&wrong).unwrap_err(), &wrong);
    for copy in &copies[..2] {
        store.restore_file(copy).unwrap();
    }
    assert_eq!(read(&t, Range::all()).unwrap(), vec!["of t"; ROWS]);
    assert_eq!(read(&u, Range::all()).unwrap(), vec!["of u"; ROWS]);
    assert_eq!(store.problems().unwrap(), []);
    assert_eq!(store.check(&mut |_, _| true).unwrap().problems, []);
    store.close().unwrap();
}

/// A restore that outlives its store cannot remove what it has copied.
#[test]
fn unfinished_copies_of_table_files_are_removed_when_the_store_is_opened() {
    let vfs: Arc<dyn Vfs> = MemoryVfs::shared();
    three_tables(&vfs).close().unwrap();
    let names = ["0000000000000009.sorted.restored", "notes.restored"];
    let [copy, other] = names.map(|name| Path::new(DIR).join("files").join(name));
    for path in [&copy, &other] {
        drop(vfs.create(path).unwrap());
    }
    let store = open(&vfs);
    assert!(!vfs.exists(&copy).unwrap() && vfs.exists(&other).unwrap());
    store.close().unwrap();
}

/// The store holds descriptions, indexes and blocks in memory; what it reads later must be of the same file.
#[test]
fn files_swapped_under_an_open_store_give_no_wrong_answer() {
    let vfs: Arc<dyn Vfs> = MemoryVfs::shared();
    let store = three_tables(&vfs);
    let [t, u] = ["t", "u"].map(|name| store.table(name).unwrap());
    read(&t, Range::row("r00007")).unwrap();
    let paths = files(&vfs, Path::new(DIR));
    swap(&vfs, &paths[0], &paths[1]);
    for (table, value) in [(&t, "of t"), (&u, "of u")] {
        if let Ok(found) = read(table, Range::all()) {
            assert_eq!(found, vec![value; ROWS]);
        }
    }
    let report = store.check(&mut |_, _| true).unwrap();
    assert!(report.problems.len() >= 2, "{:?}", report.problems);
    swap(&vfs, &paths[0], &paths[1]);
    assert_eq!(
        store
            .check(&mut |_, _| true)
            .unwrap()
            .problems
            .iter()
            .filter(|problem| problem.table.is_none())
            .count(),
        0
    );
    store.close().unwrap();
}

/// Clones and checkpoints share files with the table that wrote them.
#[test]
fn a_file_is_known_wherever_it_is_shared() {
    let vfs: Arc<dyn Vfs> = MemoryVfs::shared();
    let store = three_tables(&vfs);
    store
        .clone_table("t", "clone", &ostrakon_cell::CloneOptions::default())
        .unwrap();
    store.delete_table("t").unwrap();
    let clone = store.table("clone").unwrap();
    assert_eq!(read(&clone, Range::all()).unwrap(), vec!["of t"; ROWS]);
    store.close().unwrap();
    drop(store);
    let store = open(&vfs);
    let clone = store.table("clone").unwrap();
    assert_eq!(read(&clone, Range::all()).unwrap(), vec!["of t"; ROWS]);
    clone.compact(&CompactOptions::default()).unwrap();
    assert_eq!(read(&clone, Range::all()).unwrap(), vec!["of t"; ROWS]);
    assert_eq!(store.check(&mut |_, _| true).unwrap().problems, []);
    store.close().unwrap();
}

fn part(vfs: &Arc<dyn Vfs>, path: &Path, timestamp: i64, value: &str) {
    let mut batch = Batch::new();
    for row in 0..ROWS {
        let mut key = Key::new(format!("r{row:05}"), "f", "q");
        key.timestamp = timestamp;
        batch.push(key.as_ref(), value.as_bytes()).unwrap();
    }
    let mut writer = SortedFileWriter::create(vfs, path, WriterOptions::default()).unwrap();
    writer.append(&batch, 0..batch.len()).unwrap();
    writer.finish().unwrap();
}

/// Files from other programs have no number; they are identified by their identity.
#[test]
fn imported_files_that_are_swapped_are_named() {
    let vfs: Arc<dyn Vfs> = MemoryVfs::shared();
    let store = open(&vfs);
    for (name, value) in [("t", "of t"), ("u", "of u")] {
        store.create_table(name, &TableOptions::default()).unwrap();
        let parts = Path::new("/parts").join(name);
        vfs.create_dir_all(&parts).unwrap();
        part(&vfs, &parts.join("part.sorted"), 7, value);
        let table = store.table(name).unwrap();
        let options = ImportDirectoryOptions::default();
        table.import_directory(&parts, &options).unwrap();
    }
    store.close().unwrap();
    drop(store);
    let paths = files(&vfs, Path::new(DIR));
    swap(&vfs, &paths[0], &paths[1]);
    let store = open(&vfs);
    for (name, path) in [("t", &paths[0]), ("u", &paths[1])] {
        let table = store.table(name).unwrap();
        wrong_file(&read(&table, Range::all()).unwrap_err(), path);
    }
    store.close().unwrap();
}

/// A later write must not be hidden by an entry that was imported before, whatever its timestamp.
#[test]
fn a_tables_time_passes_what_a_directory_brought() {
    for time_type in [TimeType::Millis, TimeType::Logical] {
        let vfs: Arc<dyn Vfs> = MemoryVfs::shared();
        let store = open(&vfs);
        let options = TableOptions {
            time_type,
            ..TableOptions::default()
        };
        store.create_table("t", &options).unwrap();
        let table = store.table("t").unwrap();
        let parts = Path::new("/parts");
        vfs.create_dir_all(parts).unwrap();
        let future = 4_000_000_000_000;
        part(&vfs, &parts.join("part.sorted"), future, "imported");
        let options = ImportDirectoryOptions::default();
        table.import_directory(parts, &options).unwrap();
        let put = |table: &Arc<dyn Table>, value: &[u8]| {
            let mut writer = BatchWriter::new(table.clone(), BatchWriterConfig::default());
            let update = ColumnUpdate {
                family: b"f",
                qualifier: b"q",
                value: Some(value),
                ..ColumnUpdate::default()
            };
            writer.put(b"r00003", update).unwrap();
            writer.close().unwrap();
        };
        put(&table, b"later");
        assert_eq!(read(&table, Range::row("r00003")).unwrap(), ["later"]);
        store.close().unwrap();
        drop((table, store));
        let store = open(&vfs);
        let table = store.table("t").unwrap();
        put(&table, b"latest");
        assert_eq!(read(&table, Range::row("r00003")).unwrap(), ["latest"]);
        store.close().unwrap();
    }
}

/// Every other row of a tablet is read while one of its files is missing; only its own are not.
#[test]
fn a_missing_file_is_missed_by_scans_of_its_rows_alone() {
    let vfs: Arc<dyn Vfs> = MemoryVfs::shared();
    let store = open(&vfs);
    store.create_table("t", &TableOptions::default()).unwrap();
    let table = store.table("t").unwrap();
    for (letter, value) in [('a', "one"), ('b', "two"), ('c', "three")] {
        fill(&table, letter, value);
        table.flush(true).unwrap();
    }
    store.close().unwrap();
    drop((table, store));
    let second = files(&vfs, Path::new(DIR)).swap_remove(1);
    vfs.remove(&second).unwrap();
    let store = open(&vfs);
    let table = store.table("t").unwrap();
    assert_eq!(table.tablets().unwrap().len(), 1);
    let rows = |from: &str, to: &str| Range::rows(from..=to);
    for (range, letter) in [
        (rows("a00000", "a00999"), "one"),
        (rows("", "azzz"), "one"),
        (rows("b00999\0", "c00999"), "three"),
        (Range::row("c00500"), "three"),
        (Range::row("a00500"), "one"),
    ] {
        let values = read(&table, range.clone()).unwrap();
        assert!(!values.is_empty() && values.iter().all(|value| value == letter));
        let unordered = ScanOptions {
            ordered: false,
            ..ScanOptions::default()
        };
        let mut scan = table.scan(&[range], &unordered).unwrap();
        let mut entries = Batch::new();
        while scan.next_batch(&mut entries).unwrap() {}
    }
    for range in [
        Range::all(),
        Range::row("b00000"),
        Range::row("b00999"),
        rows("a", "b00000"),
        rows("b00999", "z"),
    ] {
        let error = read(&table, range.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{range:?}: {error:?}");
    }
}
