//! The store as the tests here open it: on a disk that can fail, with a clock that stands still.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use ostrakon_cell::{Batch, Entry, ImportDirectoryOptions, Properties, Result, Scanner, Source};
use ostrakon_store::clock::{Clock, Random, SystemClock};
use ostrakon_store::compaction::{ChooseFiles, ChooseOptions};
use ostrakon_store::sorted_file::{SortedFileWriter, WriterOptions};
use ostrakon_store::{Components, FileCuts, Store, StoreOptions};
use ostrakon_testkit::disk::{Crash, Faults, FaultyVfs};
use ostrakon_testkit::model::{Harness, Shared, Trouble};
use ostrakon_testkit::reference_model::Coverage;
use parking_lot::Mutex;

/// Where the stores of these tests lie on their disks.
pub(crate) const DIRECTORY: &str = "/store";

/// Time for timestamps is set by the test; waiting is real, so that background threads behave.
#[derive(Debug)]
pub(crate) struct SetClock {
    millis: AtomicI64,
    real: SystemClock,
}

impl SetClock {
    pub(crate) fn new(millis: i64) -> Arc<Self> {
        Arc::new(Self {
            millis: AtomicI64::new(millis),
            real: SystemClock::new(),
        })
    }

    pub(crate) fn set(&self, millis: i64) {
        self.millis.store(millis, Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now_millis(&self) -> i64 {
        self.millis.load(Ordering::SeqCst)
    }

    fn monotonic_nanos(&self) -> u64 {
        self.real.monotonic_nanos()
    }

    fn sleep(&self, duration: Duration) {
        self.real.sleep(duration);
    }
}

/// The rows of the table `t`, one for each entry.
pub(crate) fn rows(store: &Store) -> Vec<String> {
    let entries = Scanner::new(store.table("t").unwrap()).entries().unwrap();
    let row = |entry: &Entry| String::from_utf8_lossy(&entry.key.row).into_owned();
    entries.iter().map(row).collect()
}

/// Options under which a little data goes through every part of the store.
pub(crate) fn tiny() -> StoreOptions {
    StoreOptions {
        memory_budget_bytes: 256 << 10,
        wal_segment_bytes: 64 << 10,
        max_open_files: 64,
        file_cuts: FileCuts {
            flush_bytes: 1 << 10,
            parallel_flush_bytes: 2 << 10,
            import_bytes: 1 << 10,
        },
        ..StoreOptions::default()
    }
}

/// Opens the store on this disk.
pub(crate) fn open(disk: &FaultyVfs, options: &StoreOptions) -> Result<Arc<Store>> {
    open_at(disk, options, SetClock::new(1_700_000_000_000))
}

pub(crate) fn open_at(
    disk: &FaultyVfs,
    options: &StoreOptions,
    clock: Arc<SetClock>,
) -> Result<Arc<Store>> {
    let components = Components {
        vfs: disk.shared(),
        clock,
        ..Components::default()
    };
    open_of(components, options)
}

fn open_of(components: Components, options: &StoreOptions) -> Result<Arc<Store>> {
    Store::open_with(components, Path::new(DIRECTORY), options.clone())
}

/// Any neighbours, worth it or not.
#[derive(Debug)]
struct AnyFiles {
    random: Mutex<Random>,
    coverage: Mutex<Coverage>,
}

impl ChooseFiles for AnyFiles {
    fn choose(
        &self,
        sizes: &[u64],
        _: ChooseOptions,
        is_allowed: &dyn Fn(&std::ops::Range<usize>) -> bool,
    ) -> Option<std::ops::Range<usize>> {
        let mut random = self.random.lock();
        if sizes.len() < 2 || random.one_in(8) {
            return None;
        }
        let starts = 0..sizes.len() - 1;
        let all = starts.flat_map(|start| (start + 2..=sizes.len()).map(move |end| start..end));
        let (legal, illegal): (Vec<_>, Vec<_>) = all.partition(is_allowed);
        let mut coverage = self.coverage.lock();
        coverage.add_many("files that may not be merged", illegal.len() as u64);
        coverage.add_many("files that may be merged", legal.len() as u64);
        let at = random.below(legal.len() as u64) as usize;
        legal.get(at).cloned()
    }
}

/// A store on a disk that fails, for the model test.
pub(crate) struct StoreHarness {
    pub(crate) disk: FaultyVfs,
    pub(crate) options: StoreOptions,
    pub(crate) properties: Properties,
    clock: Arc<SetClock>,
    chooser: Arc<AnyFiles>,
    imports: u64,
    store: Option<Arc<Store>>,
}

impl StoreHarness {
    pub(crate) fn new(seed: u64, options: StoreOptions, properties: &[(&str, &str)]) -> Self {
        let mut harness = Self {
            disk: FaultyVfs::new(seed),
            options,
            properties: properties
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            clock: SetClock::new(1_700_000_000_000),
            chooser: Arc::new(AnyFiles {
                random: Mutex::new(Random::from_seed(seed)),
                coverage: Mutex::default(),
            }),
            imports: 0,
            store: None,
        };
        harness.open().unwrap();
        harness
    }

    fn open(&mut self) -> Result<()> {
        let components = Components {
            vfs: self.disk.shared(),
            clock: self.clock.clone(),
            chooser: self.chooser.clone(),
            ..Components::default()
        };
        let store = open_of(components, &self.options)?;
        self.store = Some(store);
        Ok(())
    }
}

impl Harness for StoreHarness {
    fn source(&self) -> Arc<dyn Source> {
        self.store.clone().unwrap()
    }

    fn set_millis(&mut self, millis: i64) {
        self.clock.set(millis);
    }

    fn reopen(&mut self) -> Result<()> {
        self.store = None;
        self.open()
    }

    fn crash(&mut self, crash: Crash) -> Result<()> {
        // The disk dies first: what the store does while it is dropped reaches nothing.
        self.disk.crash(crash);
        self.store = None;
        self.open()
    }

    fn disturb(&mut self, trouble: Option<Trouble>) {
        let faults = match trouble {
            None => Faults::default(),
            Some(Trouble::SyncFails(after)) => Faults {
                fail_sync_after: Some(after),
                ..Faults::default()
            },
            Some(Trouble::Stops(after)) => Faults {
                fail_after_operations: Some(after),
                ..Faults::default()
            },
            Some(Trouble::Full(room)) => Faults {
                capacity_bytes: Some(self.used() + room),
                ..Faults::default()
            },
        };
        self.disk.set_faults(faults);
    }

    fn import(&mut self, table: &str, files: &[Batch]) -> Result<u64> {
        let into = Harness::source(self).table(table)?;
        self.imports += 1;
        let disk = self.disk.shared();
        let directory = Path::new("/imports").join(self.imports.to_string());
        disk.create_dir_durably(&directory)?;
        for (number, file) in files.iter().enumerate() {
            let path = directory.join(format!("part-{number}.sorted"));
            let mut writer = SortedFileWriter::create(&disk, &path, WriterOptions::default())?;
            writer.append(file, 0..file.len())?;
            writer.finish()?;
        }
        into.import_directory(&directory, &ImportDirectoryOptions::default())
            .map(|report| report.entries)
    }

    fn maintain(&mut self) -> Result<Vec<String>> {
        let Some(store) = self.store.as_ref().filter(|_| !self.options.background) else {
            return Ok(Vec::new());
        };
        let before = files(store);
        store.maintain()?;
        let after = files(store);
        let merged = before.into_iter().filter(|(tablet, files)| {
            let left = after.get(tablet);
            left.is_some_and(|left| left < files && *left > 1)
        });
        let mut tables: Vec<String> = merged.map(|((name, _), _)| name).collect();
        tables.dedup();
        Ok(tables)
    }

    fn coverage(&self) -> Coverage {
        self.chooser.coverage.lock().clone()
    }

    fn check(&mut self) -> std::result::Result<(), String> {
        let Some(store) = &self.store else {
            return Ok(());
        };
        let report = store
            .check(&mut |_, _| true)
            .map_err(|error| format!("checking failed: {error:?}"))?;
        if report.problems.is_empty() {
            Ok(())
        } else {
            Err(format!("check finds {:?}", report.problems))
        }
    }

    fn table_properties(&self) -> Properties {
        self.properties.clone()
    }
}

impl Shared for StoreHarness {
    fn source(&self) -> Arc<dyn Source> {
        self.store.clone().unwrap()
    }

    fn set_millis(&self, millis: i64) {
        self.clock.set(millis);
    }
}

/// How many files each tablet has, by table and end row.
fn files(store: &Store) -> BTreeMap<(String, Option<Vec<u8>>), u64> {
    let mut files = BTreeMap::new();
    for table in store.tables().unwrap_or_default() {
        let tablets = store.table(&table.name).and_then(|table| table.tablets());
        for tablet in tablets.unwrap_or_default() {
            files.insert((table.name.clone(), tablet.end), tablet.files);
        }
    }
    files
}

impl StoreHarness {
    fn used(&self) -> u64 {
        let vfs = self.disk.shared();
        self.disk
            .files_below(Path::new(DIRECTORY))
            .iter()
            .map(|file| vfs.len(file).unwrap_or(0))
            .sum()
    }
}
