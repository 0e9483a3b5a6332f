//! The trait every constraint implements, and what it may know of the writer.

use std::sync::Arc;

use crate::mutation::MutationRef;
use crate::{Authorizations, MutationBatch};

/// A check of mutations.
///
/// # What an implementer owes
/// * The verdict depends on the mutation and the environment alone: a writer may send it again.
/// * It is called for every mutation of every batch, from many threads: no lock, no disk, no wait.
/// * Codes keep their meaning for ever; programs compare them. Numbers below 0 are ours.
/// * A description says nothing of the data: whoever reads it may not be allowed to see that.
pub trait Constraint: Send + Sync {
    /// The names under which the class is known, Accumulo's full class name first. The part
    /// behind the last dot is accepted as well.
    fn names(&self) -> &[&str];

    /// One sentence on what is refused, for help texts.
    fn describe(&self) -> &str;

    /// What a code means, or `None` for codes that are not this constraint's.
    fn describe_violation(&self, code: i16) -> Option<&str>;

    /// Appends the code of each way in which `mutation` violates this constraint. A code that
    /// comes twice counts once.
    fn check(
        &self,
        environment: &ConstraintEnvironment,
        mutation: &MutationRef<'_>,
        violated: &mut Vec<i16>,
    );

    /// Whether the batch as a whole shows that none of its mutations can violate this constraint;
    /// then none is looked at. Default: that cannot be told.
    fn passes_whole(&self, batch: &MutationBatch) -> bool {
        let _ = batch;
        false
    }
}

/// What a constraint may know of where it runs.
#[derive(Debug, Clone, Default)]
pub struct ConstraintEnvironment {
    /// The table's name.
    pub table: Arc<str>,
    /// Who writes, where the source knows users.
    pub user: Option<Arc<str>>,
    /// What the writer may see, where the source knows users; a constraint that compares with it
    /// passes everything where it is `None`.
    pub authorizations: Option<Arc<Authorizations>>,
}
