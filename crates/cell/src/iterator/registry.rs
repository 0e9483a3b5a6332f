//! Iterator classes by name.

use std::sync::Arc;

use super::{BoxedIterator, IteratorEnvironment, IteratorOptions, IteratorSetting};
use crate::classes::Classes;
use crate::{Error, ErrorKind, Result};

/// Makes iterators of one class.
pub trait IteratorClass: Send + Sync {
    /// The names under which the class is known, Accumulo's full class name first. The part
    /// behind the last dot is accepted as well.
    fn names(&self) -> &[&str];

    /// One sentence on what the class does, and its options with defaults, for help texts.
    fn describe(&self) -> &str;

    /// Checks options when they are set, long before a tablet uses them.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) naming the option and what it takes.
    fn validate(&self, options: &IteratorOptions) -> Result<()>;

    /// Puts an iterator of this class on top of `source`.
    ///
    /// # Errors
    /// As [`validate`](Self::validate).
    fn init(
        &self,
        source: BoxedIterator,
        options: &IteratorOptions,
        environment: &IteratorEnvironment,
    ) -> Result<BoxedIterator>;
}

/// The classes a store can run.
#[derive(Clone, Default)]
pub struct IteratorRegistry {
    classes: Classes<dyn IteratorClass>,
}

impl IteratorRegistry {
    /// A registry without classes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a class under all its names; a later class of the same name replaces an earlier one.
    pub fn register(&mut self, class: Arc<dyn IteratorClass>) {
        self.classes.add(class.names(), &class);
    }

    /// The class of that name.
    ///
    /// # Errors
    /// [`NotFound`](ErrorKind::NotFound) with the known classes.
    pub fn get(&self, class: &str) -> Result<&Arc<dyn IteratorClass>> {
        self.classes.get(class).ok_or_else(|| {
            Error::new(
                ErrorKind::NotFound,
                format!(
                    "no such iterator class; known are {}",
                    self.short_names().join(", ")
                ),
            )
            .with("class", class)
        })
    }

    /// The short names of all classes, sorted.
    #[must_use]
    pub fn short_names(&self) -> Vec<&str> {
        self.classes.short_names()
    }

    /// Stacks iterators on `source`, lowest priority first.
    ///
    /// # Errors
    /// Unknown classes and wrong options.
    pub fn stack(
        &self,
        source: BoxedIterator,
        settings: &[IteratorSetting],
        environment: &IteratorEnvironment,
    ) -> Result<BoxedIterator> {
        let mut ordered: Vec<&IteratorSetting> = settings.iter().collect();
        ordered.sort_by_key(|setting| setting.priority);
        ordered.into_iter().try_fold(source, |source, setting| {
            self.get(&setting.class)?
                .init(source, &setting.options, environment)
                .map_err(|error| error.with("iterator", &setting.name))
        })
    }
}

impl std::fmt::Debug for IteratorRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.short_names()).finish()
    }
}
