//! Tables that a statement creates and fills.
//!
//! Such a table has another name until the statement ends: `unfinished__NUMBER__NAME`, in the namespace of the table.
//! So no other statement reads a part of it, or writes to a table that is deleted if this one fails. A process that is
//! killed leaves a table of that name. The next statement that creates a table of the same name deletes it.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use ostrakon_cell::{Error, ErrorKind, Result, Source, Table, TableOptions};
use parking_lot::Mutex;

const PREFIX: &str = "unfinished__";

/// Makes names differ. Only one process changes a store.
static NUMBER: AtomicU64 = AtomicU64::new(1);

/// The names of tables that statements of this process are filling, of any store.
static FILLING: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);

/// Whether a name is one of unfinished tables.
pub(crate) fn is_unfinished(table: &str) -> bool {
    wanted_of(split(table).1).is_some()
}

/// The name of the table that an unfinished one becomes, without the namespace.
fn wanted_of(name: &str) -> Option<&str> {
    let (number, wanted) = name.strip_prefix(PREFIX)?.split_once("__")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(wanted)
}

/// The namespace with its dot, and the name inside.
fn split(table: &str) -> (&str, &str) {
    match table.rfind('.') {
        Some(dot) => table.split_at(dot + 1),
        None => ("", table),
    }
}

/// A table that is deleted unless it gets its name.
pub(super) struct Unfinished {
    source: Arc<dyn Source>,
    table: Arc<dyn Table>,
    /// Its name while it is filled, and then.
    name: String,
    wanted: String,
    is_done: bool,
}

impl Unfinished {
    /// Creates the table that becomes `wanted`.
    ///
    /// # Errors
    /// The name is taken or malformed; those of the source.
    pub(super) fn create(
        source: Arc<dyn Source>,
        wanted: &str,
        options: &TableOptions,
    ) -> Result<Self> {
        check_free(&*source, wanted)?;
        delete_left_over(&*source, wanted)?;
        let (namespace, inside) = split(wanted);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("{namespace}{PREFIX}{number}__{inside}");
            FILLING.lock().insert(name.clone());
            let outcome = source.create_table(&name, options);
            let outcome = outcome.and_then(|()| source.table(&name));
            match outcome {
                Ok(table) => {
                    return Ok(Self {
                        source,
                        table,
                        name,
                        wanted: wanted.to_owned(),
                        is_done: false,
                    });
                }
                Err(error) => {
                    FILLING.lock().remove(&name);
                    // Another process may have left a table of this number of another store.
                    match error.kind() {
                        ErrorKind::AlreadyExists => {}
                        // The source would show the other name.
                        kind @ ErrorKind::NamespaceNotFound => {
                            return Err(Error::new(kind, "no such namespace").with("table", wanted));
                        }
                        _ => return Err(error),
                    }
                }
            }
        }
    }

    pub(super) fn table(&self) -> Arc<dyn Table> {
        self.table.clone()
    }

    /// Gives the table its name.
    ///
    /// # Errors
    /// The name was taken meanwhile, those of the source. Then the table is deleted.
    pub(super) fn finish(&mut self) -> Result<()> {
        match self.source.rename_table(&self.name, &self.wanted) {
            Ok(()) => {
                self.is_done = true;
                Ok(())
            }
            Err(error) => Err(self.undo(error)),
        }
    }

    /// Deletes the table because of an error; returns that error, with what is left if the table cannot be deleted.
    pub(super) fn undo(&mut self, error: Error) -> Error {
        if self.is_done {
            return error;
        }
        self.is_done = true;
        match delete(&*self.source, &self.name) {
            Ok(()) => error,
            Err(failure) => error
                .with("left", &self.name)
                .with("not deleted", failure.to_string()),
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.is_done {
            // Without a caller to tell: the next statement deletes it.
            let _ = delete(&*self.source, &self.name);
        }
        FILLING.lock().remove(&self.name);
    }
}

/// Refuses a name that a statement cannot give to a table.
///
/// # Errors
/// The name is one of unfinished tables.
pub(super) fn check_name(wanted: &str) -> Result<()> {
    if is_unfinished(wanted) {
        return Err(Error::invalid(
            "this name is reserved for tables that a statement is filling: choose another one",
        )
        .with("table", wanted));
    }
    Ok(())
}

fn check_free(source: &dyn Source, wanted: &str) -> Result<()> {
    check_name(wanted)?;
    let (_, inside) = split(wanted);
    if !inside
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    {
        // The source would show the other name.
        return Err(Error::invalid(
            "a table is called by letters, digits and underscores, with an optional namespace and a dot before",
        )
        .with("given", wanted));
    }
    match source.table(wanted) {
        Ok(_) => Err(
            Error::new(ErrorKind::AlreadyExists, "a table of that name exists")
                .with("table", wanted),
        ),
        Err(error) if error.kind().is_not_found() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Deletes what killed processes have left of tables of a name.
fn delete_left_over(source: &dyn Source, wanted: &str) -> Result<()> {
    let (namespace, inside) = split(wanted);
    for table in source.tables()? {
        let (found, name) = split(&table.name);
        let is_left = found == namespace && wanted_of(name) == Some(inside);
        if is_left && !FILLING.lock().contains(&table.name) {
            delete(source, &table.name)?;
        }
    }
    Ok(())
}

fn delete(source: &dyn Source, name: &str) -> Result<()> {
    match source.delete_table(name) {
        Err(error) if error.kind() == ErrorKind::TableNotFound => Ok(()),
        outcome => outcome,
    }
}
