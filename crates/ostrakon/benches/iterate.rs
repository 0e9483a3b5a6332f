//! What the comfort of entries costs: one scan of cached entries read by `next_batch` of the source contract, by
//! `Entries::next_batch`, by `for entry in scan`, and by `for` with every entry kept until the end.
//!
//! A plain program. The four ways take turns, seven times after one turn that does not count; each rate is a median, and
//! each ratio is to the source contract. A full run has 2 million entries of 40 bytes in 1 file; `OSTRAKON_BENCH_ENTRIES`
//! sets another number. `cargo test --bench iterate` runs it once with 20,000.
#![allow(clippy::print_stdout, reason = "it prints its figures")]

use std::hint::black_box;
use std::time::Instant;

use ostrakon::cell::ScanOptions;
use ostrakon::{Batch, Range, Result, Store, Table};

type Way = (&'static str, fn(&Table) -> Result<usize>);

const WAYS: [Way; 4] = [
    ("next_batch of the source contract", contract),
    ("Entries::next_batch", batches),
    ("for entry in scan", entries),
    ("for entry in scan, all kept", kept),
];

/// Every way looks at the row and the value of every entry.
fn look(row: &[u8], value: &[u8]) -> usize {
    black_box(row.len() + value.len())
}

fn contract(table: &Table) -> Result<usize> {
    let mut scan = table
        .source()
        .scan(&[Range::all()], &ScanOptions::default())?;
    let (mut batch, mut bytes) = (Batch::new(), 0);
    while scan.next_batch(&mut batch)? {
        bytes += batch
            .iter()
            .map(|entry| look(entry.key.row, entry.value))
            .sum::<usize>();
    }
    Ok(bytes)
}

fn batches(table: &Table) -> Result<usize> {
    let (mut entries, mut batch, mut bytes) = (table.scan().start()?, Batch::new(), 0);
    while entries.next_batch(&mut batch)? {
        bytes += batch
            .iter()
            .map(|entry| look(entry.key.row, entry.value))
            .sum::<usize>();
    }
    Ok(bytes)
}

fn entries(table: &Table) -> Result<usize> {
    let mut bytes = 0;
    for entry in table.scan() {
        let entry = entry?;
        bytes += look(entry.row(), entry.value());
    }
    Ok(bytes)
}

fn kept(table: &Table) -> Result<usize> {
    let all = table.scan().collect()?;
    Ok(all
        .iter()
        .map(|entry| look(entry.row(), entry.value()))
        .sum())
}

fn main() -> Result<()> {
    let full = std::env::args().any(|argument| argument == "--bench");
    let given = std::env::var("OSTRAKON_BENCH_ENTRIES")
        .ok()
        .and_then(|text| text.parse().ok());
    let count: u64 = given.unwrap_or(if full { 2_000_000 } else { 20_000 });
    let turns = if full { 7 } else { 1 };

    let table = Store::in_memory()?.create_table("t")?;
    let mut writer = table.batch_writer();
    for n in 0..count {
        writer.put(format!("{n:016}"), ("f", "q"), format!("{:022}", n * 7))?;
    }
    writer.close()?;
    table.compact()?;

    let mut seconds = [const { Vec::new() }; WAYS.len()];
    for turn in 0..=turns {
        for ((name, way), seconds) in WAYS.iter().zip(&mut seconds) {
            let begun = Instant::now();
            let bytes = way(&table)?;
            assert_eq!(bytes as u64, count * 38, "{name} missed something");
            if turn > 0 {
                seconds.push(begun.elapsed().as_secs_f64());
            }
        }
    }
    let median = |seconds: &mut Vec<f64>| {
        seconds.sort_by(f64::total_cmp);
        seconds.get(seconds.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let seconds = seconds.each_mut().map(median);
    for ((name, _), median) in WAYS.iter().zip(seconds) {
        let rate = count as f64 / median / 1e6;
        let nanos = median * 1e9 / count as f64;
        let ratio = seconds[0] / median;
        println!("{name:<36} {rate:>7.1} M entries/s {nanos:>6.1} ns per entry {ratio:>6.2} ×");
    }
    Ok(())
}
