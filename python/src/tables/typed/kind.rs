//! The types of columns by their names in Python.

use ostrakon_cell::{Error, Result};
use ostrakon_sql::ColumnType;

/// The type of that name.
pub(super) fn column_type(name: &str) -> Result<ColumnType> {
    ColumnType::named(name).ok_or_else(|| {
        Error::invalid(format!("there is no type of columns {name:?}")).with("argument", "schema")
    })
}
