//! Constraints of a store, and tables that do not take delete markers.

use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::{
    BatchWriter, BatchWriterConfig, CloneOptions, CompactOptions, Constraint,
    ConstraintEnvironment, ErrorKind, Mutation, MutationBatch, MutationRef, Range, Scanner, Source,
    Table, TableOptions,
};
use ostrakon_store::constraint::stock_constraints;
use ostrakon_store::vfs::MemoryVfs;
use ostrakon_store::{Components, Store, StoreOptions};

fn set(table: &Arc<dyn Table>, name: &str, value: &str) -> ostrakon_cell::Result<()> {
    table.modify_properties(&[(name.to_owned(), Some(value.to_owned()))])
}

fn mutation(row: &str, value: &str) -> Mutation {
    let mut mutation = Mutation::new(row);
    mutation.put("f", "q", value).unwrap();
    mutation
}

fn rows(table: &Arc<dyn Table>) -> Vec<String> {
    let entries = Scanner::new(table.clone()).entries().unwrap();
    let row = |entry: &ostrakon_cell::Entry| String::from_utf8_lossy(&entry.key.row).into_owned();
    entries.iter().map(row).collect()
}

#[test]
fn refused_mutations_reach_neither_the_log_nor_the_table() {
    let components = Components {
        vfs: MemoryVfs::shared(),
        ..Components::default()
    };
    let open = || {
        Store::open_with(
            components.clone(),
            Path::new("/store"),
            StoreOptions::default(),
        )
        .unwrap()
    };
    {
        let store = open();
        store.create_table("t", &TableOptions::default()).unwrap();
        let table = store.table("t").unwrap();
        let examples = "org.apache.accumulo.examples.constraints";
        set(
            &table,
            "table.constraint.2",
            &format!("{examples}.NumericValueConstraint"),
        )
        .unwrap();
        set(
            &table,
            "table.constraint.3",
            &format!("{examples}.AlphaNumKeyConstraint"),
        )
        .unwrap();
        let mut writer = BatchWriter::new(table.clone(), BatchWriterConfig::default());
        for (row, value) in [("a", "1"), ("b", "one"), ("c-", "x"), ("d", "4")] {
            writer.add(&mutation(row, value)).unwrap();
        }
        let error = writer.close().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConstraintViolation);
        for part in [
            "NumericValueConstraint code 1",
            "(2 mutations)",
            "AlphaNumKeyConstraint",
        ] {
            assert!(error.to_string().contains(part), "{error}");
        }
        assert_eq!(store.metrics().constraint_violations, 3);
        assert_eq!(store.metrics().entries_written, 2);
        assert_eq!(rows(&table), ["a", "d"]);
    }
    assert_eq!(rows(&open().table("t").unwrap()), ["a", "d"]);
}

/// Refuses everything in a table of one name.
struct Closed;

impl Constraint for Closed {
    fn names(&self) -> &[&str] {
        &["org.example.Closed"]
    }
    fn describe(&self) -> &str {
        "refuses everything written to the table `t`"
    }
    fn describe_violation(&self, _: i16) -> Option<&str> {
        Some("closed")
    }
    fn check(
        &self,
        environment: &ConstraintEnvironment,
        _: &MutationRef<'_>,
        violated: &mut Vec<i16>,
    ) {
        if &*environment.table == "t" {
            violated.push(9);
        }
    }
}

#[test]
fn a_class_of_ones_own_runs_and_without_it_the_table_is_read_only() {
    let plain = Components {
        vfs: MemoryVfs::shared(),
        ..Components::default()
    };
    let mut constraints = stock_constraints();
    constraints.register(Arc::new(Closed));
    let with_own = Components {
        constraints,
        ..plain.clone()
    };
    let open = |components: &Components| {
        Store::open_with(
            components.clone(),
            Path::new("/store"),
            StoreOptions::default(),
        )
        .unwrap()
    };
    let write = |table: &Arc<dyn Table>| {
        let mut batch = MutationBatch::new();
        batch.push(&mutation("r", "1")).unwrap();
        table
            .submit(batch, None)
            .unwrap()
            .wait()
            .unwrap()
            .rejections
    };
    {
        let store = open(&with_own);
        store.create_table("t", &TableOptions::default()).unwrap();
        let table = store.table("t").unwrap();
        assert!(write(&table).is_empty());
        set(&table, "table.constraint.own", "org.example.Closed").unwrap();
        assert_eq!((write(&table)[0].code, write(&table)[0].mutations), (9, 1));
        // Another name, another verdict; the clone keeps the constraint.
        store
            .clone_table("t", "u", &CloneOptions::default())
            .unwrap();
        assert!(write(&store.table("u").unwrap()).is_empty());
    }
    let store = open(&plain);
    let table = store.table("u").unwrap();
    assert_eq!(rows(&table), ["r"]);
    let refused = write(&table);
    assert_eq!(
        (refused[0].constraint.as_str(), refused[0].code),
        ("org.example.Closed", -1)
    );
    let error = set(&table, "table.constraint.more", "org.example.Closed").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ClassNotFound);
    let options = TableOptions {
        properties: [("table.constraint.2".to_owned(), "Closed".to_owned())].into(),
        ..TableOptions::default()
    };
    assert_eq!(
        store.create_table("v", &options).unwrap_err().kind(),
        ErrorKind::ClassNotFound
    );
}

#[test]
fn a_scan_over_a_delete_marker_fails_where_the_table_says_so() {
    let store = Store::in_memory().unwrap();
    store.create_table("t", &TableOptions::default()).unwrap();
    let table = store.table("t").unwrap();
    let mut batch = MutationBatch::new();
    for row in ["a", "b", "c"] {
        batch.push(&mutation(row, "1")).unwrap();
    }
    let mut delete = Mutation::new("b");
    delete.delete("f", "q").unwrap();
    batch.push(&delete).unwrap();
    table.submit(batch, None).unwrap().wait().unwrap();
    let read = |range: Range| Scanner::new(table.clone()).range(range).entries();
    assert_eq!(read(Range::all()).unwrap().len(), 2);
    set(&table, "table.delete.behavior", "fail").unwrap();
    for compacted in [false, true] {
        let error = read(Range::all()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(
            error.to_string().contains("table.delete.behavior"),
            "{error}"
        );
        assert_eq!(read(Range::row("a")).unwrap().len(), 1);
        if !compacted {
            // Neither fails nor hides what the scan must object to.
            table.compact(&CompactOptions::default()).unwrap();
        }
    }
    set(&table, "table.delete.behavior", "process").unwrap();
    assert_eq!(read(Range::all()).unwrap().len(), 2);
}
