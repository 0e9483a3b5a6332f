//! Flipped, cut, zeroed, swapped, doubled and missing pieces in every kind of file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostrakon_cell::{
    ErrorKind, Mutation, MutationBatch, Range, Result, Scanner, Source, Table, TableOptions,
};
use ostrakon_store::clock::Random;
use ostrakon_store::{Store, StoreOptions};
use ostrakon_testkit::disk::{Crash, Faults, FaultyVfs, Harm, copy_of, rounds_wanted};

use crate::harness::{DIRECTORY, open, tiny};

/// Rows of a batch of the table that lies in the log alone.
const BATCH_ROWS: usize = 40;
const BATCHES: usize = 6;

/// The file that says how the store was closed.
const CLOSED: &str = "/closed";

type Rows = BTreeMap<String, String>;

fn options() -> StoreOptions {
    StoreOptions {
        background: false,
        memory_budget_bytes: 16 << 20,
        ..tiny()
    }
}

fn reading() -> StoreOptions {
    StoreOptions {
        read_only: true,
        allow_damage: true,
        ..options()
    }
}

fn write(table: &Arc<dyn Table>, rows: &Rows) -> Result<()> {
    let mut batch = MutationBatch::new();
    for (row, value) in rows {
        let mut mutation = Mutation::new(row.as_str());
        batch.push(mutation.put("f", "q", value.as_str())?)?;
    }
    table.submit(batch, None)?.wait().map(drop)
}

fn rows(range: std::ops::Range<usize>, value: &str) -> Rows {
    range
        .map(|row| (format!("{row:03}"), format!("{value} {row}")))
        .collect()
}

/// A store, and what is in its tables.
struct Sample {
    disk: FaultyVfs,
    tables: BTreeMap<&'static str, Rows>,
    closed: bool,
}

impl Sample {
    /// Two tables of several files and one in several segments of the log; closed, or killed.
    fn new(closed: bool) -> Self {
        let disk = FaultyVfs::new(7);
        let store = open(&disk, &options()).unwrap();
        let mut tables: BTreeMap<&str, Rows> = BTreeMap::new();
        for (name, other) in [("first", "newer"), ("second", "newest")] {
            store.create_table(name, &TableOptions::default()).unwrap();
            let table = store.table(name).unwrap();
            for part in [rows(0..200, name), rows(150..300, other)] {
                write(&table, &part).unwrap();
                table.flush(true).unwrap();
                tables.entry(name).or_default().extend(part);
            }
        }
        store
            .create_table("logged", &TableOptions::default())
            .unwrap();
        let table = store.table("logged").unwrap();
        for at in 0..BATCHES {
            let part = rows(at * BATCH_ROWS..(at + 1) * BATCH_ROWS, &"v".repeat(800));
            write(&table, &part).unwrap();
            tables.entry("logged").or_default().extend(part);
        }
        if !closed {
            disk.crash(Crash::Process);
        }
        drop((table, store));
        Self {
            disk,
            tables,
            closed,
        }
    }

    /// What a table answers: all of it, its first batches alone, or an error. Anything else is a wrong answer.
    fn read(&self, store: &Store, name: &str, what: &str) -> Result<usize> {
        let wanted = &self.tables[name];
        let found = self.entries(store, name, Range::all(), what)?;
        // Look-ups read other parts of the files than a scan.
        for (row, value) in wanted.iter().step_by(37) {
            let one = self.entries(store, name, Range::row(row.as_str()), what)?;
            if one.len() != usize::from(found.contains_key(row)) {
                panic!("{what}: {name} has row {row} in a scan, or in a look-up, and not in both");
            }
            assert!(one.values().all(|found| found == value), "{what}: {name}");
        }
        let is_first = wanted.keys().take(found.len()).eq(found.keys());
        let whole = found.len() % BATCH_ROWS == 0 || found.len() == wanted.len();
        assert!(is_first && whole, "{what}: {name} has {:?}", found.keys());
        Ok(found.len())
    }

    fn entries(&self, store: &Store, name: &str, range: Range, what: &str) -> Result<Rows> {
        let scanner = Scanner::new(store.table(name)?).range(range);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut found = Rows::new();
        for entry in scanner.entries()? {
            let (row, value) = (text(&entry.key.row), text(&entry.value));
            assert_eq!(
                self.tables[name].get(&row),
                Some(&value),
                "{what}: {name} changed at {row}"
            );
            assert_eq!(
                found.insert(row, value),
                None,
                "{what}: {name} says it twice"
            );
        }
        Ok(found)
    }

    fn files(&self, part: &str) -> Vec<PathBuf> {
        files_of(&self.disk, part)
    }
}

fn files_of(disk: &FaultyVfs, part: &str) -> Vec<PathBuf> {
    let mut files = disk.files_below(Path::new(DIRECTORY));
    files.retain(|file| file.to_string_lossy().contains(part));
    files
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// Harms the files of one kind, and looks at what the store says then.
fn strike(sample: &Sample, kind: &str, harm: Harm, random: &mut Random) -> bool {
    let disk = copy_of(&sample.disk, Path::new(DIRECTORY)).unwrap();
    let harmed = harm.strike(&disk, &sample.files(kind), random).unwrap();
    if harmed.is_empty() {
        return false;
    }
    let names: Vec<String> = harmed.iter().map(|path| name_of(path)).collect();
    let how = if sample.closed { "closed" } else { "killed" };
    let what = format!("{how} store, {names:?} {harm:?}");
    let is_log = kind == "/wal/";
    match open(&disk, &options()) {
        Err(error) => {
            assert!(is_log, "{what}: does not open: {error:?}");
            let kinds = [ErrorKind::Corruption, ErrorKind::NewerFormat];
            assert!(kinds.contains(&error.kind()), "{what}: {error:?}");
            let said = format!("{error:?}");
            assert!(
                names.iter().any(|name| said.contains(name)),
                "{what}: {said}"
            );
            let store = open(&disk, &reading()).unwrap_or_else(|error| panic!("{what}: {error:?}"));
            assert!(!store.damages().is_empty(), "{what}: nothing is said");
            for name in ["first", "second"] {
                let count = sample.read(&store, name, &what);
                assert_eq!(count.unwrap(), sample.tables[name].len(), "{what}: {name}");
            }
            let left = sample.read(&store, "logged", &what).unwrap();
            drop(store);
            accept_loss(sample, &disk, left, random, &what);
        }
        Ok(store) => look(sample, &disk, store, kind, &harmed, &what),
    }
    true
}

/// Accepts the loss of a part of the log, after an attempt that a power loss interrupts: what could be read is kept,
/// and the store works as before.
fn accept_loss(sample: &Sample, disk: &FaultyVfs, left: usize, random: &mut Random, what: &str) {
    let accepting = StoreOptions {
        accept_log_loss: true,
        ..options()
    };
    disk.set_faults(Faults {
        fail_after_operations: Some(random.below(60)),
        ..Faults::default()
    });
    drop(open(disk, &accepting));
    disk.heal();
    disk.crash(Crash::PowerLostTorn);
    let store = open(disk, &accepting).unwrap_or_else(|error| panic!("{what}: {error:?}"));
    let counts = |store: &Store| {
        ["first", "second", "logged"].map(|name| sample.read(store, name, what).unwrap())
    };
    // The attempt may have written what came before the damage, so that its sequence shows that no
    // write was lost between that and what followed.
    let kept = counts(&store);
    assert!(
        kept[..2] == [300, 300] && kept[2] >= left,
        "{what}, accepted: {kept:?}, and {left} were readable"
    );
    // Killed, so that the log is read again.
    disk.crash(Crash::Process);
    drop(store);
    let store = open(disk, &options()).unwrap_or_else(|error| panic!("{what}, then: {error:?}"));
    assert_eq!(counts(&store), kept, "{what}, accepted");
    let table = store.table("logged").unwrap();
    write(&table, &Rows::from([("more".to_owned(), String::new())])).unwrap();
    let report = store.check(&mut |_, _| true).unwrap();
    assert_eq!(report.problems, [], "{what}, accepted");
    drop((table, store));
    let store = open(disk, &reading()).unwrap();
    assert_eq!(store.damages(), [], "{what}, accepted");
    let more = Scanner::new(store.table("logged").unwrap()).range(Range::row("more"));
    assert_eq!(more.entries().unwrap().len(), 1, "{what}, accepted");
}

/// Drops the harmed table files, after which nothing fails: every row is as it was written at some time.
fn drop_harmed(sample: &Sample, store: &Store, harmed: &[PathBuf], what: &str) {
    for file in harmed {
        let name = name_of(file);
        let dropped = store.drop_file(Path::new(&name));
        let dropped = dropped.unwrap_or_else(|error| panic!("{what}: {error:?}"));
        assert_eq!(dropped.tables.len(), 1, "{what}: {dropped:?}");
    }
    for (name, values) in [
        ("first", ["first", "newer"]),
        ("second", ["second", "newest"]),
    ] {
        let scanner = Scanner::new(store.table(name).unwrap());
        for entry in scanner
            .entries()
            .unwrap_or_else(|error| panic!("{what}, dropped: {error:?}"))
        {
            let (row, value) = (entry.key.row, String::from_utf8(entry.value).unwrap());
            let row: usize = std::str::from_utf8(&row).unwrap().parse().unwrap();
            let known = values.iter().any(|word| value == format!("{word} {row}"));
            assert!(known, "{what}, dropped: {row} has {value}");
        }
    }
    let report = store.check(&mut |_, _| true).unwrap();
    assert_eq!(report.problems, [], "{what}, dropped");
    sample.read(store, "logged", what).unwrap();
}

/// Looks at a store that opened in spite of harm.
fn look(
    sample: &Sample,
    disk: &FaultyVfs,
    store: Arc<Store>,
    kind: &str,
    harmed: &[PathBuf],
    what: &str,
) {
    let is_log = kind == "/wal/";
    let newest = sample.files("/wal/").into_iter().max();
    let mut failing = Vec::new();
    for (name, wanted) in &sample.tables {
        match sample.read(&store, name, what) {
            Ok(count) if count == wanted.len() => {}
            // What was being written when a store died cannot be told from what was cut off afterwards.
            Ok(count) => assert!(
                is_log && !sample.closed && harmed.iter().any(|file| Some(file) == newest.as_ref()),
                "{what}: {name} has {count} rows of {} without a word",
                wanted.len()
            ),
            Err(error) => {
                let said = format!("{error:?}");
                let told = harmed.iter().any(|file| said.contains(&name_of(file)));
                assert!(told, "{what}: {name}: {said}");
                failing.push(*name);
            }
        }
    }
    assert!(
        failing.len() <= harmed.len() && (kind == "/files/" || failing.is_empty()),
        "{what}: {failing:?} fail"
    );
    let report = store.check(&mut |_, _| true).unwrap();
    if kind == "/files/" {
        for file in harmed {
            let name = name_of(file);
            let found = report.problems.iter().any(|one| one.file.contains(&name));
            assert!(found, "{what}: check finds {:?}", report.problems);
        }
    }
    if kind == CLOSED {
        let told = report.notes.iter().any(|note| note.contains("`closed`"));
        assert!(told, "{what}: check says {:?}", report.notes);
    }
    if kind == "/files/" {
        drop_harmed(sample, &store, harmed, what);
        failing.clear();
    }
    // Work goes on where nothing was harmed, and stays.
    for name in sample.tables.keys() {
        if !failing.contains(name) {
            let table = store.table(name).unwrap();
            let more = Rows::from([("more".to_owned(), what.to_owned())]);
            write(&table, &more).unwrap_or_else(|error| panic!("{what}: {name}: {error:?}"));
        }
    }
    drop(store);
    let store = open(disk, &options()).unwrap_or_else(|error| panic!("{what}, again: {error:?}"));
    for name in sample.tables.keys().filter(|name| !failing.contains(name)) {
        let more = Scanner::new(store.table(name).unwrap()).range(Range::row("more"));
        assert_eq!(more.entries().unwrap().len(), 1, "{what}, again: {name}");
    }
}

#[test]
fn damaged_files_are_named_and_affect_nothing_else() {
    let mut random = Random::from_seed(rounds_wanted(1));
    for closed in [true, false] {
        let sample = Sample::new(closed);
        assert!(sample.files("/files/").len() > 3 && sample.files("/wal/").len() > 2);
        for kind in ["/files/", "/wal/", "catalog", "LOCK", CLOSED] {
            let mut struck = 0;
            for harm in Harm::ALL {
                for _ in 0..rounds_wanted(3) {
                    struck += u64::from(strike(&sample, kind, harm, &mut random));
                }
            }
            // A store that never closed has no record of it.
            let is_absent = kind == CLOSED && !closed;
            assert!(
                struck > 2 || kind == "LOCK" || is_absent,
                "{kind}: {struck} strikes"
            );
        }
    }
}
