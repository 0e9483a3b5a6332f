//! What a user of one store sees: write, read, reopen, split, compact.

use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::{
    BatchWriter, BatchWriterConfig, ColumnUpdate, CompactOptions, Entry, ErrorKind, Range, Scanner,
    Source, Table, TableOptions,
};
use ostrakon_store::vfs::MemoryVfs;
use ostrakon_store::{Components, Store, StoreOptions};

fn manual() -> StoreOptions {
    StoreOptions {
        background: false,
        memory_budget_bytes: 64 << 20,
        ..StoreOptions::default()
    }
}

fn on(components: &Components, options: StoreOptions) -> Arc<Store> {
    Store::open_with(components.clone(), Path::new("/store"), options).unwrap()
}

fn in_memory() -> Components {
    Components {
        vfs: MemoryVfs::shared(),
        ..Components::default()
    }
}

fn row(at: u64) -> String {
    format!("{:016x}", at.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn fill(table: &Arc<dyn Table>, from: u64, to: u64, value: &[u8]) {
    fill_in_batches(table, from, to, value, 4096);
}

fn fill_in_batches(table: &Arc<dyn Table>, from: u64, to: u64, value: &[u8], batch_bytes: usize) {
    let config = BatchWriterConfig {
        batch_bytes,
        max_memory: 128 << 20,
        ..BatchWriterConfig::default()
    };
    let mut writer = BatchWriter::new(table.clone(), config);
    for at in from..to {
        let update = ColumnUpdate {
            family: b"f",
            qualifier: b"q",
            value: Some(value),
            ..ColumnUpdate::default()
        };
        writer.put(row(at).as_bytes(), update).unwrap();
    }
    writer.close().unwrap();
}

fn all(table: &Arc<dyn Table>) -> Vec<Entry> {
    Scanner::new(table.clone()).entries().unwrap()
}

fn check_all(table: &Arc<dyn Table>, count: u64, value: &[u8]) {
    let mut rows: Vec<String> = (0..count).map(row).collect();
    rows.sort();
    let entries = all(table);
    assert_eq!(entries.len(), rows.len());
    for (entry, row) in entries.iter().zip(&rows) {
        assert_eq!(entry.key.row, row.as_bytes());
        assert_eq!(entry.value, value);
    }
}

#[test]
fn what_is_written_is_read_from_memory_files_and_after_reopening() {
    let components = in_memory();
    {
        let store = on(&components, manual());
        store.create_table("t", &TableOptions::default()).unwrap();
        let table = store.table("t").unwrap();
        fill(&table, 0, 3000, b"one");
        check_all(&table, 3000, b"one");
        table.flush(true).unwrap();
        check_all(&table, 3000, b"one");
        fill(&table, 2000, 5000, b"one");
        check_all(&table, 5000, b"one");
    }
    let store = on(&components, manual());
    let table = store.table("t").unwrap();
    check_all(&table, 5000, b"one");
    fill(&table, 0, 5000, b"two");
    check_all(&table, 5000, b"two");
    table.compact(&CompactOptions::default()).unwrap();
    check_all(&table, 5000, b"two");
    let tablets = table.tablets().unwrap();
    assert_eq!(
        (tablets.len(), tablets[0].files, tablets[0].entries),
        (1, 1, 5000)
    );
}

#[test]
fn closing_flushes_the_tables_beside_one_that_fails() {
    let components = in_memory();
    {
        let store = on(&components, manual());
        for name in ["bad", "good"] {
            store.create_table(name, &TableOptions::default()).unwrap();
            let table = store.table(name).unwrap();
            let unlogged = ("table.durability".to_owned(), Some("none".to_owned()));
            table.modify_properties(&[unlogged]).unwrap();
            fill(&table, 0, 10, b"no number");
        }
        let sum = "table.iterator.minc.sum";
        let set = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
        let class = set(
            sum,
            "10,org.apache.accumulo.core.iterators.user.SummingCombiner",
        );
        let (kind, all) = (format!("{sum}.opt.type"), format!("{sum}.opt.all"));
        let properties = [class, set(&kind, "STRING"), set(&all, "true")];
        let bad = store.table("bad").unwrap();
        bad.modify_properties(&properties).unwrap();
        // What its iterators refuse is in no log: it is written as it is.
        store.close().unwrap();
    }
    let store = on(&components, manual());
    check_all(&store.table("bad").unwrap(), 10, b"no number");
    check_all(&store.table("good").unwrap(), 10, b"no number");
}

#[test]
fn closing_leaves_no_long_log_to_read() {
    leaves_no_long_log(4096);
    // One segment that is longer than segments should be.
    leaves_no_long_log(64 << 20);
}

fn leaves_no_long_log(batch_bytes: usize) {
    let components = in_memory();
    let log_bytes = || -> u64 {
        let dir = Path::new("/store/wal");
        let segments = components.vfs.list(dir).unwrap();
        let size = |name: &std::ffi::OsStr| components.vfs.len(&dir.join(name)).unwrap();
        segments.iter().map(|entry| size(entry.name.as_ref())).sum()
    };
    let large = vec![b'x'; 4096];
    {
        let store = on(&components, manual());
        for name in ["t", "u"] {
            store.create_table(name, &TableOptions::default()).unwrap();
        }
        // A long log of a table that is flushed, after a few batches of one that is not.
        fill(&store.table("u").unwrap(), 0, 10, b"little");
        fill_in_batches(&store.table("t").unwrap(), 0, 5000, &large, batch_bytes);
        store.table("t").unwrap().flush(true).unwrap();
        assert!(log_bytes() > 16 << 20);
    }
    assert!(log_bytes() < 1 << 10, "{} bytes of log", log_bytes());
    for _ in 0..2 {
        let store = on(&components, manual());
        check_all(&store.table("t").unwrap(), 5000, &large);
        check_all(&store.table("u").unwrap(), 10, b"little");
        fill(&store.table("u").unwrap(), 0, 10, b"little");
    }
    assert!(log_bytes() > 0, "a short log is left as it is");
}

#[test]
fn splits_merges_and_row_deletes_move_no_entry() {
    let store = on(&in_memory(), manual());
    store.create_table("t", &TableOptions::default()).unwrap();
    let table = store.table("t").unwrap();
    fill(&table, 0, 2000, b"v");
    table.flush(true).unwrap();
    let splits: Vec<Vec<u8>> = ["4", "8", "c"]
        .iter()
        .map(|row| row.as_bytes().to_vec())
        .collect();
    table.add_splits(&splits).unwrap();
    fill(&table, 2000, 3000, b"v");
    table.flush(true).unwrap();
    assert_eq!(table.tablets().unwrap().len(), 4);
    check_all(&table, 3000, b"v");
    table.compact(&CompactOptions::default()).unwrap();
    check_all(&table, 3000, b"v");
    table.merge(None, Some(b"c")).unwrap();
    check_all(&table, 3000, b"v");
    assert_eq!(table.tablets().unwrap().len(), 2);
    table.delete_rows(Some(b"3"), Some(b"d")).unwrap();
    let kept = all(&table);
    assert!(
        kept.iter()
            .all(|entry| entry.key.row[0] <= b'3' || entry.key.row[0] >= b'd')
    );
    let expected = (0..3000)
        .map(row)
        .filter(|row| row.as_str() <= "3" || row.as_str() > "d")
        .count();
    assert_eq!(kept.len(), expected);
    table.compact(&CompactOptions::default()).unwrap();
    assert_eq!(all(&table).len(), expected);
}

#[test]
fn background_threads_flush_compact_and_split() {
    let components = in_memory();
    let options = StoreOptions {
        memory_budget_bytes: 1 << 20,
        ..StoreOptions::default()
    };
    let store = on(&components, options);
    let mut table_options = TableOptions::default();
    table_options
        .properties
        .insert("table.split.threshold".into(), "256K".into());
    store.create_table("t", &table_options).unwrap();
    let table = store.table("t").unwrap();
    fill(&table, 0, 60_000, &[7; 40]);
    check_all(&table, 60_000, &[7; 40]);
    table.flush(true).unwrap();
    check_all(&table, 60_000, &[7; 40]);
    for _ in 0..200 {
        if table.tablets().unwrap().len() > 3 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(table.tablets().unwrap().len() > 3, "{:?}", table.tablets());
    check_all(&table, 60_000, &[7; 40]);
    let range = Range::row(row(77));
    assert_eq!(
        Scanner::new(table.clone())
            .range(range)
            .entries()
            .unwrap()
            .len(),
        1
    );
    drop(table);
    drop(store);
    let store = on(&components, manual());
    check_all(&store.table("t").unwrap(), 60_000, &[7; 40]);
}

#[test]
fn unordered_scans_find_the_same_entries() {
    let store = on(&in_memory(), manual());
    let splits = vec![b"5".to_vec(), b"a".to_vec()];
    store
        .create_table(
            "t",
            &TableOptions {
                splits,
                ..TableOptions::default()
            },
        )
        .unwrap();
    let table = store.table("t").unwrap();
    fill(&table, 0, 5000, b"v");
    let mut scanner = Scanner::new(table.clone()).unordered();
    for at in 0..4000 {
        scanner = scanner.range(Range::row(row(at)));
    }
    let mut found = scanner.entries().unwrap();
    found.sort_by(|a, b| a.key.cmp(&b.key));
    let mut expected: Vec<String> = (0..4000).map(row).collect();
    expected.sort();
    let rows: Vec<&[u8]> = found.iter().map(|entry| entry.key.row.as_slice()).collect();
    assert_eq!(
        rows,
        expected.iter().map(String::as_bytes).collect::<Vec<_>>()
    );
    assert_eq!(
        Scanner::new(table).unordered().entries().unwrap().len(),
        5000
    );
}

/// A process was killed while it flushed: its file is there and the catalog knows nothing of it. The
/// next opening replays a log larger than memory, flushes on the way, and takes the same id. It once
/// found the file in its way, so that the store could not be opened any more.
#[test]
fn a_flush_cut_short_by_a_crash_does_not_stop_the_replay_of_a_large_log() {
    let components = in_memory();
    let store = on(&components, manual());
    store.create_table("t", &TableOptions::default()).unwrap();
    fill(&store.table("t").unwrap(), 0, 20_000, &[7; 40]);
    drop(store);
    for id in 1..4 {
        let leftover = format!("/store/files/{id:016}.sorted");
        let mut file = components.vfs.create(Path::new(&leftover)).unwrap();
        file.write_all(b"half a block").unwrap();
    }
    let small = StoreOptions {
        memory_budget_bytes: 1 << 20,
        ..manual()
    };
    let store = on(&components, small);
    let table = store.table("t").unwrap();
    assert!(table.tablets().unwrap()[0].files > 0, "nothing was flushed");
    check_all(&table, 20_000, &[7; 40]);
}

#[test]
fn the_name_of_a_leftover_is_never_given_to_another_file() {
    let components = in_memory();
    drop(on(&components, manual()));
    let leftover = Path::new("/store/files/0000000000000003.sorted");
    components.vfs.create(leftover).unwrap();
    let store = on(&components, manual());
    assert!(!components.vfs.exists(leftover).unwrap());
    store.create_table("t", &TableOptions::default()).unwrap();
    let table = store.table("t").unwrap();
    for round in 0..4 {
        fill(&table, round * 10, round * 10 + 10, b"v");
        table.flush(true).unwrap();
    }
    // Somebody with a handle of an earlier store may delete the leftover by name once more.
    assert!(!components.vfs.exists(leftover).unwrap());
    assert_eq!(
        components
            .vfs
            .list(Path::new("/store/files"))
            .unwrap()
            .len(),
        4
    );
    check_all(&table, 40, b"v");
}

#[test]
fn a_file_in_the_place_of_a_directory_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("store");
    let open = |create| {
        let options = StoreOptions {
            create,
            ..StoreOptions::default()
        };
        Store::open_with(Components::default(), &dir, options)
    };
    open(true).expect("created").close().expect("closed");
    for name in ["wal", "files"] {
        std::fs::rename(dir.join(name), folder.path().join(name)).expect("moved away");
        std::fs::write(dir.join(name), "").expect("written");
        let error = open(false).expect_err("no directory");
        assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
        let text = error.to_string();
        assert!(
            text.contains("move it away") && text.contains(name),
            "{text}"
        );
        std::fs::remove_file(dir.join(name)).expect("removed");
        std::fs::rename(folder.path().join(name), dir.join(name)).expect("moved back");
    }
    open(false).expect("as before").close().expect("closed");
}

/// A backup by `cp -al` has other names of the same files, some of which the store writes in place.
#[test]
fn a_hard_linked_copy_of_a_closed_store_stays_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let [dir, backup] = ["store", "backup"].map(|name| folder.path().join(name));
    let open = |dir: &Path, read_only: bool| {
        let options = StoreOptions {
            create: !read_only,
            read_only,
            ..StoreOptions::default()
        };
        Store::open_with(Components::default(), dir, options).expect("opens")
    };
    let put = |store: &Store, table: &str, row: &str| {
        let mut writer = BatchWriter::new(
            store.table(table).expect("a table"),
            BatchWriterConfig::default(),
        );
        let update = ColumnUpdate {
            qualifier: b"q",
            value: Some(b"v"),
            ..ColumnUpdate::default()
        };
        writer.put(row.as_bytes(), update).expect("put");
        writer.close().expect("written");
    };
    let rows = |store: &Store, table: &str| -> Vec<Vec<u8>> {
        let table = store.table(table).expect("a table");
        let entries = Scanner::new(table).entries().expect("scanned");
        entries.into_iter().map(|entry| entry.key.row).collect()
    };
    let store = open(&dir, false);
    store
        .create_table("t", &TableOptions::default())
        .expect("created");
    put(&store, "t", "before");
    store.close().expect("closed");
    drop(store);
    link_tree(&dir, &backup);

    // Once without and once with a commit of the catalog, and after each a clean close.
    let store = open(&dir, false);
    put(&store, "t", "later");
    store.close().expect("closed");
    drop(store);
    let store = open(&dir, false);
    store
        .create_table("new", &TableOptions::default())
        .expect("created");
    put(&store, "t", "last");
    store.close().expect("closed");
    drop(store);

    // Each of the two can be open while the other is.
    let original = open(&dir, false);
    let store = open(&backup, true);
    assert_eq!(rows(&store, "t"), [b"before"]);
    store.close().expect("closed");
    drop(store);
    let store = open(&backup, false);
    original.close().expect("closed");
    drop(original);
    assert!(store.table("new").is_err());
    put(&store, "t", "other");
    store.close().expect("closed");
    drop(store);
    assert_eq!(rows(&open(&backup, true), "t"), [&b"before"[..], b"other"]);
    let expected = [&b"before"[..], b"last", b"later"];
    assert_eq!(rows(&open(&dir, true), "t"), expected);
}

fn link_tree(from: &Path, to: &Path) {
    std::fs::create_dir(to).expect("created");
    for entry in std::fs::read_dir(from).expect("listed") {
        let path = entry.expect("an entry").path();
        let copy = to.join(path.file_name().expect("a name"));
        match path.is_dir() {
            true => link_tree(&path, &copy),
            false => std::fs::hard_link(&path, &copy).expect("linked"),
        }
    }
}
