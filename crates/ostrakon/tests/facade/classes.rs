//! Closures that run inside the store.

use ostrakon::{ErrorKind, IteratorScope, IteratorSetting, Store};

fn values(table: &ostrakon::Table) -> Vec<String> {
    let entries = table.scan().collect().unwrap();
    let value = |entry: ostrakon::Entry| entry.value_str().unwrap().to_owned();
    entries.into_iter().map(value).collect()
}

#[test]
fn a_filter_at_compaction_removes_entries_from_files() {
    let store = Store::builder()
        .filter_class("NoTests", |entry| !entry.key.row.starts_with(b"test-"))
        .in_memory()
        .unwrap();
    let table = store.create_table("t").unwrap();
    for row in ["real-1", "test-1", "test-2", "test-3"] {
        table.put(row, ("f", "q"), row).commit().unwrap();
    }
    // Shadowed by a delete marker, which a filter must let pass.
    table.delete("real-1", ("f", "q")).commit().unwrap();
    table.put("real-2", ("f", "q"), "kept").commit().unwrap();

    let setting = IteratorSetting::new(30, "no-tests", "NoTests");
    table
        .attach_iterator(&setting, &[IteratorScope::Minc, IteratorScope::Majc])
        .unwrap();
    table.compact().unwrap();
    assert_eq!(values(&table), ["kept"]);
}

#[test]
fn a_map_changes_values_under_the_other_iterators() {
    let store = Store::builder()
        .map_class("Upper", |entry| entry.value.to_ascii_uppercase())
        .in_memory()
        .unwrap();
    let table = store.create_table("t").unwrap();
    table
        .put("a", ("f", "q"), "x")
        .put(("f", "r"), "y")
        .commit()
        .unwrap();
    let upper = IteratorSetting::new(30, "upper", "Upper");
    let grep = IteratorSetting::new(40, "grep", "GrepIterator").with("term", "X");
    let found = table
        .scan()
        .iterator(grep)
        .iterator(upper)
        .collect()
        .unwrap();
    assert_eq!(found.len(), 1, "grep sees what the map below it made");
    assert_eq!(found[0].value(), b"X");
    assert_eq!(values(&table), ["x", "y"], "the table has what was put");
}

#[test]
fn a_taken_name_keeps_the_store_from_opening() {
    let opened = Store::builder()
        .filter_class("GrepIterator", |_| true)
        .in_memory();
    assert_eq!(opened.unwrap_err().kind(), ErrorKind::InvalidArgument);
    let twice = Store::builder()
        .filter_class("Mine", |_| true)
        .map_class("Mine", |_| Vec::new());
    assert_eq!(
        twice.in_memory().unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
}

#[test]
fn a_class_without_options_refuses_them() {
    let store = Store::builder()
        .filter_class("Mine", |_| true)
        .in_memory()
        .unwrap();
    let table = store.create_table("t").unwrap();
    let setting = IteratorSetting::new(30, "mine", "Mine").with("ttl", "1");
    let refused = table.attach_iterator(&setting, &[IteratorScope::Scan]);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidArgument);
}
