//! Administration of tables: the store's implementation of the source contract.
//!
//! Administration is linearizable. A call takes effect under [`Store::administration`], in this
//! order: the table is looked up by name, the catalog is changed by the table's id in one
//! transaction, then the map of tables and the table's own status are updated under the map's lock.
//! So one of several racing calls wins, a name that was given up can be reused at once, and a
//! reader of the map sees a consistent state of the catalog. Slow work happens outside of the lock:
//! a clone flushes its source before, a table that went off-line is flushed after.

use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::source::{CheckReport, DroppedFile, Progress, RestoredFile};
use ostrakon_cell::{
    Capabilities, ClassInfo, ClassKind, CloneOptions, NamespaceInfo, Problem, Properties,
    PropertyChange, PropertyOwner, Source, Table, TableInfo, TableOptions, VersionedProperties,
};
use parking_lot::{Mutex, MutexGuard};

use super::names::{check_new_name, nearest};
use super::open::Store;
use crate::catalog::{
    CatalogTransaction, Committed, FileId, NamespaceId, NewTable, TableId, TableRecord, TableState,
    namespace_of,
};
use crate::constraint::DEFAULT_CONSTRAINT;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::properties::default_iterators;
use crate::table::{Caller, TableCore, TableHandle, capabilities};
use crate::tablet::TableVersion;

/// The lock of administration, around the number of changes of names and states.
pub(super) type Administration = Mutex<u64>;

/// Attempts of a clone to flush its source outside of the lock. If names changed during each of
/// them it flushes under the lock.
const CLONE_ATTEMPTS: usize = 3;

impl Store {
    pub(crate) fn core(&self, name: &str) -> StoreResult<Arc<TableCore>> {
        let tables = self.tables.read();
        tables.get(name).cloned().ok_or_else(|| {
            let error = Error::no_table("no such table").with("table", name);
            match nearest(name, tables.keys()) {
                Some(known) => error.with("similar", known),
                None => error,
            }
        })
    }

    /// Builds a table from the catalog's record with that id.
    fn load(&self, id: TableId) -> StoreResult<Arc<TableCore>> {
        let context = &self.context;
        let view = context.catalog.view()?;
        let record = view.table(id)?.ok_or_else(|| {
            Error::new(
                ErrorKind::Internal,
                "a table is not in the catalog after its creation",
            )
        })?;
        let own = Arc::new(record.own.properties.clone());
        let set = context.inherited.read().merged(record.namespace, &own);
        let config = context.table_config(&set);
        let version = TableVersion::load(&view, id, &context.files)?;
        Ok(TableCore::new(context.clone(), &record, config, version))
    }

    /// Adds a table that was just added to the catalog to the map. Under `administration`.
    fn adopt(&self, name: &str, id: TableId) -> StoreResult<()> {
        match self.load(id) {
            Ok(table) => {
                self.tables.write().insert(name.to_owned(), table);
                self.compare_with_catalog(Some(name));
                Ok(())
            }
            // A table that is not in the map must not be in the catalog either.
            Err(error) => {
                let forgotten = self.change(|change| change.delete_table(id));
                if let Err(second) = forgotten {
                    self.context.health.fail(second);
                }
                Err(error)
            }
        }
    }

    /// Changes the catalog. A commit that may or may not have taken place leaves the store
    /// read-only: the open tables may no longer match the catalog.
    pub(super) fn change<T>(
        &self,
        change: impl FnOnce(&mut CatalogTransaction<'_>) -> StoreResult<T>,
    ) -> StoreResult<Committed<T>> {
        let outcome = self.context.catalog.transaction(change);
        self.checked(outcome)
    }

    pub(super) fn checked<T>(&self, outcome: StoreResult<T>) -> StoreResult<T> {
        outcome.inspect_err(|error| {
            if self.context.catalog.is_uncertain() {
                self.context.health.fail(error.duplicate());
            }
        })
    }

    /// Returns an error if the name is taken. Under `administration`, so that the answer holds
    /// until the name is used.
    fn check_free(&self, name: &str) -> StoreResult<()> {
        if self.tables.read().contains_key(name) {
            return Err(
                Error::new(ErrorKind::AlreadyExists, "a table of that name exists")
                    .with("table", name),
            );
        }
        Ok(())
    }

    /// Checks, if debug assertions are on, that the open store and the catalog have the same
    /// tables; with many tables only the changed one is compared. Under `administration`.
    pub(super) fn compare_with_catalog(&self, changed: Option<&str>) {
        /// Above this many tables, comparing all of them after each change costs too much, even in
        /// tests.
        const ALL_OF_THEM: usize = 64;
        if !cfg!(debug_assertions) {
            return;
        }
        // A failing disk, or a store that is closed meanwhile, proves nothing.
        let Ok(view) = self.context.catalog.view() else {
            return;
        };
        let tables = self.tables.read();
        let agrees = |name: &str, record: Option<&TableRecord>| {
            let open = tables.get(name).map(|table| (table.id(), table.status()));
            let same = match (open, record) {
                (None, None) => true,
                (Some((id, status)), Some(record)) => {
                    !status.deleted
                        && (id, &*status.name, status.state) == (record.id, name, record.state)
                }
                _ => false,
            };
            assert!(
                same,
                "the open table {name} is not the catalog's {record:?}"
            );
        };
        if let Some(name) = changed {
            let Ok(id) = view.table_id(name) else { return };
            let Ok(record) = id.map_or(Ok(None), |id| view.table(id)) else {
                return;
            };
            agrees(name, record.as_ref());
        }
        if tables.len() <= ALL_OF_THEM {
            let Ok(records) = view.tables() else { return };
            assert_eq!(tables.len(), records.len(), "open tables and the catalog's");
            for record in &records {
                agrees(&record.name, Some(record));
            }
        }
    }

    /// Schedules the files of deleted tables for deletion.
    fn retire(&self, files: &[FileId]) {
        self.context.files.retire(files);
        self.context.wakeups.all();
    }

    fn new_table(
        &self,
        namespace: NamespaceId,
        state: TableState,
        properties: Properties,
    ) -> NewTable {
        NewTable {
            state,
            namespace,
            properties,
            flushed_sequence: self.context.log.last_sequence(),
            created_millis: self.context.clock.now_millis(),
            ..NewTable::default()
        }
    }
}

fn state(online: bool) -> TableState {
    if online {
        TableState::Online
    } else {
        TableState::Offline
    }
}

impl Source for Store {
    fn capabilities(&self) -> Capabilities {
        capabilities()
    }

    fn tables(&self) -> StoreResult<Vec<TableInfo>> {
        self.context.health.check_open()?;
        let tables = self.tables.read();
        let listed = tables.iter().map(|(name, table)| TableInfo {
            name: name.clone(),
            id: table.id().to_string(),
            namespace_id: table.status().namespace.to_string(),
            online: table.status().state == TableState::Online,
            time_type: table.time().time_type(),
        });
        Ok(listed.collect())
    }

    fn create_table(&self, name: &str, options: &TableOptions) -> StoreResult<()> {
        check_new_name(name)?;
        self.context.health.check_writable()?;
        let mut properties = options.properties.clone();
        if !options.without_default_iterators {
            properties.extend(default_iterators());
            properties.extend(options.properties.clone());
        }
        if !options.without_default_constraint {
            let (name_of_constraint, class) = DEFAULT_CONSTRAINT;
            properties
                .entry(name_of_constraint.to_owned())
                .or_insert_with(|| class.to_owned());
        }
        let mut changes = self.administration.lock();
        let config = self.config_of_new(name, &properties)?;
        let longest = config.split_row_max;
        if let Some(row) = options
            .splits
            .iter()
            .find(|row| row.is_empty() || row.len() > longest)
        {
            return Err(Error::invalid(format!(
                "a split point has 1 to {longest} bytes (table.split.endrow.size.max)"
            ))
            .with("bytes", row.len()));
        }
        self.check_free(name)?;
        let namespace = self.namespace_for(name)?;
        let new = NewTable {
            time_type: options.time_type,
            splits: options.splits.clone(),
            ..self.new_table(namespace, state(!options.offline), properties)
        };
        let id = self.change(|change| change.create_table(name, new))?.value;
        *changes += 1;
        self.adopt(name, id)
    }

    fn delete_table(&self, name: &str) -> StoreResult<()> {
        self.context.health.check_writable()?;
        let unreferenced = {
            let mut changes = self.administration.lock();
            let table = self.core(name)?;
            let deleted = table.delete(
                |change| change.delete_table(table.id()),
                || {
                    let mut tables = self.tables.write();
                    tables.remove(name);
                    tables
                },
            );
            let unreferenced = self.checked(deleted)?;
            *changes += 1;
            self.compare_with_catalog(Some(name));
            unreferenced
        };
        self.retire(&unreferenced);
        Ok(())
    }

    fn rename_table(&self, from: &str, to: &str) -> StoreResult<()> {
        check_new_name(to)?;
        // Before anything is looked up, as in Accumulo: no table could be renamed so.
        if namespace_of(from) != namespace_of(to) {
            return Err(Error::invalid(
                "a table stays in its namespace when it is renamed: clone it to move it to another",
            )
            .with("table", from)
            .with("given", to));
        }
        self.context.health.check_writable()?;
        let mut changes = self.administration.lock();
        let table = self.core(from)?;
        if from == to {
            return Ok(());
        }
        self.check_free(to)?;
        let _ = self.change(|change| change.rename_table(table.id(), to))?;
        let mut tables = self.tables.write();
        tables.remove(from);
        tables.insert(to.to_owned(), table.clone());
        table.set_status(|status| status.name = to.into());
        drop(tables);
        *changes += 1;
        self.compare_with_catalog(Some(to));
        Ok(())
    }

    fn clone_table(&self, from: &str, to: &str, options: &CloneOptions) -> StoreResult<()> {
        check_new_name(to)?;
        self.context.health.check_writable()?;
        self.context.new_table_config(&options.set_properties)?;
        let mut attempts = 0;
        loop {
            let mut changes = self.administration.lock();
            let origin = self.core(from)?;
            self.check_free(to)?;
            if options.flush {
                let before = *changes;
                attempts += 1;
                if attempts <= CLONE_ATTEMPTS {
                    MutexGuard::unlocked(&mut changes, || origin.flush_for_clone())?;
                } else {
                    origin.flush_for_clone()?;
                }
                // The content is of the moment of the flush, so the names and states must not have
                // changed since then.
                if *changes != before {
                    continue;
                }
            }
            let namespace = self.namespace_for(to)?;
            let inherited = self.context.inherited.read();
            let id = origin.with_status(|status| {
                let mut properties = Properties::clone(&status.properties);
                properties.extend(options.set_properties.clone());
                properties.retain(|name, _| !options.exclude_properties.contains(name));
                let set = inherited.merged(namespace, &Arc::new(properties.clone()));
                self.context
                    .table_config(&set)
                    .check_no_worse_than(&status.config)?;
                let new = NewTable {
                    time_type: origin.time().time_type(),
                    ..self.new_table(namespace, state(!options.keep_offline), properties)
                };
                let cloned = self.change(|change| change.clone_table(origin.id(), to, new))?;
                Ok(cloned.value)
            })?;
            drop(inherited);
            *changes += 1;
            return self.adopt(to, id);
        }
    }

    fn table(&self, name: &str) -> StoreResult<Arc<dyn Table>> {
        self.context.health.check_open()?;
        Ok(Arc::new(TableHandle(self.core(name)?, Caller::default())))
    }

    fn set_online(&self, name: &str, online: bool) -> StoreResult<()> {
        self.context.health.check_writable()?;
        let table = {
            let mut changes = self.administration.lock();
            let table = self.core(name)?;
            let changed = table.set_state(state(online), || self.tables.write());
            let changed = self.checked(changed)?;
            *changes += u64::from(changed);
            self.compare_with_catalog(Some(name));
            if online || !changed {
                return Ok(());
            }
            table
        };
        // It is off-line whether these succeed or not: unflushed data is also in the log, or stays
        // in memory until the next flush.
        table.stop_work();
        if let Err(error) = table.flush_bounded() {
            tracing::warn!(table = name, %error, "a table that went offline was not flushed");
        }
        self.context.wakeups.all();
        Ok(())
    }

    fn namespaces(&self) -> StoreResult<Vec<NamespaceInfo>> {
        self.list_namespaces()
    }

    fn find_class(&self, kind: ClassKind, class: &str) -> StoreResult<Option<ClassInfo>> {
        self.context.health.check_open()?;
        Ok(match kind {
            ClassKind::Iterator => self.context.iterators.describe(class),
            ClassKind::Constraint => self.context.constraints.describe(class),
        })
    }

    fn create_namespace(&self, name: &str) -> StoreResult<()> {
        self.make_namespace(name)
    }

    fn delete_namespace(&self, name: &str) -> StoreResult<()> {
        self.remove_namespace(name)
    }

    fn rename_namespace(&self, from: &str, to: &str) -> StoreResult<()> {
        self.move_namespace(from, to)
    }

    fn own_properties(&self, owner: PropertyOwner<'_>) -> StoreResult<VersionedProperties> {
        self.properties_of(owner)
    }

    fn change_properties(
        &self,
        owner: PropertyOwner<'_>,
        version: Option<u64>,
        changes: &[PropertyChange],
    ) -> StoreResult<u64> {
        self.change_level(owner, version, changes)
    }

    fn checkpoint(&self, directory: &Path) -> StoreResult<()> {
        self.write_checkpoint(directory)
    }

    fn restore_file(&self, from: &Path) -> StoreResult<RestoredFile> {
        self.restore_one(from)
    }

    fn drop_file(&self, file: &Path) -> StoreResult<DroppedFile> {
        self.drop_one(file)
    }

    fn problems(&self) -> StoreResult<Vec<Problem>> {
        self.context.health.check_open()?;
        Ok(self.list_problems())
    }

    fn check(&self, progress: Progress<'_>) -> StoreResult<CheckReport> {
        self.verify(progress)
    }
}
