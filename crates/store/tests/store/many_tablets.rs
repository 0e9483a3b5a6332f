//! Tables of many tablets: what is done for one of them costs the same as in a small table.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ostrakon_cell::{Mutation, MutationBatch, Scanner, Source, Table, TableOptions};
use ostrakon_store::vfs::MemoryVfs;
use ostrakon_store::{Components, Store, StoreOptions};

fn row(number: usize) -> String {
    format!("{number:08}")
}

/// A table of so many tablets, each with one of the rows 0, 1, 2, ...
fn store_with(tablets: usize) -> (Arc<Store>, Arc<dyn Table>) {
    let components = Components {
        vfs: MemoryVfs::shared(),
        ..Components::default()
    };
    let options = StoreOptions {
        background: false,
        ..StoreOptions::default()
    };
    let store = Store::open_with(components, Path::new("/store"), options).unwrap();
    let options = TableOptions {
        splits: (0..tablets - 1)
            .map(|number| row(number).into_bytes())
            .collect(),
        ..TableOptions::default()
    };
    store.create_table("t", &options).unwrap();
    let table = store.table("t").unwrap();
    (store, table)
}

fn write(table: &Arc<dyn Table>, rows: impl IntoIterator<Item = usize>) {
    let mut batch = MutationBatch::new();
    for number in rows {
        let mut mutation = Mutation::new(row(number));
        mutation.put("f", "q", "v").unwrap();
        batch.push(&mutation).unwrap();
    }
    table.submit(batch, None).unwrap().wait().unwrap();
}

fn with_files(table: &Arc<dyn Table>) -> Vec<usize> {
    let tablets = table.tablets().unwrap().into_iter().enumerate();
    tablets
        .filter(|(_, tablet)| tablet.files > 0)
        .map(|(at, _)| at)
        .collect()
}

/// It used to go to all tablets between its first row and its last.
#[test]
fn a_flush_gives_its_file_to_the_tablets_with_entries() {
    let (store, table) = store_with(1_000);
    write(&table, [3, 4, 5, 500, 998]);
    table.flush(true).unwrap();
    assert_eq!(store.metrics().files, 1);
    assert_eq!(with_files(&table), [3, 4, 5, 500, 998]);
    // With many entries for each tablet too.
    write(&table, (0..1_000).filter(|number| number % 2 == 0));
    table.flush(true).unwrap();
    assert_eq!(with_files(&table).len(), 500 + 2);
    assert_eq!(Scanner::new(table.clone()).entries().unwrap().len(), 502);
    table.merge(None, None).unwrap();
    assert_eq!(Scanner::new(table.clone()).entries().unwrap().len(), 502);
    assert_eq!(store.check(&mut |_, _| true).unwrap().problems, []);
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

#[test]
#[ignore = "measures; run by hand on a quiet machine, in a release build"]
fn what_is_done_for_one_of_a_hundred_thousand_tablets() {
    let measure = |tablets: usize| {
        let (store, table) = store_with(tablets);
        let mut flushes: Vec<Duration> = (0..50)
            .map(|round| {
                write(&table, [round * (tablets / 50)]);
                timed(|| table.flush(true).unwrap())
            })
            .collect();
        flushes.sort();
        let pass = timed(|| assert!(!store.maintain().unwrap()));
        // Three files in each: all of them are to be compacted.
        for _ in 0..3 {
            write(&table, 0..tablets);
            table.flush(true).unwrap();
        }
        let compactions = 500;
        let compacting = timed(|| {
            for _ in 0..compactions {
                assert!(store.maintain().unwrap());
            }
        });
        let each = compacting / compactions;
        println!(
            "{tablets} tablets: flush {:?}, pass {pass:?}, compaction {each:?}",
            flushes[25]
        );
        (flushes[25], pass, each)
    };
    let small = measure(1_000);
    let large = measure(100_000);
    assert!(
        large.0 < small.0 + Duration::from_millis(1),
        "{small:?} {large:?}"
    );
    assert!(
        large.1 < 200 * small.1.max(Duration::from_micros(100)),
        "{small:?} {large:?}"
    );
    assert!(large.2 < 10 * small.2, "{small:?} {large:?}");
}
