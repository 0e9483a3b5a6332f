//! Runs the catalogue against a source.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::{Result, Source};

use super::bench::{Bench, Failure, OpenCopy};
use super::catalogue::{SCENARIOS, Scenario};
use super::report::{Report, Verdict};

/// How a source is examined.
pub struct Examination<'a> {
    name: String,
    make: &'a dyn Fn() -> Arc<dyn Source>,
    open_copy: Option<OpenCopy<'a>>,
    only: Vec<String>,
}

/// Runs every scenario the source is up to. `make` gives a source for each one; it may be the same
/// source every time, since scenarios keep to tables of their own names and drop them first.
pub fn examine_source(name: &str, make: &dyn Fn() -> Arc<dyn Source>) -> Report {
    Examination::new(name, make).run()
}

impl<'a> Examination<'a> {
    /// An examination of the sources that `make` gives.
    pub fn new(name: &str, make: &'a dyn Fn() -> Arc<dyn Source>) -> Self {
        Self {
            name: name.to_owned(),
            make,
            open_copy: None,
            only: Vec::new(),
        }
    }

    /// Tells how to open a checkpoint; without, checkpoints are written but not looked into.
    #[must_use]
    pub fn with_open_copy(mut self, open: &'a dyn Fn(&Path) -> Result<Arc<dyn Source>>) -> Self {
        self.open_copy = Some(open);
        self
    }

    /// Runs only the scenarios with these ids; for looking into a failure.
    #[must_use]
    pub fn only(mut self, ids: &[&str]) -> Self {
        self.only = ids.iter().map(|id| (*id).to_owned()).collect();
        self
    }

    /// Runs the scenarios.
    #[must_use]
    pub fn run(&self) -> Report {
        let chosen = SCENARIOS.iter().filter(|scenario| {
            self.only.is_empty() || self.only.iter().any(|id| id == scenario.id)
        });
        Report {
            source: self.name.clone(),
            verdicts: chosen
                .map(|scenario| (scenario.id, scenario.title, self.run_one(scenario)))
                .collect(),
        }
    }

    fn run_one(&self, scenario: &Scenario) -> Verdict {
        let source = (self.make)();
        let capabilities = source.capabilities();
        if let Some(missing) = scenario
            .needs
            .iter()
            .find(|needed| !capabilities.has(**needed))
        {
            return Verdict::Skipped(*missing);
        }
        let bench = Bench::new(source, scenario.id, self.open_copy);
        // A panic of one scenario must not hide what the others find.
        match catch_unwind(AssertUnwindSafe(|| (scenario.run)(&bench))) {
            Ok(Ok(())) => Verdict::Passed,
            Ok(Err(Failure(why))) => Verdict::Failed(why),
            Err(panic) => Verdict::Failed(format!("panicked: {}", words(&*panic))),
        }
    }
}

fn words(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a message")
}
