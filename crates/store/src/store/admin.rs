//! The store as the source contract shows it.

use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::source::{CheckReport, Progress};
use ostrakon_cell::{Capabilities, CloneOptions, Source, Table, TableInfo, TableOptions};

use super::names::{check_name, nearest};
use super::open::Store;
use crate::catalog::{NewTable, TableId, TableState};
use crate::constraint::DEFAULT_CONSTRAINT;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::properties::default_iterators;
use crate::table::{TableCore, TableHandle};
use crate::tablet::Layout;

impl Store {
    pub(super) fn core(&self, name: &str) -> StoreResult<Arc<TableCore>> {
        let tables = self.tables.read();
        tables.get(name).cloned().ok_or_else(|| {
            let message = match nearest(name, tables.keys()) {
                Some(known) => format!("no such table; did you mean {known}?"),
                None => "no such table; `table list` shows those there are".to_owned(),
            };
            Error::new(ErrorKind::NotFound, message).with("table", name)
        })
    }

    /// Makes a table of the catalog's record with that id and lets it be found.
    fn adopt(&self, id: TableId) -> StoreResult<Arc<TableCore>> {
        let context = &self.context;
        let view = context.catalog.view()?;
        let record = view.table(id)?.ok_or_else(|| {
            Error::new(
                ErrorKind::Internal,
                "a table is not in the catalog after its creation",
            )
        })?;
        let config = context.table_config(&record.properties)?;
        let layout = Layout::load(&view, id, &context.files)?;
        Ok(Arc::new(TableCore::new(
            context.clone(),
            &record,
            config,
            layout,
        )))
    }

    fn check_open(&self) -> StoreResult<()> {
        self.context.health.check_open()
    }
}

fn taken(name: &str) -> Error {
    Error::new(ErrorKind::AlreadyExists, "there is a table of that name").with("table", name)
}

impl Source for Store {
    fn capabilities(&self) -> Capabilities {
        Capabilities::all()
    }

    fn tables(&self) -> StoreResult<Vec<TableInfo>> {
        self.check_open()?;
        let tables = self.tables.read();
        let listed = tables.iter().map(|(name, table)| TableInfo {
            name: name.clone(),
            id: table.id().to_string(),
            online: table.status().state == TableState::Online,
            time_type: table.time().time_type(),
        });
        Ok(listed.collect())
    }

    fn create_table(&self, name: &str, options: &TableOptions) -> StoreResult<()> {
        check_name(name)?;
        self.context.health.check_writable()?;
        let mut properties = options.properties.clone();
        if !options.without_default_iterators {
            properties.extend(default_iterators());
            properties.extend(options.properties.clone());
        }
        let (name_of_constraint, class) = DEFAULT_CONSTRAINT;
        properties
            .entry(name_of_constraint.to_owned())
            .or_insert_with(|| class.to_owned());
        let config = self.context.new_table_config(&properties)?;
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
        let mut tables = self.tables.write();
        if tables.contains_key(name) {
            return Err(taken(name));
        }
        let new = NewTable {
            time_type: options.time_type,
            state: if options.offline {
                TableState::Offline
            } else {
                TableState::Online
            },
            properties,
            splits: options.splits.clone(),
            flushed_sequence: self.context.last_sequence(),
            created_millis: self.context.clock.now_millis(),
        };
        let id = self
            .context
            .catalog
            .transaction(|change| change.create_table(name, new))?
            .value;
        let table = self.adopt(id)?;
        tables.insert(name.to_owned(), table);
        Ok(())
    }

    fn delete_table(&self, name: &str) -> StoreResult<()> {
        self.context.health.check_writable()?;
        let table = self.core(name)?;
        let committed = {
            let mut tables = self.tables.write();
            let committed = table.delete(|change| change.delete_table(table.id()))?;
            tables.remove(name);
            committed
        };
        self.context.files.retire(&committed);
        self.context.wakeups.all();
        Ok(())
    }

    fn rename_table(&self, from: &str, to: &str) -> StoreResult<()> {
        check_name(to)?;
        self.context.health.check_writable()?;
        let table = self.core(from)?;
        let mut tables = self.tables.write();
        if from != to && tables.contains_key(to) {
            return Err(taken(to));
        }
        let _ = self
            .context
            .catalog
            .transaction(|change| change.rename_table(table.id(), to))?;
        tables.remove(from);
        tables.insert(to.to_owned(), table.clone());
        table.set_status(|status| status.name = to.into());
        Ok(())
    }

    fn clone_table(&self, from: &str, to: &str, options: &CloneOptions) -> StoreResult<()> {
        check_name(to)?;
        self.context.health.check_writable()?;
        let origin = self.core(from)?;
        let mut properties = origin.status().properties;
        properties.retain(|name, _| !options.exclude_properties.contains(name));
        properties.extend(options.set_properties.clone());
        self.context.table_config(&properties)?;
        self.context.new_table_config(&options.set_properties)?;
        if options.flush && origin.check_online().is_ok() {
            origin.flush_memtables()?;
        }
        let mut tables = self.tables.write();
        if tables.contains_key(to) {
            return Err(taken(to));
        }
        let new = NewTable {
            time_type: origin.time().time_type(),
            state: if options.keep_offline {
                TableState::Offline
            } else {
                TableState::Online
            },
            properties,
            splits: Vec::new(),
            flushed_sequence: self.context.last_sequence(),
            created_millis: self.context.clock.now_millis(),
        };
        let id = self
            .context
            .catalog
            .transaction(|change| change.clone_table(origin.id(), to, new))?
            .value;
        let table = self.adopt(id)?;
        tables.insert(to.to_owned(), table);
        Ok(())
    }

    fn table(&self, name: &str) -> StoreResult<Arc<dyn Table>> {
        self.check_open()?;
        Ok(Arc::new(TableHandle(self.core(name)?)))
    }

    fn set_online(&self, name: &str, online: bool) -> StoreResult<()> {
        self.context.health.check_writable()?;
        let table = self.core(name)?;
        let state = if online {
            TableState::Online
        } else {
            TableState::Offline
        };
        if !online && table.check_online().is_ok() {
            table.flush_memtables()?;
        }
        let _ = self
            .context
            .catalog
            .transaction(|change| change.update_table(table.id(), |record| record.state = state))?;
        table.set_status(|status| status.state = state);
        Ok(())
    }

    fn checkpoint(&self, directory: &Path) -> StoreResult<()> {
        self.write_checkpoint(directory)
    }

    fn check(&self, progress: Progress<'_>) -> StoreResult<CheckReport> {
        self.verify(progress)
    }
}
