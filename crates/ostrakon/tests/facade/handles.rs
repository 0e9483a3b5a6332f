//! Which handle keeps what open, and what closing says.

use ostrakon::{Condition, Durability, ErrorKind, Store};

#[test]
fn a_table_a_scan_and_a_writer_keep_the_store_open() {
    let directory = tempfile::tempdir().unwrap();
    let table = Store::open(directory.path())
        .unwrap()
        .create_table("t")
        .unwrap();
    table.put("a", ("f", "q"), "1").commit().unwrap();
    let mut entries = table.scan().start().unwrap();
    let mut writer = table.batch_writer();
    drop(table);

    assert_eq!(
        Store::open(directory.path()).unwrap_err().kind(),
        ErrorKind::Locked
    );
    assert_eq!(entries.next().unwrap().unwrap().value(), b"1");
    writer.put("b", ("f", "q"), "2").unwrap();
    drop(entries);
    drop(writer);

    let store = Store::open(directory.path()).unwrap();
    assert_eq!(store.table("t").unwrap().scan().count().unwrap(), 2);
}

#[test]
fn closing_ends_all_handles() {
    let store = Store::in_memory().unwrap();
    let table = store.create_table("t").unwrap();
    let other = store.clone();
    store.close().unwrap();
    assert_eq!(other.tables().unwrap_err().kind(), ErrorKind::Closed);
    let put = table.put("a", ("f", "q"), "1").commit();
    assert_eq!(put.unwrap_err().kind(), ErrorKind::Closed);
    let first = table.scan().into_iter().next().unwrap();
    assert_eq!(first.unwrap_err().kind(), ErrorKind::Closed);
    other.close().unwrap();
}

#[test]
fn a_closed_store_can_be_opened_while_handles_are_left() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let table = store.create_table("t").unwrap();
    let entries = table.scan().start().unwrap();
    store.close().unwrap();
    let again = Store::open(directory.path()).unwrap();
    assert_eq!(again.tables().unwrap(), ["t"]);
    assert_eq!(
        format!("{table:?}"),
        "Table { name: \"t\", store: Store, closed }"
    );
    drop(entries);
}

#[test]
fn tables_are_created_listed_and_dropped() {
    let store = Store::in_memory().unwrap();
    store
        .open_or_create_table("b")
        .unwrap()
        .put("x", ("f", "q"), "1")
        .commit()
        .unwrap();
    store.open_or_create_table("a").unwrap();
    assert_eq!(
        store
            .open_or_create_table("b")
            .unwrap()
            .scan()
            .count()
            .unwrap(),
        1
    );
    assert_eq!(
        store.create_table("b").unwrap_err().kind(),
        ErrorKind::AlreadyExists
    );
    assert_eq!(store.tables().unwrap(), ["a", "b"]);
    store.drop_table("b").unwrap();
    assert_eq!(
        store.table("b").unwrap_err().kind(),
        ErrorKind::TableNotFound
    );
    let malformed = store.open_or_create_table("a b").unwrap_err();
    assert_eq!(malformed.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn a_table_set_to_zstd_is_kept_in_every_build() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let builder = store
        .table_builder("t")
        .property("table.file.compress.type", "zstd");
    let table = builder.create().unwrap();
    let mut writer = table.batch_writer();
    for n in 0..1000 {
        writer
            .put(
                format!("{n:04}"),
                ("f", "q"),
                "the same value again and again",
            )
            .unwrap();
    }
    writer.close().unwrap();
    table.compact().unwrap();
    store.close().unwrap();
    let store = Store::open(directory.path()).unwrap();
    assert_eq!(store.table("t").unwrap().scan().count().unwrap(), 1000);
}

#[test]
fn a_read_only_store_reads_and_refuses_writes() {
    let directory = tempfile::tempdir().unwrap();
    let table = Store::open(directory.path())
        .unwrap()
        .create_table("t")
        .unwrap();
    table.put("a", ("f", "q"), "1").commit().unwrap();
    drop(table);

    let reader = || {
        Store::builder()
            .read_only(true)
            .open(directory.path())
            .unwrap()
    };
    let (one, two) = (reader(), reader());
    for store in [&one, &two] {
        let table = store.open_or_create_table("t").unwrap();
        assert_eq!(table.scan().count().unwrap(), 1);
        let put = table.put("b", ("f", "q"), "2").commit();
        assert_eq!(put.unwrap_err().kind(), ErrorKind::ReadOnly);
    }
    let absent = directory.path().join("absent");
    let opened = Store::builder().create(false).open(absent);
    assert_eq!(opened.unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn durability_of_the_store_reaches_every_kind_of_write() {
    let store = Store::builder()
        .durability(Durability::None)
        .in_memory()
        .unwrap();
    let table = store.create_table("t").unwrap();
    table.put("a", ("f", "q"), "1").commit().unwrap();
    let absent = Condition::absent(("f", "q"));
    assert!(
        table
            .put("b", ("f", "q"), "1")
            .only_if(absent)
            .commit()
            .unwrap()
    );
    let mut writer = table.batch_writer();
    writer.put("c", ("f", "q"), "1").unwrap();
    writer.close().unwrap();
    let metrics = |store: &Store| store.metrics().unwrap().wal_bytes;
    assert_eq!(metrics(&store), 0, "nothing was written to the log");
    let synced = table.put("d", ("f", "q"), "1").durability(Durability::Sync);
    synced.commit().unwrap();
    assert!(metrics(&store) > 0, "a write may ask for more");
}
