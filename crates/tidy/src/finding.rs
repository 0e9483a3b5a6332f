//! What a rule reports.

use std::fmt;

/// One problem: where it is, what is wrong, and what to do instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Path from the root of the repository.
    pub path: String,
    /// Line, counted from 1; 0 where the whole file is meant.
    pub line: usize,
    /// What is wrong.
    pub what: String,
    /// What to do instead.
    pub instead: String,
}

impl Finding {
    /// A finding at a line (0 for the whole file).
    pub fn new(
        path: impl Into<String>,
        line: usize,
        what: impl Into<String>,
        instead: impl Into<String>,
    ) -> Self {
        Self {
            path: path.into(),
            line,
            what: what.into(),
            instead: instead.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {}\n    instead: {}", self.what, self.instead)
    }
}
