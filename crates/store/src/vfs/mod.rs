//! The file system as a trait.
//!
//! Everything above this module reads and writes through [`Vfs`], so that a test can give the store
//! a disk that fails, loses unsynced data, or is in memory. Only this module uses `std::fs`.

mod appended;
mod contract;
mod copy;
mod direct;
mod fault;
mod lock;
mod memory;
mod names;
mod real;
mod system;
mod window;

pub use contract::{
    DirectoryEntry, FileLock, FileSyncer, Job, RandomAccessFile, ReadableFile, SequentialFile,
    StreamingFile, Vfs, WritableFile,
};
pub use copy::{copy_file, remove_tree};
pub use fault::{
    Operation, check_process, io_error, is_loss, not_followed, poisoned, short_file, this_process,
};
pub use memory::MemoryVfs;
pub use names::WatchedNames;
pub use real::{RealVfs, machine_memory_bytes};
