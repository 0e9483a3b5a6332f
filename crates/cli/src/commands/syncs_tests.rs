//! How often each command syncs. Each sync costs time that a user at a terminal notices.

use clap::Parser as _;
use ostrakon_store::{Components, Store};
use ostrakon_testkit::disk::FaultyVfs;

use super::access::{Absent, components};
use super::dispatch::{absent, access, access_of, on_source};
use crate::args::{Cli, Command};
use crate::output::Output;

/// Runs a command as the program does, on a disk that counts; returns the number of syncs of files and directories.
fn syncs(disk: &FaultyVfs, line: &str) -> u64 {
    let before = disk.counters().syncs;
    let arguments = ["ostrakon"].into_iter().chain(line.split(' '));
    let cli = Cli::try_parse_from(arguments).expect(line);
    let reached = access(&cli);
    let Command::Store(command) = cli.command else {
        panic!("{line:?} is not a command on a store");
    };
    let options = access_of(&reached, &command).options(absent(&command) == Absent::Create);
    let components = Components {
        vfs: disk.shared(),
        ..components()
    };
    let store = Store::open_with(components, "/store", options).expect(line);
    let mut out = Output::to(Box::new(std::io::sink()), cli.json);
    on_source(&*store, command, &mut out).expect(line);
    out.finish().expect("nowhere");
    store.close().expect(line);
    disk.counters().syncs - before
}

/// A command may need more syncs than before only for a reason.
#[test]
fn commands_wait_for_the_disk_no_more_often_than_they_must() {
    let disk = FaultyVfs::new(1);
    syncs(&disk, "table create t");
    for (line, expected) in [
        ("table list", 0),
        // The record in the log, and the mark of the clean shutdown.
        ("put t r f q v", 2),
        ("put t r f q w", 2),
        ("delete t r f q", 2),
        ("scan t", 0),
        ("check", 0),
        ("table splits t", 0),
        ("table tablets t", 0),
        ("table du t", 0),
        ("table config get t", 0),
        ("table list --read-only", 0),
    ] {
        assert_eq!(syncs(&disk, line), expected, "{line}");
    }
    // These change the catalog, which has a mirror.
    for (line, most) in [
        ("table create u", 24),
        ("table config set t table.file.max=9", 24),
        ("table flush t", 40),
    ] {
        let found = syncs(&disk, line);
        assert!(found <= most, "{line}: {found}");
    }
    // Segments of the log that the flush freed are deleted first, which changes the catalog once more.
    assert!((0..10).any(|_| syncs(&disk, "put t r f q x") == 2));
}
