//! Compare and set on one row.

use ostrakon_cell::{ConditionalMutation, ConditionalStatus};

use crate::column::Column;
use crate::mutation::Mutation;
use crate::scan::authorizations;
use crate::table::Table;
use crate::{Authorizations, Durability, Error, ErrorKind, Result};

/// What must hold of a column for a [`ConditionalWrite`] to be applied.
///
/// ```
/// use ostrakon::{Condition, Store};
///
/// let accounts = Store::in_memory()?.create_table("accounts")?;
/// let balance = ("account", "balance");
/// accounts.put("alice", balance, "10").commit()?;
///
/// let paid = accounts.put("alice", balance, "7").only_if(Condition::equals(balance, "10")).commit()?;
/// assert!(paid);
/// let paid = accounts.put("alice", balance, "4").only_if(Condition::equals(balance, "10")).commit()?;
/// assert!(!paid, "it is 7 by now");
/// # Ok::<(), ostrakon::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Condition(ostrakon_cell::Condition);

impl Condition {
    /// The newest entry of the column has this value.
    #[must_use]
    pub fn equals<'c>(column: impl Into<Column<'c>>, value: impl AsRef<[u8]>) -> Self {
        let mut condition = Self::absent(column);
        condition.0.value = Some(value.as_ref().to_vec());
        condition
    }

    /// The column has no entry.
    #[must_use]
    pub fn absent<'c>(column: impl Into<Column<'c>>) -> Self {
        let column = column.into();
        Self(ostrakon_cell::Condition {
            family: column.family.to_vec(),
            qualifier: column.qualifier.to_vec(),
            ..ostrakon_cell::Condition::default()
        })
    }

    /// The label that the entry carries, exactly. Default: none.
    #[must_use]
    pub fn label(mut self, expression: impl AsRef<[u8]>) -> Self {
        self.0.visibility = expression.as_ref().to_vec();
        self
    }

    /// The timestamp that the entry has. Default: the newest entry counts.
    #[must_use]
    pub fn timestamp(mut self, timestamp: i64) -> Self {
        self.0.timestamp = Some(timestamp);
        self
    }
}

/// Changes of one row that are applied only if conditions on that row hold; made by
/// [`Write::only_if`](crate::Write::only_if).
#[must_use = "nothing is written until `commit` is called"]
#[derive(Debug, Clone)]
pub struct ConditionalWrite<'t> {
    table: &'t Table,
    write: Checked,
}

/// A write and its conditions, without the table.
#[derive(Debug, Clone)]
pub(crate) struct Checked {
    mutation: Mutation,
    conditions: Vec<ostrakon_cell::Condition>,
    authorizations: Result<Authorizations>,
    durability: Option<Durability>,
}

impl<'t> ConditionalWrite<'t> {
    pub(crate) fn new(
        table: &'t Table,
        mutation: Mutation,
        durability: Option<Durability>,
    ) -> Self {
        Self {
            table,
            write: Checked {
                mutation,
                conditions: Vec::new(),
                authorizations: Ok(Authorizations::empty()),
                durability,
            },
        }
    }

    /// Adds a condition; all must hold.
    pub fn only_if(mut self, condition: Condition) -> Self {
        self.write.conditions.push(condition.0);
        self
    }

    /// The authorizations with which conditions on labelled entries are checked. Default: none.
    pub fn auths<N: AsRef<[u8]>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.write.authorizations = authorizations(names);
        self
    }

    /// Checks the conditions and writes in one step. `true` means that the row is changed, `false` that a condition
    /// did not hold.
    ///
    /// # Errors
    /// As [`Write::commit`](crate::Write::commit); [`BadAuthorizations`](ErrorKind::BadAuthorizations) when the
    /// authorizations do not satisfy the label of a condition; [`Unavailable`](ErrorKind::Unavailable) when the disk
    /// failed and it is not known whether the row is changed.
    pub fn commit(self) -> Result<bool> {
        self.write.commit_to(self.table)
    }

    #[cfg(feature = "async")]
    pub(crate) fn into_parts(self) -> (Table, Checked) {
        (self.table.clone(), self.write)
    }
}

impl Checked {
    pub(crate) fn commit_to(self, table: &Table) -> Result<bool> {
        let write = ConditionalMutation {
            mutation: self.mutation.encode()?,
            conditions: self.conditions,
        };
        let held = self.authorizations?;
        let source = table.source();
        let answers = source.write_conditionally(vec![write], &held, self.durability)?;
        let error = match answers.first() {
            Some(ConditionalStatus::Accepted) => return Ok(true),
            Some(ConditionalStatus::Rejected) => return Ok(false),
            Some(ConditionalStatus::Violated) => Error::new(
                ErrorKind::ConstraintViolation,
                "a constraint of the table refused the row",
            ),
            Some(ConditionalStatus::InvisibleVisibility) => Error::new(
                ErrorKind::BadAuthorizations,
                "the authorizations do not satisfy the label of a condition",
            ),
            Some(ConditionalStatus::MalformedVisibility) => {
                Error::invalid("a label is not a valid expression")
            }
            Some(ConditionalStatus::Unknown) | None => Error::new(
                ErrorKind::Unavailable,
                "it is not known whether the row is changed: read it",
            ),
        };
        Err(error.with("table", table.name()))
    }
}
