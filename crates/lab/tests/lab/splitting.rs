//! An experiment on a table that splits, on the embedded store: the table does split, at a small scale too.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ostrakon_cell::{Result, Source};
use ostrakon_lab::NoProgress;
use ostrakon_lab::experiments::{
    ExperimentOptions, Rig, RigConditions, RigSettings, run_experiment,
};
use ostrakon_store::{Store, StoreOptions};

struct Stores {
    folder: PathBuf,
    open: Mutex<Option<(u64, Arc<Store>)>>,
}

impl Rig for Stores {
    fn fresh(&self, settings: &RigSettings) -> Result<Arc<dyn Source>> {
        let mut open = self.open.lock().unwrap();
        let number = open.as_ref().map_or(0, |(number, _)| number + 1);
        if let Some((_, store)) = open.take() {
            store.close()?;
        }
        let defaults = StoreOptions::default();
        let options = StoreOptions {
            memory_budget_bytes: settings
                .memory_budget_bytes
                .unwrap_or(defaults.memory_budget_bytes),
            ..defaults
        };
        let store = Store::open(self.folder.join(number.to_string()), options)?;
        *open = Some((number, Arc::clone(&store)));
        Ok(store)
    }

    fn conditions(&self, settings: &RigSettings) -> RigConditions {
        RigConditions {
            memory_budget_bytes: settings.memory_budget_bytes.unwrap_or(1 << 30),
            ..RigConditions::default()
        }
    }

    fn scratch(&self) -> &Path {
        &self.folder
    }
}

#[test]
fn a_table_that_splits_ends_with_16_tablets_or_more() {
    let folder = tempfile::tempdir().unwrap();
    let rig = Stores {
        folder: folder.path().to_path_buf(),
        open: Mutex::new(None),
    };
    let options = ExperimentOptions {
        scale: 0.01,
        repetitions: 1,
        out: folder.path().join("records"),
        durability: ostrakon_cell::Durability::Flush,
    };
    for (name, rows) in [("sen2013-table-2", 2), ("sen2013-table-5", 5)] {
        let (record, _) = run_experiment(&rig, name, &options, &NoProgress).unwrap();
        for row in &record.rows[..rows] {
            let tablets = row.metrics["table.tablets"].mean;
            assert!(tablets >= 16.0, "{name}, {}: {tablets}", row.name);
            assert!(row.memory_bytes > 0 && row.data_bytes > 0);
        }
    }
}
