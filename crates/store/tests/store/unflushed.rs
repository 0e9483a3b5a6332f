//! Whatever needs a table's memory in files says so when it cannot be written: nothing answers Ok for what did not
//! happen.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ostrakon_cell::{
    CloneOptions, CompactOptions, ErrorKind, Mutation, MutationBatch, Scanner, Source, Table,
    TableOptions,
};
use ostrakon_store::error::{Error, StoreResult};
use ostrakon_store::vfs::{
    DirectoryEntry, FileLock, MemoryVfs, RandomAccessFile, ReadableFile, Vfs, WritableFile,
};
use ostrakon_store::{Components, Store, StoreOptions};

/// A disk that keeps no new table files while a test says so.
#[derive(Debug)]
struct Refusing {
    disk: Arc<dyn Vfs>,
    refuses: AtomicBool,
}

macro_rules! passed_on {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $name(&self, $($argument: $type),*) -> $result {
            self.disk.$name($($argument),*)
        })*
    };
}

impl Vfs for Refusing {
    passed_on! {
        open(path: &Path) -> StoreResult<Arc<dyn ReadableFile>>;
        open_random(path: &Path) -> StoreResult<Arc<dyn RandomAccessFile>>;
        rename(from: &Path, to: &Path) -> StoreResult<()>;
        remove(path: &Path) -> StoreResult<()>;
        hard_link(from: &Path, to: &Path) -> StoreResult<()>;
        list(dir: &Path) -> StoreResult<Vec<DirectoryEntry>>;
        create_dir_all(dir: &Path) -> StoreResult<()>;
        remove_dir(dir: &Path) -> StoreResult<()>;
        exists(path: &Path) -> StoreResult<bool>;
        len(path: &Path) -> StoreResult<u64>;
        sync_dir(dir: &Path) -> StoreResult<()>;
        lock(path: &Path) -> StoreResult<Box<dyn FileLock>>;
        free_space(dir: &Path) -> StoreResult<u64>;
    }

    fn create(&self, path: &Path) -> StoreResult<Box<dyn WritableFile>> {
        let is_table_file = path.extension().is_some_and(|name| name == "sorted");
        if is_table_file && self.refuses.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::OutOfSpace, "told to be full"));
        }
        self.disk.create(path)
    }
}

fn put(table: &Arc<dyn Table>, row: &str) {
    let mut mutation = Mutation::new(row);
    mutation.put("f", "q", "v").unwrap();
    let mut batch = MutationBatch::new();
    batch.push(&mutation).unwrap();
    table.submit(batch, None).unwrap().wait().unwrap();
}

fn rows(store: &Store, table: &str) -> usize {
    let scan = Scanner::new(store.table(table).unwrap());
    scan.entries().unwrap().len()
}

#[test]
fn calls_that_need_memory_in_files_fail_as_long_as_it_cannot_be_written() {
    for without_default_iterators in [true, false] {
        let disk = Arc::new(Refusing {
            disk: MemoryVfs::shared(),
            refuses: AtomicBool::new(false),
        });
        let components = Components {
            vfs: disk.clone(),
            ..Components::default()
        };
        let options = StoreOptions {
            background: false,
            ..StoreOptions::default()
        };
        let store = Store::open_with(components, "/store", options).unwrap();
        let options = TableOptions {
            without_default_iterators,
            ..TableOptions::default()
        };
        store.create_table("t", &options).unwrap();
        let table = store.table("t").unwrap();
        put(&table, "a");
        disk.refuses.store(true, Ordering::SeqCst);
        // The first failure; what follows finds a flush that is not due.
        for _ in 0..2 {
            assert_eq!(table.flush(true).unwrap_err().kind(), ErrorKind::OutOfSpace);
        }
        let full = |what: &str, outcome: ostrakon_cell::Result<()>| {
            let error = outcome.expect_err(what);
            assert_eq!(error.kind(), ErrorKind::OutOfSpace, "{what}: {error}");
        };
        let clone = |name: &str| store.clone_table("t", name, &CloneOptions::default());
        full("clone", clone("copy"));
        full("checkpoint", store.checkpoint(Path::new("/checkpoint")));
        full("delete rows", table.delete_rows(None, None));
        full("compact", table.compact(&CompactOptions::default()));
        // A table goes off-line in any case, and keeps what it has for later.
        store.set_online("t", false).unwrap();
        full("clone off-line", clone("copy"));
        assert!(store.table("copy").is_err());
        disk.refuses.store(false, Ordering::SeqCst);
        clone("copy").unwrap();
        store.set_online("t", true).unwrap();
        assert_eq!((rows(&store, "t"), rows(&store, "copy")), (1, 1));
        store.checkpoint(Path::new("/checkpoint")).unwrap();
    }
}
