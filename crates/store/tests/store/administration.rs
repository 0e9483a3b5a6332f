//! Administration from many threads: one winner for each race, and the catalog and the open store never disagree.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use ostrakon_cell::{
    Batch, BatchLimit, BulkWriter, ClassKind, CloneOptions, CompactOptions, Constraint,
    ConstraintEnvironment, Durability, ErrorKind, ImportDirectoryOptions, Mutation, MutationBatch,
    MutationRef, PropertyOwner, Range, Result, ScanOptions, Scanner, Source, Table, TableOptions,
};
use ostrakon_store::constraint::stock_constraints;
use ostrakon_store::vfs::MemoryVfs;
use ostrakon_store::{Components, Store, StoreOptions};

fn components() -> Components {
    Components {
        vfs: MemoryVfs::shared(),
        ..Components::default()
    }
}

fn open(components: &Components, background: bool) -> Arc<Store> {
    let options = StoreOptions {
        background,
        ..StoreOptions::default()
    };
    Store::open_with(components.clone(), Path::new("/store"), options).unwrap()
}

fn put(table: &Arc<dyn Table>, row: &str) -> Result<()> {
    let mut batch = MutationBatch::new();
    batch.push(Mutation::new(row).put("f", "q", "v")?)?;
    table
        .submit(batch, Some(Durability::Sync))?
        .wait()
        .map(drop)
}

fn rows(store: &Arc<Store>, name: &str) -> Vec<String> {
    let entries = Scanner::new(store.table(name).unwrap()).entries().unwrap();
    let row = |entry: ostrakon_cell::Entry| String::from_utf8(entry.key.row).unwrap();
    entries.into_iter().map(row).collect()
}

fn names(store: &Arc<Store>) -> Vec<String> {
    let tables = store.tables().unwrap();
    tables.into_iter().map(|table| table.name).collect()
}

/// Runs the calls at once, each on a thread of its own.
fn race<T: Send>(calls: Vec<Box<dyn FnOnce() -> T + Send + '_>>) -> Vec<T> {
    let barrier = Barrier::new(calls.len());
    std::thread::scope(|scope| {
        let barrier = &barrier;
        let threads: Vec<_> = calls
            .into_iter()
            .map(|call| {
                scope.spawn(move || {
                    barrier.wait();
                    call()
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

/// Two renames of one table both succeeded, the table that took the old name at once was lost from the open store, and
/// with its log went a write that had been acknowledged and synced.
#[test]
fn of_two_renames_one_wins_and_a_table_that_takes_the_old_name_stays() {
    let components = components();
    let mut store = open(&components, true);
    for round in 0..150 {
        let (a, b, c) = (
            format!("a{round}"),
            format!("b{round}"),
            format!("c{round}"),
        );
        store.create_table(&a, &TableOptions::default()).unwrap();
        put(&store.table(&a).unwrap(), "old").unwrap();
        let done = AtomicBool::new(false);
        let created = AtomicBool::new(false);
        let rename = |to: &str| {
            let outcome = store.rename_table(&a, to);
            done.store(true, Ordering::SeqCst);
            outcome
        };
        let outcomes = race::<Result<()>>(vec![
            Box::new(|| rename(&b)),
            Box::new(|| rename(&c)),
            Box::new(|| {
                while !done.load(Ordering::SeqCst) {
                    std::hint::spin_loop();
                }
                store.create_table(&a, &TableOptions::default())?;
                created.store(true, Ordering::SeqCst);
                // It may have been renamed already.
                put(&store.table(&a)?, "new")
            }),
        ]);
        let won = outcomes[..2].iter().filter(|outcome| outcome.is_ok());
        // Both may, one after the other, if the second renamed the new table.
        let won = won.count();
        let (created, written) = (created.into_inner(), outcomes[2].is_ok());
        let mut left: Vec<String> = names(&store);
        left.retain(|name| [&a, &b, &c].contains(&name));
        let expected = 1 + usize::from(created);
        assert_eq!(left.len(), expected, "round {round}: {outcomes:?} {left:?}");
        assert!(won == 1 || (won == 2 && created), "{outcomes:?}");
        let mut all: Vec<String> = left.iter().flat_map(|name| rows(&store, name)).collect();
        all.sort();
        let expected: &[&str] = if written { &["new", "old"] } else { &["old"] };
        assert_eq!(all, expected, "round {round}: {outcomes:?}");
        if round % 50 == 49 {
            let before: Vec<_> = names(&store)
                .into_iter()
                .map(|name| (rows(&store, &name), name))
                .collect();
            drop(store);
            store = open(&components, true);
            let after: Vec<_> = names(&store)
                .into_iter()
                .map(|name| (rows(&store, &name), name))
                .collect();
            assert_eq!(before, after);
        }
    }
}

#[test]
fn of_a_rename_and_a_deletion_one_wins() {
    let store = open(&components(), false);
    for round in 0..150 {
        let (a, b) = (format!("a{round}"), format!("b{round}"));
        store.create_table(&a, &TableOptions::default()).unwrap();
        let handle = store.table(&a).unwrap();
        let outcomes = race::<Result<()>>(vec![
            Box::new(|| store.rename_table(&a, &b)),
            Box::new(|| store.delete_table(&a)),
        ]);
        assert_eq!(
            outcomes.iter().filter(|outcome| outcome.is_ok()).count(),
            1,
            "{outcomes:?}"
        );
        let renamed = outcomes[0].is_ok();
        assert_eq!(names(&store).contains(&b), renamed);
        assert!(!names(&store).contains(&a));
        // The handle follows its table, and never reaches another one of the name.
        store.create_table(&a, &TableOptions::default()).unwrap();
        let written = put(&handle, "row");
        if renamed {
            written.unwrap();
            assert_eq!(rows(&store, &b), ["row"]);
            store.delete_table(&b).unwrap();
        } else {
            assert_eq!(written.unwrap_err().kind(), ErrorKind::TableNotFound);
        }
        assert!(rows(&store, &a).is_empty());
        assert_ne!(handle.id(), store.table(&a).unwrap().id());
        store.delete_table(&a).unwrap();
    }
}

#[test]
fn of_two_creations_deletions_and_clones_one_wins() {
    let store = open(&components(), false);
    store
        .create_table("origin", &TableOptions::default())
        .unwrap();
    let (options, clone) = (TableOptions::default(), CloneOptions::default());
    for round in 0..60 {
        let outcomes = race::<Result<()>>(vec![
            Box::new(|| store.create_table("t", &options)),
            Box::new(|| store.clone_table("origin", "t", &clone)),
            Box::new(|| store.create_table("t", &options)),
        ]);
        let won = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        assert_eq!(won, 1, "round {round}: {outcomes:?}");
        let outcomes = race::<Result<()>>(vec![
            Box::new(|| store.delete_table("t")),
            Box::new(|| store.delete_table("t")),
            Box::new(|| store.rename_table("t", "u")),
        ]);
        let won = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        assert_eq!(won, 1, "round {round}: {outcomes:?}");
        let _ = store.delete_table("u");
        assert_eq!(names(&store), ["origin"]);
    }
}

/// Ends the threads beside it, also when the test panics.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// What reached memory between the flush of an off-lining and its end was in no clone.
#[test]
fn clones_hold_every_write_acknowledged_before() {
    let store = open(&components(), true);
    store.create_table("t", &TableOptions::default()).unwrap();
    let (acknowledged, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (store, acknowledged, stop) = (&store, &acknowledged, &stop);
        let _ended = StopAtEnd(stop);
        scope.spawn(move || {
            let table = store.table("t").unwrap();
            let mut row = 0;
            while !stop.load(Ordering::SeqCst) {
                match put(&table, &format!("{row:08}")) {
                    Ok(()) => {
                        row += 1;
                        acknowledged.store(row, Ordering::SeqCst);
                    }
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Offline, "{error}"),
                }
            }
        });
        for round in 0..24 {
            let offline = round % 3 > 0;
            if offline {
                store.set_online("t", false).unwrap();
            }
            let before = acknowledged.load(Ordering::SeqCst) as usize;
            store
                .clone_table("t", "copy", &CloneOptions::default())
                .unwrap();
            let copied = rows(store, "copy");
            assert!(copied.len() >= before, "{} of {before}", copied.len());
            for (at, row) in copied.iter().take(before).enumerate() {
                assert_eq!(row, &format!("{at:08}"));
            }
            store.set_online("t", true).unwrap();
            store.delete_table("copy").unwrap();
            let more = acknowledged.load(Ordering::SeqCst) + 3;
            for _ in 0..10_000 {
                if acknowledged.load(Ordering::SeqCst) >= more {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    });
    assert_eq!(rows(&store, "t").len() as u64, acknowledged.into_inner());
}

/// Has writers wait before their batch is on its way.
struct Gate(Arc<AtomicBool>, Arc<AtomicBool>);

impl Constraint for Gate {
    fn names(&self) -> &[&str] {
        &["test.Gate"]
    }
    fn describe(&self) -> &str {
        "waits until it is opened"
    }
    fn describe_violation(&self, _: i16) -> Option<&str> {
        None
    }
    fn check(&self, _: &ConstraintEnvironment, _: &MutationRef<'_>, _: &mut Vec<i16>) {
        self.0.store(true, Ordering::SeqCst);
        while !self.1.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A write that was admitted before the table went off-line was acknowledged, and was in the table
/// and not in its clone.
#[test]
fn the_clone_of_an_off_line_table_has_what_was_on_its_way() {
    let (reached, gate) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicBool::new(false)),
    );
    let mut components = components();
    let mut constraints = stock_constraints();
    constraints.register(Arc::new(Gate(reached.clone(), gate.clone())));
    components.constraints = constraints;
    let store = open(&components, true);
    let mut options = TableOptions::default();
    let property = ("table.constraint.2".into(), "test.Gate".into());
    options.properties.extend([property]);
    store.create_table("t", &options).unwrap();
    let table = store.table("t").unwrap();
    std::thread::scope(|scope| {
        let opens = StopAtEnd(&gate);
        let writer = scope.spawn(|| put(&table, "row"));
        while !reached.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        store.set_online("t", false).unwrap();
        let clone = scope.spawn(|| store.clone_table("t", "copy", &CloneOptions::default()));
        // A clone that does not wait for the writer ends in this time, unless the machine is very busy.
        for _ in 0..200 {
            if clone.is_finished() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(opens);
        writer.join().unwrap().unwrap();
        clone.join().unwrap().unwrap();
    });
    assert_eq!(rows(&store, "copy"), ["row"]);
}

#[test]
fn a_table_of_which_a_flush_cannot_be_waited_for_is_flushed_without_waiting() {
    let store = open(&components(), true);
    store.create_table("t", &TableOptions::default()).unwrap();
    let table = store.table("t").unwrap();
    for _ in 0..20 {
        put(&table, "row").unwrap();
        table.flush(false).unwrap();
    }
    let mut left = 2_000;
    while table
        .tablets()
        .unwrap()
        .iter()
        .any(|tablet| tablet.memory_entries > 0)
    {
        left -= 1;
        assert!(left > 0, "the flush that was asked for never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Every call, on the store and on what came from it.
#[test]
fn after_close_every_call_answers_closed() {
    let store = open(&components(), true);
    store.create_table("t", &TableOptions::default()).unwrap();
    let table = store.table("t").unwrap();
    put(&table, "row").unwrap();
    put(&table, "row 2").unwrap();
    let bulk = table.bulk_writer().unwrap();
    let one_each = ScanOptions {
        batch: BatchLimit {
            entries: 1,
            ..BatchLimit::default()
        },
        ..ScanOptions::default()
    };
    let mut running = table.scan(&[Range::all()], &one_each).unwrap();
    let mut restarted = table.scan(&[Range::all()], &one_each).unwrap();
    let mut batch = Batch::new();
    assert!(running.next_batch(&mut batch).unwrap());
    store.close().unwrap();
    store.close().unwrap();
    let (scan, compact) = (ScanOptions::default(), CompactOptions::default());
    let directory = Path::new("/elsewhere");
    let answers: Vec<(&str, Result<()>)> = vec![
        ("tables", store.tables().map(drop)),
        ("table", store.table("t").map(drop)),
        ("create", store.create_table("u", &TableOptions::default())),
        ("delete", store.delete_table("t")),
        ("rename", store.rename_table("t", "u")),
        (
            "clone",
            store.clone_table("t", "u", &CloneOptions::default()),
        ),
        ("set_online", store.set_online("t", false)),
        ("checkpoint", store.checkpoint(directory)),
        ("check", store.check(&mut |_, _| true).map(drop)),
        ("restore_file", store.restore_file(directory).map(drop)),
        ("problems", store.problems().map(drop)),
        ("namespaces", store.namespaces().map(drop)),
        ("create_namespace", store.create_namespace("n")),
        ("delete_namespace", store.delete_namespace("n")),
        ("rename_namespace", store.rename_namespace("n", "m")),
        (
            "find_class",
            store.find_class(ClassKind::Iterator, "Versions").map(drop),
        ),
        (
            "own_properties",
            store.own_properties(PropertyOwner::System).map(drop),
        ),
        (
            "change_properties",
            store
                .change_properties(PropertyOwner::System, None, &[])
                .map(drop),
        ),
        ("submit", put(&table, "late")),
        ("scan", table.scan(&[Range::all()], &scan).map(drop)),
        (
            "conditional",
            table
                .write_conditionally(Vec::new(), &scan.authorizations, None)
                .map(drop),
        ),
        ("table problems", table.problems().map(drop)),
        ("locate", table.locate(b"row").map(drop)),
        ("divide", table.divide(&[Range::all()], 2).map(drop)),
        (
            "scan_parts",
            table.scan_parts(&[vec![Range::all()]], &scan).map(drop),
        ),
        ("properties", table.properties().map(drop)),
        ("describe_properties", table.describe_properties().map(drop)),
        ("table own_properties", table.own_properties().map(drop)),
        (
            "table change_properties",
            table.change_properties(None, &[]).map(drop),
        ),
        ("modify", table.modify_properties(&[])),
        ("tablets", table.tablets().map(drop)),
        ("splits", table.add_splits(&[])),
        ("merge", table.merge(None, None)),
        ("delete_rows", table.delete_rows(None, None)),
        ("flush", table.flush(true)),
        ("flush without waiting", table.flush(false)),
        ("compact", table.compact(&compact)),
        ("cancel", table.cancel_compaction()),
        ("bulk", table.bulk_writer().map(drop)),
        ("bulk finish", bulk.finish().map(drop)),
        ("a running scan", running.next_batch(&mut batch).map(drop)),
        ("a restart", restarted.restart(&[Range::all()])),
        (
            "import",
            table
                .import_directory(directory, &ImportDirectoryOptions::default())
                .map(drop),
        ),
    ];
    for (call, answer) in answers {
        let kind = answer.map_err(|error| error.kind());
        assert_eq!(kind, Err(ErrorKind::Closed), "{call}");
    }
}

/// Nothing answers Ok for a table that is gone, whenever it went.
#[test]
fn calls_on_a_table_that_is_deleted_meanwhile_tell() {
    let store = open(&components(), false);
    store.create_table("t", &TableOptions::default()).unwrap();
    let table = store.table("t").unwrap();
    put(&table, "row").unwrap();
    store.delete_table("t").unwrap();
    let answers: Vec<(&str, Result<()>)> = vec![
        ("flush", table.flush(true)),
        ("flush without waiting", table.flush(false)),
        ("compact", table.compact(&CompactOptions::default())),
        ("cancel", table.cancel_compaction()),
        ("splits", table.add_splits(&[b"m".to_vec()])),
        ("merge", table.merge(None, None)),
        ("delete_rows", table.delete_rows(None, None)),
        ("properties", table.properties().map(drop)),
        (
            "bulk",
            table.bulk_writer().and_then(BulkWriter::finish).map(drop),
        ),
    ];
    for (call, answer) in answers {
        let kind = answer.map_err(|error| error.kind());
        assert_eq!(kind, Err(ErrorKind::TableNotFound), "{call}");
    }
    // Deleted in the middle of the call: what is asked for happened before, or is refused.
    for _ in 0..40 {
        store.create_table("t", &TableOptions::default()).unwrap();
        let table = store.table("t").unwrap();
        put(&table, "row").unwrap();
        table.flush(true).unwrap();
        put(&table, "row2").unwrap();
        race::<()>(vec![
            Box::new(|| store.delete_table("t").unwrap()),
            Box::new(|| {
                for outcome in [
                    table.flush(true),
                    table.compact(&CompactOptions::default()),
                    table.add_splits(&[b"m".to_vec()]),
                ] {
                    if let Err(error) = outcome {
                        assert_eq!(error.kind(), ErrorKind::TableNotFound, "{error}");
                    }
                }
            }),
        ]);
        assert_eq!(store.metrics().memtable_bytes, 0, "memory is still counted");
    }
}

/// A batch that reached the log thread while its table was deleted stayed counted as memory for good.
#[test]
fn deleted_tables_leave_no_memory_counted() {
    let store = open(&components(), false);
    for _ in 0..100 {
        store.create_table("t", &TableOptions::default()).unwrap();
        let table = store.table("t").unwrap();
        race::<()>(vec![
            Box::new(|| {
                for row in 0..8 {
                    if let Err(error) = put(&table, &format!("{row}")) {
                        assert_eq!(error.kind(), ErrorKind::TableNotFound, "{error}");
                        return;
                    }
                }
            }),
            Box::new(|| store.delete_table("t").unwrap()),
        ]);
    }
    assert_eq!(store.metrics().memtable_bytes, 0);
}

#[test]
fn on_and_off_line_may_be_said_twice() {
    let store = open(&components(), false);
    store.create_table("t", &TableOptions::default()).unwrap();
    let table = store.table("t").unwrap();
    put(&table, "row").unwrap();
    for online in [false, false, true, true, false, true] {
        store.set_online("t", online).unwrap();
        assert_eq!(store.tables().unwrap()[0].online, online);
        let scanned = Scanner::new(table.clone()).entries();
        match scanned {
            Ok(entries) => assert!(online && entries.len() == 1),
            Err(error) => assert!(!online && error.kind() == ErrorKind::Offline, "{error}"),
        }
    }
    let missing = store.set_online("missing", true).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::TableNotFound);
}
