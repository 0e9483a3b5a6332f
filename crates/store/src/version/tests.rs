//! Random histories of a table, without data: after any flushes, imports, splits, merges and
//! compactions, the newest write of a row is in the first file that has the row.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::cache::{BlockCache, CacheOptions};
use crate::catalog::{
    AgeRange, Catalog, CatalogIdentity, CatalogTransaction, Fence, FileId, FileRecord,
    FileReference, NewTable, TableId,
};
use crate::clock::Random;
use crate::error::StoreResult;
use crate::metrics::Metrics;
use crate::vfs::{MemoryVfs, Vfs};

const ROWS: u8 = 12;

fn row(number: u8) -> Vec<u8> {
    vec![number]
}

/// Rows `after < row <= through`; a `through` above all rows means no end.
fn fence(after: u8, through: u8) -> Fence {
    let end = |row: u8, is_open: bool| (!is_open).then(|| vec![row]);
    Fence::new(end(after, after == 0), end(through, through > ROWS))
}

struct Rig {
    catalog: Catalog,
    registry: FileRegistry,
    table: TableId,
    version: TableVersion,
    /// The content of each file: the number of the newest write of each row.
    content: BTreeMap<FileId, BTreeMap<u8, u64>>,
    /// The expected content: the number of the newest write of each row.
    newest: BTreeMap<u8, u64>,
    clock: u64,
}

impl Rig {
    fn new() -> Self {
        let vfs: Arc<dyn Vfs> = MemoryVfs::shared();
        for dir in ["/files", "/catalog"] {
            vfs.create_dir_all(Path::new(dir)).unwrap();
        }
        let identity = CatalogIdentity::new(&mut Random::from_seed(1), 0);
        let catalog = Catalog::create(&vfs, Path::new("/catalog"), identity, 1 << 20).unwrap();
        let metrics = Arc::new(Metrics::default());
        let sizes = CacheOptions {
            bytes: 1 << 20,
            open_files: 8,
        };
        let cache = BlockCache::new(sizes, metrics.clone()).unwrap();
        let registry = FileRegistry::new(vfs, "/files".into(), cache, metrics);
        let made = catalog.transaction(|change| change.create_table("t", NewTable::default()));
        let table = made.unwrap().value;
        let version = TableVersion::load(&catalog.view().unwrap(), table, &registry).unwrap();
        Self {
            catalog,
            registry,
            table,
            version,
            content: BTreeMap::new(),
            newest: BTreeMap::new(),
            clock: 0,
        }
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn edit(&mut self, change: impl FnOnce(&mut CatalogTransaction<'_>) -> StoreResult<()>) {
        let (version, registry, table) = (&self.version, &self.registry, self.table);
        let next = self.catalog.transaction(|transaction| {
            change(transaction)?;
            let changes = transaction.changes_of(table)?;
            version.apply(&changes, |id| {
                registry.file(&transaction.file(id)?.unwrap())
            })
        });
        self.version = next.unwrap().value;
        self.check();
    }

    fn record(&mut self, content: BTreeMap<u8, u64>, ages: AgeRange) -> FileRecord {
        let id = self.catalog.new_file_id();
        let record = FileRecord {
            id,
            bytes: 100 * content.len() as u64,
            entries: content.len() as u64,
            deletes: 0,
            first_row: row(*content.keys().next().unwrap()),
            last_row: row(*content.keys().next_back().unwrap()),
            identity: 0,
            generation: 0,
            ages,
            created_millis: 0,
        };
        self.content.insert(id, content);
        record
    }

    /// Adds a file of new writes to the tablets that may have its rows.
    fn add(&mut self, rows: &BTreeSet<u8>, number: u64, age: u64) {
        if rows.is_empty() {
            return;
        }
        let content = rows.iter().map(|row| (*row, number)).collect();
        for row in rows {
            self.newest.insert(*row, number);
        }
        let record = self.record(content, AgeRange::at(age));
        let first = self.version.position(&record.first_row);
        let last = self.version.position(&record.last_row);
        let ends: Vec<_> = (first..=last)
            .map(|at| self.version.tablets()[at].extent.through.clone())
            .collect();
        let table = self.table;
        self.edit(|change| {
            change.add_file(&record)?;
            for end in &ends {
                let whole = FileReference::whole(&record);
                change.replace_files(table, end.as_deref(), &[], &[whole])?;
            }
            Ok(())
        });
    }

    /// A flush: its writes have one age, and may be cut into files of neighbouring rows.
    fn flush(&mut self, rows: &BTreeSet<u8>, cut: u8) {
        let (number, age) = (self.tick(), self.clock);
        for piece in [
            rows.range(..cut).copied().collect(),
            rows.range(cut..).copied().collect(),
        ] {
            self.add(&piece, number, age);
        }
    }

    /// An import: its files may share rows, and the later one is newer.
    fn import(&mut self, files: &[BTreeSet<u8>]) {
        for rows in files {
            let (number, age) = (self.tick(), self.clock);
            self.add(rows, number, age);
        }
    }

    /// Merges some neighbouring files of a tablet, if allowed.
    fn compact(&mut self, tablet: usize, start: usize, width: usize, is_allowed: Allowed) {
        let tablet = self.version.tablets()[tablet % self.version.tablets().len()].clone();
        if tablet.files.len() < 2 {
            return;
        }
        let start = start % (tablet.files.len() - 1);
        let end = (start + 2 + width).min(tablet.files.len());
        if !is_allowed(&tablet, &(start..end)) {
            return;
        }
        let inputs = &tablet.files[start..end];
        let mut content: BTreeMap<u8, u64> = BTreeMap::new();
        // The newest first.
        for file in inputs {
            for (row, number) in self.rows_of(&tablet, file) {
                content.entry(row).or_insert(number);
            }
        }
        let ages = AgeRange::hull_of(inputs.iter().map(TabletFile::ages)).unwrap();
        let take: Vec<_> = inputs.iter().map(|file| file.reference.clone()).collect();
        let output = (!content.is_empty()).then(|| self.record(content, ages));
        let (table, end) = (self.table, tablet.extent.through.clone());
        self.edit(|change| {
            let mut give = Vec::new();
            if let Some(file) = &output {
                change.add_file(file)?;
                give.push(FileReference::whole(file));
            }
            change.replace_files(table, end.as_deref(), &take, &give)
        });
    }

    /// What a tablet reads of a file.
    fn rows_of(&self, tablet: &TabletView, file: &TabletFile) -> BTreeMap<u8, u64> {
        let content = self.content[&file.reference.file].iter();
        content
            .map(|(row, number)| (*row, *number))
            .filter(|(row, _)| {
                tablet.extent.contains(&[*row]) && file.reference.fence.contains(&[*row])
            })
            .collect()
    }

    fn read(&self) -> BTreeMap<u8, u64> {
        let mut found = BTreeMap::new();
        for tablet in self.version.tablets() {
            for file in &tablet.files {
                for (row, number) in self.rows_of(tablet, file) {
                    found.entry(row).or_insert(number);
                }
            }
        }
        found
    }

    fn check(&self) {
        assert_eq!(self.version.problems(), Vec::<String>::new());
    }
}

type Allowed = fn(&TabletView, &std::ops::Range<usize>) -> bool;

#[derive(Clone, Debug)]
enum Step {
    Flush(BTreeSet<u8>, u8),
    Import(Vec<BTreeSet<u8>>),
    Split(u8),
    Merge(u8, u8),
    DeleteRows(u8, u8),
    Compact(usize, usize, usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let rows = || proptest::collection::btree_set(1..=ROWS, 1..6);
    let range = || (0..ROWS, 1..=ROWS + 1).prop_filter("not empty", |(a, b)| a < b);
    let step = prop_oneof![
        4 => (rows(), 1..=ROWS).prop_map(|(rows, cut)| Step::Flush(rows, cut)),
        2 => proptest::collection::vec(rows(), 1..4).prop_map(Step::Import),
        2 => (1..ROWS).prop_map(Step::Split),
        2 => range().prop_map(|(a, b)| Step::Merge(a, b)),
        1 => range().prop_map(|(a, b)| Step::DeleteRows(a, b)),
        6 => (0..8_usize, 0..8_usize, 0..6_usize).prop_map(|(a, b, c)| Step::Compact(a, b, c)),
    ];
    proptest::collection::vec(step, 1..40)
}

fn play(steps: &[Step], is_allowed: Allowed) -> (Rig, bool) {
    let mut rig = Rig::new();
    for step in steps {
        let table = rig.table;
        match step {
            Step::Flush(rows, cut) => rig.flush(rows, *cut),
            Step::Import(files) => rig.import(files),
            Step::Split(at) => rig.edit(|change| change.add_splits(table, &[row(*at)])),
            Step::Merge(a, b) => rig.edit(|change| change.merge_tablets(table, &fence(*a, *b))),
            Step::DeleteRows(a, b) => {
                let gone = fence(*a, *b);
                rig.newest.retain(|row, _| !gone.contains(&[*row]));
                rig.edit(|change| change.delete_rows(table, &gone));
            }
            Step::Compact(tablet, start, width) => rig.compact(*tablet, *start, *width, is_allowed),
        }
        if rig.read() != rig.newest {
            return (rig, false);
        }
    }
    (rig, true)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_newest_write_is_read_after_any_history(steps in steps()) {
        let (rig, is_right) = play(&steps, may_merge);
        prop_assert!(is_right, "{:?} is read, {:?} was written", rig.read(), rig.newest);
        let loaded = TableVersion::load(&rig.catalog.view().unwrap(), rig.table, &rig.registry);
        let loaded = loaded.unwrap();
        prop_assert_eq!(loaded.problems(), Vec::<String>::new());
        let files = |version: &TableVersion| -> Vec<Vec<FileId>> {
            let tablets = version.tablets().iter();
            let ids = |tablet: &Arc<TabletView>| {
                tablet.files.iter().map(|file| file.reference.file).collect()
            };
            tablets.map(ids).collect()
        };
        prop_assert_eq!(files(&loaded), files(&rig.version));
    }
}

/// Merging neighbours regardless of their ages and rows used to restore old values.
#[test]
fn a_merge_that_is_not_allowed_is_rejected() {
    let mut rig = Rig::new();
    let rows = |rows: &[u8]| rows.iter().copied().collect::<BTreeSet<u8>>();
    rig.flush(&rows(&[1, 9]), ROWS);
    // Two pieces of one flush, the second of which is newer than the content of the first file.
    rig.flush(&rows(&[1, 2, 9]), 5);
    let tablet = rig.version.tablets()[0].clone();
    let ids: Vec<_> = tablet
        .files
        .iter()
        .map(|file| file.reference.file.0)
        .collect();
    assert_eq!(ids, [3, 2, 1]);
    assert!(may_merge(&tablet, &(0..3)));
    assert!(may_merge(&tablet, &(0..2)), "pieces share no keys");
    assert!(
        !may_merge(&tablet, &(1..3)),
        "the output would tie with the first piece"
    );
    let anything: Allowed = |_, _| true;
    let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        rig.compact(0, 1, 0, anything);
    }));
    let message = refused.unwrap_err();
    let message = message.downcast_ref::<String>().unwrap();
    assert!(
        message.contains("two files share keys and ages"),
        "{message}"
    );
}

#[test]
fn edits_share_unchanged_chunks() {
    let mut rig = Rig::new();
    let splits: Vec<Vec<u8>> = (0..2000_u32).map(|n| n.to_be_bytes().to_vec()).collect();
    let table = rig.table;
    rig.edit(|change| change.add_splits(table, &splits));
    assert_eq!(rig.version.tablets().len(), 2001);
    let before = rig.version.clone();
    let end = splits[777].clone();
    let record = {
        let mut record = rig.record(BTreeMap::from([(1, 1)]), AgeRange::at(1));
        record.first_row.clone_from(&end);
        record.last_row.clone_from(&end);
        record
    };
    rig.edit(|change| {
        change.add_file(&record)?;
        change.replace_files(table, Some(&end), &[], &[FileReference::whole(&record)])
    });
    let pairs = before.tablets().iter().zip(rig.version.tablets().iter());
    let fresh: Vec<usize> = pairs
        .enumerate()
        .filter(|(_, (old, new))| !Arc::ptr_eq(old, new))
        .map(|(at, _)| at)
        .collect();
    assert_eq!(fresh, [777]);
    let is_shared = |chunk| rig.version.chunks.iter().any(|one| Arc::ptr_eq(one, chunk));
    let replaced = before.chunks.iter().filter(|chunk| !is_shared(chunk));
    assert_eq!(replaced.count(), 1);
    assert_eq!(rig.version.position(&end), 777);
    assert_eq!(rig.version.bytes(), record.bytes);
    assert_eq!(rig.version.most_files(), 1);
}

/// As an edit that loses the rows between two tablets would leave it.
#[test]
fn a_version_with_a_new_problem_is_refused() {
    let tablet =
        |after: u8, through: u8| Arc::new(TabletView::new(fence(after, through), Vec::new()));
    let version = |tablets| TableVersion::of_chunks(table_version::chunks_of(tablets));
    let valid = version(vec![tablet(0, 5), tablet(5, ROWS + 1)]);
    assert_eq!(valid.problems(), Vec::<String>::new());
    valid.refuse_new_problems(&valid).unwrap();
    for broken in [
        version(vec![tablet(0, 5), tablet(6, ROWS + 1)]),
        version(vec![tablet(0, 5), tablet(5, 7)]),
        version(vec![tablet(0, 5), tablet(5, 5), tablet(5, ROWS + 1)]),
    ] {
        let problems = broken.problems();
        assert!(!problems.is_empty());
        let error = valid.refuse_new_problems(&broken).unwrap_err();
        assert!(error.message().contains(&problems[0]), "{error}");
        // What was broken before does not stop a repair.
        broken.refuse_new_problems(&broken).unwrap();
    }
}
