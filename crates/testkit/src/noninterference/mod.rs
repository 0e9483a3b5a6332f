//! Does anything that is hidden show? Two stores are filled alike, but one of them gets cells besides
//! whose labels the reader does not satisfy: other rows and columns, versions and delete markers of the
//! same ones, large values, splits and compactions of its own. Every output to the reader must be the same.
//!
//! [`transcript()`] takes down what a reader can be told by a source: entries, borders of batches, their
//! dictionaries and sizes, errors, refusals. Graph algorithms and encoders add outputs of their own. A
//! [`Careless`] source, which filters as one might at first, shows that the comparison can fail.

mod careless;
mod pair;
mod transcript;

pub use careless::Careless;
pub use pair::{HIDDEN, Pair, TABLE, held};
pub use transcript::transcript;
