//! The promise about memory, of the program with its own allocator.
#![cfg(target_os = "linux")]

use std::process::Stdio;
use std::time::Duration;

use crate::run::Folder;

const BUDGET: u64 = 128 << 20;
/// So many entries take some times the budget.
const ENTRIES: u64 = 3_000_000;

#[test]
fn ingest_stays_within_five_quarters_of_its_budget() {
    let folder = Folder::new();
    let (memory, entries) = (BUDGET.to_string(), ENTRIES.to_string());
    let mut command = folder.command(&[
        "lab",
        "continuous",
        "ingest",
        "--table",
        "ci",
        "--entries",
        &entries,
        "--writers",
        "2",
        "--splits",
        "3",
        "--durability",
        "flush",
        "--memory",
        &memory,
        "--json",
    ]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let path = format!("/proc/{}/status", child.id());
    let mut most = 0;
    // The system keeps the highest value, so the last one read before the end has all that counts.
    while child.try_wait().unwrap().is_none() {
        most = resident(&path).map_or(most, |bytes| bytes.max(most));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(child.wait().unwrap().success());
    assert!(
        most <= BUDGET + BUDGET / 4,
        "{most} bytes for a budget of {BUDGET}"
    );
    assert!(most >= BUDGET / 4, "{most} bytes: was anything written?");
}

/// The most bytes a process was resident with; `None` when it has ended.
fn resident(path: &str) -> Option<u64> {
    let status = std::fs::read_to_string(path).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib << 10)
}
