//! How our side keeps the tables of a script: the answers must not depend on it.

use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::{CompactOptions, Properties, Result, Source};
use ostrakon_store::clock::Random;
use ostrakon_store::{Components, Store, StoreOptions};

use crate::disk::FaultyVfs;

/// How a store of ours works while it plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Flushes and compacts where the script says so, and nowhere else.
    Calm,
    /// Little memory and small files; flushes, compacts and reopens at random moments besides.
    Busy(u64),
}

impl Profile {
    /// A new store, and what disturbs it.
    ///
    /// # Errors
    /// It does not open.
    pub fn open(self) -> Result<(Arc<Store>, Restless)> {
        let (seed, options, restless) = match self {
            Self::Calm => (
                0,
                StoreOptions {
                    background: false,
                    memory_budget_bytes: 16 << 20,
                    ..StoreOptions::default()
                },
                Restless {
                    random: None,
                    properties: Properties::new(),
                },
            ),
            Self::Busy(seed) => (seed, busy_options(), Restless::busy(seed)),
        };
        let components = Components {
            vfs: FaultyVfs::new(seed).shared(),
            ..Components::default()
        };
        let store = Store::open_with(components, Path::new("/store"), options)?;
        Ok((store, restless))
    }
}

fn busy_options() -> StoreOptions {
    StoreOptions {
        memory_budget_bytes: 256 << 10,
        wal_segment_bytes: 64 << 10,
        max_open_files: 64,
        compaction_threads: 1,
        ..StoreOptions::default()
    }
}

/// Flushes and compacts at random moments, or never.
pub struct Restless {
    random: Option<Random>,
    /// Set on every table of a script.
    pub(super) properties: Properties,
}

impl Restless {
    fn busy(seed: u64) -> Self {
        let mut random = Random::from_seed(seed);
        let mut properties = Properties::new();
        let mut set = |name: &str, value: &str| {
            properties.insert(name.to_owned(), value.to_owned());
        };
        set("table.file.compress.blocksize", "1K");
        if random.one_in(2) {
            set("table.file.max", "3");
        }
        if random.one_in(2) {
            set("table.bloom.enabled", "true");
        }
        Self {
            random: Some(random),
            properties,
        }
    }

    /// Between two operations.
    pub(super) fn stir(&mut self, source: &dyn Source) {
        let Some(random) = &mut self.random else {
            return;
        };
        for info in source.tables().unwrap_or_default() {
            let Ok(table) = source.table(&info.name) else {
                continue;
            };
            // Tables off-line refuse; what fails here fails again where the script shows it.
            if random.one_in(4) {
                let _ = table.flush(true);
            }
            if random.one_in(10) {
                let _ = table.compact(&CompactOptions {
                    flush: random.one_in(2),
                    ..CompactOptions::default()
                });
            }
        }
    }
}
