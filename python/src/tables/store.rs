//! A store, open or closed.

use std::path::PathBuf;
use std::sync::Arc;

use ostrakon_cell::{Error, ErrorKind, Result, Source};
use ostrakon_store::{Components, Store, StoreOptions, vfs::MemoryVfs};
use parking_lot::RwLock;
use pyo3::prelude::*;

use crate::errors::IntoPython;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<NativeStore>()
}

/// A store; `ostrakon.Store` is what people use.
#[pyclass(frozen, module = "ostrakon._native")]
pub(crate) struct NativeStore {
    /// `None` once it is closed.
    store: RwLock<Option<Arc<Store>>>,
}

impl NativeStore {
    fn open_store(&self) -> Result<Arc<Store>> {
        self.store.read().clone().ok_or_else(|| {
            Error::new(
                ErrorKind::Closed,
                "the store is closed: open it again with ostrakon.open",
            )
        })
    }
}

#[pymethods]
impl NativeStore {
    /// Opens the store in `path`, or one in memory.
    #[new]
    #[pyo3(signature = (path, *, create, read_only, memory_budget_bytes, compaction_threads))]
    fn new(
        py: Python<'_>,
        path: Option<PathBuf>,
        create: bool,
        read_only: bool,
        memory_budget_bytes: Option<u64>,
        compaction_threads: Option<usize>,
    ) -> PyResult<Self> {
        let defaults = StoreOptions::default();
        let options = StoreOptions {
            create,
            read_only,
            memory_budget_bytes: memory_budget_bytes.unwrap_or(defaults.memory_budget_bytes),
            compaction_threads: compaction_threads.unwrap_or(defaults.compaction_threads),
            ..defaults
        };
        let mut components = Components::default();
        if path.is_none() {
            components.vfs = MemoryVfs::shared();
        }
        let path = path.unwrap_or_else(|| PathBuf::from("/"));
        let store = py
            .detach(|| Store::open_with(components, path, options))
            .into_python()?;
        Ok(Self {
            store: RwLock::new(Some(store)),
        })
    }

    /// Closes the store; closing it again does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| match self.store.write().take() {
            Some(store) => store.close(),
            None => Ok(()),
        })
        .into_python()
    }

    /// Whether the store is closed.
    #[getter]
    fn closed(&self) -> bool {
        self.store.read().is_none()
    }

    /// The names of all tables, sorted.
    fn tables(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| self.open_store()?.tables())
            .into_python()
            .map(|tables| tables.into_iter().map(|table| table.name).collect())
    }
}
