//! The catalog: a schema for each namespace.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use ostrakon_cell::{Authorizations, Capability, Error, ErrorKind, Reserved, Source};
use ostrakon_events::{EventStore, reserved_to_events};

use super::names::full_name;
use crate::cells::CellsTable;
use crate::files::FileTables;
use crate::records::{RecordSchema, RecordsTable};
use crate::session::is_unfinished;

/// The catalog in which a table is the relation of its records if it has a schema, else that of its entries.
pub(crate) const MAIN: &str = "ostrakon";
/// The catalog, and the schema of the main catalog, in which every table is the relation of its entries.
pub(crate) const CELLS: &str = "cells";
/// The schema of tables without a namespace.
pub(crate) const PUBLIC: &str = "public";
/// The namespace of the event store, whose types are relations.
pub(super) const EVENTS: &str = "events";

/// What the schemas of a session share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) authorizations: Arc<Authorizations>,
    /// Whether the reader may see into how many parts a table is divided.
    pub(crate) sees_layout: bool,
    /// `None` if files are not read.
    pub(crate) files: Option<Arc<FileTables>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }
}

/// The tables of a source.
#[derive(Debug)]
pub(crate) struct SourceCatalog {
    shared: Shared,
    /// Tables are relations of entries even if they have a schema.
    entries: bool,
}

impl SourceCatalog {
    pub(crate) fn new(shared: Shared, entries: bool) -> Self {
        Self { shared, entries }
    }

    fn namespaces(&self) -> Vec<String> {
        // A catalog cannot report failures here; reading a table reports them.
        let tables = self.shared.source.tables().unwrap_or_default();
        let mut names: Vec<String> = tables
            .iter()
            .filter_map(|table| Some(table.name.rsplit_once('.')?.0.to_owned()))
            .collect();
        let empty = self
            .shared
            .source
            .namespaces()
            .unwrap_or_default()
            .into_iter();
        names.extend(
            empty
                .map(|namespace| namespace.name)
                .filter(|name| !name.is_empty()),
        );
        names.push(PUBLIC.to_owned());
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl CatalogProvider for SourceCatalog {
    fn schema_names(&self) -> Vec<String> {
        let mut names = self.namespaces();
        if !self.entries && !names.iter().any(|name| name == CELLS) {
            names.push(CELLS.to_owned());
        }
        names
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        let (namespace, entries) = match self.namespaces().iter().any(|found| found == name) {
            true => (name, self.entries),
            false if name == CELLS && !self.entries => (PUBLIC, true),
            false => return None,
        };
        Some(Arc::new(Namespace {
            shared: self.shared.clone(),
            name: namespace.to_owned(),
            entries,
        }))
    }
}

/// The tables of a namespace.
#[derive(Debug)]
struct Namespace {
    shared: Shared,
    name: String,
    entries: bool,
}

impl Namespace {
    /// The names of the tables in the namespace, without those that a statement is filling.
    fn tables(&self) -> ostrakon_cell::Result<Vec<String>> {
        let tables = self.shared.source.tables()?.into_iter();
        let tables = tables.filter(|table| !is_unfinished(&table.name));
        let inside = tables.filter_map(|table| match table.name.rsplit_once('.') {
            Some((namespace, name)) => (namespace == self.name).then(|| name.to_owned()),
            None => (self.name == PUBLIC).then_some(table.name),
        });
        Ok(inside.collect())
    }

    /// The name as the source has it: the same, or the only one that differs in case.
    fn resolve(&self, name: &str) -> ostrakon_cell::Result<String> {
        let tables = self.tables()?;
        if tables.iter().any(|table| table == name) {
            return Ok(name.to_owned());
        }
        let mut similar = tables
            .iter()
            .filter(|table| table.eq_ignore_ascii_case(name));
        match (similar.next(), similar.next()) {
            (Some(table), None) => Ok(table.clone()),
            _ => Err(Error::no_table("there is no such table")
                .with("table", full_name(&self.name, name))),
        }
    }

    /// Whether the reader does not read a table: one of those of events tells how much was written that is hidden.
    fn is_closed(&self, full: &str) -> bool {
        let shared = &self.shared;
        let is_reader =
            !shared.sees_layout || !shared.source.capabilities().has(Capability::Namespaces);
        is_reader && reserved_to_events(full) == Reserved::Closed
    }

    fn relation(&self, name: &str) -> ostrakon_cell::Result<Arc<dyn TableProvider>> {
        let Shared {
            source,
            authorizations,
            sees_layout,
            ..
        } = &self.shared;
        if self.name == EVENTS && !self.entries {
            let store = EventStore::new(source.clone());
            if store.types()?.iter().any(|found| found.name == name) {
                return crate::events::relation(store, name, authorizations.clone());
            }
        }
        let full = full_name(&self.name, &self.resolve(name)?);
        if self.is_closed(&full) {
            return Err(Error::new(
                ErrorKind::PermissionDenied,
                "the table is reserved to the event store: a session with authorizations does not read it",
            )
            .with("table", full));
        }
        let table = source.table(&full)?;
        let authorizations = authorizations.clone();
        if !self.entries
            && let Some(schema) = RecordSchema::of(&*table)?
        {
            return Ok(Arc::new(RecordsTable::new(
                table,
                schema,
                authorizations,
                *sees_layout,
            )));
        }
        Ok(Arc::new(CellsTable {
            table,
            authorizations,
            sees_layout: *sees_layout,
        }))
    }
}

#[async_trait]
impl SchemaProvider for Namespace {
    fn table_names(&self) -> Vec<String> {
        // Listed once, as what their names alone are.
        match self.entries {
            true => Vec::new(),
            false => {
                // Each of them is opened to list them.
                let mut names = self.tables().unwrap_or_default();
                names.retain(|name| !self.is_closed(&full_name(&self.name, name)));
                names
            }
        }
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        // The name of a table has neither dots nor slashes.
        if self.name == PUBLIC && name.contains(['.', '/', ':']) {
            let Some(files) = &self.shared.files else {
                return Err(DataFusionError::Plan(
                    "the session does not read files: allow it with `files=True` in Python, or with `SqlOptions::files`"
                        .to_owned(),
                ));
            };
            return files.table(name).await.map(Some);
        }
        match self.relation(name) {
            Ok(relation) => Ok(Some(relation)),
            // The planner reports it, if it needs the table.
            Err(error) if error.kind() == ErrorKind::TableNotFound => Ok(None),
            Err(error) => Err(DataFusionError::External(Box::new(error))),
        }
    }

    fn table_exist(&self, name: &str) -> bool {
        self.resolve(name).is_ok()
    }
}
