//! The store's cache of its table files: blocks, indexes and filters within a budget of bytes, and
//! a bounded number of open files.

mod ahead;
mod block_cache;
mod ghost_list;
mod read_around;

pub(crate) use ahead::Reservation;
pub use block_cache::{BlockCache, CacheOptions};
