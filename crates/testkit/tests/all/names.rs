//! Names of files and directories that a killed process or a failed sync left in doubt.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::{
    Batch, CompactOptions, ErrorKind, KeyRef, Mutation, MutationBatch, Result, Source, Table,
    TableOptions,
};
use ostrakon_store::vfs::copy_file;
use ostrakon_store::{Components, Store, StoreOptions};
use ostrakon_testkit::disk::{Crash, Faults, FaultyVfs};

use crate::harness::{DIRECTORY, open, rows, tiny};

/// Without threads of its own: every operation is one of the test.
fn quiet() -> StoreOptions {
    StoreOptions {
        background: false,
        ..tiny()
    }
}

fn put(table: &Arc<dyn Table>, row: &str) -> Result<()> {
    let mut mutation = Mutation::new(row);
    mutation.put("f", "q", "v")?;
    let mut batch = MutationBatch::new();
    batch.push(&mutation)?;
    table.submit(batch, None)?.wait().map(drop)
}

fn create(disk: &FaultyVfs) -> Arc<Store> {
    let store = open(disk, &quiet()).unwrap();
    store.create_table("t", &TableOptions::default()).unwrap();
    store
}

/// Plays `attempt` until the process is killed or an operation fails, after more and more operations, until it succeeds.
/// The process ends after each attempt. `then` gets the disk and what went wrong.
fn with_each_operation_failing(
    prepare: impl Fn() -> FaultyVfs,
    attempt: impl Fn(&FaultyVfs),
    then: impl Fn(&FaultyVfs, &Faults),
) {
    let killed = |operations| Faults {
        die_after_operations: Some(operations),
        ..Faults::default()
    };
    let failed = |operations| Faults {
        fail_operation: Some(operations),
        ..Faults::default()
    };
    for faults_after in [killed as fn(u64) -> Faults, failed] {
        for operations in 0.. {
            let disk = prepare();
            let (before, faults) = (disk.counters().operations, faults_after(operations));
            disk.set_faults(faults);
            attempt(&disk);
            let all = disk.counters().operations - before;
            disk.crash(Crash::Process);
            then(&disk, &faults);
            if all <= operations {
                assert!(operations > 3, "{operations} operations");
                break;
            }
        }
    }
}

/// A call that fails, or a kill, leaves files and names that the next process takes over.
#[test]
fn what_is_acknowledged_after_a_failure_is_kept() {
    let prepare = || {
        let disk = FaultyVfs::new(1);
        let store = create(&disk);
        put(&store.table("t").unwrap(), "before").unwrap();
        store.close().unwrap();
        disk
    };
    let acknowledged = RefCell::new(BTreeSet::new());
    let use_it = |disk: &FaultyVfs| -> Result<()> {
        let store = open(disk, &quiet())?;
        let table = store.table("t")?;
        let put = |row: &str| {
            put(&table, row)?;
            acknowledged.borrow_mut().insert(row.to_owned());
            Ok(())
        };
        // What fails does not end the use of the store.
        let steps: [&dyn Fn() -> Result<()>; 8] = [
            &|| put("first"),
            &|| table.flush(true),
            &|| put("second"),
            &|| store.create_table("u", &TableOptions::default()),
            &|| put("third"),
            &|| table.compact(&CompactOptions::default()),
            &|| put("fourth"),
            &|| store.close(),
        ];
        for step in steps {
            let _ = step();
        }
        Ok(())
    };
    let attempt = |disk: &FaultyVfs| {
        acknowledged.replace(BTreeSet::from(["before".to_owned()]));
        let _ = use_it(disk);
    };
    with_each_operation_failing(prepare, attempt, |disk, faults| {
        let store = open(disk, &quiet()).unwrap_or_else(|error| panic!("{faults:?}: {error}"));
        put(&store.table("t").unwrap(), "later").unwrap();
        disk.crash(Crash::PowerLost);
        drop(store);
        let store = open(disk, &quiet()).unwrap_or_else(|error| panic!("{faults:?}: {error}"));
        let found = BTreeSet::from_iter(rows(&store));
        let mut kept = acknowledged.borrow().clone();
        kept.insert("later".to_owned());
        assert!(found.is_superset(&kept), "{faults:?}: {found:?} {kept:?}");
        let report = store.check(&mut |_, _| true).unwrap();
        assert!(report.problems.is_empty(), "{faults:?}: {report:?}");
    });
}

/// Such files are copied before they are written. A copy whose name was not durable was taken for the store's own file, and
/// what was written to it was lost with the name.
#[test]
fn a_store_whose_files_had_other_names_keeps_what_it_acknowledges() {
    let prepare = || {
        let disk = FaultyVfs::new(1);
        let store = create(&disk);
        put(&store.table("t").unwrap(), "before").unwrap();
        store.close().unwrap();
        drop(store);
        let vfs = disk.shared();
        for file in disk.files_below(Path::new(DIRECTORY)) {
            let inside = file.strip_prefix(DIRECTORY).unwrap();
            let backup = Path::new("/backup").join(inside);
            vfs.create_dir_durably(backup.parent().unwrap()).unwrap();
            vfs.hard_link(&file, &backup).unwrap();
            vfs.sync_dir(backup.parent().unwrap()).unwrap();
        }
        disk
    };
    let attempt = |disk: &FaultyVfs| {
        if let Ok(store) = open(disk, &quiet()) {
            let _ = store.close();
        }
    };
    with_each_operation_failing(prepare, attempt, |disk, faults| {
        let store = open(disk, &quiet()).unwrap();
        put(&store.table("t").unwrap(), "later").unwrap();
        disk.crash(Crash::PowerLost);
        drop(store);
        let store = open(disk, &quiet()).unwrap();
        assert_eq!(rows(&store), ["before", "later"], "{faults:?}");
        drop(store);
        // The backup is as it was.
        let backup = FaultyVfs::new(1);
        let (from, to) = (disk.shared(), backup.shared());
        for file in disk.files_below(Path::new("/backup")) {
            let copy = Path::new(DIRECTORY).join(file.strip_prefix("/backup").unwrap());
            to.create_dir_durably(copy.parent().unwrap()).unwrap();
            copy_file(&*from, &file, &*to, &copy).unwrap();
        }
        let store = open(&backup, &quiet()).unwrap();
        assert_eq!(rows(&store), ["before"], "{faults:?}");
    });
}

/// The name of a directory that was there already was not made durable, although the process that made it had been killed
/// before it synced.
#[test]
fn a_store_whose_creation_was_interrupted_keeps_what_it_acknowledges() {
    let dir = Path::new("/some/new/store");
    let open = |disk: &FaultyVfs, create: bool| {
        let components = Components {
            vfs: disk.shared(),
            ..Components::default()
        };
        let options = StoreOptions { create, ..quiet() };
        Store::open_with(components, dir, options)
    };
    let attempt = |disk: &FaultyVfs| drop(open(disk, true));
    with_each_operation_failing(
        || FaultyVfs::new(1),
        attempt,
        |disk, faults| {
            let store = open(disk, true).unwrap();
            store.create_table("t", &TableOptions::default()).unwrap();
            put(&store.table("t").unwrap(), "row").unwrap();
            disk.crash(Crash::PowerLost);
            drop(store);
            let store = open(disk, false).unwrap_or_else(|error| panic!("{faults:?}: {error}"));
            assert_eq!(rows(&store), ["row"], "{faults:?}");
        },
    );
}

/// A copy whose name could not be synced stayed, so that the checkpoint could not be repeated, and looked like one. And a
/// directory that the caller had made for it was gone.
#[test]
fn a_checkpoint_is_durable_or_can_be_repeated() {
    for (is_given, in_memory) in [(false, false), (true, false), (false, true), (true, true)] {
        fail_each_operation_of_a_checkpoint(is_given, in_memory);
    }
}

fn fail_each_operation_of_a_checkpoint(is_given: bool, in_memory: bool) {
    let copy = Path::new("/copies/of/store");
    let prepare = || {
        let disk = FaultyVfs::new(1);
        if !in_memory {
            let store = create(&disk);
            put(&store.table("t").unwrap(), "row").unwrap();
            store.close().unwrap();
        }
        if is_given {
            disk.shared().create_dir_durably(copy).unwrap();
        }
        disk
    };
    let components = |disk: &FaultyVfs| Components {
        vfs: disk.shared(),
        ..Components::default()
    };
    let store_of = |disk: &FaultyVfs| {
        if !in_memory {
            return open(disk, &quiet());
        }
        let store = Store::in_memory_with(components(disk), quiet())?;
        store.create_table("t", &TableOptions::default())?;
        put(&store.table("t")?, "row")?;
        Ok(store)
    };
    let open_copy = |disk: &FaultyVfs| {
        let options = StoreOptions {
            create: false,
            ..quiet()
        };
        Store::open_with(components(disk), copy, options)
    };
    let cells = std::array::from_fn(|_| Cell::new(false));
    let [opened, refuses_all, half, acknowledged, is_gone] = cells;
    let attempt = |disk: &FaultyVfs| {
        for cell in [&half, &acknowledged, &is_gone] {
            cell.set(false);
        }
        let store = store_of(disk);
        opened.set(store.is_ok());
        let Ok(store) = store else {
            return;
        };
        let first = store.checkpoint(copy);
        let exists = |path: &Path| disk.shared().exists(path).unwrap_or(false);
        half.set(first.is_err() && exists(&copy.join("catalog")));
        is_gone.set(is_given && !exists(copy));
        let last = first.or_else(|_| store.checkpoint(copy));
        let kind = last.as_ref().err().map(ostrakon_cell::Error::kind);
        refuses_all.set(kind == Some(ErrorKind::ReadOnly));
        acknowledged.set(last.is_ok());
    };
    with_each_operation_failing(prepare, attempt, |disk, faults| {
        let what = format!("{faults:?}, {is_given}, {in_memory}");
        // Of a disk that fails once, the second attempt succeeds, unless the store writes nothing any more.
        if faults.die_after_operations.is_none() && opened.get() {
            assert!(acknowledged.get() || refuses_all.get(), "{what}");
            assert!(!half.get(), "{what}");
            assert!(!is_gone.get(), "{what}");
        }
        disk.crash(Crash::PowerLost);
        match open_copy(disk) {
            Ok(store) => assert_eq!(rows(&store), ["row"], "{what}"),
            Err(error) => {
                assert!(!acknowledged.get(), "{what}: {error}");
                assert_eq!(error.kind(), ErrorKind::NotFound, "{what}: {error}");
            }
        }
    });
}

/// All flushes failed as long as a file that was new at the failed sync was written.
#[test]
fn a_failed_sync_of_the_directory_concerns_only_files_that_were_new() {
    let disk = FaultyVfs::new(1);
    let store = create(&disk);
    let table = store.table("t").unwrap();
    let mut import = table.bulk_writer().unwrap();
    let mut batch = Batch::new();
    let key = KeyRef {
        row: b"imported",
        family: b"f",
        qualifier: b"q",
        visibility: b"",
        timestamp: 1,
        deleted: false,
    };
    batch.push(key, b"v").unwrap();
    import.append(&batch).unwrap();
    put(&table, "flushed").unwrap();
    disk.set_faults(Faults {
        // The first sync is that of the file.
        fail_sync_after: Some(1),
        ..Faults::default()
    });
    assert_eq!(table.flush(true).unwrap_err().kind(), ErrorKind::Io);
    disk.heal();
    for row in ["second", "third"] {
        table.flush(true).unwrap();
        put(&table, row).unwrap();
    }
    // The name of its file may be lost.
    let refused = import.finish().unwrap_err();
    assert!(refused.to_string().contains("earlier sync"), "{refused}");
    disk.crash(Crash::PowerLost);
    drop((store, table));
    let store = open(&disk, &quiet()).unwrap();
    assert_eq!(rows(&store), ["flushed", "second", "third"]);
    let report = store.check(&mut |_, _| true).unwrap();
    assert!(report.problems.is_empty(), "{report:?}");
}
