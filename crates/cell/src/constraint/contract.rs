//! The trait that every constraint implements, and its environment.

use std::sync::Arc;

use crate::mutation::MutationRef;
use crate::{Authorizations, MutationBatch};

/// A check of mutations.
///
/// # Requirements on an implementation
/// * The verdict depends only on the mutation and the environment: a writer may send it again.
/// * It is called for every mutation of every batch, from many threads: no lock, no disk, no wait.
/// * Codes never change their meaning; programs compare them. Codes below 0 are reserved.
/// * A description holds no data of entries: its reader may lack the authorizations for them.
pub trait Constraint: Send + Sync {
    /// The names under which the class is known, Accumulo's full class name first. The part after
    /// the last dot is accepted as well.
    fn names(&self) -> &[&str];

    /// One sentence on what is rejected, for help texts.
    fn describe(&self) -> &str;

    /// The meaning of a code, or `None` for codes of other constraints.
    fn describe_violation(&self, code: i16) -> Option<&str>;

    /// Appends the code of each way in which `mutation` violates this constraint. A repeated code
    /// counts once.
    fn check(
        &self,
        environment: &ConstraintEnvironment,
        mutation: &MutationRef<'_>,
        violated: &mut Vec<i16>,
    );

    /// Whether the batch as a whole proves that none of its mutations can violate this constraint;
    /// then they are not checked one by one. Default: `false`, for unknown.
    fn passes_whole(&self, batch: &MutationBatch) -> bool {
        let _ = batch;
        false
    }
}

/// The environment in which a constraint runs.
#[derive(Debug, Clone, Default)]
pub struct ConstraintEnvironment {
    /// The table's name.
    pub table: Arc<str>,
    /// The writer's name, if the source knows users.
    pub user: Option<Arc<str>>,
    /// The authorizations of the writer, if the source knows users; a constraint that compares with
    /// them accepts everything if they are `None`.
    pub authorizations: Option<Arc<Authorizations>>,
}
