//! Settings of a table, before it is created.

use std::time::Duration;

use ostrakon_cell::{TableOptions, TimeType};

use crate::store::Store;
use crate::table::Table;
use crate::{ErrorKind, IteratorScope, IteratorSetting, Result};

/// Creates a table with settings of the caller's choice; made by [`Store::table_builder`].
///
/// ```
/// use std::time::Duration;
///
/// # let store = ostrakon::Store::in_memory()?;
/// let readings = store
///     .table_builder("readings")
///     .versions(3)
///     .age_off(Duration::from_secs(30 * 24 * 3600))
///     .splits(["sensor-3", "sensor-6"])
///     .create()?;
/// for value in ["1", "2", "3", "4"] {
///     readings.put("sensor-1", ("temperature", "celsius"), value).commit()?;
/// }
/// assert_eq!(readings.scan().into_iter().count(), 3);
/// # Ok::<(), ostrakon::Error>(())
/// ```
#[must_use = "a builder creates nothing until `create` or `open_or_create` is called"]
#[derive(Debug, Clone)]
pub struct TableBuilder {
    store: Store,
    name: String,
    options: TableOptions,
}

/// Priority of the filter that [`TableBuilder::age_off`] sets: below the default iterator `vers`.
const AGE_OFF_PRIORITY: u32 = 10;

impl TableBuilder {
    pub(crate) fn new(store: Store, name: &str) -> Self {
        Self {
            store,
            name: name.to_owned(),
            options: TableOptions::default(),
        }
    }

    /// Keeps this many versions of each column, newest first. Default: 1.
    pub fn versions(mut self, most: u32) -> Self {
        for scope in IteratorScope::ALL {
            let name = format!("table.iterator.{}.vers.opt.maxVersions", scope.as_str());
            self.options.properties.insert(name, most.to_string());
        }
        self
    }

    /// Keeps every version of each column, also equal ones: for tables whose iterators sum up what was put.
    pub fn all_versions(mut self) -> Self {
        self.options.without_default_iterators = true;
        self
    }

    /// Drops entries whose timestamp lies further back: at once from scans, and from the disk as files are compacted.
    pub fn age_off(self, time_to_live: Duration) -> Self {
        let setting = IteratorSetting::new(AGE_OFF_PRIORITY, "age", "AgeOffFilter")
            .with("ttl", time_to_live.as_millis().to_string());
        self.iterator(&setting, &IteratorScope::ALL)
    }

    /// Counts writes in place of taking the time of day as timestamps.
    pub fn logical_time(mut self) -> Self {
        self.options.time_type = TimeType::Logical;
        self
    }

    /// Splits the table at these rows before any data is in it, so that tablets are written and read in parallel.
    pub fn splits<R: AsRef<[u8]>>(mut self, rows: impl IntoIterator<Item = R>) -> Self {
        let rows = rows.into_iter().map(|row| row.as_ref().to_vec());
        self.options.splits.extend(rows);
        self
    }

    /// Attaches an iterator at the given scopes.
    pub fn iterator(mut self, setting: &IteratorSetting, scopes: &[IteratorScope]) -> Self {
        self.options
            .properties
            .extend(setting.to_properties(scopes));
        self
    }

    /// Sets a property, by Accumulo's name: `table.file.compress.type`.
    pub fn property(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.options.properties.insert(name.into(), value.into());
        self
    }

    /// Creates the table.
    ///
    /// # Errors
    /// [`AlreadyExists`](ErrorKind::AlreadyExists); the name, a property or an iterator is unknown or malformed.
    pub fn create(self) -> Result<Table> {
        let source = self.store.source()?;
        source.create_table(&self.name, &self.options)?;
        self.store.table(&self.name)
    }

    /// Opens the table, or creates it if there is none. A table that is there keeps the settings that it has.
    ///
    /// # Errors
    /// As [`create`](Self::create), but for `AlreadyExists`.
    pub fn open_or_create(self) -> Result<Table> {
        match self.store.table(&self.name) {
            Err(error) if error.kind() == ErrorKind::TableNotFound => {}
            opened => return opened,
        }
        let (store, name) = (self.store.clone(), self.name.clone());
        match self.create() {
            // Another thread was faster.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => store.table(&name),
            created => created,
        }
    }
}
