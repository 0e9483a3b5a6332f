//! Tablets are rewritten in the background for their garbage, and when they are idle. Time is moved by hand, and the
//! work is done by `maintain`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ostrakon_cell::{
    IteratorScope, IteratorSetting, Mutation, MutationBatch, Scanner, Source, Table, TableOptions,
    TabletInfo,
};
use ostrakon_store::clock::ManualClock;
use ostrakon_store::vfs::MemoryVfs;
use ostrakon_store::{Components, Store, StoreOptions};

const NOW: i64 = 1_700_000_000_000;
const HOUR: Duration = Duration::from_secs(3600);
const IDLE: &str = "table.compaction.major.everything.idle";

struct Rig {
    clock: Arc<ManualClock>,
    store: Arc<Store>,
}

impl Rig {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::new(NOW));
        let components = Components {
            vfs: MemoryVfs::shared(),
            clock: clock.clone(),
            ..Components::default()
        };
        let options = StoreOptions {
            background: false,
            ..StoreOptions::default()
        };
        let store = Store::open_with(components, Path::new("/store"), options).unwrap();
        Self { clock, store }
    }

    /// A table with these properties, whose tablets are never idle unless they say so.
    fn table(&self, name: &str, properties: &[(&str, &str)]) -> Arc<dyn Table> {
        let mut options = TableOptions::default();
        for (name, value) in [(IDLE, "10000d")].iter().chain(properties) {
            let (name, value) = ((*name).to_owned(), (*value).to_owned());
            options.properties.insert(name, value);
        }
        self.store.create_table(name, &options).unwrap();
        self.store.table(name).unwrap()
    }

    /// Does what there is to do; returns how many tablets were rewritten.
    fn work(&self) -> u64 {
        let before = self.store.metrics().compactions;
        for round in 0.. {
            assert!(round < 100, "it does not end");
            if !self.store.maintain().unwrap() {
                break;
            }
        }
        self.store.metrics().compactions - before
    }
}

/// Writes rows of a size that many of them fill many blocks: what is read of a file is known by blocks.
fn write_large(table: &Arc<dyn Table>, rows: impl Iterator<Item = u64>) {
    let mut batch = MutationBatch::new();
    for row in rows {
        let mut mutation = Mutation::new(format!("{row:06}"));
        let number = row.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let value: Vec<u8> = (0..25)
            .flat_map(|at| number.rotate_left(at).to_le_bytes())
            .collect();
        mutation.put("f", "q", value).unwrap();
        batch.push(&mutation).unwrap();
    }
    table.submit(batch, None).unwrap().wait().unwrap();
    table.flush(true).unwrap();
}

fn write(table: &Arc<dyn Table>, rows: impl Iterator<Item = u64>, value: Option<&str>) {
    let mut batch = MutationBatch::new();
    for row in rows {
        let mut mutation = Mutation::new(format!("{row:06}"));
        match value {
            Some(value) => mutation.put("f", "q", value).unwrap(),
            None => mutation.delete("f", "q").unwrap(),
        };
        batch.push(&mutation).unwrap();
    }
    table.submit(batch, None).unwrap().wait().unwrap();
    table.flush(true).unwrap();
}

fn count(table: &Arc<dyn Table>) -> usize {
    Scanner::new(table.clone()).entries().unwrap().len()
}

fn tablets(table: &Arc<dyn Table>) -> Vec<TabletInfo> {
    table.tablets().unwrap()
}

#[test]
fn deleted_entries_leave_the_disk() {
    let rig = Rig::new();
    let table = rig.table("t", &[]);
    write(&table, 0..1_000, Some("value"));
    write(&table, 0..300, None);
    assert_eq!(rig.work(), 0, "{:?}", tablets(&table));
    write(&table, 300..400, None);
    assert_eq!(rig.work(), 1);
    let tablet = &tablets(&table)[0];
    assert_eq!((tablet.files, tablet.entries), (1, 600));
    assert_eq!(count(&table), 600);
    assert_eq!(rig.work(), 0);
}

#[test]
fn forgotten_rows_leave_the_disk() {
    let rig = Rig::new();
    let table = rig.table("t", &[]);
    write_large(&table, 0..20_000);
    let file_bytes = || rig.store.metrics().file_bytes;
    let before = file_bytes();
    table.delete_rows(None, Some(b"007999")).unwrap();
    assert_eq!(rig.work(), 0, "40 of 100 parts");
    table.delete_rows(Some(b"008999"), Some(b"016999")).unwrap();
    assert_eq!(rig.work(), 1);
    assert_eq!(count(&table), 4_000);
    assert!(file_bytes() < before / 2, "{} of {before}", file_bytes());
    assert_eq!(rig.work(), 0);
}

/// The other half of a file is garbage for a tablet alone, but its neighbour reads it.
#[test]
fn a_split_makes_no_garbage() {
    let rig = Rig::new();
    let table = rig.table("t", &[]);
    write_large(&table, 0..20_000);
    let rows = ["003999", "007999", "011999", "015999", "017999"];
    let rows: Vec<Vec<u8>> = rows.iter().map(|row| row.as_bytes().to_vec()).collect();
    table.add_splits(&rows).unwrap();
    assert_eq!(rig.work(), 0);
    // Four of six tablets give the file up: the others follow.
    table.delete_rows(None, Some(b"015999")).unwrap();
    assert_eq!(rig.work(), 2);
    assert_eq!(count(&table), 4_000);
    assert_eq!(rig.work(), 0);
}

#[test]
fn aged_off_entries_leave_the_disk() {
    let rig = Rig::new();
    let age_off = IteratorSetting::new(30, "age", "AgeOffFilter").with("ttl", "36000000");
    let table = rig.table("t", &[]);
    let scopes = [IteratorScope::Majc, IteratorScope::Scan];
    let properties: Vec<_> = age_off
        .to_properties(&scopes)
        .into_iter()
        .map(|(name, value)| (name, Some(value)))
        .collect();
    for hour in 0..8 {
        write(&table, hour * 1_000..(hour + 1) * 1_000, Some("value"));
        rig.clock.advance(HOUR);
    }
    rig.work();
    table.modify_properties(&properties).unwrap();
    rig.work();
    // Entries of the hours 0 to 7, and they live for ten. Of the span of their timestamps half must be old.
    rig.clock.advance(5 * HOUR);
    assert_eq!(rig.work(), 0);
    rig.clock.advance(HOUR / 2);
    rig.clock.advance(Duration::from_secs(1));
    assert_eq!(count(&table), 4_000);
    assert_eq!(rig.work(), 1);
    assert_eq!(tablets(&table)[0].entries, 4_000);
    let mut rewritten = 0;
    for _ in 0..1_000 {
        rig.clock.advance(HOUR / 2);
        rewritten += rig.work();
    }
    assert_eq!(tablets(&table)[0].files, 0);
    assert!(rewritten <= 5, "{rewritten}");
}

#[test]
fn idle_tablets_are_compacted_once() {
    let rig = Rig::new();
    let (one, other) = (rig.table("one", &[(IDLE, "1h")]), rig.table("other", &[]));
    let offline = rig.table("offline", &[(IDLE, "1h")]);
    for table in [&one, &other, &offline] {
        write(table, 0..1_000, Some("value"));
        write(table, 0..1_000, Some("value"));
    }
    rig.store.set_online("offline", false).unwrap();
    rig.clock.advance(HOUR - Duration::from_secs(1));
    assert_eq!(rig.work(), 0);
    rig.clock.advance(Duration::from_secs(1));
    assert_eq!(rig.work(), 1);
    assert_eq!(tablets(&one)[0].files, 1);
    assert_eq!(tablets(&other)[0].files, 2);
    for _ in 0..10 {
        rig.clock.advance(HOUR);
        assert_eq!(rig.work(), 0);
    }
    rig.store.set_online("offline", true).unwrap();
    assert_eq!(rig.work(), 1);
    // Another file: idle again, an hour later.
    write(&one, 0..10, Some("value"));
    assert_eq!(rig.work(), 0);
    rig.clock.advance(HOUR);
    assert_eq!(rig.work(), 1);
}

#[test]
fn a_tablet_that_is_written_to_is_not_idle() {
    let rig = Rig::new();
    let table = rig.table("t", &[(IDLE, "1h")]);
    table.add_splits(&[b"000500".to_vec()]).unwrap();
    write(&table, 0..400, Some("value"));
    write(&table, 600..1_000, Some("value"));
    rig.clock.advance(2 * HOUR);
    let mut mutation = Mutation::new("000001");
    mutation.put("f", "q", "new").unwrap();
    let mut batch = MutationBatch::new();
    batch.push(&mutation).unwrap();
    table.submit(batch, None).unwrap().wait().unwrap();
    assert_eq!(rig.work(), 1);
    table.flush(true).unwrap();
    rig.clock.advance(HOUR);
    assert_eq!(rig.work(), 1);
    assert_eq!(count(&table), 800);
}

/// A tablet that cannot be rewritten is tried again when its failure is due, and harms no other.
#[test]
fn failures_are_not_tried_again_at_once() {
    let rig = Rig::new();
    let sum = IteratorSetting::new(10, "sum", "SummingCombiner")
        .with("type", "STRING")
        .with("all", "true");
    let mut options = TableOptions {
        without_default_iterators: true,
        properties: sum.to_properties(&[IteratorScope::Majc]),
        splits: vec![b"000500".to_vec()],
        ..TableOptions::default()
    };
    options.properties.insert(IDLE.to_owned(), "1h".to_owned());
    rig.store.create_table("t", &options).unwrap();
    let table = rig.store.table("t").unwrap();
    for _ in 0..2 {
        write(&table, 0..1, Some("no number"));
        write(&table, 600..601, Some("1"));
    }
    rig.clock.advance(2 * HOUR);
    assert_eq!(rig.work(), 1, "the sound tablet");
    let failures = || {
        let problems = rig.store.problems().unwrap();
        problems.iter().map(|problem| problem.times).sum::<u64>()
    };
    assert_eq!(failures(), 1);
    rig.work();
    assert_eq!(failures(), 1);
    rig.clock.advance(HOUR);
    rig.work();
    assert_eq!(failures(), 2);
    let lossy = (
        "table.iterator.majc.sum.opt.lossy".to_owned(),
        Some("true".to_owned()),
    );
    table.modify_properties(&[lossy]).unwrap();
    assert_eq!(rig.work(), 1);
    assert_eq!(rig.store.problems().unwrap(), []);
}
