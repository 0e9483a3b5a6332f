//! Failing disk operations: errors say what to do, and the store stays consistent.

use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::{
    ErrorKind, Mutation, MutationBatch, Result, Scanner, Source, Table, TableOptions,
};
use ostrakon_store::vfs::Vfs as _;
use ostrakon_store::{Components, Store, StoreOptions};
use ostrakon_testkit::disk::{Crash, Faults, FaultyVfs};

use crate::harness::{DIRECTORY, open, rows, tiny};

fn write(table: &Arc<dyn Table>, row: &str, bytes: usize) -> Result<()> {
    let mut mutation = Mutation::new(row);
    mutation.put("f", "q", vec![b'x'; bytes])?;
    let mut batch = MutationBatch::new();
    batch.push(&mutation)?;
    table.submit(batch, None)?.wait().map(drop)
}

fn with_table(disk: &FaultyVfs, options: &StoreOptions) -> (Arc<Store>, Arc<dyn Table>) {
    let store = open(disk, options).unwrap();
    store.create_table("t", &TableOptions::default()).unwrap();
    let table = store.table("t").unwrap();
    (store, table)
}

#[test]
fn after_a_failed_sync_a_store_is_read_only_until_it_is_reopened() {
    let disk = FaultyVfs::new(1);
    let (store, table) = with_table(&disk, &tiny());
    write(&table, "kept", 10).unwrap();
    disk.set_faults(Faults {
        fail_sync_after: Some(0),
        ..Faults::default()
    });
    let failed = write(&table, "failed", 10).unwrap_err();
    assert!(
        matches!(failed.kind(), ErrorKind::Io | ErrorKind::ReadOnly),
        "{failed:?}"
    );
    disk.heal();
    // Later syncs would succeed without proving anything.
    for _ in 0..3 {
        let refused = write(&table, "refused", 10).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ReadOnly, "{refused:?}");
        assert!(refused.to_string().contains("open"), "{refused}");
    }
    assert!(rows(&store).contains(&"kept".to_owned()));
    drop((store, table));
    disk.crash(Crash::PowerLost);
    let store = open(&disk, &tiny()).unwrap();
    assert_eq!(rows(&store), ["kept"]);
    write(&store.table("t").unwrap(), "later", 10).unwrap();
    assert_eq!(rows(&store), ["kept", "later"]);
}

#[test]
fn a_full_disk_is_an_error_until_space_is_freed() {
    for room in [0, 5_000, 20_000, 60_000, 200_000] {
        let disk = FaultyVfs::new(room);
        let (store, table) = with_table(&disk, &tiny());
        write(&table, "0000", 100).unwrap();
        let used = disk.counters().bytes_written;
        disk.set_faults(Faults {
            capacity_bytes: Some(used + room),
            ..Faults::default()
        });
        let mut acknowledged = vec!["0000".to_owned()];
        let failed = (1..2_000).find_map(|number| {
            let row = format!("{number:04}");
            match write(&table, &row, 2_000) {
                Ok(()) => {
                    acknowledged.push(row);
                    None
                }
                Err(error) => Some(error),
            }
        });
        let failed = failed.expect("four megabytes do not fit");
        assert!(
            matches!(failed.kind(), ErrorKind::OutOfSpace | ErrorKind::ReadOnly),
            "room {room}: {failed:?}"
        );
        let told = format!("{failed:?}");
        assert!(
            told.contains("full") || told.contains("space"),
            "room {room}: {told}"
        );
        let seen = rows(&store);
        assert!(
            acknowledged.iter().all(|row| seen.contains(row)),
            "room {room}: still readable"
        );
        disk.heal();
        drop((store, table));
        let store = open(&disk, &tiny()).unwrap_or_else(|error| panic!("room {room}: {error:?}"));
        let seen = rows(&store);
        assert!(
            acknowledged.iter().all(|row| seen.contains(row)),
            "room {room}: {seen:?}"
        );
        write(&store.table("t").unwrap(), "later", 10).unwrap();
    }
}

#[test]
fn too_many_open_files_is_an_error_and_the_store_stays_usable() {
    let disk = FaultyVfs::new(1);
    let (store, table) = with_table(
        &disk,
        &StoreOptions {
            background: false,
            ..tiny()
        },
    );
    for number in 0..12 {
        write(&table, &format!("{number:02}"), 100).unwrap();
        table.flush(true).unwrap();
    }
    drop((store, table));
    let store = open(
        &disk,
        &StoreOptions {
            background: false,
            ..tiny()
        },
    )
    .unwrap();
    let table = store.table("t").unwrap();
    disk.set_faults(Faults {
        open_files_max: Some(1),
        ..Faults::default()
    });
    if let Err(error) = Scanner::new(table.clone()).entries() {
        assert_eq!(error.kind(), ErrorKind::TooManyOpenFiles, "{error:?}");
        assert!(error.to_string().contains("open files"), "{error}");
    }
    // A file that could not be opened is not reported as damaged: the check ends with the reason.
    let checked = store.check(&mut |_, _| true);
    match checked {
        Ok(report) => assert_eq!(report.problems, []),
        Err(error) => assert_eq!(error.kind(), ErrorKind::TooManyOpenFiles, "{error:?}"),
    }
    let flushed = write(&table, "more", 10).and_then(|()| table.flush(true));
    assert!(flushed.is_err(), "a new file was opened above the limit");
    disk.heal();
    assert_eq!(rows(&store).len(), 13);
}

/// The system's error numbers for a file without read permission, and for too many open files.
const REFUSALS: [(i32, ErrorKind); 2] = [
    (13, ErrorKind::PermissionDenied),
    (24, ErrorKind::TooManyOpenFiles),
];

/// Regression: a check reported files that it could not open as damaged, and the catalog's mirror too.
#[test]
fn what_a_check_cannot_open_is_not_called_damaged() {
    for (errno, kind) in REFUSALS {
        for end in ["catalog.mirror", ".sorted"] {
            let disk = FaultyVfs::new(1);
            let (store, table) = with_table(&disk, &tiny());
            write(&table, "row", 10).unwrap();
            table.flush(true).unwrap();
            disk.set_faults(Faults {
                refuses: Some((end, errno)),
                ..Faults::default()
            });
            match store.check(&mut |_, _| true) {
                // The message says that the state is unknown, without advice about damage.
                Ok(report) => {
                    assert_eq!(kind, ErrorKind::PermissionDenied);
                    assert_eq!(report.problems.len(), 1, "{:?}", report.problems);
                    let problem = &report.problems[0];
                    assert!(problem.file.ends_with(end), "{problem:?}");
                    assert!(problem.message.contains("known"), "{problem:?}");
                    assert!(!problem.message.contains("damage"), "{problem:?}");
                    assert!(!problem.message.contains("next opening"), "{problem:?}");
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::TooManyOpenFiles, "{error:?}"),
            }
            disk.heal();
            assert_eq!(store.check(&mut |_, _| true).unwrap().problems, []);
        }
    }
}

/// Regression: a checkpoint to another file system failed.
#[test]
fn a_checkpoint_copies_files_where_hard_links_are_impossible() {
    let disk = FaultyVfs::new(1);
    let (store, table) = with_table(&disk, &tiny());
    write(&table, "row", 10).unwrap();
    disk.set_faults(Faults {
        no_links: true,
        ..Faults::default()
    });
    store.checkpoint(Path::new("/copy")).unwrap();
    let components = Components {
        vfs: disk.shared(),
        ..Components::default()
    };
    let copy = Store::open_with(components, Path::new("/copy"), tiny()).unwrap();
    assert_eq!(rows(&copy), ["row"]);
    assert_eq!(copy.check(&mut |_, _| true).unwrap().problems, []);
}

#[test]
fn a_disk_that_cannot_be_changed_can_be_read() {
    let disk = FaultyVfs::new(1);
    let (store, table) = with_table(&disk, &tiny());
    write(&table, "a", 10).unwrap();
    table.flush(true).unwrap();
    write(&table, "b", 10).unwrap();
    drop((store, table));
    disk.set_faults(Faults {
        read_only: true,
        ..Faults::default()
    });
    let refused = open(&disk, &tiny()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ReadOnly, "{refused:?}");
    let options = StoreOptions {
        read_only: true,
        ..tiny()
    };
    let store = open(&disk, &options).unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(rows(&store), ["a", "b"]);
    let refused = write(&store.table("t").unwrap(), "c", 10).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ReadOnly, "{refused:?}");
    let created = store
        .create_table("u", &TableOptions::default())
        .unwrap_err();
    assert_eq!(created.kind(), ErrorKind::ReadOnly, "{created:?}");
}

/// Errors that may be gone at the next attempt: out of memory, time limits and stale handles of network file systems.
const PASSING: [i32; 3] = [12, 110, 116];
/// What a device reports that cannot read a file.
const FAILED: [i32; 2] = [5, 117];

/// Whatever the system reported counted as the proof of a loss.
#[test]
fn a_loss_is_accepted_only_of_what_is_lost() {
    for errno in PASSING.into_iter().chain(FAILED) {
        let passes = PASSING.contains(&errno);
        let disk = FaultyVfs::new(1);
        let (store, table) = with_table(&disk, &tiny());
        write(&table, "file", 10).unwrap();
        table.flush(true).unwrap();
        write(&table, "log", 10).unwrap();
        drop((store, table));

        let files = Path::new(DIRECTORY).join("files");
        let name = disk.list(&files).unwrap().remove(0).name;
        let store = open(&disk, &tiny()).unwrap();
        disk.set_faults(Faults {
            refuses: Some((".sorted", errno)),
            ..Faults::default()
        });
        let dropped = store.drop_file(Path::new(&name));
        disk.heal();
        match passes {
            true => {
                let error = dropped.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Io, "{errno}: {error:?}");
                assert_eq!(rows(&store), ["file", "log"], "{errno}");
            }
            false => {
                dropped.unwrap();
                assert_eq!(rows(&store), ["log"], "{errno}");
            }
        }
        drop(store);

        disk.set_faults(Faults {
            refuses: Some((".wal", errno)),
            ..Faults::default()
        });
        let accepting = StoreOptions {
            accept_log_loss: true,
            ..tiny()
        };
        let opened = open(&disk, &accepting).map(drop);
        disk.heal();
        assert_eq!(opened.is_err(), passes, "{errno}: {opened:?}");
        let left = rows(&open(&disk, &tiny()).unwrap());
        assert_eq!(left.contains(&"log".to_owned()), passes, "{errno}");
    }
}
