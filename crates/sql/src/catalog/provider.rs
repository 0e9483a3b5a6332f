//! The catalog: a schema for each namespace.

use std::fmt;
use std::sync::Arc;

use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use futures_util::future::BoxFuture;
use ostrakon_cell::{Authorizations, Capability, Error, ErrorKind, Reserved, Source};
use ostrakon_events::{EventStore, reserved_to_events};

use super::names::full_name;
use crate::cells::CellsTable;
use crate::d4m::Reader;
use crate::files::{FileTables, is_file};
use crate::records::{RecordSchema, RecordsTable};
use crate::session::is_unfinished;

/// The catalog in which a table is the relation of its records if it has a schema, else that of its entries.
pub(crate) const MAIN: &str = "ostrakon";
/// The catalog, and the schema of the main catalog, in which every table is the relation of its entries.
pub(crate) const CELLS: &str = "cells";
/// The catalog, and the schema of the main catalog, in which every table is a relation of D4M's schema.
pub(crate) const D4M: &str = "d4m";
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

/// Which relation a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// That of its records if it has a schema, else that of its entries.
    Main,
    /// That of its entries, even if it has a schema.
    Cells,
    /// That of D4M's schema.
    D4m,
}

impl View {
    /// The schemas of the main catalog that show tables without a namespace.
    const NAMED: [(&'static str, Self); 2] = [(CELLS, Self::Cells), (D4M, Self::D4m)];
}

/// The tables of a source.
#[derive(Debug)]
pub(crate) struct SourceCatalog {
    shared: Shared,
    view: View,
}

impl SourceCatalog {
    pub(crate) fn new(shared: Shared, view: View) -> Self {
        Self { shared, view }
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
        if self.view == View::Main {
            for (schema, _) in View::NAMED {
                if !names.iter().any(|name| name == schema) {
                    names.push(schema.to_owned());
                }
            }
        }
        names
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        let (namespace, view) = match self.namespaces().iter().any(|found| found == name) {
            true => (name, self.view),
            false if self.view == View::Main => {
                let named = View::NAMED.into_iter().find(|(schema, _)| *schema == name);
                (PUBLIC, named?.1)
            }
            false => return None,
        };
        Some(Arc::new(Namespace {
            shared: self.shared.clone(),
            name: namespace.to_owned(),
            view,
        }))
    }
}

/// The tables of a namespace.
#[derive(Debug)]
struct Namespace {
    shared: Shared,
    name: String,
    view: View,
}

impl Namespace {
    /// The names of the tables in the namespace, without those that a statement is filling.
    fn tables(&self) -> ostrakon_cell::Result<Vec<String>> {
        let source = &*self.shared.source;
        let mut inside = Vec::new();
        for table in source.tables()? {
            let name = match table.name.rsplit_once('.') {
                Some((namespace, name)) => (namespace == self.name).then_some(name),
                None => (self.name == PUBLIC).then_some(table.name.as_str()),
            };
            if let Some(name) = name
                && !is_unfinished(source, &table.name)?
            {
                inside.push(name.to_owned());
            }
        }
        Ok(inside)
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

    fn relation(&self, name: &str) -> ostrakon_cell::Result<Arc<dyn TableProvider>> {
        let Shared {
            source,
            authorizations,
            sees_layout,
            ..
        } = &self.shared;
        if self.name == EVENTS && self.view == View::Main {
            let store = EventStore::new(source.clone());
            if store.types()?.iter().any(|found| found.name == name) {
                return crate::events::relation(store, name, authorizations.clone());
            }
        }
        let full = full_name(&self.name, &self.resolve(name)?);
        if is_closed(&**source, *sees_layout, &full) {
            return Err(Error::new(
                ErrorKind::PermissionDenied,
                "the table is reserved to the event store: a session with authorizations does not read it",
            )
            .with("table", full));
        }
        let table = source.table(&full)?;
        let authorizations = authorizations.clone();
        if self.view == View::D4m {
            let reader = Reader {
                authorizations,
                sees_layout: *sees_layout,
            };
            return crate::d4m::relation(&**source, table, reader);
        }
        if self.view == View::Main
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

/// Whether a session does not read a table: one that tells a reader how much was written that is hidden.
pub(crate) fn is_closed(source: &dyn Source, sees_layout: bool, table: &str) -> bool {
    let is_reader = !sees_layout || !source.capabilities().has(Capability::Namespaces);
    is_reader && reserved_to_events(table) == Reserved::Closed
}

impl Namespace {
    /// The relation with this name, if there is one.
    async fn found(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if self.name == PUBLIC && is_file(name) {
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

    /// [`found`](Self::found), boxed. A method without bounds, as `scan/planned.rs` explains.
    fn boxed<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn TableProvider>>>> {
        Box::pin(self.found(name))
    }
}

impl SchemaProvider for Namespace {
    fn table_names(&self) -> Vec<String> {
        // Listed once, as what their names alone are.
        if self.view != View::Main {
            return Vec::new();
        }
        let Shared {
            source,
            sees_layout,
            ..
        } = &self.shared;
        let mut names = self.tables().unwrap_or_default();
        // Who lists the names opens each of these tables.
        names.retain(|name| !is_closed(&**source, *sees_layout, &full_name(&self.name, name)));
        names
    }

    fn table<'schema, 'name, 'found>(
        &'schema self,
        name: &'name str,
    ) -> BoxFuture<'found, Result<Option<Arc<dyn TableProvider>>>>
    where
        'schema: 'found,
        'name: 'found,
        Self: 'found,
    {
        self.boxed(name)
    }

    fn table_exist(&self, name: &str) -> bool {
        self.resolve(name).is_ok()
    }
}
