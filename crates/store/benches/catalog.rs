//! What the catalog costs: a store in memory, a commit, and opening a large store.
//!
//! `cargo bench -p ostrakon-store --bench catalog`. Commits on disk are synced, so those figures are
//! the disk's as much as ours.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "criterion's macros write undocumented functions; a benchmark fails by panicking"
)]

use std::path::Path;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use ostrakon_store::catalog::{
    AgeRange, Catalog, CatalogIdentity, FileRecord, FileReference, NewTable, TableId,
};
use ostrakon_store::clock::Random;
use ostrakon_store::vfs::{MemoryVfs, RealVfs, Vfs};

const TABLETS: u32 = 10_000;
const FILES_A_TABLET: usize = 4;

fn create(vfs: &Arc<dyn Vfs>, dir: &Path) -> Catalog {
    let identity = CatalogIdentity::new(&mut Random::from_seed(1), 0);
    Catalog::create(vfs, dir, identity, Catalog::CACHE_BYTES_DEFAULT).unwrap()
}

fn file(catalog: &Catalog) -> FileRecord {
    FileRecord {
        id: catalog.new_file_id(),
        bytes: 1 << 30,
        entries: 1 << 24,
        deletes: 0,
        first_row: b"0000000000000000".to_vec(),
        last_row: b"ffffffffffffffff".to_vec(),
        identity: 0,
        generation: 1,
        ages: AgeRange::at(1),
        created_millis: 0,
    }
}

/// Many tablets, each with files of its own.
fn large(vfs: &Arc<dyn Vfs>, dir: &Path) -> (Catalog, TableId) {
    let catalog = create(vfs, dir);
    let splits = (1..TABLETS).map(|row| format!("{:016x}", u64::from(row) << 40).into_bytes());
    let new = NewTable {
        splits: splits.collect(),
        ..NewTable::default()
    };
    let made = catalog.transaction(|tx| {
        let table = tx.create_table("large", new)?;
        for tablet in tx.tablets(table)? {
            let mut references = Vec::new();
            for _ in 0..FILES_A_TABLET {
                let file = file(&catalog);
                tx.add_file(&file)?;
                references.push(FileReference::whole(&file));
            }
            tx.replace_files(table, tablet.extent.through.as_deref(), &[], &references)?;
        }
        Ok(table)
    });
    let table = made.unwrap().value;
    (catalog, table)
}

fn in_memory(criterion: &mut Criterion) {
    criterion.bench_function("a store in memory with one table", |bencher| {
        bencher.iter(|| {
            let vfs = MemoryVfs::shared();
            vfs.create_dir_all(Path::new("/store")).unwrap();
            let catalog = create(&vfs, Path::new("/store"));
            catalog
                .transaction(|tx| tx.create_table("t", NewTable::default()))
                .unwrap()
                .value
        });
    });
}

fn on_disk(criterion: &mut Criterion) {
    let directory = tempfile::tempdir().unwrap();
    let dir = directory.path();
    let vfs = RealVfs::shared();
    let (catalog, table) = large(&vfs, dir);
    let mut group = criterion.benchmark_group(format!("{TABLETS} tablets on disk"));
    group.sample_size(20);
    group.bench_function("commit of a flush of one tablet", |bencher| {
        bencher.iter(|| {
            let committed = catalog.transaction(|tx| {
                let old = tx.tablet(table, None)?.files;
                let file = file(&catalog);
                tx.add_file(&file)?;
                tx.replace_files(table, None, &old, &[FileReference::whole(&file)])
            });
            committed.unwrap().unreferenced.len()
        });
    });
    group.bench_function("all tablets read", |bencher| {
        bencher.iter(|| catalog.view().unwrap().tablets(table).unwrap().len());
    });
    drop(catalog);
    group.bench_function("opened after closing", |bencher| {
        bencher.iter(|| Catalog::open(&vfs, dir, Catalog::CACHE_BYTES_DEFAULT).unwrap());
    });

    // What a killed process leaves: the file as it is while open, and its mirror.
    let catalog = Catalog::open(&vfs, dir, Catalog::CACHE_BYTES_DEFAULT).unwrap();
    let killed = vfs.read_to_vec(catalog.path(), u64::MAX).unwrap();
    let copy = dir.join("killed");
    vfs.create_dir_all(&copy).unwrap();
    let paths = ["catalog", "catalog.mirror"].map(|name| copy.join(name));
    group.bench_function("opened after a kill", |bencher| {
        bencher.iter_with_setup(
            || {
                for path in &paths {
                    if vfs.exists(path).unwrap() {
                        vfs.remove(path).unwrap();
                    }
                    vfs.create(path).unwrap().write_all(&killed).unwrap();
                }
            },
            |()| Catalog::open(&vfs, &copy, Catalog::CACHE_BYTES_DEFAULT).unwrap(),
        );
    });
    group.finish();
}

criterion_group!(benches, in_memory, on_disk);
criterion_main!(benches);
