//! Sessions: what runs statements.

mod advice;
mod bind;
mod casts;
mod change;
mod create;
mod describe;
mod dialect;
mod exchange;
mod ignored;
mod insertion;
mod memory;
mod names;
mod open;
mod options;
mod prompt;
mod rows;
mod selected;
mod spill;
mod star;
mod start;
mod statement;
mod syntax;
mod temporary;
mod unfinished;
mod update;
mod using;
mod workers;

pub use bind::SqlValue;
pub use open::SqlSession;
pub use options::SqlOptions;
pub use prompt::ends_statement;
pub use rows::{SqlRows, Step};
pub use spill::SpillDirectory;
pub use start::SqlStart;
pub use statement::{SqlStatement, TEXT_MAX, parse_statements};
pub(crate) use unfinished::is_unfinished;
