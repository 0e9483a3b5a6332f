//! A store, open or closed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ostrakon_cell::source::TabletRows;
use ostrakon_cell::{
    Authorizations, ClassKind, CloneOptions, Error, ErrorKind, PropertyOwner, ReaderSource, Result,
    Source, TableOptions, TimeType,
};
use ostrakon_events::{
    check_inherited_by_events, check_namespace_not_of_events, check_not_of_events,
    has_batch_numbers, register_event_iterators, reserved_to_events,
};
use ostrakon_graph::register_graph_iterators;
use ostrakon_store::{Components, Store, StoreOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::arguments::{Text, all_bytes, authorizations, set_of};
use super::gate::{Gate, Open};
use super::lent::LentSource;
use super::table::NativeTable;
use crate::errors::IntoPython;
use crate::signals::run;

/// A problem: table, tablet, activity, kind, message, way out, how often, whether writes are refused.
type Found = (
    Option<String>,
    Option<TabletRows>,
    &'static str,
    &'static str,
    String,
    String,
    u64,
    bool,
);

/// Whose properties are meant.
fn owner(namespace: Option<&str>) -> PropertyOwner<'_> {
    namespace.map_or(PropertyOwner::System, PropertyOwner::Namespace)
}

/// A dropped file: its name, where it was moved, its length, its entries, and the tables that read it.
type Dropped = (String, Option<String>, u64, u64, Vec<String>);

/// What a check says: files, bytes, entries, and problems as file, table and message.
type Checked = (u64, u64, u64, Vec<(String, Option<String>, String)>);

/// A store, used by `ostrakon.Store`.
#[pyclass(frozen, module = "ostrakon._native")]
pub(crate) struct NativeStore {
    /// The authorizations of its user; `None` allows those that a scan requests.
    held: Option<Authorizations>,
    gate: Gate,
}

impl NativeStore {
    /// The tables, as the user may work with them.
    pub(crate) fn open_store(&self) -> Result<Arc<dyn Source>> {
        self.gate.open(|open| open.source.clone())
    }

    /// The same for work that must not keep the store open.
    pub(crate) fn lend_store(&self) -> Result<Arc<dyn Source>> {
        let lent: Arc<dyn Source> = Arc::new(LentSource::new(self.gate.downgrade())?);
        Ok(match &self.held {
            None => lent,
            Some(held) => {
                let reader = ReaderSource::new(lent, held.clone());
                Arc::new(reader.showing_times(has_batch_numbers))
            }
        })
    }

    /// Rejects a table that must not be deleted or renamed by itself. For a handle with authorizations, the
    /// source rejects it.
    fn check_table(&self, name: &str) -> Result<()> {
        match &self.held {
            None => check_not_of_events(&*self.open_store()?, name),
            Some(_) => Ok(()),
        }
    }

    /// What keeps the store open.
    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// The authorizations of a reader that requests these, or, with `None`, all that are held.
    pub(crate) fn authorizations(&self, asked: Option<Vec<Text>>) -> PyResult<Authorizations> {
        authorizations(asked, self.held.as_ref())
    }
}

#[pymethods]
impl NativeStore {
    /// Opens the store in `path`, or one in memory.
    #[expect(
        clippy::too_many_arguments,
        reason = "keyword arguments of one constructor"
    )]
    #[new]
    #[pyo3(signature = (
        path, *, auths, create, read_only, allow_damage, accept_log_loss, wait,
        memory_budget_bytes, compaction_threads
    ))]
    fn new(
        py: Python<'_>,
        path: Option<PathBuf>,
        auths: Option<Vec<Text>>,
        create: bool,
        read_only: bool,
        allow_damage: bool,
        accept_log_loss: bool,
        wait: f64,
        memory_budget_bytes: Option<u64>,
        compaction_threads: Option<usize>,
    ) -> PyResult<Self> {
        let held = auths.map(set_of).transpose()?;
        let defaults = StoreOptions::default();
        let options = StoreOptions {
            create,
            read_only,
            allow_damage,
            accept_log_loss,
            lock_wait: Duration::try_from_secs_f64(wait)
                .map_err(|_| PyValueError::new_err("`wait` is a number of seconds, 0 or more"))?,
            memory_budget_bytes: memory_budget_bytes.unwrap_or(defaults.memory_budget_bytes),
            compaction_threads: compaction_threads.unwrap_or(defaults.compaction_threads),
            ..defaults
        };
        let mut components = Components::default();
        register_graph_iterators(&mut components.iterators);
        register_event_iterators(&mut components.iterators);
        let store = py
            .detach(|| match path {
                Some(path) => Store::open_with(components, path, options),
                None => Store::in_memory_with(components, options),
            })
            .into_python()?;
        let source: Arc<dyn Source> = match &held {
            None => store.clone(),
            Some(held) => {
                let reader = ReaderSource::new(store.clone(), held.clone());
                Arc::new(reader.reserving(reserved_to_events))
            }
        };
        Ok(Self {
            held,
            gate: Gate::new(Open { store, source }),
        })
    }

    /// Closes the store. A second call waits until it is closed, and does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if let Err(error) = self.gate.check_process() {
            return match self.gate.is_shut() {
                true => Ok(()),
                false => Err(error).into_python(),
            };
        }
        py.detach(|| self.gate.close()).into_python()
    }

    /// Whether the store is closed.
    #[getter]
    fn closed(&self) -> bool {
        self.gate.is_shut()
    }

    /// The instance id, chosen when the store was made.
    #[getter]
    fn instance_id(&self) -> PyResult<String> {
        self.gate
            .open(|open| open.store.instance_id().to_owned())
            .into_python()
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
            ..TableOptions::default()
        };
        py.detach(|| self.open_store()?.create_table(name, &options))
            .into_python()
    }

    /// Deletes a table.
    fn delete_table(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let delete = || {
            self.check_table(name)?;
            self.open_store()?.delete_table(name)
        };
        py.detach(delete).into_python()
    }

    /// Renames a table.
    fn rename_table(&self, py: Python<'_>, name: &str, to: &str) -> PyResult<()> {
        let rename = || {
            self.check_table(name)?;
            self.open_store()?.rename_table(name, to)
        };
        py.detach(rename).into_python()
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
        let (store, name, to) = (
            self.open_store().into_python()?,
            name.to_owned(),
            to.to_owned(),
        );
        run(py, || {}, move || store.clone_table(&name, &to, &options))?.into_python()
    }

    /// Takes a table off-line or brings it back.
    fn set_online(&self, py: Python<'_>, name: &str, online: bool) -> PyResult<()> {
        py.detach(|| self.open_store()?.set_online(name, online))
            .into_python()
    }

    /// Copies the store to a new directory.
    fn checkpoint(&self, py: Python<'_>, directory: PathBuf) -> PyResult<()> {
        let store = self.open_store().into_python()?;
        run(py, || {}, move || store.checkpoint(&directory))?.into_python()
    }

    /// What fails now, of one table or of all.
    fn problems(&self, py: Python<'_>, table: Option<&str>) -> PyResult<Vec<Found>> {
        let problems = py
            .detach(|| match table {
                Some(table) => self.open_store()?.table(table)?.problems(),
                None => self.open_store()?.problems(),
            })
            .into_python()?;
        let found = problems.into_iter().map(|problem| {
            (
                problem.table,
                problem.tablet,
                problem.activity.as_str(),
                problem.kind.as_str(),
                problem.message,
                problem.way_out,
                problem.times,
                problem.refuses_writes,
            )
        });
        Ok(found.collect())
    }

    /// A class of iterators or constraints: its full name, what it does, whether it runs in scans alone.
    fn find_class(
        &self,
        py: Python<'_>,
        name: &str,
        constraint: bool,
    ) -> PyResult<Option<(String, String, bool)>> {
        let kind = match constraint {
            true => ClassKind::Constraint,
            false => ClassKind::Iterator,
        };
        let found = py
            .detach(|| self.open_store()?.find_class(kind, name))
            .into_python()?;
        Ok(found.map(|class| (class.name, class.description, class.scans_only)))
    }

    /// Namespaces: name and id.
    fn namespaces(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let all = py
            .detach(|| self.open_store()?.namespaces())
            .into_python()?;
        Ok(all.into_iter().map(|one| (one.name, one.id)).collect())
    }

    /// Creates a namespace.
    fn create_namespace(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        py.detach(|| self.open_store()?.create_namespace(name))
            .into_python()
    }

    /// Deletes a namespace without tables.
    fn delete_namespace(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        py.detach(|| self.open_store()?.delete_namespace(name))
            .into_python()
    }

    /// Renames a namespace and its tables.
    fn rename_namespace(&self, py: Python<'_>, name: &str, to: &str) -> PyResult<()> {
        let rename = || {
            if self.held.is_none() {
                check_namespace_not_of_events(&*self.open_store()?, name)?;
            }
            self.open_store()?.rename_namespace(name, to)
        };
        py.detach(rename).into_python()
    }

    /// What is set for a namespace, or for the whole store.
    fn own_properties(
        &self,
        py: Python<'_>,
        namespace: Option<&str>,
    ) -> PyResult<BTreeMap<String, String>> {
        let own = py.detach(|| self.open_store()?.own_properties(owner(namespace)));
        Ok(own.into_python()?.properties)
    }

    /// Sets and removes properties of a namespace, or of the whole store, in one step.
    fn change_properties(
        &self,
        py: Python<'_>,
        namespace: Option<&str>,
        changes: Vec<(String, Option<String>)>,
    ) -> PyResult<()> {
        let change = || {
            let store = self.open_store()?;
            // A reader's handle refuses it by itself.
            if self.held.is_none() {
                check_inherited_by_events(&*store, namespace, &changes)?;
            }
            store.change_properties(owner(namespace), None, &changes)
        };
        py.detach(change).into_python().map(drop)
    }

    /// Puts a table file back; returns its name, its length and the tables that read it.
    fn restore_file(&self, py: Python<'_>, file: PathBuf) -> PyResult<(String, u64, Vec<String>)> {
        let store = self.open_store().into_python()?;
        let restored = run(py, || {}, move || store.restore_file(&file))?.into_python()?;
        Ok((restored.file, restored.bytes, restored.tables))
    }

    /// Drops a lost table file; returns its name, where it was moved, its length, its entries, and the
    /// tables that read it.
    fn drop_file(&self, py: Python<'_>, file: PathBuf) -> PyResult<Dropped> {
        let store = self.open_store().into_python()?;
        let dropped = run(py, || {}, move || store.drop_file(&file))?.into_python()?;
        Ok((
            dropped.file,
            dropped.moved_to,
            dropped.bytes,
            dropped.entries,
            dropped.tables,
        ))
    }

    /// What a damaged log lost when the store was opened: file, message, tables.
    fn log_losses(&self) -> PyResult<Vec<(PathBuf, String, Vec<String>)>> {
        if self.held.is_some() {
            // They name tables, and tell how much was written.
            return Err(Error::new(
                ErrorKind::PermissionDenied,
                "the store was opened with authorizations, and losses of its log are reported to administrators: open \
                 the store without authorizations for it",
            ))
            .into_python();
        }
        let damages = self.gate.open(|open| open.store.damages().to_vec());
        let lost = damages.into_python()?.into_iter();
        Ok(lost
            .map(|one| (one.path.clone(), one.to_text(), one.tables))
            .collect())
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
