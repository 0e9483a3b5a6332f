//! Looks up the classes of iterators and constraints by name.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Classes under their full names and under the last parts of these names.
pub(crate) struct Classes<C: ?Sized>(BTreeMap<String, Arc<C>>);

impl<C: ?Sized> Classes<C> {
    /// Adds a class under all its names. A name that is taken keeps its class, so that existing
    /// users of the name never get different code. Returns whether all names were free.
    pub(crate) fn add(&mut self, names: &[&str], class: &Arc<C>) -> bool {
        let mut free = true;
        for name in names.iter().flat_map(|name| [name, short_name(name)]) {
            let known = self.0.entry(name.to_owned());
            free &= Arc::ptr_eq(known.or_insert_with(|| class.clone()), class);
        }
        free
    }

    /// The class of that name.
    pub(crate) fn get(&self, class: &str) -> Option<&Arc<C>> {
        self.0.get(class).or_else(|| {
            // A class of another package may share the last part of a name: only names in
            // Accumulo's own packages are looked up by their last part.
            class
                .starts_with("org.apache.accumulo.")
                .then(|| self.0.get(short_name(class)))?
        })
    }

    /// The short names of all classes, sorted.
    pub(crate) fn short_names(&self) -> Vec<&str> {
        self.0
            .keys()
            .map(String::as_str)
            .filter(|name| !name.contains('.'))
            .collect()
    }
}

impl<C: ?Sized> Default for Classes<C> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<C: ?Sized> Clone for Classes<C> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

fn short_name(class: &str) -> &str {
    class.rsplit('.').next().unwrap_or(class)
}
