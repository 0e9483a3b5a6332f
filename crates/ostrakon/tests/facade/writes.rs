//! Writes: of one row, conditional, and many.

use std::sync::{Arc, Mutex};

use ostrakon::{BatchWriterConfig, Condition, ErrorKind, Mutation, Store, Table};

fn table() -> Table {
    Store::in_memory().unwrap().create_table("t").unwrap()
}

/// What a reader with `auths` sees, in short.
fn seen(table: &Table, auths: &[&str]) -> Vec<String> {
    let entries = table.scan().auths(auths).collect().unwrap();
    let show = |entry: &ostrakon::Entry| {
        let (row, column) = (entry.row_str().unwrap(), entry.qualifier_str().unwrap());
        format!("{row} {column}={}", entry.value_str().unwrap())
    };
    entries.iter().map(show).collect()
}

#[test]
fn labels_and_timestamps_belong_to_the_update_before() {
    let table = table();
    table
        .put("r", ("f", "a"), "1")
        .label("x")
        .timestamp(5)
        .put(("f", "b"), "2")
        .put(("f", "c"), "3")
        .label("x&y")
        .commit()
        .unwrap();
    assert_eq!(seen(&table, &[]), ["r b=2"]);
    assert_eq!(seen(&table, &["x"]), ["r a=1", "r b=2"]);
    assert_eq!(seen(&table, &["x", "y"]), ["r a=1", "r b=2", "r c=3"]);
    let labelled = table.scan().auths(["x"]).first().unwrap().unwrap();
    assert_eq!(
        (labelled.label_str().unwrap(), labelled.timestamp()),
        ("x", 5)
    );
}

#[test]
fn a_delete_needs_the_label_of_what_it_deletes() {
    let table = table();
    table.put("r", ("f", "a"), "1").label("x").commit().unwrap();
    table.delete("r", ("f", "a")).commit().unwrap();
    assert_eq!(seen(&table, &["x"]), ["r a=1"]);
    table.delete("r", ("f", "a")).label("x").commit().unwrap();
    assert!(seen(&table, &["x"]).is_empty());
}

#[test]
fn a_malformed_write_writes_nothing() {
    let table = table();
    let label = table
        .put("r", ("f", "a"), "1")
        .put(("f", "b"), "2")
        .label("x&");
    assert_eq!(
        label.commit().unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    for first in [table.update("r").label("x"), table.update("r").timestamp(1)] {
        let error = first.put(("f", "a"), "1").commit().unwrap_err();
        assert_eq!(
            error.kind(),
            ErrorKind::InvalidArgument,
            "there is no put before it"
        );
    }
    let conditional = table.put("r", ("f", "a"), "1").label("x&");
    let error = conditional
        .only_if(Condition::absent(("f", "a")))
        .commit()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    table.update("r").commit().unwrap();
    assert!(seen(&table, &["x"]).is_empty());
}

#[test]
fn a_constraint_refuses_a_row_by_name() {
    let table = table();
    let error = table.put("r", ("f", "a"), "1");
    error.commit().unwrap();
    let class = "org.apache.accumulo.core.data.constraints.NoDeleteConstraint";
    table
        .set_property("table.constraint.9", Some(class))
        .unwrap();
    let error = table.delete("r", ("f", "a")).commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConstraintViolation);
    assert!(error.to_string().contains("NoDelete"), "{error}");
    let conditional = table
        .delete("r", ("f", "a"))
        .only_if(Condition::equals(("f", "a"), "1"));
    assert_eq!(
        conditional.commit().unwrap_err().kind(),
        ErrorKind::ConstraintViolation
    );
    assert_eq!(seen(&table, &[]), ["r a=1"]);
}

#[test]
fn of_two_conditional_writes_one_wins() {
    let table = table();
    let holder = ("lock", "holder");
    let take = |who: &str| {
        let put = table.put("job", holder, who);
        put.only_if(Condition::absent(holder)).commit().unwrap()
    };
    let won: Vec<bool> = std::thread::scope(|scope| {
        let threads = ["a", "b", "c", "d"].map(|who| scope.spawn(move || take(who)));
        threads.map(|thread| thread.join().unwrap()).to_vec()
    });
    assert_eq!(won.iter().filter(|won| **won).count(), 1);
    assert_eq!(table.scan().count().unwrap(), 1);
}

#[test]
fn a_condition_on_a_labelled_entry_needs_authorizations() {
    let table = table();
    let column = ("f", "a");
    table.put("r", column, "1").label("x").commit().unwrap();
    let write = || {
        let put = table.put("r", column, "2").label("x");
        put.only_if(Condition::equals(column, "1").label("x"))
    };
    assert_eq!(
        write().commit().unwrap_err().kind(),
        ErrorKind::BadAuthorizations
    );
    assert_eq!(
        write().auths([""]).commit().unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    assert!(write().auths(["x"]).commit().unwrap());
    assert!(!write().auths(["x"]).commit().unwrap());
    assert_eq!(seen(&table, &["x"]), ["r a=2"]);
}

#[test]
fn a_dropped_writer_writes_what_it_holds() {
    let table = table();
    let mut writer = table.batch_writer();
    writer.put("a", ("f", "q"), "1").unwrap();
    writer.put_labeled("b", ("f", "q"), "x", "2").unwrap();
    writer
        .write(&Mutation::new("c").put(("f", "q"), "3").put(("f", "r"), "4"))
        .unwrap();
    assert!(seen(&table, &["x"]).is_empty(), "still collected");
    drop(writer);
    assert_eq!(seen(&table, &["x"]), ["a q=1", "b q=2", "c q=3", "c r=4"]);
}

#[test]
fn a_writer_reports_the_failure_of_an_earlier_batch() {
    let store = Store::in_memory().unwrap();
    let table = store.create_table("t").unwrap();
    let small = BatchWriterConfig {
        batch_bytes: 1,
        ..BatchWriterConfig::default()
    };
    let mut writer = table.batch_writer_with(small);
    store.drop_table("t").unwrap();
    let failed = writer
        .put("a", ("f", "q"), "1")
        .and_then(|()| writer.flush());
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::TableNotFound);
    let closed = writer.close();
    assert_eq!(closed.unwrap_err().kind(), ErrorKind::TableNotFound);
}

/// Keeps the levels of events.
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<tracing::Level>>>);

impl tracing::Subscriber for Events {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        if event.metadata().target().starts_with("ostrakon::") {
            self.0.lock().unwrap().push(*event.metadata().level());
        }
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn a_dropped_writer_logs_what_it_could_not_write() {
    let events = Events::default();
    tracing::subscriber::with_default(events.clone(), || {
        let store = Store::in_memory().unwrap();
        let table = store.create_table("t").unwrap();
        let (mut dropped, mut closed) = (table.batch_writer(), table.batch_writer());
        dropped.put("a", ("f", "q"), "1").unwrap();
        closed.put("b", ("f", "q"), "1").unwrap();
        store.drop_table("t").unwrap();
        assert!(closed.close().is_err());
        assert!(events.0.lock().unwrap().is_empty(), "the caller was told");
        drop(dropped);
    });
    assert_eq!(*events.0.lock().unwrap(), [tracing::Level::ERROR]);
}
