//! What windows keep in memory, which the engine does not count, and the limit of long results.

mod bytes;
mod kept;
mod reservation;
mod results;

pub(super) use bytes::{bytes_of, bytes_of_array, bytes_of_unused, with_own_texts};
pub(super) use kept::{CountedAccumulator, Measure};
pub(crate) use reservation::WINDOW;
pub(super) use reservation::reservation;
pub(super) use results::{CountedResults, may_be_long, set_rows, with_limit};
