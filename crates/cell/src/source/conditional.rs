//! Conditional mutations: compare and set on one row.

use crate::{IteratorSetting, Mutation};

/// One condition on a column of the mutation's row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Condition {
    /// The column family.
    pub family: Vec<u8>,
    /// The column qualifier.
    pub qualifier: Vec<u8>,
    /// The label the entry must carry exactly.
    pub visibility: Vec<u8>,
    /// The timestamp the entry must have; `None` takes the first that the iterators show.
    pub timestamp: Option<i64>,
    /// The value the entry must have; `None` demands that there is no entry.
    pub value: Option<Vec<u8>>,
    /// Iterators through which the column is read for this condition.
    pub iterators: Vec<IteratorSetting>,
}

/// A mutation applied only if all its conditions hold, checked and applied in one step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConditionalMutation {
    /// What is to be written.
    pub mutation: Mutation,
    /// What must hold.
    pub conditions: Vec<Condition>,
}

/// What became of a conditional mutation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConditionalStatus {
    /// The conditions held and the mutation is applied.
    Accepted,
    /// A condition did not hold.
    Rejected,
    /// A constraint refused the mutation.
    Violated,
    /// The source cannot tell: a connection broke after sending, or the disk failed after other
    /// mutations of the list were applied.
    Unknown,
    /// A condition's label is one the writer may not see.
    InvisibleVisibility,
    /// A label of the mutation is not a valid expression.
    MalformedVisibility,
}
