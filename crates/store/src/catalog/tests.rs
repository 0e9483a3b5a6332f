//! The catalog through its interface: on a memory disk and on a real one, with a plain reference
//! model.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostrakon_cell::{Properties, TimeType};
use proptest::prelude::*;

use super::*;
use crate::clock::{Clock, Random, SystemClock};
use crate::error::{Error, ErrorKind, StoreResult};
use crate::vfs::{MemoryVfs, RealVfs, Vfs};

pub(super) const DIR: &str = "/store";

pub(super) fn identity() -> CatalogIdentity {
    CatalogIdentity::new(&mut Random::from_seed(7), 1_000)
}

pub(super) fn memory() -> Arc<dyn Vfs> {
    let vfs = MemoryVfs::shared();
    vfs.create_dir_all(Path::new(DIR)).unwrap();
    vfs
}

pub(super) fn create(vfs: &Arc<dyn Vfs>) -> Catalog {
    Catalog::create(vfs, Path::new(DIR), identity(), 1 << 20).unwrap()
}

pub(super) fn open(vfs: &Arc<dyn Vfs>) -> StoreResult<Catalog> {
    Catalog::open(vfs, Path::new(DIR), 1 << 20)
}

fn row(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

fn fence(after: &str, through: &str) -> Fence {
    let end = |text: &str| (!text.is_empty()).then(|| row(text));
    Fence::new(end(after), end(through))
}

/// Files in older formats have none.
const FILE_IDENTITY: u64 = 0x0123_4567_89ab_cdef;

fn file(id: FileId, first: &str, last: &str) -> FileRecord {
    FileRecord {
        id,
        bytes: 1000,
        entries: 100,
        deletes: 3,
        first_row: row(first),
        last_row: row(last),
        identity: FILE_IDENTITY,
        generation: 0,
        ages: AgeRange::at(id.0),
        created_millis: 5,
    }
}

/// A table with these splits, and one file over `a` to `z` in its only tablet or in the tablet that
/// ends with the first split.
pub(super) fn table_with_file(catalog: &Catalog, name: &str) -> (TableId, FileId) {
    let id = catalog.new_file_id();
    let made = catalog.transaction(|tx| {
        let table = tx.create_table(name, NewTable::default())?;
        let file = file(id, "a", "z");
        tx.add_file(&file)?;
        tx.replace_files(table, None, &[], &[FileReference::whole(&file)])?;
        Ok(table)
    });
    (made.unwrap().value, id)
}

fn extents(catalog: &Catalog, table: TableId) -> Vec<Fence> {
    let tablets = catalog.view().unwrap().tablets(table).unwrap();
    tablets.into_iter().map(|tablet| tablet.extent).collect()
}

/// Runs a change that must succeed.
pub(super) fn apply<T>(
    catalog: &Catalog,
    change: impl FnOnce(&mut CatalogTransaction<'_>) -> StoreResult<T>,
) -> T {
    catalog.transaction(change).unwrap().value
}

pub(super) fn assert_sound(catalog: &Catalog) {
    assert_eq!(
        catalog.view().unwrap().check().unwrap(),
        Vec::<String>::new()
    );
}

pub(super) fn kind<T>(result: StoreResult<T>) -> ErrorKind {
    match result {
        Ok(_) => panic!("an error was expected"),
        Err(error) => error.kind(),
    }
}

#[test]
fn everything_is_kept_after_reopening() {
    let vfs = memory();
    let catalog = create(&vfs);
    let new = NewTable {
        time_type: TimeType::Logical,
        state: TableState::Offline,
        properties: Properties::from([("table.split.threshold".to_owned(), "1G".to_owned())]),
        splits: vec![row("m"), row("c"), row("m")],
        flushed_sequence: 17,
        created_millis: 99,
        ..NewTable::default()
    };
    let table = apply(&catalog, |tx| tx.create_table("graph", new.clone()));
    let id = catalog.new_file_id();
    let changed = catalog
        .transaction(|tx| {
            let file = file(id, "d", "e");
            tx.add_file(&file)?;
            tx.replace_files(table, Some(b"m"), &[], &[FileReference::whole(&file)])?;
            tx.set_flushed(table, 30, 1234)?;
            tx.set_flushed(table, 29, 1233)?;
            tx.set_wal_low_water(4)?;
            tx.set_wal_low_water(3)?;
            Ok(())
        })
        .unwrap();
    assert_eq!(changed.unreferenced, []);
    drop(catalog);

    let catalog = open(&vfs).unwrap();
    assert_eq!(catalog.identity(), &identity());
    let view = catalog.view().unwrap();
    let expected = TableRecord {
        id: table,
        name: "graph".to_owned(),
        time_type: TimeType::Logical,
        state: TableState::Offline,
        namespace: NamespaceId::DEFAULT,
        own: PropertiesRecord {
            version: 0,
            properties: new.properties,
        },
        flushed_sequence: 30,
        flushed_time: 1234,
        created_millis: 99,
    };
    assert_eq!(view.tables().unwrap(), std::slice::from_ref(&expected));
    assert_eq!(view.table(table).unwrap(), Some(expected));
    assert_eq!(view.table_id("graph").unwrap(), Some(table));
    assert_eq!(view.wal_low_water().unwrap(), 4);
    assert_eq!(
        extents(&catalog, table),
        [fence("", "c"), fence("c", "m"), fence("m", "")]
    );
    let tablets = view.tablets(table).unwrap();
    assert_eq!(
        tablets[1].files,
        [FileReference::whole(&file(id, "d", "e"))]
    );
    assert_eq!(view.files().unwrap(), [file(id, "d", "e")]);
    assert!(catalog.new_file_id() > id, "ids are not given twice");
    assert_sound(&catalog);
}

#[test]
fn a_failed_change_changes_nothing() {
    let vfs = memory();
    let catalog = create(&vfs);
    let (table, _) = table_with_file(&catalog, "graph");
    let before = catalog.view().unwrap();
    let failed: StoreResult<Committed<()>> = catalog.transaction(|tx| {
        tx.create_table("other", NewTable::default())?;
        tx.delete_table(table)?;
        Err(Error::new(ErrorKind::Cancelled, "changed my mind"))
    });
    assert_eq!(kind(failed), ErrorKind::Cancelled);
    assert_eq!(
        catalog.view().unwrap().tables().unwrap(),
        before.tables().unwrap()
    );
    assert_sound(&catalog);
}

#[test]
fn a_view_does_not_change_with_later_commits() {
    let vfs = memory();
    let catalog = create(&vfs);
    let (table, file) = table_with_file(&catalog, "graph");
    let view = catalog.view().unwrap();
    apply(&catalog, |tx| tx.delete_table(table));
    assert_eq!(view.table_id("graph").unwrap(), Some(table));
    assert!(view.file(file).unwrap().is_some());
    assert_eq!(catalog.view().unwrap().table_id("graph").unwrap(), None);
}

#[test]
fn names_are_unique_and_follow_renames() {
    let vfs = memory();
    let catalog = create(&vfs);
    let (a, _) = table_with_file(&catalog, "a");
    let (b, _) = table_with_file(&catalog, "b");
    let taken = catalog.transaction(|tx| tx.create_table("a", NewTable::default()));
    let error = taken.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert!(error.to_string().contains("table: a"), "{error}");
    assert_eq!(
        kind(catalog.transaction(|tx| tx.rename_table(a, "b"))),
        ErrorKind::AlreadyExists
    );
    apply(&catalog, |tx| {
        tx.rename_table(a, "c")?;
        tx.rename_table(b, "a")?;
        tx.rename_table(b, "a")
    });
    let view = catalog.view().unwrap();
    let names = ["a", "b", "c"].map(|name| view.table_id(name).unwrap());
    assert_eq!(names, [Some(b), None, Some(a)]);
    assert_sound(&catalog);
}

#[test]
fn a_file_is_released_with_its_last_reference() {
    let vfs = memory();
    let catalog = create(&vfs);
    let (table, first) = table_with_file(&catalog, "graph");
    let new = NewTable::default();
    let cloned = apply(&catalog, |tx| tx.clone_table(table, "clone", new));
    let dropped = catalog.transaction(|tx| tx.delete_table(table)).unwrap();
    assert_eq!(dropped.unreferenced, [], "the clone has it");

    // A compaction of the clone.
    let second = catalog.new_file_id();
    let compacted = catalog.transaction(|tx| {
        let old = tx.tablet(cloned, None)?.files;
        let output = file(second, "a", "z");
        tx.add_file(&output)?;
        tx.replace_files(cloned, None, &old, &[FileReference::whole(&output)])
    });
    assert_eq!(compacted.unwrap().unreferenced, [first]);
    let dropped = catalog.transaction(|tx| tx.delete_table(cloned)).unwrap();
    assert_eq!(dropped.unreferenced, [second]);
    assert_eq!(catalog.view().unwrap().files().unwrap(), []);
    assert_sound(&catalog);
}

#[test]
fn removing_and_adding_a_reference_in_one_change_keeps_the_file() {
    let vfs = memory();
    let catalog = create(&vfs);
    let (table, id) = table_with_file(&catalog, "graph");
    let moved = catalog.transaction(|tx| {
        let files = tx.tablet(table, None)?.files;
        tx.replace_files(table, None, &files, &[])?;
        tx.replace_files(table, None, &[], &files)
    });
    assert_eq!(moved.unwrap().unreferenced, []);
    assert!(catalog.view().unwrap().file(id).unwrap().is_some());
    assert_sound(&catalog);
}

#[test]
fn invalid_calls_are_rejected() {
    let vfs = memory();
    let catalog = create(&vfs);
    let (table, id) = table_with_file(&catalog, "graph");
    let orphan = file(catalog.new_file_id(), "a", "b");
    assert_eq!(
        kind(catalog.transaction(|tx| tx.add_file(&orphan))),
        ErrorKind::Internal
    );
    let known = file(id, "a", "z");
    assert_eq!(
        kind(catalog.transaction(|tx| tx.add_file(&known))),
        ErrorKind::Internal
    );
    let whole = FileReference::whole(&orphan);
    let unknown =
        catalog.transaction(|tx| tx.replace_files(table, None, &[], std::slice::from_ref(&whole)));
    assert_eq!(kind(unknown), ErrorKind::Internal);
    let absent =
        catalog.transaction(|tx| tx.replace_files(table, None, std::slice::from_ref(&whole), &[]));
    assert_eq!(kind(absent), ErrorKind::NotFound);
    assert_eq!(
        kind(catalog.transaction(|tx| tx.tablet(table, Some(b"q")))),
        ErrorKind::NotFound
    );
    let renamed = catalog.transaction(|tx| tx.update_table(table, |t| t.name.push('x')));
    assert_eq!(kind(renamed), ErrorKind::Internal);
    let nothing = TableId(77);
    assert_eq!(
        kind(catalog.transaction(|tx| tx.delete_table(nothing))),
        ErrorKind::TableNotFound
    );
    let range = fence("", "q");
    let merged = catalog.transaction(|tx| tx.merge_tablets(nothing, &range));
    assert_eq!(kind(merged), ErrorKind::TableNotFound);
    let empty = fence("q", "q");
    let deleted = catalog.transaction(|tx| tx.delete_rows(table, &empty));
    assert_eq!(kind(deleted), ErrorKind::InvalidArgument);
    assert_sound(&catalog);
}

#[test]
fn a_split_gives_files_only_to_tablets_that_may_hold_their_rows() {
    let vfs = memory();
    let catalog = create(&vfs);
    let (table, wide) = table_with_file(&catalog, "graph");
    let narrow = catalog.new_file_id();
    apply(&catalog, |tx| {
        let file = file(narrow, "n", "o");
        tx.add_file(&file)?;
        tx.replace_files(table, None, &[], &[FileReference::whole(&file)])?;
        tx.add_splits(table, &[row("t"), row("m"), row("m")])?;
        tx.add_splits(table, &[row("m")])
    });
    let tablets = catalog.view().unwrap().tablets(table).unwrap();
    assert_eq!(
        extents(&catalog, table),
        [fence("", "m"), fence("m", "t"), fence("t", "")]
    );
    let files = |index: usize| -> Vec<(FileId, Fence, u64)> {
        tablets[index]
            .files
            .iter()
            .map(|r| (r.file, r.fence.clone(), r.bytes))
            .collect()
    };
    assert_eq!(files(0), [(wide, fence("", "m"), 334)]);
    assert_eq!(
        files(1),
        [(wide, fence("m", "t"), 334), (narrow, Fence::ALL, 1000)]
    );
    assert_eq!(files(2), [(wide, fence("t", ""), 334)]);
    assert_sound(&catalog);
}

#[test]
fn merging_what_was_split_restores_the_references() {
    let vfs = memory();
    let catalog = create(&vfs);
    let (table, id) = table_with_file(&catalog, "graph");
    let split = |tx: &mut CatalogTransaction<'_>| tx.add_splits(table, &[row("g"), row("p")]);
    apply(&catalog, split);
    apply(&catalog, |tx| tx.merge_tablets(table, &Fence::ALL));
    let tablets = catalog.view().unwrap().tablets(table).unwrap();
    assert_eq!(tablets.len(), 1);
    let [reference] = &tablets[0].files[..] else {
        panic!("{tablets:?}")
    };
    assert_eq!((reference.file, &reference.fence), (id, &Fence::ALL));
    assert_sound(&catalog);
}

#[test]
fn deleting_rows_leaves_one_tablet_with_the_rows_outside() {
    let vfs = memory();
    let catalog = create(&vfs);
    let (table, id) = table_with_file(&catalog, "graph");
    apply(&catalog, |tx| {
        tx.add_splits(table, &[row("g"), row("p"), row("w")])?;
        tx.delete_rows(table, &fence("i", "q"))
    });
    assert_eq!(
        extents(&catalog, table),
        [fence("", "g"), fence("g", "w"), fence("w", "")]
    );
    let tablets = catalog.view().unwrap().tablets(table).unwrap();
    let fences: Vec<&Fence> = tablets[1].files.iter().map(|r| &r.fence).collect();
    assert_eq!(fences, [&fence("g", "i"), &fence("q", "w")]);
    assert_sound(&catalog);

    let everything = catalog
        .transaction(|tx| tx.delete_rows(table, &Fence::ALL))
        .unwrap();
    assert_eq!(everything.unreferenced, [id]);
    assert_eq!(extents(&catalog, table), [Fence::ALL]);
    assert_sound(&catalog);
}

#[test]
fn a_copy_is_complete_and_independent() {
    let vfs = memory();
    let catalog = create(&vfs);
    let (table, id) = table_with_file(&catalog, "graph");
    let dir = Path::new("/copy");
    vfs.create_dir_all(dir).unwrap();
    catalog.copy_to(&vfs, dir).unwrap();
    assert_eq!(kind(catalog.copy_to(&vfs, dir)), ErrorKind::AlreadyExists);
    apply(&catalog, |tx| tx.delete_table(table));
    let copy = Catalog::open(&vfs, dir, 1 << 20).unwrap();
    assert_eq!(copy.identity(), catalog.identity());
    assert_eq!(copy.view().unwrap().table_id("graph").unwrap(), Some(table));
    assert_eq!(
        copy.view().unwrap().file(id).unwrap(),
        Some(file(id, "a", "z"))
    );
    assert_sound(&copy);
}

#[test]
fn directories_without_a_store_are_distinguished() {
    let vfs = memory();
    assert_eq!(kind(open(&vfs)), ErrorKind::NotFound, "empty");
    let nowhere = Catalog::open(&vfs, Path::new("/nowhere"), 1 << 20);
    assert_eq!(kind(nowhere), ErrorKind::NotFound, "absent");
    vfs.create(&Path::new(DIR).join("LOCK")).unwrap();
    assert_eq!(
        kind(open(&vfs)),
        ErrorKind::NotFound,
        "a lock file alone is not a store"
    );
    vfs.create(&Path::new(DIR).join("thesis.tex")).unwrap();
    let error = open(&vfs).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("thesis.tex"), "{error}");
    let error = Catalog::create(&vfs, Path::new(DIR), identity(), 1 << 20).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("thesis.tex"), "{error}");
    vfs.remove(&Path::new(DIR).join("thesis.tex")).unwrap();
    let catalog = create(&vfs);
    drop(catalog);
    let again = Catalog::create(&vfs, Path::new(DIR), identity(), 1 << 20);
    assert_eq!(kind(again), ErrorKind::AlreadyExists);
}

#[test]
fn a_foreign_database_is_rejected() {
    let vfs = memory();
    let path = Path::new(DIR).join("catalog");
    let backend = backend::Backend(backend::Pair::alone(vfs.open_random(&path).unwrap()));
    let database = redb::Builder::new().create_with_backend(backend).unwrap();
    drop(database);
    let error = open(&vfs).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("/store/catalog"), "{error}");
}

#[test]
fn a_newer_format_is_rejected_with_both_numbers() {
    let vfs = memory();
    let catalog = create(&vfs);
    catalog.set_format_for_test(format::CATALOG_FORMAT + 1);
    drop(catalog);
    let error = open(&vfs).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NewerFormat);
    let text = error.to_string();
    let (newer, newest) = (format::CATALOG_FORMAT + 1, format::CATALOG_FORMAT);
    let expected = [format!("format {newer}"), format!("reads 1 to {newest}")];
    assert!(expected.iter().all(|part| text.contains(part)), "{text}");
}

/// The catalog that every version of format 1 must read.
fn fill_fixture(catalog: &Catalog) {
    let new = NewTable {
        time_type: TimeType::Logical,
        state: TableState::Offline,
        properties: Properties::from([("table.durability".to_owned(), "flush".to_owned())]),
        splits: vec![row("g"), row("p")],
        flushed_sequence: 17,
        created_millis: 1_700_000_000_000,
        ..NewTable::default()
    };
    let logical = apply(catalog, |tx| tx.create_table("logical", new));
    let (graph, _) = table_with_file(catalog, "graph");
    apply(catalog, |tx| {
        tx.set_flushed(logical, 18, -5)?;
        tx.add_splits(graph, &[row("g"), row("p"), row("w")])?;
        tx.delete_rows(graph, &fence("i", "q"))?;
        tx.clone_table(graph, "clone", NewTable::default())?;
        tx.set_wal_low_water(9)?;
        tx.set_wal_last(LogEnd {
            segment: 12,
            bytes: 345,
        })
    });
}

/// Adds records that earlier formats did not have.
fn fill_newer(catalog: &Catalog) {
    let properties = |name: &str, value: &str| PropertiesRecord {
        version: 7,
        properties: Properties::from([(name.to_owned(), value.to_owned())]),
    };
    apply(catalog, |tx| {
        let papers = tx.create_namespace("papers", 1_700_000_000_001)?;
        tx.set_namespace_properties(papers, properties("table.file.max", "7"))?;
        tx.set_system_properties(&properties("tserver.wal.max.size", "1G"))?;
        let new = NewTable {
            namespace: papers,
            ..NewTable::default()
        };
        let table = tx.create_table("papers.graph", new)?;
        tx.update_table(table, |record| record.own.version = 3)?;
        tx.put_user(&UserRecord {
            name: "alice".to_owned(),
            secret: "$argon2id$".to_owned(),
            created_millis: 1_700_000_000_002,
            permissions: 0b1010,
            authorizations: [b"hr".to_vec(), b"self".to_vec()].into(),
        })?;
        tx.put_grant(&GrantScope::Table(table), "alice", 0b100)?;
        tx.put_grant(&GrantScope::Namespace(papers), "alice", 0b11)?;
        tx.put_module(&ModuleRecord {
            name: "own".to_owned(),
            kind: 1,
            bytes: 99,
            sum: 77,
            created_millis: 5,
            description: "counts".to_owned(),
        })?;
        tx.put_problem(&ProblemRecord {
            table,
            activity: 5,
            end: Some(row("m")),
            kind: "corruption".to_owned(),
            message: "a block fails its checksum".to_owned(),
            times: 2,
            since_millis: 6,
        })?;
        assert_eq!(tx.count("zxid", 40)? + tx.count("zxid", 2)?, 82);
        Ok(())
    });
}

#[test]
fn records_of_a_table_or_user_are_deleted_with_it() {
    let vfs = memory();
    let catalog = create(&vfs);
    fill_newer(&catalog);
    let view = catalog.view().unwrap();
    let table = view.table_id("papers.graph").unwrap().unwrap();
    let papers = view.table(table).unwrap().unwrap().namespace;
    assert_eq!(
        kind(catalog.transaction(|tx| tx.delete_namespace(papers))),
        ErrorKind::NotEmpty
    );
    let renamed = apply(&catalog, |tx| tx.rename_namespace(papers, "articles"));
    let pair = ("papers.graph".to_owned(), "articles.graph".to_owned());
    assert_eq!(renamed, [pair]);
    assert_sound(&catalog);
    apply(&catalog, |tx| tx.delete_table(table));
    let view = catalog.view().unwrap();
    assert!(view.problems().unwrap().is_empty());
    assert_eq!(view.grants().unwrap().len(), 1);
    apply(&catalog, |tx| tx.delete_namespace(papers));
    assert!(catalog.view().unwrap().grants().unwrap().is_empty());
    apply(&catalog, |tx| {
        tx.put_grant(&GrantScope::Table(TableId(9)), "alice", 1)?;
        tx.put_grant(&GrantScope::Table(TableId(9)), "bob", 1)?;
        tx.remove_user("alice")?;
        tx.remove_module("own")
    });
    let view = catalog.view().unwrap();
    assert!(view.users().unwrap().is_empty() && view.modules().unwrap().is_empty());
    let left = (GrantScope::Table(TableId(9)), "bob".to_owned(), 1);
    assert_eq!(view.grants().unwrap(), [left]);
    assert_eq!(
        (view.counter("zxid").unwrap(), view.counter("none").unwrap()),
        (42, 0)
    );
}

#[test]
fn upgrading_creates_namespaces_from_table_names() {
    let vfs = memory();
    let catalog = create(&vfs);
    for name in ["plain", "a.t", "a.u", "b.t", "accumulo.metadata"] {
        apply(&catalog, |tx| tx.create_table(name, NewTable::default()));
    }
    catalog.set_format_for_test(2);
    drop(catalog);
    let catalog = open(&vfs).unwrap();
    assert_eq!(catalog.format_for_test(), format::CATALOG_FORMAT);
    let view = catalog.view().unwrap();
    let namespaces = view.namespaces().unwrap();
    let named: Vec<_> = view
        .tables()
        .unwrap()
        .into_iter()
        .map(|table| {
            let of = namespaces.iter().find(|one| one.id == table.namespace);
            (table.name, of.unwrap().name.clone())
        })
        .collect();
    let expected = [
        ("plain", ""),
        ("a.t", "a"),
        ("a.u", "a"),
        ("b.t", "b"),
        ("accumulo.metadata", "accumulo"),
    ];
    assert_eq!(named, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    assert_sound(&catalog);
}

/// The records of [`fill_newer`] and the earlier ones.
fn all_of_it(catalog: &Catalog) -> String {
    let view = catalog.view().unwrap();
    format!(
        "{} {:?} {:?} {:?} {:?} {:?} {:?} {}",
        everything(catalog),
        view.namespaces().unwrap(),
        view.system_properties().unwrap(),
        view.users().unwrap(),
        view.grants().unwrap(),
        view.modules().unwrap(),
        view.problems().unwrap(),
        view.counter("zxid").unwrap()
    )
}

pub(super) fn everything(catalog: &Catalog) -> String {
    let view = catalog.view().unwrap();
    let tables = view.tables().unwrap();
    let tablets: Vec<_> = tables.iter().map(|t| view.tablets(t.id).unwrap()).collect();
    let (files, water) = (view.files().unwrap(), view.wal_low_water().unwrap());
    format!(
        "{:?} {tables:?} {tablets:?} {files:?} {water}",
        catalog.identity()
    )
}

fn fixture_path() -> PathBuf {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = format!("fixtures/catalog-{}", format::CATALOG_FORMAT);
    repository.join(folder).join("catalog")
}

#[test]
fn the_fixture_of_this_format_still_reads_the_same() {
    let bytes = RealVfs.read_to_vec(&fixture_path(), 1 << 20);
    let bytes = bytes.expect("a new format needs a fixture: run writes_the_fixture_of_this_format");
    // A copy, since opening a catalog writes to it.
    let vfs = memory();
    let path = Path::new(DIR).join("catalog");
    vfs.create(&path).unwrap().write_all(&bytes).unwrap();
    let fixture = open(&vfs).unwrap();
    assert_sound(&fixture);
    let fresh = create(&memory());
    fill_fixture(&fresh);
    fill_newer(&fresh);
    assert_eq!(all_of_it(&fixture), all_of_it(&fresh));
    let end = LogEnd {
        segment: 12,
        bytes: 345,
    };
    assert_eq!(fixture.view().unwrap().wal_last().unwrap(), end);
}

/// Catalogs of older formats are read, and upgraded to this format when they are opened.
#[test]
fn catalogs_of_older_formats_are_read_and_upgraded() {
    for format in 1..format::CATALOG_FORMAT {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let old = repository.join(format!("fixtures/catalog-{format}/catalog"));
        let bytes = RealVfs.read_to_vec(&old, 1 << 20).unwrap();
        let vfs = memory();
        let path = Path::new(DIR).join("catalog");
        vfs.create(&path).unwrap().write_all(&bytes).unwrap();
        let fixture = open(&vfs).unwrap();
        assert_sound(&fixture);
        // Opening has upgraded it.
        assert_eq!(fixture.format_for_test(), format::CATALOG_FORMAT);
        let fresh = create(&memory());
        fill_fixture(&fresh);
        let identity = format!("identity: {FILE_IDENTITY}");
        let expected = everything(&fresh).replace(&identity, "identity: 0");
        assert_eq!(everything(&fixture), expected);
        let segment = if format == 1 { 0 } else { 12 };
        // They were made before lengths were recorded.
        let end = LogEnd { segment, bytes: 0 };
        assert_eq!(fixture.view().unwrap().wal_last().unwrap(), end);
        fill_newer(&fixture);
        fill_newer(&fresh);
        let expected = all_of_it(&fresh).replace(&identity, "identity: 0");
        assert_eq!(all_of_it(&fixture), expected);
    }
}

#[test]
#[ignore = "run by hand when the format changes; never replaces a fixture"]
fn writes_the_fixture_of_this_format() {
    let path = fixture_path();
    let dir = path.parent().unwrap();
    RealVfs.create_dir_all(dir).unwrap();
    let catalog = Catalog::create(&RealVfs::shared(), dir, identity(), 1 << 20).unwrap();
    fill_fixture(&catalog);
    fill_newer(&catalog);
    RealVfs.remove(&dir.join("catalog.mirror")).unwrap();
}

#[test]
fn an_interrupted_creation_is_restarted() {
    let vfs = memory();
    let mut half = vfs.create(&Path::new(DIR).join("catalog.new")).unwrap();
    half.write_all(&[7; 5000]).unwrap();
    drop(half);
    assert_eq!(kind(open(&vfs)), ErrorKind::NotFound);
    let catalog = create(&vfs);
    table_with_file(&catalog, "graph");
    assert_sound(&catalog);
    drop(catalog);
    assert_sound(&open(&vfs).unwrap());
}

/// Every page of the catalog is damaged once: opening must name the file or return exactly what was
/// committed.
#[test]
fn damaged_pages_are_found_and_the_file_is_named() {
    let vfs = memory();
    let catalog = create(&vfs);
    for index in 0..40 {
        let (table, _) = table_with_file(&catalog, &format!("table {index}"));
        let splits: Vec<Vec<u8>> = (0..20).map(|i| format!("row {i}").into_bytes()).collect();
        apply(&catalog, |tx| tx.add_splits(table, &splits));
    }
    let whole = catalog.view().unwrap();
    let content = |view: &CatalogView| {
        let tables = view.tables().unwrap();
        let tablets: Vec<_> = tables.iter().map(|t| view.tablets(t.id).unwrap()).collect();
        (tables, tablets, view.files().unwrap())
    };
    let expected = content(&whole);
    drop(whole);
    drop(catalog);

    let path = Path::new(DIR).join("catalog");
    let bytes = vfs.read_to_vec(&path, 1 << 30).unwrap();
    let mut refused = 0;
    let mut random = Random::from_seed(3);
    for page in 0..bytes.len() / 4096 {
        for _ in 0..4 {
            let mut damaged = bytes.clone();
            let at = page * 4096 + random.below(if page == 0 { 320 } else { 4096 }) as usize;
            damaged[at] ^= 1 << random.below(8);
            let disk = memory();
            disk.create(&path).unwrap().write_all(&damaged).unwrap();
            match open(&disk) {
                Ok(catalog) => {
                    // An unused page, or one that redb does not need.
                    assert_eq!(content(&catalog.view().unwrap()), expected, "byte {at}");
                }
                Err(error) => {
                    refused += 1;
                    assert!(
                        error.to_string().contains("/store/catalog"),
                        "byte {at}: {error}"
                    );
                    let kinds = [ErrorKind::Corruption, ErrorKind::NewerFormat];
                    assert!(
                        kinds.contains(&error.kind()),
                        "byte {at}: {:?} {error}",
                        error.kind()
                    );
                }
            }
        }
    }
    assert!(refused > 20, "only {refused} damages were detected");
}

#[test]
fn a_file_cut_short_is_an_error() {
    let vfs = memory();
    let catalog = create(&vfs);
    table_with_file(&catalog, "graph");
    drop(catalog);
    let path = Path::new(DIR).join("catalog");
    let bytes = vfs.read_to_vec(&path, 1 << 30).unwrap();
    for len in [0, 1, 100, 320, 4096, 4097, bytes.len() / 2, bytes.len() - 1] {
        let disk = memory();
        disk.create(&path)
            .unwrap()
            .write_all(&bytes[..len])
            .unwrap();
        let error = open(&disk).unwrap_err();
        assert!(
            error.to_string().contains("/store/catalog"),
            "{len}: {error}"
        );
        assert_eq!(error.kind(), ErrorKind::Corruption, "{len}: {error}");
    }
}

#[test]
fn the_catalog_works_on_a_real_disk() {
    let directory = tempfile::tempdir().unwrap();
    let vfs = RealVfs::shared();
    let catalog = Catalog::create(&vfs, directory.path(), identity(), 1 << 20).unwrap();
    let (table, _) = table_with_file(&catalog, "graph");
    drop(catalog);
    let catalog = Catalog::open(&vfs, directory.path(), 1 << 20).unwrap();
    assert_eq!(
        catalog.view().unwrap().table_id("graph").unwrap(),
        Some(table)
    );
    assert_eq!(catalog.path(), directory.path().join("catalog"));
    assert_sound(&catalog);
}

#[test]
fn instance_ids_are_uuids() {
    let text = identity().instance;
    assert_eq!(text.len(), 36);
    let parts: Vec<&str> = text.split('-').collect();
    assert_eq!(
        parts.iter().map(|p| p.len()).collect::<Vec<_>>(),
        [8, 4, 4, 4, 12]
    );
    assert!(
        parts[2].starts_with('4') && matches!(parts[3].as_bytes()[0], b'8' | b'9' | b'a' | b'b')
    );
    assert!(parts.concat().bytes().all(|byte| byte.is_ascii_hexdigit()));
}

/// Prints how long opening takes; asserts only what must hold on any machine.
#[test]
fn a_store_in_memory_opens_fast() {
    let clock = SystemClock::new();
    let mut best = u64::MAX;
    for _ in 0..20 {
        let start = clock.monotonic_nanos();
        let vfs = memory();
        let catalog = create(&vfs);
        apply(&catalog, |tx| tx.create_table("t", NewTable::default()));
        best = best.min(clock.monotonic_nanos() - start);
    }
    eprintln!("memory catalog with one table: {} us", best / 1000);
    assert!(best < 20_000_000, "{best} ns");
}

/// The content of a table, row by row: the reference model of splits, merges, clones and deletions.
type Model = BTreeMap<TableId, BTreeMap<u8, Vec<FileId>>>;

const ROWS: std::ops::Range<u8> = 0..24;

#[derive(Clone, Debug)]
enum Step {
    Create,
    Flush {
        table: usize,
        first: u8,
        last: u8,
    },
    Split {
        table: usize,
        rows: Vec<u8>,
    },
    Merge {
        table: usize,
        range: (Option<u8>, Option<u8>),
    },
    DeleteRows {
        table: usize,
        range: (Option<u8>, Option<u8>),
    },
    Clone {
        table: usize,
    },
    Compact {
        table: usize,
        tablet: usize,
    },
    Drop {
        table: usize,
    },
    Reopen,
}

fn steps() -> impl Strategy<Value = Step> {
    let table = 0..4_usize;
    let end = || proptest::option::of(ROWS);
    prop_oneof![
        1 => Just(Step::Create),
        4 => (table.clone(), ROWS, ROWS)
            .prop_map(|(table, a, b)| Step::Flush { table, first: a.min(b), last: a.max(b) }),
        3 => (table.clone(), proptest::collection::vec(ROWS, 1..4))
            .prop_map(|(table, rows)| Step::Split { table, rows }),
        2 => (table.clone(), (end(), end()))
            .prop_map(|(table, range)| Step::Merge { table, range }),
        2 => (table.clone(), (end(), end()))
            .prop_map(|(table, range)| Step::DeleteRows { table, range }),
        1 => table.clone().prop_map(|table| Step::Clone { table }),
        2 => (table.clone(), 0..8_usize)
            .prop_map(|(table, tablet)| Step::Compact { table, tablet }),
        1 => table.prop_map(|table| Step::Drop { table }),
        1 => Just(Step::Reopen),
    ]
}

fn model_fence((after, through): (Option<u8>, Option<u8>)) -> Fence {
    Fence::new(after.map(|row| vec![row]), through.map(|row| vec![row]))
}

/// Which files a reader of each row would find, according to the catalog.
fn seen(view: &CatalogView, table: TableId) -> BTreeMap<u8, Vec<FileId>> {
    let mut rows = BTreeMap::new();
    for tablet in view.tablets(table).unwrap() {
        for row in ROWS.filter(|row| tablet.extent.contains(&[*row])) {
            let mut files: Vec<FileId> = tablet
                .files
                .iter()
                .filter(|r| r.fence.contains(&[row]))
                .map(|r| view.file(r.file).unwrap().unwrap())
                .filter(|file| file.first_row <= vec![row] && vec![row] <= file.last_row)
                .map(|file| file.id)
                .collect();
            files.sort_unstable();
            assert!(
                rows.insert(row, files).is_none(),
                "row {row} lies in two tablets"
            );
        }
    }
    rows
}

fn model_file(id: FileId, first: u8, last: u8) -> FileRecord {
    FileRecord {
        first_row: vec![first],
        last_row: vec![last],
        ..file(id, "", "")
    }
}

struct Run {
    vfs: Arc<dyn Vfs>,
    catalog: Option<Catalog>,
    model: Model,
    names: u32,
}

impl Run {
    fn catalog(&self) -> &Catalog {
        self.catalog.as_ref().unwrap()
    }

    fn pick(&self, table: usize) -> Option<TableId> {
        self.model
            .keys()
            .nth(table % self.model.len().max(1))
            .copied()
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("t{}", self.names)
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Create => {
                let name = self.name();
                let made = self
                    .catalog()
                    .transaction(|tx| tx.create_table(&name, NewTable::default()));
                let rows = ROWS.map(|row| (row, Vec::new())).collect();
                self.model.insert(made.unwrap().value, rows);
            }
            Step::Flush { table, first, last } => {
                let Some(table) = self.pick(*table) else {
                    return;
                };
                let id = self.catalog().new_file_id();
                let record = model_file(id, *first, *last);
                let done = self.catalog().transaction(|tx| {
                    tx.add_file(&record)?;
                    for tablet in tx.tablets(table)? {
                        if tablet.extent.meets(&record.first_row, &record.last_row) {
                            let end = tablet.extent.through.as_deref();
                            tx.replace_files(table, end, &[], &[FileReference::whole(&record)])?;
                        }
                    }
                    Ok(())
                });
                assert_eq!(done.unwrap().unreferenced, []);
                for (row, files) in self.model.get_mut(&table).unwrap() {
                    if first <= row && row <= last {
                        files.push(id);
                    }
                }
            }
            Step::Split { table, rows } => {
                let Some(table) = self.pick(*table) else {
                    return;
                };
                let rows: Vec<Vec<u8>> = rows.iter().map(|row| vec![*row]).collect();
                let done = self
                    .catalog()
                    .transaction(|tx| tx.add_splits(table, &rows))
                    .unwrap();
                assert_eq!(done.unreferenced, []);
                for row in rows {
                    let ends = extents(self.catalog(), table);
                    assert!(
                        ends.iter()
                            .any(|extent| extent.through.as_ref() == Some(&row))
                    );
                }
            }
            Step::Merge { table, range } => {
                let Some(table) = self.pick(*table) else {
                    return;
                };
                let range = model_fence(*range);
                let done = self
                    .catalog()
                    .transaction(|tx| tx.merge_tablets(table, &range));
                if range.is_empty() {
                    assert_eq!(kind(done), ErrorKind::InvalidArgument);
                } else {
                    let _ = done.unwrap();
                    let met = extents(self.catalog(), table);
                    let met = met
                        .iter()
                        .filter(|extent| extent.intersection(&range).is_some());
                    assert_eq!(met.count(), 1);
                }
            }
            Step::DeleteRows { table, range } => {
                let Some(table) = self.pick(*table) else {
                    return;
                };
                let range = model_fence(*range);
                let done = self
                    .catalog()
                    .transaction(|tx| tx.delete_rows(table, &range));
                if range.is_empty() {
                    assert_eq!(kind(done), ErrorKind::InvalidArgument);
                    return;
                }
                let _ = done.unwrap();
                for (row, files) in self.model.get_mut(&table).unwrap() {
                    if range.contains(&[*row]) {
                        files.clear();
                    }
                }
            }
            Step::Clone { table } => {
                let Some(table) = self.pick(*table) else {
                    return;
                };
                let name = self.name();
                let done = self
                    .catalog()
                    .transaction(|tx| tx.clone_table(table, &name, NewTable::default()));
                let rows = self.model[&table].clone();
                self.model.insert(done.unwrap().value, rows);
            }
            Step::Compact { table, tablet } => {
                let Some(table) = self.pick(*table) else {
                    return;
                };
                let id = self.catalog().new_file_id();
                let tablets = self.catalog().view().unwrap().tablets(table).unwrap();
                let tablet = &tablets[tablet % tablets.len()];
                let rows: Vec<u8> = self.model[&table]
                    .iter()
                    .filter(|(row, files)| tablet.extent.contains(&[**row]) && !files.is_empty())
                    .map(|(row, _)| *row)
                    .collect();
                let output = rows
                    .first()
                    .map(|first| model_file(id, *first, rows[rows.len() - 1]));
                let done = self.catalog().transaction(|tx| {
                    let give: Vec<FileReference> =
                        output.iter().map(FileReference::whole).collect();
                    if let Some(output) = &output {
                        tx.add_file(output)?;
                    }
                    tx.replace_files(
                        table,
                        tablet.extent.through.as_deref(),
                        &tablet.files,
                        &give,
                    )
                });
                let _ = done.unwrap();
                let (first, last) = match (rows.first(), rows.last()) {
                    (Some(first), Some(last)) => (*first, *last),
                    _ => return,
                };
                for (row, files) in self.model.get_mut(&table).unwrap() {
                    if tablet.extent.contains(&[*row]) {
                        files.clear();
                        if first <= *row && *row <= last {
                            files.push(id);
                        }
                    }
                }
            }
            Step::Drop { table } => {
                let Some(table) = self.pick(*table) else {
                    return;
                };
                let _ = self
                    .catalog()
                    .transaction(|tx| tx.delete_table(table))
                    .unwrap();
                self.model.remove(&table);
            }
            Step::Reopen => {
                self.catalog = None;
                self.catalog = Some(open(&self.vfs).unwrap());
            }
        }
    }

    fn judge(&self) {
        let view = self.catalog().view().unwrap();
        assert_eq!(view.check().unwrap(), Vec::<String>::new());
        let tables: Vec<TableId> = view
            .tables()
            .unwrap()
            .iter()
            .map(|table| table.id)
            .collect();
        assert_eq!(tables, self.model.keys().copied().collect::<Vec<_>>());
        for (table, rows) in &self.model {
            assert_eq!(&seen(&view, *table), rows, "table {table}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_row_stays_in_its_files_after_any_steps(
        steps in proptest::collection::vec(steps(), 1..40),
    ) {
        let vfs = memory();
        let catalog = Some(create(&vfs));
        let mut run = Run { vfs, catalog, model: Model::new(), names: 0 };
        run.step(&Step::Create);
        for step in &steps {
            run.step(step);
            run.judge();
        }
    }
}

#[test]
fn paths_are_those_given() {
    assert_eq!(create(&memory()).path(), PathBuf::from("/store/catalog"));
}
