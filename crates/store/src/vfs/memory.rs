//! A file system in memory, for stores without a directory and for tests.

use std::collections::BTreeMap;
use std::io::IoSlice;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::{Mutex, RwLock};

use super::contract::{
    DirectoryEntry, FileLock, FileSyncer, RandomAccessFile, ReadableFile, Vfs, WritableFile,
};
use super::fault::{Operation, io_error, short_file};
use crate::error::{Error, ErrorKind, StoreResult};

/// Files kept in memory until the last handle is dropped. Nothing survives the process; every sync
/// succeeds.
#[derive(Debug, Default)]
pub struct MemoryVfs {
    nodes: Mutex<BTreeMap<PathBuf, Node>>,
}

#[derive(Debug, Clone)]
enum Node {
    Directory,
    File(Arc<MemoryFile>),
}

/// The content of a file, and the state of its lock.
#[derive(Debug, Default)]
struct MemoryFile {
    content: RwLock<Content>,
    /// Number of shared locks; −1 for an exclusive lock.
    locked: AtomicI64,
}

/// Bytes in pieces of equal size, so that growing never copies. A missing piece reads as zeros.
#[derive(Debug, Default)]
struct Content {
    pieces: Vec<Option<Box<[u8]>>>,
    len: u64,
}

const PIECE_BYTES: usize = 64 * 1024;

impl Content {
    fn read(&self, offset: u64, mut bytes: &mut [u8]) -> bool {
        match offset.checked_add(bytes.len() as u64) {
            Some(end) if end <= self.len => {}
            _ => return false,
        }
        let mut piece = (offset / PIECE_BYTES as u64) as usize;
        let mut start = (offset % PIECE_BYTES as u64) as usize;
        while !bytes.is_empty() {
            let count = bytes.len().min(PIECE_BYTES - start);
            let (now, later) = bytes.split_at_mut(count);
            match self.pieces.get(piece) {
                Some(Some(data)) => now.copy_from_slice(&data[start..start + count]),
                _ => now.fill(0),
            }
            bytes = later;
            piece += 1;
            start = 0;
        }
        true
    }

    fn write(&mut self, offset: u64, mut bytes: &[u8]) {
        let end = offset + bytes.len() as u64;
        if end > self.len {
            self.set_len(end);
        }
        let mut piece = (offset / PIECE_BYTES as u64) as usize;
        let mut start = (offset % PIECE_BYTES as u64) as usize;
        while !bytes.is_empty() {
            let count = bytes.len().min(PIECE_BYTES - start);
            let (now, later) = bytes.split_at(count);
            let data = self.pieces[piece].get_or_insert_with(|| vec![0; PIECE_BYTES].into());
            data[start..start + count].copy_from_slice(now);
            bytes = later;
            piece += 1;
            start = 0;
        }
    }

    fn set_len(&mut self, len: u64) {
        self.pieces
            .resize_with(len.div_ceil(PIECE_BYTES as u64) as usize, || None);
        // Bytes beyond a truncation must read as zeros when the file grows again.
        let kept = (len % PIECE_BYTES as u64) as usize;
        if len < self.len
            && kept > 0
            && let Some(Some(last)) = self.pieces.last_mut()
        {
            last[kept..].fill(0);
        }
        self.len = len;
    }
}

impl MemoryVfs {
    /// An empty disk with a root directory only.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty disk as a shared trait object.
    #[must_use]
    pub fn shared() -> Arc<dyn Vfs> {
        Arc::new(Self::new())
    }

    fn file(&self, operation: Operation, path: &Path) -> StoreResult<Arc<MemoryFile>> {
        match self.nodes.lock().get(path) {
            Some(Node::File(file)) => Ok(Arc::clone(file)),
            Some(Node::Directory) => {
                Err(refused(operation, path, std::io::ErrorKind::IsADirectory))
            }
            None => Err(refused(operation, path, std::io::ErrorKind::NotFound)),
        }
    }

    fn lock_if(
        &self,
        path: &Path,
        join: impl Fn(i64) -> Option<i64>,
    ) -> StoreResult<Box<dyn FileLock>> {
        let file = self.file_or_new(Operation::Lock, path)?;
        let joined = file
            .locked
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, join);
        if joined.is_err() {
            return Err(Error::new(
                ErrorKind::Locked,
                "the store is in use through another handle of this process; close that one first",
            )
            .with("file", path.display()));
        }
        Ok(Box::new(MemoryLock {
            file,
            path: path.to_owned(),
        }))
    }

    fn file_or_new(&self, operation: Operation, path: &Path) -> StoreResult<Arc<MemoryFile>> {
        let mut nodes = self.nodes.lock();
        check_parent(&nodes, operation, path)?;
        match nodes
            .entry(path.to_owned())
            .or_insert_with(|| Node::File(Arc::default()))
        {
            Node::File(file) => Ok(Arc::clone(file)),
            Node::Directory => Err(refused(operation, path, std::io::ErrorKind::IsADirectory)),
        }
    }
}

fn refused(operation: Operation, path: &Path, kind: std::io::ErrorKind) -> Error {
    io_error(operation, path, kind.into())
}

/// The root, and the current directory, always exist.
fn is_root(dir: &Path) -> bool {
    dir.as_os_str().is_empty() || dir.parent().is_none()
}

fn check_parent(
    nodes: &BTreeMap<PathBuf, Node>,
    operation: Operation,
    path: &Path,
) -> StoreResult<()> {
    match path.parent() {
        None => Ok(()),
        Some(dir) if is_root(dir) => Ok(()),
        Some(dir) => match nodes.get(dir) {
            Some(Node::Directory) => Ok(()),
            Some(Node::File(_)) => Err(refused(operation, path, std::io::ErrorKind::NotADirectory)),
            None => Err(refused(operation, path, std::io::ErrorKind::NotFound)),
        },
    }
}

/// The nodes below `dir`, at any depth, in order.
fn below<'a>(
    nodes: &'a BTreeMap<PathBuf, Node>,
    dir: &'a Path,
) -> impl Iterator<Item = (&'a PathBuf, &'a Node)> {
    // Paths order by component, so everything inside a directory follows it directly.
    nodes
        .range::<Path, _>((Bound::Excluded(dir), Bound::Unbounded))
        .take_while(move |(path, _)| path.starts_with(dir))
}

impl Vfs for MemoryVfs {
    fn create(&self, path: &Path) -> StoreResult<Box<dyn WritableFile>> {
        let mut nodes = self.nodes.lock();
        check_parent(&nodes, Operation::Create, path)?;
        if nodes.contains_key(path) {
            return Err(refused(
                Operation::Create,
                path,
                std::io::ErrorKind::AlreadyExists,
            ));
        }
        let file = Arc::new(MemoryFile::default());
        nodes.insert(path.to_owned(), Node::File(Arc::clone(&file)));
        Ok(Box::new(Handle {
            file,
            path: path.to_owned(),
        }))
    }

    fn open(&self, path: &Path) -> StoreResult<Arc<dyn ReadableFile>> {
        let file = self.file(Operation::Open, path)?;
        Ok(Arc::new(Handle {
            file,
            path: path.to_owned(),
        }))
    }

    fn open_random(&self, path: &Path) -> StoreResult<Arc<dyn RandomAccessFile>> {
        let file = self.file_or_new(Operation::Create, path)?;
        Ok(Arc::new(Handle {
            file,
            path: path.to_owned(),
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> StoreResult<()> {
        let mut nodes = self.nodes.lock();
        check_parent(&nodes, Operation::Rename, to)?;
        match (nodes.get(from), nodes.get(to)) {
            (None, _) => Err(refused(
                Operation::Rename,
                from,
                std::io::ErrorKind::NotFound,
            )),
            (Some(Node::File(_)), Some(Node::Directory)) => Err(refused(
                Operation::Rename,
                to,
                std::io::ErrorKind::IsADirectory,
            )),
            (Some(Node::File(_)), _) => {
                if let Some(node) = nodes.remove(from) {
                    nodes.insert(to.to_owned(), node);
                }
                Ok(())
            }
            (Some(Node::Directory), Some(_)) => Err(refused(
                Operation::Rename,
                to,
                std::io::ErrorKind::AlreadyExists,
            )),
            (Some(Node::Directory), None) => {
                let moved: Vec<PathBuf> =
                    below(&nodes, from).map(|(path, _)| path.clone()).collect();
                for path in moved {
                    if let (Some(node), Ok(rest)) = (nodes.remove(&path), path.strip_prefix(from)) {
                        nodes.insert(to.join(rest), node);
                    }
                }
                nodes.remove(from);
                nodes.insert(to.to_owned(), Node::Directory);
                Ok(())
            }
        }
    }

    fn remove(&self, path: &Path) -> StoreResult<()> {
        self.file(Operation::Remove, path)?;
        self.nodes.lock().remove(path);
        Ok(())
    }

    fn hard_link(&self, from: &Path, to: &Path) -> StoreResult<()> {
        let file = self.file(Operation::Link, from)?;
        let mut nodes = self.nodes.lock();
        check_parent(&nodes, Operation::Link, to)?;
        if nodes.contains_key(to) {
            return Err(refused(
                Operation::Link,
                to,
                std::io::ErrorKind::AlreadyExists,
            ));
        }
        nodes.insert(to.to_owned(), Node::File(file));
        Ok(())
    }

    fn has_other_names(&self, path: &Path) -> StoreResult<bool> {
        let file = self.file(Operation::Inspect, path)?;
        let nodes = self.nodes.lock();
        let names = nodes
            .values()
            .filter(|node| matches!(node, Node::File(other) if Arc::ptr_eq(other, &file)));
        Ok(names.count() > 1)
    }

    fn list(&self, dir: &Path) -> StoreResult<Vec<DirectoryEntry>> {
        let nodes = self.nodes.lock();
        match nodes.get(dir) {
            Some(Node::Directory) => {}
            None if is_root(dir) => {}
            Some(Node::File(_)) => {
                return Err(refused(
                    Operation::List,
                    dir,
                    std::io::ErrorKind::NotADirectory,
                ));
            }
            None => return Err(refused(Operation::List, dir, std::io::ErrorKind::NotFound)),
        }
        let entries = below(&nodes, dir)
            .filter(|(path, _)| path.parent() == Some(dir))
            .filter_map(|(path, node)| {
                Some(DirectoryEntry {
                    name: path.file_name()?.to_owned(),
                    is_dir: matches!(node, Node::Directory),
                })
            });
        Ok(entries.collect())
    }

    fn create_dir_all(&self, dir: &Path) -> StoreResult<()> {
        let mut nodes = self.nodes.lock();
        for ancestor in dir.ancestors().filter(|ancestor| !is_root(ancestor)) {
            match nodes.get(ancestor) {
                Some(Node::Directory) => break,
                Some(Node::File(_)) => {
                    return Err(refused(
                        Operation::CreateDirectory,
                        ancestor,
                        std::io::ErrorKind::NotADirectory,
                    ));
                }
                None => {
                    nodes.insert(ancestor.to_owned(), Node::Directory);
                }
            }
        }
        Ok(())
    }

    fn remove_dir(&self, dir: &Path) -> StoreResult<()> {
        let mut nodes = self.nodes.lock();
        match nodes.get(dir) {
            Some(Node::Directory) if below(&nodes, dir).next().is_some() => Err(refused(
                Operation::Remove,
                dir,
                std::io::ErrorKind::DirectoryNotEmpty,
            )),
            Some(Node::Directory) => {
                nodes.remove(dir);
                Ok(())
            }
            Some(Node::File(_)) => Err(refused(
                Operation::Remove,
                dir,
                std::io::ErrorKind::NotADirectory,
            )),
            None => Err(refused(
                Operation::Remove,
                dir,
                std::io::ErrorKind::NotFound,
            )),
        }
    }

    fn exists(&self, path: &Path) -> StoreResult<bool> {
        Ok(is_root(path) || self.nodes.lock().contains_key(path))
    }

    fn len(&self, path: &Path) -> StoreResult<u64> {
        Ok(self.file(Operation::Inspect, path)?.content.read().len)
    }

    fn sync_dir(&self, dir: &Path) -> StoreResult<()> {
        if self.exists(dir)? {
            Ok(())
        } else {
            Err(refused(Operation::Sync, dir, std::io::ErrorKind::NotFound))
        }
    }

    fn lock(&self, path: &Path) -> StoreResult<Box<dyn FileLock>> {
        self.lock_if(path, |holders| (holders == 0).then_some(-1))
    }

    fn lock_shared(&self, path: &Path) -> StoreResult<Box<dyn FileLock>> {
        self.lock_if(path, |holders| (holders >= 0).then_some(holders + 1))
    }

    fn free_space(&self, _dir: &Path) -> StoreResult<u64> {
        Ok(u64::MAX)
    }
}

#[derive(Debug)]
struct MemoryLock {
    file: Arc<MemoryFile>,
    path: PathBuf,
}

impl FileLock for MemoryLock {
    fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        let leave = |holders: i64| Some((holders - 1).max(0));
        let _ = self
            .file
            .locked
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, leave);
    }
}

#[derive(Debug)]
struct Handle {
    file: Arc<MemoryFile>,
    path: PathBuf,
}

impl Handle {
    fn read_exact_at(&self, offset: u64, bytes: &mut [u8]) -> StoreResult<()> {
        let content = self.file.content.read();
        if content.read(offset, bytes) {
            Ok(())
        } else {
            Err(short_file(&self.path, offset, bytes.len(), content.len))
        }
    }
}

impl WritableFile for Handle {
    fn write_all(&mut self, bytes: &[u8]) -> StoreResult<()> {
        let mut content = self.file.content.write();
        let end = content.len;
        content.write(end, bytes);
        Ok(())
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> StoreResult<()> {
        let mut content = self.file.content.write();
        for slice in slices {
            let end = content.len;
            content.write(end, slice);
        }
        Ok(())
    }

    fn sync_data(&mut self) -> StoreResult<()> {
        Ok(())
    }

    fn syncer(&self) -> Arc<dyn FileSyncer> {
        Arc::new(NothingToSync)
    }

    fn position(&self) -> u64 {
        self.file.content.read().len
    }

    fn allocate(&mut self, _bytes: u64) -> StoreResult<()> {
        Ok(())
    }

    fn start_writeback(&mut self, _offset: u64, _bytes: u64) {}

    fn path(&self) -> &Path {
        &self.path
    }
}

#[derive(Debug)]
struct NothingToSync;

impl FileSyncer for NothingToSync {
    fn sync_data(&self) -> StoreResult<()> {
        Ok(())
    }
}

impl ReadableFile for Handle {
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> StoreResult<()> {
        self.read_exact_at(offset, bytes)
    }

    fn len(&self) -> StoreResult<u64> {
        Ok(self.file.content.read().len)
    }

    fn prefetch(&self, _offset: u64, _bytes: u64) {}

    fn path(&self) -> &Path {
        &self.path
    }
}

impl RandomAccessFile for Handle {
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> StoreResult<()> {
        self.read_exact_at(offset, bytes)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> StoreResult<()> {
        self.file.content.write().write(offset, bytes);
        Ok(())
    }

    fn set_len(&self, bytes: u64) -> StoreResult<()> {
        self.file.content.write().set_len(bytes);
        Ok(())
    }

    fn len(&self) -> StoreResult<u64> {
        Ok(self.file.content.read().len)
    }

    fn sync_data(&self) -> StoreResult<()> {
        Ok(())
    }
}
