//! Look-ups of rows, one by one and many at once, say what a scan of the whole table says.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::{
    Authorizations, Batch, BatchWriter, BatchWriterConfig, ColumnUpdate, CompactOptions, Entry,
    EntryRef, Properties, Range, Scan, ScanOptions, Source, Table, TableOptions,
};
use ostrakon_store::vfs::MemoryVfs;
use ostrakon_store::{Components, Store, StoreOptions};

/// Rows of the sample; odd ones are written, so that even ones lie between.
const ROWS: u64 = 4000;

fn row(at: u64) -> Vec<u8> {
    // Some rows begin alike, some are the beginning of others.
    match at % 7 {
        0 => format!("row{:04}", at / 14).into_bytes(),
        _ => format!("row{:04}-{at:06}", at / 14).into_bytes(),
    }
}

fn open(properties: &[(&str, &str)]) -> (Arc<Store>, Arc<dyn Table>) {
    let components = Components {
        vfs: MemoryVfs::shared(),
        ..Components::default()
    };
    let options = StoreOptions {
        background: false,
        memory_budget_bytes: 64 << 20,
        ..StoreOptions::default()
    };
    let store = Store::open_with(components, Path::new("/store"), options).unwrap();
    let small_blocks = ("table.file.compress.blocksize", "2K");
    let properties = properties.iter().chain([&small_blocks]);
    let options = TableOptions {
        properties: properties
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect::<Properties>(),
        ..TableOptions::default()
    };
    store.create_table("t", &options).unwrap();
    let table = store.table("t").unwrap();
    (store, table)
}

/// Writes every `step`th row: several columns and versions, labels, and a deleted column.
fn fill(table: &Arc<dyn Table>, step: u64, round: i64) {
    let mut writer = BatchWriter::new(table.clone(), BatchWriterConfig::default());
    for at in (1..ROWS).step_by(2).filter(|at| at / 2 % step == 0) {
        let row = row(at);
        // One row has more entries than a block.
        let columns = if at == 2001 { 300 } else { at % 4 + 1 };
        for column in 0..columns {
            let qualifier = format!("q{column:03}");
            for (family, visibility) in [(&b"f"[..], &b""[..]), (b"g", b"secret")] {
                let update = ColumnUpdate {
                    family,
                    qualifier: qualifier.as_bytes(),
                    visibility,
                    timestamp: Some(10 * round + (at % 3) as i64),
                    value: (at % 11 != 0 || round == 0 || column > 0)
                        .then_some(b"a value of some length"),
                };
                writer.put(&row, update).unwrap();
            }
        }
    }
    writer.close().unwrap();
}

fn drain(scan: &mut dyn Scan) -> Vec<Entry> {
    let (mut batch, mut entries) = (Batch::new(), Vec::new());
    while scan.next_batch(&mut batch).unwrap() {
        entries.extend(batch.iter().map(EntryRef::to_entry));
    }
    entries
}

fn check(table: &Arc<dyn Table>, options: &ScanOptions) {
    let mut by_row: BTreeMap<Vec<u8>, Vec<Entry>> = BTreeMap::new();
    for entry in drain(&mut *table.scan(&[Range::all()], options).unwrap()) {
        by_row.entry(entry.key.row.clone()).or_default().push(entry);
    }
    assert!(by_row.len() > 100);
    // Existing and absent rows: before all, in between and after all.
    let mut rows: Vec<Vec<u8>> = (0..ROWS).map(row).collect();
    rows.extend([&b""[..], b"a", b"row", b"row2", b"row9999", b"zz"].map(<[u8]>::to_vec));
    rows.sort();
    rows.dedup();
    let of = |row: &Vec<u8>| by_row.get(row).cloned().unwrap_or_default();
    let wanted: Vec<Entry> = rows.iter().flat_map(of).collect();
    let found: usize = by_row.values().map(Vec::len).sum();
    assert_eq!(wanted.len(), found);

    let mut scan = table.scan(&[], options).unwrap();
    // In an order that leaps about.
    for at in 0..rows.len() {
        let row = &rows[at * 997 % rows.len()];
        scan.restart(&[Range::row(row.clone())]).unwrap();
        assert_eq!(
            drain(&mut *scan),
            of(row),
            "{}",
            String::from_utf8_lossy(row)
        );
    }
    let leaping = |at: usize| Range::row(rows[at * 991 % rows.len()].clone());
    let ranges: Vec<Range> = (0..rows.len()).map(leaping).collect();
    assert_eq!(drain(&mut *table.scan(&ranges, options).unwrap()), wanted);
    // Few of them, as they come to a thread, and with a range that is no row between.
    let mut few: Vec<Range> = ranges[..40].to_vec();
    few.push(Range::rows("row0100".."row0110"));
    let merged = Range::merge(few.clone());
    let inside = |entry: &&Entry| {
        merged
            .iter()
            .any(|range| range.contains(entry.key.as_ref()))
    };
    let some: Vec<Entry> = wanted.iter().filter(inside).cloned().collect();
    assert_eq!(drain(&mut *table.scan(&few, options).unwrap()), some);
    for threads in [0, 1, 3] {
        let options = ScanOptions {
            ordered: false,
            threads,
            ..options.clone()
        };
        let mut scan = table.scan(&ranges, &options).unwrap();
        for _ in 0..2 {
            let mut found = drain(&mut *scan);
            found.sort_by(|a, b| a.key.cmp(&b.key));
            assert_eq!(found, wanted, "{threads} threads");
            scan.restart(&ranges).unwrap();
        }
    }
}

/// The table in memory, in one file, in fenced halves of it, in several files, compacted.
fn check_at_every_stage(properties: &[(&str, &str)], options: &ScanOptions) {
    let (_store, table) = open(properties);
    fill(&table, 1, 0);
    check(&table, options);
    table.flush(true).unwrap();
    check(&table, options);
    // Half of the splits are rows that are there: the last ones of their tablet. More tablets than a scan keeps
    // stacks for.
    let splits: Vec<Vec<u8>> = (17..ROWS).step_by(51).map(row).collect();
    table.add_splits(&splits).unwrap();
    check(&table, options);
    fill(&table, 3, 1);
    check(&table, options);
    table.flush(true).unwrap();
    fill(&table, 5, 2);
    table.flush(true).unwrap();
    check(&table, options);
    table.compact(&CompactOptions::default()).unwrap();
    check(&table, options);
}

#[test]
fn rows_of_many_versions_and_labels() {
    let options = ScanOptions {
        authorizations: Authorizations::new(["secret"]).unwrap(),
        ..ScanOptions::default()
    };
    let versions = [
        ("table.iterator.scan.vers.opt.maxVersions", "3"),
        ("table.iterator.minc.vers.opt.maxVersions", "3"),
        ("table.iterator.majc.vers.opt.maxVersions", "3"),
    ];
    check_at_every_stage(&versions, &options);
}

#[test]
fn rows_whose_labels_hide_half_of_them() {
    check_at_every_stage(&[], &ScanOptions::default());
}

#[test]
fn rows_in_locality_groups_with_filters() {
    let options = ScanOptions {
        authorizations: Authorizations::new(["secret"]).unwrap(),
        ..ScanOptions::default()
    };
    let grouped = [
        ("table.bloom.enabled", "true"),
        ("table.group.one", "g"),
        ("table.groups.enabled", "one"),
    ];
    check_at_every_stage(&grouped, &options);
}
