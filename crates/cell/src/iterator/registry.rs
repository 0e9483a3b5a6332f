//! Iterator classes by name.

use std::sync::Arc;

use super::{BoxedIterator, IteratorEnvironment, IteratorOptions, IteratorScope, IteratorSetting};
use crate::classes::Classes;
use crate::source::ClassInfo;
use crate::{Error, ErrorKind, Result};

/// Creates iterators of one class.
pub trait IteratorClass: Send + Sync {
    /// The names under which the class is known, Accumulo's full class name first. The part after
    /// the last dot is accepted as well.
    fn names(&self) -> &[&str];

    /// One sentence on what the class does, and its options with defaults, for help texts.
    fn describe(&self) -> &str;

    /// Checks options when they are set, long before an iterator is created with them.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) naming the option and its valid values.
    fn validate(&self, options: &IteratorOptions) -> Result<()>;

    /// Whether the class must not run in compactions, because its results do not carry the labels
    /// of the entries they are made from. Default: no.
    fn scans_only(&self) -> bool {
        false
    }

    /// Creates an iterator of this class on top of `source`.
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

/// The classes that a store can run.
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

    /// Adds a class under all its names; `false` if some of them are taken, in which case they keep
    /// their class. So no class takes over the name of a stock one: a class with the same short
    /// name is reached by its full name.
    pub fn register(&mut self, class: Arc<dyn IteratorClass>) -> bool {
        self.classes.add(class.names(), &class)
    }

    /// Checks a setting for `scope` as [`stack`](Self::stack) will: class, scope and options.
    ///
    /// # Errors
    /// Unknown classes, a scope in which the class cannot run, invalid options.
    pub fn validate(&self, setting: &IteratorSetting, scope: IteratorScope) -> Result<()> {
        let class = self.get(&setting.class)?;
        check_scope(&**class, scope)?;
        class.validate(&setting.options)
    }

    /// The class of that name.
    ///
    /// # Errors
    /// [`ClassNotFound`](ErrorKind::NotFound) with the known classes.
    pub fn get(&self, class: &str) -> Result<&Arc<dyn IteratorClass>> {
        self.classes.get(class).ok_or_else(|| {
            Error::new(
                ErrorKind::ClassNotFound,
                format!(
                    "no such iterator class; known are {}",
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
            scans_only: found.scans_only(),
        })
    }

    /// The short names of all classes, sorted.
    #[must_use]
    pub fn short_names(&self) -> Vec<&str> {
        self.classes.short_names()
    }

    /// Stacks iterators on `source` in [their order](IteratorSetting::order).
    ///
    /// # Errors
    /// Unknown classes and invalid options.
    pub fn stack(
        &self,
        source: BoxedIterator,
        settings: &[IteratorSetting],
        environment: &IteratorEnvironment,
    ) -> Result<BoxedIterator> {
        let mut ordered: Vec<&IteratorSetting> = settings.iter().collect();
        ordered.sort_by(|a, b| (a.priority, &a.name).cmp(&(b.priority, &b.name)));
        ordered.into_iter().try_fold(source, |source, setting| {
            let class = self.get(&setting.class)?;
            check_scope(&**class, environment.scope)
                .and_then(|()| class.init(source, &setting.options, environment))
                .map_err(|error| error.with("iterator", &setting.name))
        })
    }
}

fn check_scope(class: &dyn IteratorClass, scope: IteratorScope) -> Result<()> {
    if scope == IteratorScope::Scan || !class.scans_only() {
        return Ok(());
    }
    Err(Error::invalid(
        "this class runs in scans only: its results do not carry the labels of the entries they are \
         made from, so that stored they would be readable without authorizations",
    )
    .with("class", class.names().first().copied().unwrap_or_default())
    .with("scope", scope.as_str()))
}

impl std::fmt::Debug for IteratorRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.short_names()).finish()
    }
}
