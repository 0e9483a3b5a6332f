//! The names of fields, and the numbers that readers give them.

use std::collections::HashMap;

use crate::args::FieldType;
use crate::failure::{Failure, Result, nearest};
use crate::output::visible;

/// Maximum number of distinct names in a file; JSON objects used as maps could have a new one per line.
pub(super) const MAX_NAMES: usize = 65_536;

/// Names by number. A number stays with its name until [`reset`](Self::reset).
#[derive(Debug, Default)]
pub(crate) struct Fields {
    names: Vec<String>,
    types: Vec<Option<FieldType>>,
    ids: HashMap<String, u32>,
    generation: u64,
    /// Whether all names are known, so that an unknown name is an error.
    complete: bool,
}

impl Fields {
    /// Starts over with these names; any other name is an error.
    ///
    /// # Errors
    /// There are too many.
    pub(super) fn reset(&mut self, names: impl IntoIterator<Item = String>) -> Result<()> {
        self.names.clear();
        self.types.clear();
        self.ids.clear();
        self.generation += 1;
        self.complete = true;
        for name in names {
            if self.names.len() >= MAX_NAMES {
                return Err(Failure::usage(format!(
                    "the file has more than {MAX_NAMES} field names"
                ))
                .next("split the file into several ones with fewer fields"));
            }
            let id = self.names.len() as u32;
            // If two columns have the same name, the first keeps it, and the second is named by its number.
            self.ids.entry(name.clone()).or_insert(id);
            self.names.push(name);
            self.types.push(None);
        }
        Ok(())
    }

    /// The number of a name, which is added if new; `None` if there are too many.
    pub(super) fn learn(&mut self, name: &str) -> Option<u32> {
        if let Some(&id) = self.ids.get(name) {
            return Some(id);
        }
        if self.names.len() >= MAX_NAMES {
            return None;
        }
        let id = self.names.len() as u32;
        self.ids.insert(name.to_owned(), id);
        self.names.push(name.to_owned());
        self.types.push(None);
        self.generation += 1;
        Some(id)
    }

    /// Forgets the names after the first `known`.
    pub(super) fn forget_from(&mut self, known: usize) {
        if known < self.names.len() {
            for name in self.names.drain(known..) {
                self.ids.remove(&name);
            }
            self.types.truncate(known);
            self.generation += 1;
        }
    }

    /// Whether a field has this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.ids.contains_key(name)
    }

    /// The number of a name, if it is known.
    #[cfg(feature = "parquet")]
    pub(super) fn known(&self, name: &str) -> Option<u32> {
        self.ids.get(name).copied()
    }

    /// Sets the types that the file declares.
    pub(super) fn set_types(&mut self, types: impl IntoIterator<Item = Option<FieldType>>) {
        for (slot, kind) in self.types.iter_mut().zip(types) {
            *slot = kind;
        }
        self.generation += 1;
    }

    /// Whether all names are known.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// Changes whenever a name or a type does.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    pub(crate) fn name(&self, id: u32) -> &str {
        self.names.get(id as usize).map_or("", String::as_str)
    }

    pub(super) fn declared_type(&self, id: u32) -> Option<FieldType> {
        self.types.get(id as usize).copied().flatten()
    }

    /// The number of a field that the user named: by name, else by its number from 1. `Ok(None)` while
    /// the name may still appear.
    pub(super) fn resolve(&self, wanted: &str) -> Result<Option<u32>> {
        if let Some(&id) = self.ids.get(wanted) {
            return Ok(Some(id));
        }
        if !self.complete {
            return Ok(None);
        }
        if let Ok(number) = wanted.parse::<usize>()
            && (1..=self.names.len()).contains(&number)
        {
            return Ok(Some(number as u32 - 1));
        }
        let mut failure = Failure::usage(format!("the file has no field `{wanted}`"))
            .with("fields", self.shown());
        let is_number = wanted.parse::<u64>().is_ok();
        let names = self.names.iter().map(String::as_str);
        if let Some(other) = self.other_delimiter() {
            failure = failure.next(format!(
                "the fields may be separated by `{other}`: use --delimiter '{other}'"
            ));
        } else if let Some(near) = nearest(wanted, names).filter(|_| !is_number) {
            failure = failure.next(format!("did you mean `{}`?", visible(near)));
        } else {
            failure = failure.next("use one of the fields, or its number from 1");
        }
        Err(failure)
    }

    /// What may separate the fields of a file with only one.
    fn other_delimiter(&self) -> Option<char> {
        let [name] = self.names.as_slice() else {
            return None;
        };
        [';', '|', ',']
            .into_iter()
            .find(|&other| name.contains(other))
    }

    /// The names, for messages.
    pub(super) fn shown(&self) -> String {
        const SHOWN: usize = 40;
        let mut text = self
            .names
            .iter()
            .take(SHOWN)
            .map(|name| visible(name))
            .collect::<Vec<_>>()
            .join(", ");
        if self.names.len() > SHOWN {
            text.push_str(", …");
        }
        text
    }
}
