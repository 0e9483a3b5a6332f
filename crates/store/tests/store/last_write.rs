//! Of two writes of one column at times that the table sets, the later wins, whatever the clock does.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ostrakon_cell::{
    Authorizations, ColumnUpdate, CompactOptions, Condition, ConditionalMutation,
    ConditionalStatus, Entry, Mutation, MutationBatch, Scanner, Source, Table, TableOptions,
    TimeType,
};
use ostrakon_store::clock::ManualClock;
use ostrakon_store::vfs::MemoryVfs;
use ostrakon_store::{Components, Store, StoreOptions};
use proptest::prelude::*;

/// Rows and qualifiers are few, so that writes meet.
type Column = (u8, u8);

#[derive(Debug, Clone)]
enum Step {
    /// Mutations of one batch: a row, then its updates by qualifier, `true` for a put.
    Write(Vec<(u8, Vec<(u8, bool)>)>),
    /// Takes the lock of a column, or gives it back, on condition that it is free or taken.
    Lock(Column),
    /// Milliseconds to step, back as well.
    Clock(i64),
    Flush,
    Compact,
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let updates = proptest::collection::vec((0_u8..2, any::<bool>()), 1..5);
    let write = proptest::collection::vec((0_u8..3, updates), 1..5).prop_map(Step::Write);
    let step = prop_oneof![
        8 => write,
        4 => (0_u8..3, 0_u8..2).prop_map(Step::Lock),
        1 => prop_oneof![Just(1_i64), Just(1_000), Just(-1), Just(-50)].prop_map(Step::Clock),
        1 => Just(Step::Flush),
        1 => Just(Step::Compact),
        1 => Just(Step::Reopen),
    ];
    proptest::collection::vec(step, 1..40)
}

fn open(components: &Components) -> Arc<Store> {
    let options = StoreOptions {
        background: false,
        ..StoreOptions::default()
    };
    Store::open_with(components.clone(), Path::new("/store"), options).unwrap()
}

fn frozen_clock() -> (Arc<ManualClock>, Components) {
    let clock = Arc::new(ManualClock::new(1_000_000));
    let components = Components {
        vfs: MemoryVfs::shared(),
        clock: clock.clone(),
        ..Components::default()
    };
    (clock, components)
}

fn all(table: &Arc<dyn Table>) -> Vec<Entry> {
    Scanner::new(table.clone()).entries().unwrap()
}

fn submit(table: &Arc<dyn Table>, mutations: &[Mutation]) {
    let mut batch = MutationBatch::new();
    for mutation in mutations {
        batch.push(mutation).unwrap();
    }
    table.submit(batch, None).unwrap().wait().unwrap();
}

fn absent_or(value: Option<&[u8]>) -> Condition {
    Condition {
        family: b"f".to_vec(),
        qualifier: vec![b'0'],
        value: value.map(<[u8]>::to_vec),
        ..Condition::default()
    }
}

/// The versions of each column since its last delete, newest first.
#[derive(Default)]
struct Model {
    versions: BTreeMap<Column, Vec<Vec<u8>>>,
    written: u64,
}

impl Model {
    fn put(&mut self, column: Column) -> Vec<u8> {
        self.written += 1;
        let value = self.written.to_string().into_bytes();
        let versions = self.versions.entry(column).or_default();
        versions.insert(0, value.clone());
        value
    }

    fn update(&mut self, mutation: &mut Mutation, column: Column, put: bool) {
        let qualifier = [b'0' + column.1];
        if put {
            let value = self.put(column);
            mutation.put("f", qualifier, value).unwrap();
        } else {
            self.versions.remove(&column);
            mutation.delete("f", qualifier).unwrap();
        }
    }

    fn expected(&self, most: usize) -> Vec<(Vec<u8>, Vec<u8>, Vec<u8>)> {
        let columns = self.versions.iter();
        columns
            .flat_map(|((row, qualifier), values)| {
                let key = (vec![b'0' + row], vec![b'0' + qualifier]);
                let values = values.iter().take(most);
                values.map(move |value| (key.0.clone(), key.1.clone(), value.clone()))
            })
            .collect()
    }

    fn lock(&mut self, table: &Arc<dyn Table>, column: Column) {
        let held = self.versions.get(&column).map(|values| values[0].clone());
        let mut mutation = Mutation::new([b'0' + column.0]);
        let mut condition = absent_or(held.as_deref());
        condition.qualifier = vec![b'0' + column.1];
        self.update(&mut mutation, column, held.is_none());
        let one = ConditionalMutation {
            mutation,
            conditions: vec![condition],
        };
        let answers = table.write_conditionally(vec![one], &Authorizations::empty(), None);
        assert_eq!(answers.unwrap(), [ConditionalStatus::Accepted]);
    }
}

fn found(table: &Arc<dyn Table>) -> Vec<(Vec<u8>, Vec<u8>, Vec<u8>)> {
    let entries = all(table).into_iter();
    entries
        .map(|entry| (entry.key.row, entry.key.qualifier, entry.value))
        .collect()
}

fn play(steps: &[Step], time_type: TimeType, every_version: bool) {
    let (clock, components) = frozen_clock();
    let mut store = open(&components);
    let options = TableOptions {
        time_type,
        without_default_iterators: every_version,
        ..TableOptions::default()
    };
    store.create_table("t", &options).unwrap();
    let mut table = store.table("t").unwrap();
    let mut model = Model::default();
    for step in steps {
        match step {
            Step::Write(mutations) => {
                let mutations: Vec<Mutation> = mutations
                    .iter()
                    .map(|(row, updates)| {
                        let mut mutation = Mutation::new([b'0' + row]);
                        for (qualifier, put) in updates {
                            model.update(&mut mutation, (*row, *qualifier), *put);
                        }
                        mutation
                    })
                    .collect();
                submit(&table, &mutations);
            }
            Step::Lock(column) => model.lock(&table, *column),
            Step::Clock(millis) => {
                use ostrakon_store::clock::Clock;
                clock.set_millis(clock.now_millis() + millis);
            }
            Step::Flush => table.flush(true).unwrap(),
            Step::Compact => table.compact(&CompactOptions::default()).unwrap(),
            Step::Reopen => {
                let before = all(&table);
                drop(table);
                store.close().unwrap();
                // Its lock goes with it.
                drop(store);
                store = open(&components);
                table = store.table("t").unwrap();
                assert_eq!(all(&table), before, "the same timestamps after reopening");
            }
        }
        let most = if every_version { usize::MAX } else { 1 };
        assert_eq!(found(&table), model.expected(most), "after {step:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn the_last_acknowledged_write_wins(
        steps in steps(),
        logical in any::<bool>(),
        every_version in any::<bool>(),
    ) {
        let time_type = if logical { TimeType::Logical } else { TimeType::Millis };
        play(&steps, time_type, every_version);
    }
}

/// Deletes of other columns in the same mutation, and explicit timestamps, keep their meaning.
#[test]
fn explicit_timestamps_keep_their_rule() {
    let (_, components) = frozen_clock();
    let store = open(&components);
    store.create_table("t", &TableOptions::default()).unwrap();
    let table = store.table("t").unwrap();
    let at = |timestamp: i64, value: Option<&'static [u8]>| ColumnUpdate {
        family: b"f",
        timestamp: Some(timestamp),
        value,
        ..ColumnUpdate::default()
    };
    let mut mutation = Mutation::new("r");
    mutation.update(at(5, None)).unwrap();
    mutation.update(at(5, Some(b"hidden"))).unwrap();
    mutation.update(at(4, Some(b"hidden too"))).unwrap();
    submit(&table, &[mutation]);
    assert_eq!(found(&table), []);
    let mut mutation = Mutation::new("r");
    mutation.update(at(6, Some(b"seen"))).unwrap();
    submit(&table, &[mutation]);
    assert_eq!(found(&table)[0].2, b"seen");
    // A delete in the future hides what the table stamps until then.
    let mut mutation = Mutation::new("r");
    mutation.update(at(2_000_000, None)).unwrap();
    mutation.put("f", "", "hidden").unwrap();
    submit(&table, &[mutation]);
    assert_eq!(found(&table), []);
}

/// Each thread deletes and puts its own column as fast as it can, beside the others.
#[test]
fn threads_see_their_own_last_write() {
    let (_, components) = frozen_clock();
    let store = open(&components);
    store.create_table("t", &TableOptions::default()).unwrap();
    let table = store.table("t").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let table = table.clone();
            scope.spawn(move || {
                let row = format!("row{thread}");
                for round in 0..150 {
                    let mut delete = Mutation::new(row.as_str());
                    delete.delete("f", "q").unwrap();
                    let mut put = Mutation::new(row.as_str());
                    put.put("f", "q", round.to_string()).unwrap();
                    if round % 3 == 0 {
                        submit(&table, &[delete, put]);
                    } else {
                        submit(&table, &[delete]);
                        submit(&table, &[put]);
                    }
                    let range = ostrakon_cell::Range::row(row.as_str());
                    let mine = Scanner::new(table.clone()).range(range).entries().unwrap();
                    assert_eq!(mine.len(), 1, "round {round} of {row}");
                    assert_eq!(mine[0].value, round.to_string().as_bytes());
                }
            });
        }
    });
}

/// Tells other threads that one has panicked, for which they would wait forever.
struct Failure<'a>(&'a AtomicBool);

impl Drop for Failure<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::SeqCst);
        }
    }
}

/// A lock is an entry that is put if absent and deleted afterwards.
#[test]
fn a_lock_that_is_given_back_within_a_millisecond_is_never_held_twice() {
    let (clock, components) = frozen_clock();
    let store = open(&components);
    store.create_table("t", &TableOptions::default()).unwrap();
    let table = store.table("t").unwrap();
    let (held, taken) = (AtomicBool::new(false), AtomicU64::new(0));
    let failed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let (table, held, taken, clock) = (&table, &held, &taken, &clock);
            let failed = &failed;
            scope.spawn(move || {
                let _failure = Failure(failed);
                // Every thread takes the lock as often, however long it waits for its turn.
                let mut round = 0;
                while round < 40 && !failed.load(Ordering::SeqCst) {
                    let mut put = Mutation::new("lock");
                    put.put("f", "0", [thread]).unwrap();
                    let take = ConditionalMutation {
                        mutation: put,
                        conditions: vec![absent_or(None)],
                    };
                    let nobody = Authorizations::empty();
                    let answers = table
                        .write_conditionally(vec![take], &nobody, None)
                        .unwrap();
                    if answers != [ConditionalStatus::Accepted] {
                        std::thread::yield_now();
                        continue;
                    }
                    round += 1;
                    assert!(!held.swap(true, Ordering::SeqCst), "held twice");
                    taken.fetch_add(1, Ordering::SeqCst);
                    if round % 16 == 0 {
                        clock.advance(Duration::from_millis(1));
                    }
                    held.store(false, Ordering::SeqCst);
                    let mut delete = Mutation::new("lock");
                    delete.delete("f", "0").unwrap();
                    let give_back = ConditionalMutation {
                        mutation: delete,
                        conditions: vec![absent_or(Some(&[thread]))],
                    };
                    let answers = table.write_conditionally(vec![give_back], &nobody, None);
                    assert_eq!(answers.unwrap(), [ConditionalStatus::Accepted]);
                }
            });
        }
    });
    assert_eq!(taken.load(Ordering::SeqCst), 4 * 40);
    assert_eq!(found(&table), []);
}
