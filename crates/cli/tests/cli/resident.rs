//! Memory is measured for a whole process, so these tests run in their own process.
#![cfg(target_os = "linux")]

use std::io::Write as _;
use std::process::Command;

use crate::run::Folder;

const REPORT: &str = "resident bytes at most:";

/// Runs the ignored test `child` in its own process, with a directory named by the variable `directory`
/// and jemalloc's settings changed by `allocator`, and returns what it reports.
pub(crate) fn most_of(child: &str, directory: &str, allocator: &str) -> u64 {
    let folder = Folder::new();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", child, "--ignored", "--nocapture"])
        .env(directory, folder.path("store"))
        .env("_RJEM_MALLOC_CONF", allocator)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    let report = text.split_once(REPORT).unwrap().1;
    report.split_whitespace().next().unwrap().parse().unwrap()
}

/// Reports the peak resident memory of this process.
pub(crate) fn report_most_resident() {
    let most = most_resident("/proc/self/status").unwrap();
    let mut told = std::io::stdout().lock();
    writeln!(told, "{REPORT} {most}").unwrap();
}

/// The peak resident memory of a process; `None` if it has ended.
pub(crate) fn most_resident(path: &str) -> Option<u64> {
    let status = std::fs::read_to_string(path).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib << 10)
}
