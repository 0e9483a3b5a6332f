//! The reference model as a source of tables.

use std::collections::BTreeSet;
use std::sync::Arc;

use ostrakon_cell::iterator::{IteratorRegistry, IteratorScope, IteratorSetting};
use ostrakon_cell::{
    Batch, CallContext, Capabilities, Capability, ClassInfo, ClassKind, CloneOptions, Entry,
    EntryRef, Error, MutationBatch, NamespaceInfo, PropertyChange, PropertyOwner, Result,
    ScanOptions, Source, Table, TableInfo, TableOptions, VersionedProperties,
};
use parking_lot::Mutex;

use super::coverage::Coverage;
use super::map_table::MapTable;
use super::plain_constraints;
use super::plain_iterators::plain_registry;
use super::properties;
use super::reconcile::Reconciling;
use super::state::{MapSnapshot, State, TableState, namespace_of, no_such_table};
use super::time::TableTime;

/// Where the reference model's clock starts: some moment in 2023, so that timestamps look real.
const START_MILLIS: i64 = 1_700_000_000_000;

/// A source of tables in one sorted map: slow, and plainly right.
///
/// Deletes and versions are decided anew by every scan, so flush and compaction change nothing. Its
/// clock stands still until [`set_millis`](Self::set_millis). A clone of the handle is the same
/// source.
///
/// ```
/// use ostrakon_cell::{BatchWriter, BatchWriterConfig, Mutation, Scanner, Source, TableOptions};
/// use ostrakon_testkit::reference_model::MapSource;
///
/// let source = MapSource::new();
/// source.create_table("t", &TableOptions::default())?;
/// let table = source.table("t")?;
/// let mut writer = BatchWriter::new(table.clone(), BatchWriterConfig::default());
/// writer.add(Mutation::new("alice").put("edge", "bob", "cited")?)?;
/// writer.close()?;
/// assert_eq!(Scanner::new(table).entries()?.len(), 1);
/// # Ok::<(), ostrakon_cell::Error>(())
/// ```
#[derive(Clone)]
pub struct MapSource {
    state: Arc<Mutex<State>>,
    registry: Arc<IteratorRegistry>,
}

impl Default for MapSource {
    fn default() -> Self {
        Self::new()
    }
}

impl MapSource {
    /// A source without tables that runs its own `VersioningIterator` and
    /// `SummingCombiner`.
    #[must_use]
    pub fn new() -> Self {
        Self::with_iterators(plain_registry())
    }

    /// A source that runs these classes; its own are added where a name is missing.
    #[must_use]
    pub fn with_iterators(registry: IteratorRegistry) -> Self {
        let mut all = registry;
        for class in plain_registry().short_names() {
            if let Ok(class) = plain_registry().get(class) {
                all.register(class.clone());
            }
        }
        Self {
            state: Arc::new(Mutex::new(State {
                now_millis: START_MILLIS,
                next_id: 1,
                namespaces: super::levels::always_there(),
                ..State::default()
            })),
            registry: Arc::new(all),
        }
    }

    /// Sets the clock that timestamps come from, in milliseconds since 1970; also backwards.
    pub fn set_millis(&self, millis: i64) {
        self.state.lock().now_millis = millis;
    }

    /// What came up in writes and imports.
    #[must_use]
    pub fn coverage(&self) -> Coverage {
        self.state.lock().coverage.clone()
    }

    /// What the clock shows.
    #[must_use]
    pub fn now_millis(&self) -> i64 {
        self.state.lock().now_millis
    }

    /// The times that a source under test gave to the next batches: taken, one a batch, in place of
    /// those that this source would set.
    pub fn give_times(&self, times: impl IntoIterator<Item = i64>) {
        self.state.lock().given = times.into_iter().collect();
    }

    /// Checks the time that a source under test set next in a table.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check_time(&self, table: &str, given: i64) -> std::result::Result<(), String> {
        let mut state = self.state.lock();
        let now = state.now_millis;
        let table = state.named(table).map_err(|error| format!("{error:?}"))?;
        table.time.check(now, given)
    }

    /// The source was opened again after a crash: its tables set times as if what was lost had never been written.
    pub fn reopen_times(&self) {
        for table in self.state.lock().tables.values_mut() {
            let set_here = table.content.iter().filter(|(_, stored)| stored.by_table);
            let newest = set_here.map(|((key, _), _)| key.timestamp).max();
            table.time.reopen(newest.unwrap_or(0));
        }
    }

    /// Gives times to a batch and does not write it.
    pub fn stamp_only(&self, table: &str, batch: &MutationBatch) {
        let mut state = self.state.lock();
        let (now, observed) = (state.now_millis, state.given.pop_front());
        let Ok(table) = state.named(table) else {
            return;
        };
        let batch = plain_constraints::screen(&table.set, batch, None).kept;
        let is_set_here = batch
            .updates()
            .any(|(_, update)| update.timestamp.is_none());
        if is_set_here {
            let begin = observed.unwrap_or_else(|| table.time.lowest(now));
            table.time.stamp(begin, &batch);
        }
    }

    /// Imports files at once. Of equal keys the one in the later file is the newer.
    ///
    /// # Errors
    /// No such table, or it is off-line.
    pub fn import_files(&self, table: &str, files: &[Batch]) -> Result<u64> {
        let mut state = self.state.lock();
        let id = state.id_of(table).ok_or_else(|| no_such_table(table))?;
        state.named(table)?.check_online()?;
        let mut count = 0;
        let mut keys = BTreeSet::new();
        for file in files {
            count += file.len() as u64;
            let twice = file.iter().filter(|entry| keys.contains(&entry.key));
            state
                .coverage
                .add_many("equal keys in files of one import", twice.count() as u64);
            keys.extend(file.iter().map(|entry| entry.key));
            state.import(id, file.iter().map(EntryRef::to_entry).collect())?;
        }
        Ok(count)
    }

    /// Compares what a scan of a whole table found, by a reader that may see everything, with what
    /// the table holds. `options` are those of the scan. Where the contract leaves open whether an entry shows, the answer found is
    /// taken over. Returns whether something was taken over.
    ///
    /// # Errors
    /// What differs.
    pub fn reconcile(
        &self,
        table: &str,
        found: &[Entry],
        options: &ScanOptions,
    ) -> std::result::Result<bool, String> {
        let mut state = self.state.lock();
        let (now_millis, place) = (state.now_millis, state.sequence);
        let table = state.named(table).map_err(|error| format!("{error:?}"))?;
        table
            .check_online()
            .map_err(|error| format!("a scan answered, expected {error:?}"))?;
        let reconciling = Reconciling {
            now_millis,
            place,
            registry: &self.registry,
            options: options.clone(),
        };
        reconciling.run(table, found)
    }

    /// Whether the contract leaves open what a scan of this row shows.
    #[must_use]
    pub fn is_in_doubt(&self, table: &str, row: &[u8]) -> bool {
        let mut state = self.state.lock();
        state
            .named(table)
            .is_ok_and(|table| super::reconcile::is_row_in_doubt(table, row))
    }

    /// Whether some column of this row has a delete marker.
    #[must_use]
    pub fn has_marker(&self, table: &str, row: &[u8]) -> bool {
        let mut state = self.state.lock();
        state.named(table).is_ok_and(|table| {
            let mut keys = table.content.keys().map(|(key, _)| key);
            keys.any(|key| key.deleted && key.row == row)
        })
    }

    /// A copy of everything, to [`restore`](Self::restore) later.
    #[must_use]
    pub fn snapshot(&self) -> MapSnapshot {
        MapSnapshot(self.state.lock().clone())
    }

    /// Goes back to what was there when the snapshot was taken. Handles to tables stay good.
    pub fn restore(&self, snapshot: &MapSnapshot) {
        *self.state.lock() = snapshot.0.clone();
    }
}

impl Source for MapSource {
    fn capabilities(&self) -> Capabilities {
        capabilities()
    }

    fn tables(&self) -> Result<Vec<TableInfo>> {
        let state = self.state.lock();
        let mut tables: Vec<TableInfo> = state
            .tables
            .iter()
            .map(|(id, table)| TableInfo {
                name: table.name.clone(),
                id: base36(*id),
                namespace_id: state.namespaces[namespace_of(&table.name)].id.clone(),
                online: table.online,
                time_type: table.time.time_type,
            })
            .collect();
        tables.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(tables)
    }

    fn create_table(&self, name: &str, options: &TableOptions) -> Result<()> {
        let mut state = self.state.lock();
        state.check_free(name)?;
        let mut set = options.properties.clone();
        if !options.without_default_iterators {
            let versions = IteratorSetting::new(
                20,
                "vers",
                "org.apache.accumulo.core.iterators.user.VersioningIterator",
            )
            .with("maxVersions", "1");
            for (name, value) in versions.to_properties(&IteratorScope::ALL) {
                set.entry(name).or_insert(value);
            }
        }
        if !options.without_default_constraint {
            let (constraint, class) = plain_constraints::DEFAULT;
            set.entry(constraint.to_owned())
                .or_insert_with(|| class.to_owned());
        }
        let own = VersionedProperties {
            version: 0,
            properties: set,
        };
        let mut set = state.inherited(name);
        set.extend(own.properties.clone());
        properties::check(&set, &self.registry)?;
        for row in &options.splits {
            check_split(row)?;
        }
        state.add(TableState {
            name: name.to_owned(),
            online: !options.offline,
            time: TableTime::new(options.time_type),
            own,
            set,
            splits: options.splits.iter().cloned().collect(),
            layout: 1,
            content: Arc::default(),
        });
        Ok(())
    }

    fn delete_table(&self, name: &str) -> Result<()> {
        let mut state = self.state.lock();
        let id = state.id_of(name).ok_or_else(|| no_such_table(name))?;
        state.tables.remove(&id);
        Ok(())
    }

    fn rename_table(&self, from: &str, to: &str) -> Result<()> {
        if namespace_of(from) != namespace_of(to) {
            return Err(Error::invalid("a table stays in its namespace"));
        }
        let mut state = self.state.lock();
        state.named(from)?;
        state.check_free(to)?;
        state.named(from)?.name = to.to_owned();
        Ok(())
    }

    fn clone_table(&self, from: &str, to: &str, options: &CloneOptions) -> Result<()> {
        let mut state = self.state.lock();
        let mut clone = state.named(from)?.clone();
        state.check_free(to)?;
        let set_here = options.set_properties.clone();
        clone.own.properties.extend(set_here);
        for name in &options.exclude_properties {
            clone.own.properties.remove(name);
        }
        clone.own.version = 0;
        clone.set = state.inherited(to);
        clone.set.extend(clone.own.properties.clone());
        properties::check(&clone.set, &self.registry)?;
        clone.name = to.to_owned();
        clone.online = !options.keep_offline;
        state.add(clone);
        Ok(())
    }

    fn table(&self, name: &str) -> Result<Arc<dyn Table>> {
        let id = self.state.lock().id_of(name);
        let id = id.ok_or_else(|| no_such_table(name))?;
        Ok(Arc::new(MapTable {
            id,
            context: CallContext::default(),
            deadline: None,
            state: self.state.clone(),
            registry: self.registry.clone(),
        }))
    }

    fn set_online(&self, name: &str, online: bool) -> Result<()> {
        self.state.lock().named(name)?.online = online;
        Ok(())
    }

    fn namespaces(&self) -> Result<Vec<NamespaceInfo>> {
        Ok(self.state.lock().list_namespaces())
    }

    fn find_class(&self, kind: ClassKind, class: &str) -> Result<Option<ClassInfo>> {
        Ok(match kind {
            ClassKind::Iterator => self.registry.describe(class),
            ClassKind::Constraint => plain_constraints::describe(class),
        })
    }

    fn create_namespace(&self, name: &str) -> Result<()> {
        self.state.lock().create_namespace(name)
    }

    fn delete_namespace(&self, name: &str) -> Result<()> {
        self.state.lock().delete_namespace(name)
    }

    fn rename_namespace(&self, from: &str, to: &str) -> Result<()> {
        self.state.lock().rename_namespace(from, to)
    }

    fn own_properties(&self, owner: PropertyOwner<'_>) -> Result<VersionedProperties> {
        self.state.lock().level(owner).cloned()
    }

    fn change_properties(
        &self,
        owner: PropertyOwner<'_>,
        version: Option<u64>,
        changes: &[PropertyChange],
    ) -> Result<u64> {
        let mut state = self.state.lock();
        state.change_level(owner, version, changes, &self.registry)
    }
}

/// Everything but copying a store of files, verifying files, and classes registered by an opener.
pub(super) fn capabilities() -> Capabilities {
    Capabilities::all()
        .without(Capability::NativeIterators)
        .without(Capability::Checkpoint)
        .without(Capability::Check)
        .without(Capability::Sampling)
}

/// Refuses what cannot be a split point.
pub(super) fn check_split(row: &[u8]) -> Result<()> {
    match row.len() {
        0 => Err(Error::invalid("the empty row is not a valid split point")),
        1..=10_240 => Ok(()),
        len => Err(Error::invalid("a split point has at most 10 KiB").with("bytes", len)),
    }
}

pub(super) fn base36(id: u64) -> String {
    let mut digits = Vec::new();
    let mut rest = id;
    while rest > 0 || digits.is_empty() {
        digits.extend(char::from_digit((rest % 36) as u32, 36));
        rest /= 36;
    }
    digits.into_iter().rev().collect()
}
