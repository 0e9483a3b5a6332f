//! Scans of named columns: one of five columns of many rows, with and without a locality group, and exact columns of a
//! row of a million. Through the whole store, on a disk in memory, everything cached.
//!
//! A plain program, since the table takes longer to build than to measure. Each time is the median of three passes behind
//! one that does not count. A full run has 5 million rows; `OSTRAKON_BENCH_ROWS` sets another number. `cargo test --bench`
//! runs it once with 4,000 rows.

#![allow(clippy::print_stdout, reason = "it prints its figures")]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use ostrakon_cell::{
    Batch, Column, ColumnSelection, Key, Properties, Range, ScanOptions, Source, Table,
    TableOptions,
};
use ostrakon_store::vfs::MemoryVfs;
use ostrakon_store::{Components, Store, StoreOptions};

const FIELDS: [&str; 5] = ["bytes", "method", "path", "status", "time"];
const PASSES: usize = 3;

struct Bench {
    rows: usize,
    wide: usize,
}

fn open() -> Arc<Store> {
    let components = Components {
        vfs: MemoryVfs::shared(),
        ..Components::default()
    };
    let options = StoreOptions {
        background: false,
        memory_budget_bytes: 12 << 30,
        ..StoreOptions::default()
    };
    Store::open_with(components, Path::new("/store"), options).expect("a store")
}

fn table(store: &Store, name: &str, properties: Properties) -> Arc<dyn Table> {
    let options = TableOptions {
        properties,
        ..TableOptions::default()
    };
    store.create_table(name, &options).expect("a new table");
    store.table(name).expect("it was created")
}

fn import(table: &Arc<dyn Table>, keys: impl Iterator<Item = (Key, String)>) {
    let mut writer = table.bulk_writer().expect("a store imports");
    let mut batch = Batch::new();
    for (key, value) in keys {
        batch.push(key.as_ref(), value.as_bytes()).expect("small");
        if batch.len() == 4096 {
            writer.append(&batch).expect("sorted");
            batch.clear();
        }
    }
    writer.append(&batch).expect("sorted");
    writer.finish().expect("imported");
}

/// Records of five fields, in families of their own or as qualifiers of one.
fn records(rows: usize, own_families: bool) -> impl Iterator<Item = (Key, String)> {
    (0..rows).flat_map(move |row| {
        FIELDS.into_iter().enumerate().map(move |(at, field)| {
            let (family, qualifier) = if own_families {
                (field, "")
            } else {
                ("f", field)
            };
            let mut key = Key::new(format!("{row:010}"), family, qualifier);
            key.timestamp = 1_760_000_000_000;
            let number = (row * 5 + at).wrapping_mul(2_654_435_761) % 1_000_000;
            (key, format!("{field}={number}"))
        })
    })
}

fn scan(table: &Arc<dyn Table>, range: Range, columns: &[Column]) -> usize {
    let options = ScanOptions {
        columns: ColumnSelection::new(columns.to_vec()),
        ..ScanOptions::default()
    };
    let mut scan = table.scan(&[range], &options).expect("begun");
    let (mut batch, mut entries) = (Batch::new(), 0);
    while scan.next_batch(&mut batch).expect("read") {
        entries += batch.len();
    }
    entries
}

/// Seconds of a pass, the median of some.
fn seconds(mut pass: impl FnMut()) -> f64 {
    pass();
    let mut taken: Vec<f64> = (0..PASSES)
        .map(|_| {
            let began = Instant::now();
            pass();
            began.elapsed().as_secs_f64()
        })
        .collect();
    taken.sort_by(f64::total_cmp);
    taken[PASSES / 2]
}

impl Bench {
    fn of_five(&self) {
        let store = open();
        let grouped = Properties::from([
            ("table.groups.enabled".into(), "status".into()),
            ("table.group.status".into(), "status".into()),
        ]);
        let one = Column::new("f", "status");
        let family = Column::family("status");
        for (name, own, properties, column) in [
            ("qualifiers", false, Properties::new(), one),
            ("families", true, Properties::new(), family.clone()),
            ("families, one in a group", true, grouped, family),
        ] {
            let id = format!("t{}", name.len());
            let table = table(&store, &id, properties);
            import(&table, records(self.rows, own));
            let all = seconds(|| {
                assert_eq!(scan(&table, Range::all(), &[]), 5 * self.rows);
            });
            let columns = std::slice::from_ref(&column);
            let named = seconds(|| {
                assert_eq!(scan(&table, Range::all(), columns), self.rows);
            });
            println!(
                "{:<44} all {all:>7.3} s, one {named:>7.3} s ({:.2} of all)",
                format!("one of five columns: {name}"),
                named / all
            );
            store.delete_table(&id).expect("deleted");
        }
    }

    fn of_a_wide_row(&self) {
        let keys = || {
            (0..self.wide).map(|at| {
                let mut key = Key::new("wide", "f", format!("{at:08}"));
                key.timestamp = 1;
                (key, format!("value {at}"))
            })
        };
        let store = open();
        let of_file = table(&store, "file", Properties::new());
        import(&of_file, keys());
        let of_memory = table(&store, "memory", Properties::new());
        let mut writer = ostrakon_cell::BatchWriter::new(of_memory.clone(), Default::default());
        for (key, value) in keys() {
            let update = ostrakon_cell::ColumnUpdate {
                family: &key.family,
                qualifier: &key.qualifier,
                value: Some(value.as_bytes()),
                ..Default::default()
            };
            writer.put(&key.row, update).expect("taken");
        }
        writer.close().expect("written");
        let picks: Vec<Column> = (0..100)
            .map(|at| Column::new("f", format!("{:08}", at * 7_919 % self.wide)))
            .collect();
        for (name, table) in [("file", &of_file), ("memory", &of_memory)] {
            for (kind, range) in [
                ("of its row", Range::row("wide")),
                ("of all rows", Range::all()),
            ] {
                let taken = seconds(|| {
                    for column in &picks {
                        let found = scan(table, range.clone(), std::slice::from_ref(column));
                        assert_eq!(found, 1);
                    }
                });
                println!(
                    "{:<44} {:>9.1} us",
                    format!("a column of {} {kind}, in a {name}", self.wide),
                    taken / picks.len() as f64 * 1e6
                );
            }
        }
    }
}

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let rows = std::env::var("OSTRAKON_BENCH_ROWS").ok();
    let rows = rows.and_then(|text| text.parse().ok());
    let bench = Bench {
        rows: rows.unwrap_or(if full { 5_000_000 } else { 4_000 }),
        wide: if full { 1_000_000 } else { 20_000 },
    };
    bench.of_a_wide_row();
    bench.of_five();
}
