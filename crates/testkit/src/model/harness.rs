//! What a source under test must offer to the model test.

use std::sync::Arc;

use ostrakon_cell::{Batch, Properties, Result, Source};

use super::operation::Trouble;
use crate::disk::Crash;
use crate::reference_model::{Coverage, MapSource};

/// A source that can be opened again, and whose disk can die.
pub trait Harness {
    /// The source as it is open now.
    fn source(&self) -> Arc<dyn Source>;

    /// Sets the clock that timestamps come from.
    fn set_millis(&mut self, millis: i64);

    /// Closes the source and opens it again.
    ///
    /// # Errors
    /// It does not open.
    fn reopen(&mut self) -> Result<()>;

    /// Lets the lights go out, and opens the source again.
    ///
    /// # Errors
    /// It does not open.
    fn crash(&mut self, crash: Crash) -> Result<()>;

    /// Makes the disk fail, or ends all trouble.
    fn disturb(&mut self, trouble: Option<Trouble>);

    /// Imports files as one import of a directory; returns the number of entries.
    ///
    /// # Errors
    /// Those of the import.
    fn import(&mut self, table: &str, files: &[Batch]) -> Result<u64>;

    /// Does one step of background work, if that is for the test to decide. Returns the tables in which some files of
    /// a tablet were merged and others left.
    ///
    /// # Errors
    /// Those of the disk.
    fn maintain(&mut self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// What came up that no operation shows.
    fn coverage(&self) -> Coverage {
        Coverage::default()
    }

    /// Looks whether everything stored is sound.
    ///
    /// # Errors
    /// What is not.
    fn check(&mut self) -> std::result::Result<(), String> {
        Ok(())
    }

    /// Properties for every table that change how entries are kept and never what is read.
    fn table_properties(&self) -> Properties {
        Properties::new()
    }
}

/// The model under its own test: nothing is ever lost.
#[derive(Default)]
pub struct ModelHarness(pub MapSource);

impl Harness for ModelHarness {
    fn source(&self) -> Arc<dyn Source> {
        Arc::new(self.0.clone())
    }

    fn set_millis(&mut self, millis: i64) {
        self.0.set_millis(millis);
    }

    fn reopen(&mut self) -> Result<()> {
        Ok(())
    }

    fn crash(&mut self, _: Crash) -> Result<()> {
        self.0.reopen_times();
        Ok(())
    }

    fn disturb(&mut self, trouble: Option<Trouble>) {
        // A source is opened again after trouble as after a crash.
        if trouble.is_none() {
            self.0.reopen_times();
        }
    }

    fn import(&mut self, table: &str, files: &[Batch]) -> Result<u64> {
        self.0.import_files(table, files)
    }
}
