//! Changes of a store, interrupted at every operation of the disk: afterwards each is complete or
//! absent, the store is undamaged, and the change can be repeated.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostrakon_cell::{
    Batch, CloneOptions, CompactOptions, Entry, ErrorKind, Key, Mutation, MutationBatch,
    Properties, PropertyOwner, Result, Scanner, Source, Table, TableOptions,
};
use ostrakon_store::{Components, Store, StoreOptions};
use ostrakon_testkit::disk::{Crash, Faults, FaultyVfs, rounds_wanted};

use crate::harness::{DIRECTORY, SetClock, open, tiny};

fn options() -> StoreOptions {
    StoreOptions {
        background: false,
        ..tiny()
    }
}

fn write(table: &Arc<dyn Table>, letters: &str, value: &str) {
    let mut batch = MutationBatch::new();
    for row in letters.chars() {
        let mut mutation = Mutation::new(row.to_string());
        mutation.put("f", "q", format!("{value}{row}")).unwrap();
        if row == 'e' {
            mutation.delete("f", "gone").unwrap();
        }
        batch.push(&mutation).unwrap();
    }
    table.submit(batch, None).unwrap().wait().unwrap();
}

/// Two tables: one with three tablets, overlapping files, and entries in memory; one with more in memory
/// than in files. Two more, one off-line and one in a namespace with properties.
fn fill(store: &Store) {
    let with_splits = TableOptions {
        splits: vec![b"g".to_vec(), b"p".to_vec()],
        ..TableOptions::default()
    };
    store.create_table("t", &with_splits).unwrap();
    store.create_table("u", &TableOptions::default()).unwrap();
    let table = store.table("t").unwrap();
    write(&table, "abcdefghijklmnopqrstuvwxyz", "one ");
    table.flush(true).unwrap();
    write(&table, "bdfhjlnprtvxz", "two ");
    table.flush(true).unwrap();
    write(&table, "aeiouz", "three ");
    let other = store.table("u").unwrap();
    write(&other, "bxy", "other ");
    other.flush(true).unwrap();
    for value in ["more ", "yet more ", "most "] {
        write(&other, "abcdefghijklmnopqrstuvwxyz", value);
    }
    for namespace in ["space", "empty"] {
        store.create_namespace(namespace).unwrap();
    }
    for table in ["off", "space.v"] {
        store.create_table(table, &TableOptions::default()).unwrap();
        write(&store.table(table).unwrap(), "ab", "v ");
    }
    set(store, PropertyOwner::Namespace("space"), "17").unwrap();
    store.set_online("off", false).unwrap();
}

/// Sets two properties of a level at once.
fn set(store: &Store, owner: PropertyOwner<'_>, value: &str) -> Result<()> {
    store.change_properties(owner, None, &two(value)).map(drop)
}

fn two(value: &str) -> [(String, Option<String>); 2] {
    ["table.file.max", "table.scan.max.memory"].map(|name| {
        let value = match name {
            "table.file.max" => value.to_owned(),
            _ => format!("{value}M"),
        };
        (name.to_owned(), Some(value))
    })
}

/// A compaction that must not flush.
fn compact_with_memory(store: &Store) -> Result<()> {
    let flushed = store.metrics().flush_bytes;
    store.table("u")?.compact(&CompactOptions::default())?;
    assert_eq!(store.metrics().flush_bytes, flushed, "memory was flushed");
    Ok(())
}

/// The visible state of a table; no entries if it is off-line.
#[derive(Debug, PartialEq)]
struct Found {
    name: String,
    splits: Vec<Vec<u8>>,
    properties: Properties,
    entries: Option<Vec<Entry>>,
}

/// The visible state of a store: its tables, and its namespaces with their properties.
#[derive(Debug, PartialEq)]
struct Seen {
    tables: Vec<Found>,
    levels: Vec<(String, Properties)>,
}

fn seen(store: &Store) -> Seen {
    let found = |name: String| {
        let table = store.table(&name).unwrap();
        let splits = table.tablets().unwrap().into_iter();
        let entries = match Scanner::new(table.clone()).entries() {
            Ok(entries) => Some(entries),
            Err(error) if error.kind() == ErrorKind::Offline => None,
            Err(error) => panic!("{name}: {error:?}"),
        };
        Found {
            splits: splits.filter_map(|tablet| tablet.end).collect(),
            properties: table.own_properties().unwrap().properties,
            entries,
            name,
        }
    };
    let level = |name: String, owner: PropertyOwner<'_>| {
        (name, store.own_properties(owner).unwrap().properties)
    };
    let tables = store.tables().unwrap().into_iter();
    let namespaces = store.namespaces().unwrap().into_iter();
    let levels = namespaces.map(|one| level(one.name.clone(), PropertyOwner::Namespace(&one.name)));
    Seen {
        tables: tables.map(|info| found(info.name)).collect(),
        levels: std::iter::once(level("the store".to_owned(), PropertyOwner::System))
            .chain(levels)
            .collect(),
    }
}

type Change = fn(&Store) -> Result<()>;

fn import(store: &Store) -> Result<()> {
    let mut batch = Batch::new();
    for row in ["c", "h", "i", "q", "zz"] {
        let key = Key {
            timestamp: 1_800_000_000_000,
            ..Key::new(row, "f", "q")
        };
        batch.push(key.as_ref(), b"imported")?;
    }
    let mut bulk = store.table("t")?.bulk_writer()?;
    bulk.append(&batch)?;
    bulk.finish().map(drop)
}

const CHANGES: &[(&str, Change)] = &[
    ("clone", |store| {
        store.clone_table("t", "copy", &CloneOptions::default())
    }),
    ("bulk import", import),
    ("delete rows", |store| {
        store.table("t")?.delete_rows(Some(b"c"), Some(b"r"))
    }),
    ("split", |store| {
        store
            .table("t")?
            .add_splits(&[b"b".to_vec(), b"k".to_vec()])
    }),
    ("merge", |store| store.table("t")?.merge(None, None)),
    ("create", |store| {
        let options = TableOptions {
            splits: vec![b"m".to_vec()],
            ..TableOptions::default()
        };
        store.create_table("new", &options)
    }),
    ("rename", |store| store.rename_table("t", "renamed")),
    ("delete", |store| store.delete_table("t")),
    ("flush", |store| store.table("t")?.flush(true)),
    ("compact", |store| {
        store.table("t")?.compact(&CompactOptions::default())
    }),
    ("compact with memory", compact_with_memory),
    ("off-line", |store| store.set_online("t", false)),
    ("on-line", |store| store.set_online("off", true)),
    ("properties of a table", |store| {
        store.table("t")?.modify_properties(&two("11"))
    }),
    ("properties of a namespace", |store| {
        set(store, PropertyOwner::Namespace("space"), "12")
    }),
    ("properties of the store", |store| {
        set(store, PropertyOwner::System, "13")
    }),
    ("create a namespace", |store| store.create_namespace("new")),
    ("delete a namespace", |store| {
        store.delete_namespace("empty")
    }),
    ("rename a namespace", |store| {
        store.rename_namespace("space", "room")
    }),
];

/// How a change is interrupted after a number of disk operations.
#[derive(Clone, Copy, Debug)]
enum Interruption {
    /// Nothing is written any more, and then the process or the machine stops.
    Stops(Crash),
    /// One operation fails, and the store is closed.
    Fails,
}

impl Interruption {
    fn all() -> impl Iterator<Item = Self> {
        let stops = Crash::ALL.into_iter().map(Self::Stops);
        stops.chain([Self::Fails])
    }

    fn faults(self, after: u64) -> Faults {
        match self {
            Self::Stops(_) => Faults {
                fail_after_operations: Some(after),
                ..Faults::default()
            },
            Self::Fails => Faults {
                fail_operation: Some(after),
                ..Faults::default()
            },
        }
    }

    /// Ends the faults.
    fn end(self, disk: &FaultyVfs) {
        match self {
            Self::Stops(crash) => disk.crash(crash),
            Self::Fails => disk.heal(),
        }
    }
}

/// Interrupts `change` after a number of disk operations; returns whether all of them succeeded.
fn cut_off(
    name: &str,
    change: Change,
    after: u64,
    how: Interruption,
    before: &Seen,
    behind: &Seen,
) -> bool {
    let what = format!("{name}, cut off after {after} operations by {how:?}");
    let disk = FaultyVfs::new(after);
    let store = open(&disk, &options()).unwrap();
    fill(&store);
    let operations = disk.counters().operations;
    disk.set_faults(how.faults(after));
    let done = change(&store).is_ok();
    let is_over = disk.counters().operations <= operations + after;
    how.end(&disk);
    drop(store);
    let store = open(&disk, &options()).unwrap_or_else(|error| panic!("{what}: {error:?}"));
    let now = seen(&store);
    assert!(
        now == *behind || (now == *before && !done),
        "{what}: {now:?}"
    );
    let report = store.check(&mut |_, _| true).unwrap();
    assert!(report.problems.is_empty(), "{what}: {:?}", report.problems);
    if now != *behind {
        change(&store).unwrap_or_else(|error| panic!("{what}, again: {error:?}"));
        assert_eq!(seen(&store), *behind, "{what}, again");
    }
    done && is_over
}

#[test]
fn a_change_that_is_cut_off_is_there_whole_or_not_at_all() {
    for (name, change) in CHANGES {
        let store = open(&FaultyVfs::new(0), &options()).unwrap();
        fill(&store);
        let before = seen(&store);
        change(&store).unwrap();
        let behind = seen(&store);
        for how in Interruption::all() {
            let mut after = 0;
            while !cut_off(name, *change, after, how, &before, &behind) {
                after += 1;
                assert!(after < 2_000, "{name} never ends");
            }
            assert!(after > 2, "{name} was never cut off");
        }
    }
}

const COPY: &str = "/copies/one";

/// Where a checkpoint goes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Destination {
    /// The file system of the store, where files get a second name.
    Same,
    /// Another file system of the machine, to which files are copied.
    WithoutLinks,
    /// A disk, from a store in memory.
    FromMemory,
}

fn store_for(destination: Destination, disk: &FaultyVfs) -> Arc<Store> {
    match destination {
        Destination::FromMemory => {
            let components = Components {
                vfs: disk.shared(),
                clock: SetClock::new(1_700_000_000_000),
                ..Components::default()
            };
            Store::in_memory_with(components, options()).unwrap()
        }
        _ => open(disk, &options()).unwrap(),
    }
}

fn open_copy(disk: &FaultyVfs) -> Arc<Store> {
    let components = Components {
        vfs: disk.shared(),
        ..Components::default()
    };
    let options = StoreOptions {
        create: false,
        ..options()
    };
    Store::open_with(components, Path::new(COPY), options).unwrap()
}

/// Interrupts a checkpoint; returns whether all of its operations succeeded.
fn cut_checkpoint_off(destination: Destination, after: u64, how: Interruption) -> bool {
    let what = format!("checkpoint ({destination:?}), cut off after {after} operations by {how:?}");
    let disk = FaultyVfs::new(after);
    let mut store = store_for(destination, &disk);
    fill(&store);
    let before = seen(&store);
    let operations = disk.counters().operations;
    disk.set_faults(Faults {
        no_links: destination == Destination::WithoutLinks,
        ..how.faults(after)
    });
    let done = store.checkpoint(Path::new(COPY)).is_ok();
    let is_over = disk.counters().operations <= operations + after;
    how.end(&disk);
    if destination != Destination::FromMemory {
        drop(store);
        store = open(&disk, &options()).unwrap_or_else(|error| panic!("{what}: {error:?}"));
    }
    assert_eq!(seen(&store), before, "{what}: the store changed");
    let is_there = |path: &str| disk.shared().exists(Path::new(path)).unwrap();
    assert!(is_there(COPY) || !done, "{what}: the checkpoint is gone");
    if !is_there(COPY) {
        // What is left of it is in nobody's way, and no store.
        store
            .checkpoint(Path::new(COPY))
            .unwrap_or_else(|error| panic!("{what}, again: {error:?}"));
        assert!(
            !is_there("/copies/one.partial"),
            "{what}: something is left"
        );
    }
    drop(store);
    let copy = open_copy(&disk);
    assert_eq!(seen(&copy), before, "{what}: the copy differs");
    for store in [
        Some(copy),
        (destination != Destination::FromMemory).then(|| open(&disk, &options()).unwrap()),
    ]
    .into_iter()
    .flatten()
    {
        let report = store.check(&mut |_, _| true).unwrap();
        assert!(report.problems.is_empty(), "{what}: {:?}", report.problems);
    }
    done && is_over
}

#[test]
fn a_checkpoint_that_is_cut_off_is_there_whole_or_not_at_all() {
    for destination in [
        Destination::Same,
        Destination::WithoutLinks,
        Destination::FromMemory,
    ] {
        // Each way begins elsewhere, so that together they are cut off everywhere.
        let stride = if rounds_wanted(1) > 1 { 1 } else { 3 };
        for (first, how) in Interruption::all().enumerate() {
            let mut after = first as u64 % stride;
            while !cut_checkpoint_off(destination, after, how) {
                after += stride;
                assert!(after < 2_000, "it never ends");
            }
            assert!(after > 10, "it was never cut off");
        }
    }
}

/// Damages a table file of which a checkpoint has a copy; returns its path there.
fn damage_a_file(disk: &FaultyVfs, store: &Store) -> PathBuf {
    store.checkpoint(Path::new(COPY)).unwrap();
    let own = disk.files_below(&Path::new(DIRECTORY).join("files"));
    let own = own.first().unwrap();
    let copy = Path::new(COPY).join("files").join(own.file_name().unwrap());
    // The two are one file until now.
    let content = disk.content(own).unwrap();
    disk.shared().remove(&copy).unwrap();
    disk.shared().replace(&copy, &content).unwrap();
    assert!(disk.flip_bit(own, 40, 3).unwrap());
    copy
}

#[test]
fn a_file_whose_restoration_is_cut_off_is_the_damaged_or_the_right_one() {
    for how in Interruption::all() {
        let mut after = 0;
        loop {
            let what = format!("restored, cut off after {after} operations by {how:?}");
            let disk = FaultyVfs::new(after);
            let store = open(&disk, &options()).unwrap();
            fill(&store);
            for table in ["t", "u"] {
                store.table(table).unwrap().flush(true).unwrap();
            }
            let right = seen(&store);
            let copy = damage_a_file(&disk, &store);
            let operations = disk.counters().operations;
            disk.set_faults(how.faults(after));
            let done = store.restore_file(&copy).is_ok();
            let is_over = disk.counters().operations <= operations + after;
            how.end(&disk);
            drop(store);
            let store = open(&disk, &options()).unwrap_or_else(|error| panic!("{what}: {error:?}"));
            let name = copy.file_name().unwrap().to_string_lossy().into_owned();
            let problems = store.check(&mut |_, _| true).unwrap().problems;
            // No other file suffers, and nothing is lost.
            assert!(
                problems.iter().all(|one| one.file.contains(&name)),
                "{what}: {problems:?}"
            );
            assert!(problems.is_empty() || !done, "{what}: {problems:?}");
            store
                .restore_file(&copy)
                .unwrap_or_else(|error| panic!("{what}, again: {error:?}"));
            assert_eq!(seen(&store), right, "{what}, again");
            assert_eq!(store.check(&mut |_, _| true).unwrap().problems, []);
            if done && is_over {
                break;
            }
            after += 1;
            assert!(after < 200, "it never ends");
        }
        assert!(after > 2, "it was never cut off");
    }
}
