//! The shell blocks of guides run as printed, one after the other on one store.

use std::path::Path;
use std::process::Command;

use crate::run::Folder;

/// Runs every `sh` block of a page of the guide in a folder of its own.
fn run_page(name: &str, least: usize) -> Folder {
    let folder = Folder::new();
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let page = std::fs::read_to_string(guide.join(name)).unwrap();
    let blocks: Vec<&str> = page
        .split("```sh\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert!(blocks.len() >= least, "{} blocks", blocks.len());
    let program = Path::new(env!("CARGO_BIN_EXE_ostrakon"));
    let path = std::env::join_paths(
        std::iter::once(program.parent().unwrap().to_owned())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    )
    .unwrap();
    for block in blocks {
        let ran = Command::new("sh")
            .args(["-e", "-c", block])
            .current_dir(folder.path(""))
            .env("PATH", &path)
            .env("OSTRAKON_DATA", "store")
            .env("OSTRAKON_MEMORY", "64M")
            .output()
            .unwrap();
        let (out, err) = (
            String::from_utf8_lossy(&ran.stdout),
            String::from_utf8_lossy(&ran.stderr),
        );
        assert!(ran.status.success(), "{block}\n{out}{err}");
    }
    folder
}

#[test]
fn the_blocks_of_import_run() {
    let folder = run_page("import.md", 6);
    for (table, entries) in [
        ("routes", "4 entries"),
        ("friends", "4 entries"),
        ("jobs", "4 entries"),
        ("conn", "6 entries"),
        ("events", "2 entries"),
    ] {
        let counted = folder.ok(&["scan", table, "--count"]);
        assert!(counted.starts_with(entries), "{table}: {counted}");
    }
    // The header row, and no line.
    assert_eq!(folder.read("rejects.tsv").lines().count(), 1);
}

#[test]
fn the_blocks_of_operations_run() {
    let folder = run_page("operations.md", 10);
    assert!(folder.ok(&["table", "list"]).contains("agitated"));
}
