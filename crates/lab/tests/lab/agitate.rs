//! Kills a writer on the embedded store. The writer is this test program, started again with the name
//! of the ignored test below.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ostrakon_cell::{Durability, Result, Source};
use ostrakon_lab::continuous::{
    AgitateOptions, Agitated, IngestOptions, VerifyOptions, run_agitate, run_ingest,
};
use ostrakon_lab::{NoProgress, Progress};
use ostrakon_store::{Store, StoreOptions};

const DIRECTORY: &str = "OSTRAKON_TEST_AGITATED";

struct Writer(PathBuf);

impl Agitated for Writer {
    fn ingest_command(&self, _: u64) -> Result<Command> {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([
                "--exact",
                "agitate::writes_until_killed",
                "--ignored",
                "--nocapture",
            ])
            .env(DIRECTORY, &self.0);
        Ok(command)
    }

    fn open(&self) -> Result<Arc<dyn Source>> {
        open(&self.0)
    }
}

fn open(directory: &Path) -> Result<Arc<dyn Source>> {
    Ok(Store::open(directory, StoreOptions::default())?)
}

struct Announce;

impl Progress for Announce {
    fn flushed(&self, writer: usize, entries: u64) {
        println!("flushed {writer} {entries}");
    }
}

#[test]
#[ignore = "a writer for the test below, which starts and kills it"]
fn writes_until_killed() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let source = open(Path::new(&directory)).unwrap();
    let options = IngestOptions {
        flush_interval: Some(2_000),
        writers: 2,
        splits: 3,
        durability: Some(Durability::Sync),
        ..IngestOptions::default()
    };
    run_ingest(&source, &options, &Announce).unwrap();
}

#[test]
fn nothing_acknowledged_is_lost_by_kills() {
    let folder = tempfile::tempdir().unwrap();
    let options = AgitateOptions {
        kills: 4,
        life_min: Duration::from_millis(100),
        life_max: Duration::from_millis(600),
        verify_each: true,
        verify: VerifyOptions {
            scratch: folder.path().to_path_buf(),
            ..VerifyOptions::default()
        },
        ..AgitateOptions::default()
    };
    let writer = Writer(folder.path().join("store"));
    let figures = run_agitate(&writer, &options, &NoProgress).unwrap();
    assert_eq!(figures.kills, 4);
    assert!(figures.is_sound(), "{figures:?}");
    assert!(figures.acknowledged > 0 && figures.entries >= figures.acknowledged);
}
