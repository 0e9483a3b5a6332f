//! What an examination found.

use std::fmt;

use ostrakon_cell::Capability;

/// How one scenario went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// As the contract says.
    Passed,
    /// The source does not claim this capability.
    Skipped(Capability),
    /// Not as the contract says: what happened instead.
    Failed(String),
}

/// The verdicts of all scenarios on one source.
#[derive(Debug, Clone)]
pub struct Report {
    /// The name given to the source.
    pub source: String,
    /// Id, title and verdict of each scenario, in the order of the catalogue.
    pub verdicts: Vec<(&'static str, &'static str, Verdict)>,
}

impl Report {
    /// The ids of the scenarios that failed.
    #[must_use]
    pub fn failed(&self) -> Vec<&'static str> {
        self.with(|verdict| matches!(verdict, Verdict::Failed(_)))
    }

    /// The ids of the scenarios that passed.
    #[must_use]
    pub fn passed(&self) -> Vec<&'static str> {
        self.with(|verdict| *verdict == Verdict::Passed)
    }

    /// The ids of the scenarios left out.
    #[must_use]
    pub fn skipped(&self) -> Vec<&'static str> {
        self.with(|verdict| matches!(verdict, Verdict::Skipped(_)))
    }

    fn with(&self, choose: impl Fn(&Verdict) -> bool) -> Vec<&'static str> {
        self.verdicts
            .iter()
            .filter(|(_, _, verdict)| choose(verdict))
            .map(|(id, _, _)| *id)
            .collect()
    }

    /// Ends a test.
    ///
    /// # Panics
    /// With the whole report when a scenario failed.
    pub fn assert_passed(&self) {
        assert!(self.failed().is_empty(), "{self}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {} scenarios passed, {} failed, {} skipped",
            self.source,
            self.passed().len(),
            self.failed().len(),
            self.skipped().len()
        )?;
        for (id, title, verdict) in &self.verdicts {
            match verdict {
                Verdict::Passed => {}
                Verdict::Skipped(capability) => {
                    writeln!(f, "  {id} skipped, no {capability:?}: {title}")?;
                }
                Verdict::Failed(why) => writeln!(f, "  {id} FAILED: {title}\n      {why}")?,
            }
        }
        Ok(())
    }
}
