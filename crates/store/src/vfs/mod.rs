//! The disk as a trait.
//!
//! Everything above this room reads and writes through [`Vfs`], so a test can hand the store a disk
//! that fails, forgets what was not synced, or lives in memory. This is the only room that names
//! `std::fs`.

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
pub use fault::{Operation, check_process, io_error, poisoned, short_file, this_process};
pub use memory::MemoryVfs;
pub use names::WatchedNames;
pub use real::{RealVfs, machine_memory_bytes};
