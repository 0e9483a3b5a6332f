//! What a source under test must offer to the model test.

use std::sync::Arc;

use ostrakon_cell::{Properties, Result, Source};

use super::operation::Trouble;
use crate::disk::Crash;
use crate::judge::MapSource;

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

    /// Properties for every table that change how entries are kept and never what is read.
    fn table_properties(&self) -> Properties {
        Properties::new()
    }
}

/// The judge on trial before itself: nothing is ever lost.
#[derive(Default)]
pub struct JudgeHarness(pub MapSource);

impl Harness for JudgeHarness {
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
        Ok(())
    }

    fn disturb(&mut self, _: Option<Trouble>) {}
}
