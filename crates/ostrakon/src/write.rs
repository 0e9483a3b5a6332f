//! A change of one row of a table, ready to be committed.

use crate::column::Column;
use crate::condition::{Condition, ConditionalWrite};
use crate::mutation::Mutation;
use crate::table::Table;
use crate::{Durability, Result};

/// Changes of one row of a table; made by [`Table::put`], [`Table::delete`] and [`Table::update`].
/// [`commit`](Self::commit) applies all of them or none.
///
/// ```
/// # let people = ostrakon::Store::in_memory()?.create_table("people")?;
/// people
///     .put("alice", ("contact", "mail"), "a@b.c").label("hr|self")
///     .put(("contact", "city"), "Berlin")
///     .delete(("contact", "fax"))
///     .commit()?;
/// # Ok::<(), ostrakon::Error>(())
/// ```
#[must_use = "nothing is written until `commit` is called"]
#[derive(Debug, Clone)]
pub struct Write<'t> {
    table: &'t Table,
    mutation: Mutation,
    durability: Option<Durability>,
}

impl<'t> Write<'t> {
    pub(crate) fn new(table: &'t Table, mutation: Mutation) -> Self {
        Self {
            table,
            mutation,
            durability: table.durability(),
        }
    }

    /// Puts a value, too.
    pub fn put<'c>(mut self, column: impl Into<Column<'c>>, value: impl AsRef<[u8]>) -> Self {
        self.mutation = self.mutation.put(column, value);
        self
    }

    /// Deletes a column, too; see [`Mutation::delete`].
    pub fn delete<'c>(mut self, column: impl Into<Column<'c>>) -> Self {
        self.mutation = self.mutation.delete(column);
        self
    }

    /// The label of the put or delete before; see [`Mutation::label`].
    pub fn label(mut self, expression: impl AsRef<[u8]>) -> Self {
        self.mutation = self.mutation.label(expression);
        self
    }

    /// The timestamp of the put or delete before; see [`Mutation::timestamp`].
    pub fn timestamp(mut self, timestamp: i64) -> Self {
        self.mutation = self.mutation.timestamp(timestamp);
        self
    }

    /// Durability of this write.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = Some(durability);
        self
    }

    /// Writes only if `condition` holds, checked and written in one step.
    pub fn only_if(self, condition: Condition) -> ConditionalWrite<'t> {
        ConditionalWrite::new(self.table, self.mutation, self.durability).only_if(condition)
    }

    #[cfg(feature = "async")]
    pub(crate) fn into_parts(self) -> (Table, Mutation, Option<Durability>) {
        (self.table.clone(), self.mutation, self.durability)
    }

    /// Writes, and returns when the write is as durable as asked.
    ///
    /// # Errors
    /// A label that is not a valid expression, a key or value that is too large, or a constraint that refused the row:
    /// nothing is written. Otherwise what keeps the store from writing.
    pub fn commit(self) -> Result<()> {
        self.table.write_as(&self.mutation, self.durability)
    }
}
