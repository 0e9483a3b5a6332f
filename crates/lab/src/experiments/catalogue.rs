//! The list of experiments.

/// One experiment that can be run.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line: what it measures.
    pub description: &'static str,
}

/// All experiments, in the order of the paper.
#[must_use]
pub fn experiments() -> &'static [Experiment] {
    &[]
}

/// The experiment of that name.
#[must_use]
pub fn experiment(name: &str) -> Option<&'static Experiment> {
    experiments().iter().find(|one| one.name == name)
}
