//! A store, open or closed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use ostrakon_cell::{Authorizations, CloneOptions, Result, Source, TableOptions, TimeType};
use ostrakon_graph::register_graph_iterators;
use ostrakon_store::{Components, Store, StoreOptions, vfs::MemoryVfs};
use parking_lot::RwLock;
use pyo3::prelude::*;

use super::arguments::{Text, all_bytes, authorizations, set_of};
use super::gate::{Gate, closed};
use super::table::NativeTable;
use crate::errors::IntoPython;

/// What a check says: files, bytes, entries, and problems as file, table and message.
type Checked = (u64, u64, u64, Vec<(String, Option<String>, String)>);

/// A store; `ostrakon.Store` is what people use.
#[pyclass(frozen, module = "ostrakon._native")]
pub(crate) struct NativeStore {
    /// `None` once it is closed.
    store: RwLock<Option<Arc<Store>>>,
    /// What its user may see; `None` for everything a scan asks for.
    held: Option<Authorizations>,
    gate: Gate,
}

impl NativeStore {
    pub(crate) fn open_store(&self) -> Result<Arc<Store>> {
        self.store.read().clone().ok_or_else(closed)
    }

    /// What a reader may see who asks for these, or for all that are held.
    pub(crate) fn authorizations(&self, asked: Option<Vec<Text>>) -> PyResult<Authorizations> {
        authorizations(asked, self.held.as_ref())
    }
}

impl Drop for NativeStore {
    fn drop(&mut self) {
        let store = self.store.write().take();
        self.gate.shut();
        if store.is_some() {
            let mut store = Some(store);
            // Closing may flush: others go on meanwhile. At the interpreter's end there is nobody.
            let _ = Python::try_attach(|py| py.detach(|| drop(store.take())));
        }
    }
}

#[pymethods]
impl NativeStore {
    /// Opens the store in `path`, or one in memory.
    #[new]
    #[pyo3(signature = (
        path, *, auths, create, read_only, memory_budget_bytes, compaction_threads
    ))]
    fn new(
        py: Python<'_>,
        path: Option<PathBuf>,
        auths: Option<Vec<Text>>,
        create: bool,
        read_only: bool,
        memory_budget_bytes: Option<u64>,
        compaction_threads: Option<usize>,
    ) -> PyResult<Self> {
        let held = auths.map(set_of).transpose()?;
        let defaults = StoreOptions::default();
        let options = StoreOptions {
            create,
            read_only,
            memory_budget_bytes: memory_budget_bytes.unwrap_or(defaults.memory_budget_bytes),
            compaction_threads: compaction_threads.unwrap_or(defaults.compaction_threads),
            ..defaults
        };
        let mut components = Components::default();
        register_graph_iterators(&mut components.iterators);
        if path.is_none() {
            components.vfs = MemoryVfs::shared();
        }
        let path = path.unwrap_or_else(|| PathBuf::from("/"));
        let store = py
            .detach(|| Store::open_with(components, path, options))
            .into_python()?;
        Ok(Self {
            store: RwLock::new(Some(store)),
            held,
            gate: Gate::default(),
        })
    }

    /// Closes the store; closing it again does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| match self.store.write().take() {
            Some(store) => {
                self.gate.shut();
                store.close()
            }
            None => Ok(()),
        })
        .into_python()
    }

    /// Whether the store is closed.
    #[getter]
    fn closed(&self) -> bool {
        self.store.read().is_none()
    }

    /// The instance id, chosen when the store was made.
    #[getter]
    fn instance_id(&self) -> PyResult<String> {
        let store = self.open_store().into_python()?;
        Ok(store.instance_id().to_owned())
    }

    /// All tables: name, id, whether on-line, source of timestamps.
    fn tables(&self, py: Python<'_>) -> PyResult<Vec<(String, String, bool, &'static str)>> {
        let tables = py.detach(|| self.open_store()?.tables()).into_python()?;
        let listed = tables.into_iter();
        Ok(listed
            .map(|table| {
                let time_type = table.time_type.as_str();
                (table.name, table.id, table.online, time_type)
            })
            .collect())
    }

    /// A table.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<NativeTable> {
        let table = py.detach(|| self.open_store()?.table(name)).into_python()?;
        Ok(NativeTable::new(
            table,
            self.held.clone(),
            self.gate.clone(),
        ))
    }

    /// Creates a table.
    fn create_table(
        &self,
        py: Python<'_>,
        name: &str,
        splits: Vec<Text>,
        properties: BTreeMap<String, String>,
        time_type: &str,
        versioning: bool,
    ) -> PyResult<()> {
        let time_type = time_type.parse::<TimeType>();
        let options = TableOptions {
            time_type: time_type
                .map_err(|error| error.with("argument", "time_type"))
                .into_python()?,
            splits: all_bytes(splits),
            properties,
            without_default_iterators: !versioning,
            offline: false,
        };
        py.detach(|| self.open_store()?.create_table(name, &options))
            .into_python()
    }

    /// Deletes a table.
    fn delete_table(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        py.detach(|| self.open_store()?.delete_table(name))
            .into_python()
    }

    /// Renames a table.
    fn rename_table(&self, py: Python<'_>, name: &str, to: &str) -> PyResult<()> {
        py.detach(|| self.open_store()?.rename_table(name, to))
            .into_python()
    }

    /// Clones a table.
    fn clone_table(
        &self,
        py: Python<'_>,
        name: &str,
        to: &str,
        flush: bool,
        properties: BTreeMap<String, String>,
    ) -> PyResult<()> {
        let options = CloneOptions {
            flush,
            set_properties: properties,
            ..CloneOptions::default()
        };
        py.detach(|| self.open_store()?.clone_table(name, to, &options))
            .into_python()
    }

    /// Takes a table off-line or brings it back.
    fn set_online(&self, py: Python<'_>, name: &str, online: bool) -> PyResult<()> {
        py.detach(|| self.open_store()?.set_online(name, online))
            .into_python()
    }

    /// Copies the store to a new directory.
    fn checkpoint(&self, py: Python<'_>, directory: PathBuf) -> PyResult<()> {
        py.detach(|| self.open_store()?.checkpoint(&directory))
            .into_python()
    }

    /// Verifies everything: files, bytes, entries, and what is wrong (file, table, message).
    fn check(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<Checked> {
        let mut raised = None;
        let report = py.detach(|| {
            self.open_store()?.check(&mut |done, total| {
                let told = Python::attach(|py| {
                    py.check_signals()?;
                    match &progress {
                        Some(progress) => progress.call1(py, (done, total)).map(drop),
                        None => Ok(()),
                    }
                });
                raised = told.err();
                raised.is_none()
            })
        });
        if let Some(raised) = raised {
            return Err(raised);
        }
        let report = report.into_python()?;
        let problems = report.problems.into_iter();
        let problems = problems
            .map(|problem| (problem.file, problem.table, problem.message))
            .collect();
        Ok((report.files, report.bytes, report.entries, problems))
    }
}
