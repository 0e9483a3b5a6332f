//! What the store keeps in memory of its table files: blocks, indexes and filters within a budget of bytes, and open
//! files within a count.

mod ahead;
mod block_cache;
mod ghost_list;

pub(crate) use ahead::Reservation;
pub use block_cache::{BlockCache, CacheOptions};
