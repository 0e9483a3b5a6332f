//! Changes of one row, collected.

use ostrakon_cell::{ColumnUpdate, VisibilityExpression};

use crate::column::Column;
use crate::{Error, Result};

/// Changes of one row, applied whole or not at all.
///
/// [`label`](Self::label) and [`timestamp`](Self::timestamp) belong to the put or delete before them. What is
/// malformed is reported when the mutation is written.
///
/// ```
/// use ostrakon::{Mutation, Store};
///
/// let table = Store::in_memory()?.create_table("people")?;
/// let mut writer = table.batch_writer();
/// for name in ["alice", "bob"] {
///     let row = Mutation::new(name)
///         .put(("contact", "city"), "Berlin")
///         .put(("contact", "mail"), format!("{name}@example.org")).label("hr|self")
///         .delete(("contact", "fax"));
///     writer.write(&row)?;
/// }
/// writer.close()?;
/// # Ok::<(), ostrakon::Error>(())
/// ```
#[must_use = "a mutation changes nothing until it is written"]
#[derive(Clone)]
pub struct Mutation {
    row: Vec<u8>,
    updates: Vec<Update>,
    error: Option<Error>,
}

#[derive(Clone)]
struct Update {
    family: Vec<u8>,
    qualifier: Vec<u8>,
    label: Vec<u8>,
    timestamp: Option<i64>,
    /// `None` deletes.
    value: Option<Vec<u8>>,
}

impl Mutation {
    /// A mutation of `row` that changes nothing yet.
    pub fn new(row: impl AsRef<[u8]>) -> Self {
        Self {
            row: row.as_ref().to_vec(),
            updates: Vec::new(),
            error: None,
        }
    }

    /// Puts a value.
    pub fn put<'c>(self, column: impl Into<Column<'c>>, value: impl AsRef<[u8]>) -> Self {
        self.add(column.into(), Some(value.as_ref().to_vec()))
    }

    /// Deletes the versions of a column that carry the label given next, or none.
    pub fn delete<'c>(self, column: impl Into<Column<'c>>) -> Self {
        self.add(column.into(), None)
    }

    /// The label of the put or delete before: an expression such as `hr|self` or `audit&(eu|us)`. Labels are a part of
    /// the key: a delete deletes what carries the same one.
    pub fn label(mut self, expression: impl AsRef<[u8]>) -> Self {
        let expression = expression.as_ref();
        match (
            VisibilityExpression::parse(expression),
            self.updates.last_mut(),
        ) {
            (Ok(_), Some(update)) => update.label = expression.to_vec(),
            (Err(error), _) => self.fail(error.into()),
            (_, None) => self.fail(no_update("label")),
        }
        self
    }

    /// The timestamp of the put or delete before, in milliseconds since 1970 or as the table's own counter. Without it
    /// the table sets one.
    pub fn timestamp(mut self, timestamp: i64) -> Self {
        match self.updates.last_mut() {
            Some(update) => update.timestamp = Some(timestamp),
            None => self.fail(no_update("timestamp")),
        }
        self
    }

    /// The row that is changed.
    #[must_use]
    pub fn row(&self) -> &[u8] {
        &self.row
    }

    /// Number of puts and deletes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.updates.len()
    }

    /// Whether nothing is changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.updates.is_empty()
    }

    fn add(mut self, column: Column<'_>, value: Option<Vec<u8>>) -> Self {
        self.updates.push(Update {
            family: column.family.to_vec(),
            qualifier: column.qualifier.to_vec(),
            label: Vec::new(),
            timestamp: None,
            value,
        });
        self
    }

    fn fail(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    /// A mutation as the source contract has it.
    #[cfg(feature = "serde")]
    pub(crate) fn decode(encoded: &ostrakon_cell::Mutation) -> Self {
        let updates = encoded.updates().map(|update| Update {
            family: update.family.to_vec(),
            qualifier: update.qualifier.to_vec(),
            label: update.visibility.to_vec(),
            timestamp: update.timestamp,
            value: (!update.deleted).then(|| update.value.to_vec()),
        });
        Self {
            row: encoded.row().to_vec(),
            updates: updates.collect(),
            error: None,
        }
    }

    /// The mutation as the source contract has it.
    pub(crate) fn encode(&self) -> Result<ostrakon_cell::Mutation> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let mut encoded = ostrakon_cell::Mutation::new(self.row.as_slice());
        for update in &self.updates {
            encoded.update(ColumnUpdate {
                family: &update.family,
                qualifier: &update.qualifier,
                visibility: &update.label,
                timestamp: update.timestamp,
                value: update.value.as_deref(),
            })?;
        }
        Ok(encoded)
    }
}

fn no_update(what: &'static str) -> Error {
    Error::invalid(format!(
        "a {what} belongs to a put or delete: call put or delete first"
    ))
}

impl std::fmt::Debug for Mutation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Values may be secret and long.
        f.debug_struct("Mutation")
            .field("row", &ostrakon_cell::Escaped(&self.row))
            .field("updates", &self.updates.len())
            .finish_non_exhaustive()
    }
}
