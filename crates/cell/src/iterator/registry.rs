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
        "this class runs in scans only: its results have no labels, so every reader could see them if \
         they were stored",
    )
    .with("class", class.names().first().copied().unwrap_or_default())
    .with("scope", scope.as_str()))
}

impl std::fmt::Debug for IteratorRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.short_names()).finish()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::{Batch, BatchLimit, ColumnSelection, Range, SortedKeyValueIterator};

    struct Nothing;

    impl SortedKeyValueIterator for Nothing {
        fn seek(&mut self, _: &Range, _: &ColumnSelection) -> Result<()> {
            Ok(())
        }

        fn next_batch(&mut self, _: &mut Batch, _: BatchLimit) -> Result<bool> {
            Ok(false)
        }

        fn deep_copy(&self) -> BoxedIterator {
            Box::new(Self)
        }
    }

    struct Class {
        names: &'static [&'static str],
        scans_only: bool,
    }

    impl IteratorClass for Class {
        fn names(&self) -> &[&str] {
            self.names
        }

        fn describe(&self) -> &str {
            self.names[0]
        }

        fn validate(&self, _: &IteratorOptions) -> Result<()> {
            Ok(())
        }

        fn scans_only(&self) -> bool {
            self.scans_only
        }

        fn init(
            &self,
            source: BoxedIterator,
            _: &IteratorOptions,
            _: &IteratorEnvironment,
        ) -> Result<BoxedIterator> {
            Ok(source)
        }
    }

    fn class(names: &'static [&'static str], scans_only: bool) -> Arc<dyn IteratorClass> {
        Arc::new(Class { names, scans_only })
    }

    /// Its results would be stored without the labels of what they are made from.
    #[test]
    fn a_class_for_scans_is_refused_in_flushes_and_compactions() {
        let mut registry = IteratorRegistry::new();
        assert!(registry.register(class(&["org.example.Count"], true)));
        assert!(registry.register(class(&["org.example.Keep"], false)));
        for (name, refused) in [("Count", true), ("Keep", false)] {
            let setting = IteratorSetting::new(10, "one", name);
            for scope in IteratorScope::ALL {
                let environment = IteratorEnvironment::new(scope);
                let stacked = registry.stack(
                    Box::new(Nothing),
                    std::slice::from_ref(&setting),
                    &environment,
                );
                let answers = [registry.validate(&setting, scope), stacked.map(drop)];
                for answer in answers {
                    if !refused || scope == IteratorScope::Scan {
                        answer.unwrap();
                        continue;
                    }
                    let error = answer.unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
                    let text = error.to_string();
                    assert!(
                        text.contains("org.example.Count") && text.contains(scope.as_str()),
                        "{text}"
                    );
                }
            }
        }
        assert!(registry.describe("Count").unwrap().scans_only);
    }

    #[test]
    fn a_class_takes_over_no_name_of_another() {
        let stock = class(
            &["org.apache.accumulo.core.iterators.user.VersioningIterator"],
            false,
        );
        let mut registry = IteratorRegistry::new();
        assert!(registry.register(stock.clone()));
        assert!(registry.register(stock.clone()), "again is no conflict");
        // The short name alone, the full name, and a class elsewhere with the same short name.
        for names in [
            &["VersioningIterator"][..],
            &["org.apache.accumulo.core.iterators.user.VersioningIterator"],
            &["org.example.VersioningIterator"],
        ] {
            let other = class(names, false);
            assert!(!registry.register(other.clone()), "{names:?}");
            for name in [
                "VersioningIterator",
                "org.apache.accumulo.core.iterators.user.VersioningIterator",
                "org.apache.accumulo.core.iterators.VersioningIterator",
            ] {
                assert!(Arc::ptr_eq(registry.get(name).unwrap(), &stock), "{name}");
            }
        }
        let own = registry.get("org.example.VersioningIterator").unwrap();
        assert!(!Arc::ptr_eq(own, &stock));
    }
}
