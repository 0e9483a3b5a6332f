//! The filters every scan and compaction runs through before the user's iterators.
//!
//! All of them work in place on the entries their source has just appended.

mod columns;
mod counting;
mod deleting;
mod interruptible;
mod refusing;
mod stack;
mod stepping;
mod visibility;

pub use columns::ColumnFilter;
pub use counting::{CountingIterator, EntryCounter};
pub use deleting::DeletingIterator;
pub use interruptible::InterruptibleIterator;
pub use refusing::RefusingIterator;
pub use stack::{SystemOptions, system_stack};
pub use stepping::{LastRow, SteppingIterator};
pub use visibility::VisibilityFilter;
