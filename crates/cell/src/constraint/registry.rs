//! Constraint classes by name.

use std::sync::Arc;

use super::Constraint;
use crate::classes::Classes;
use crate::source::ClassInfo;
use crate::{Error, ErrorKind, Result};

/// The constraints a store can run.
#[derive(Clone, Default)]
pub struct ConstraintRegistry {
    classes: Classes<dyn Constraint>,
}

impl ConstraintRegistry {
    /// A registry without classes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a constraint under all its names; `false` if some of them are taken, in which case they
    /// keep their constraint.
    pub fn register(&mut self, constraint: Arc<dyn Constraint>) -> bool {
        self.classes.add(constraint.names(), &constraint)
    }

    /// The constraint of that class name.
    ///
    /// # Errors
    /// [`ClassNotFound`](ErrorKind::NotFound) with the known classes.
    pub fn get(&self, class: &str) -> Result<&Arc<dyn Constraint>> {
        self.classes.get(class).ok_or_else(|| {
            Error::new(
                ErrorKind::ClassNotFound,
                format!(
                    "no such constraint class; known are {}",
                    self.short_names().join(", ")
                ),
            )
            .with("class", class)
        })
    }

    /// Describes the class of that name, if there is one.
    #[must_use]
    pub fn describe(&self, class: &str) -> Option<ClassInfo> {
        let found = self.classes.get(class)?;
        Some(ClassInfo {
            name: found.names().first().copied().unwrap_or(class).to_owned(),
            description: found.describe().to_owned(),
            scans_only: false,
        })
    }

    /// The short names of all classes, sorted.
    #[must_use]
    pub fn short_names(&self) -> Vec<&str> {
        self.classes.short_names()
    }
}

impl std::fmt::Debug for ConstraintRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.short_names()).finish()
    }
}
