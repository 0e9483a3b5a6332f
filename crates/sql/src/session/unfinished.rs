//! Tables that a statement creates and fills.
//!
//! Such a table has another name until the statement ends: `unfinished__NUMBER`, in the namespace of the table.
//! So no other statement reads a part of it, or writes to a table that is deleted if this one fails. A process that is
//! killed leaves a table of that name. The next statement that creates a table of the same name deletes it.
//!
//! A property marks the table: its name, and the one it will have. A table without it is one like all others, whatever
//! its name is, and is neither hidden nor deleted.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use ostrakon_cell::{Error, ErrorKind, Result, Source, Table, TableOptions};
use parking_lot::Mutex;

const PREFIX: &str = "unfinished__";

/// The property that marks a table: its name and the one it will have, without the namespace.
const MARK: &str = "table.custom.ostrakon.unfinished";

/// Makes names differ. Only one process changes a store.
static NUMBER: AtomicU64 = AtomicU64::new(1);

/// The names of tables that statements of this process are filling, of any store.
static FILLING: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);

/// Whether a table is one that a statement is filling, or was when it was killed.
///
/// # Errors
/// Those of the source.
pub(crate) fn is_unfinished(source: &dyn Source, table: &str) -> Result<bool> {
    Ok(wanted_of(source, table)?.is_some())
}

/// The name that an unfinished table would get, without the namespace; `None` for other tables.
fn wanted_of(source: &dyn Source, table: &str) -> Result<Option<String>> {
    let (_, inside) = split(table);
    let number = inside.strip_prefix(PREFIX).unwrap_or_default();
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(None);
    }
    let properties = match source.table(table).and_then(|table| table.properties()) {
        Ok(properties) => properties,
        // It was deleted, or has got its name.
        Err(error) if error.kind().is_not_found() => return Ok(None),
        Err(error) => return Err(error),
    };
    let marked = properties.get(MARK).and_then(|mark| mark.split_once(' '));
    Ok(marked
        .filter(|(name, _)| *name == inside)
        .map(|(_, wanted)| wanted.to_owned()))
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
            let own = format!("{PREFIX}{number}");
            let name = format!("{namespace}{own}");
            let mut options = options.clone();
            let mark = format!("{own} {inside}");
            options.properties.insert(MARK.to_owned(), mark);
            FILLING.lock().insert(name.clone());
            let outcome = source.create_table(&name, &options);
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
                    // Another process may have left a table of this number, or somebody has named one so.
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
                // With another name, the table is not taken for an unfinished one even if the mark stays.
                let _ = self.table.modify_properties(&[(MARK.to_owned(), None)]);
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

fn check_free(source: &dyn Source, wanted: &str) -> Result<()> {
    let (_, inside) = split(wanted);
    if !inside
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    {
        // The source would show the other name.
        return Err(Error::invalid(
            "a table's name consists of letters, digits and underscores; the name of a namespace and a dot may stand before it",
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
        let is_near = split(&table.name).0 == namespace;
        if is_near
            && !FILLING.lock().contains(&table.name)
            && wanted_of(source, &table.name)?.as_deref() == Some(inside)
        {
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
