//! The constraints of one table, and how they filter a batch.

use std::sync::Arc;

use super::{Constraint, ConstraintEnvironment, ConstraintRegistry};
use crate::mutation::MutationRef;
use crate::source::{Properties, Rejection};
use crate::{MutationBatch, Result};

/// Prefix of the properties that set constraints; a name follows, in Accumulo a number.
const PREFIX: &str = "table.constraint.";

/// Violation code of every mutation while a constraint's class is unknown, as in Accumulo.
const UNKNOWN_CLASS: i16 = -1;

/// The result of checking a batch.
#[derive(Debug, Default)]
pub struct Screened {
    /// The batch without the rejected mutations.
    pub kept: MutationBatch,
    /// Rejections, summed up per constraint and code.
    pub rejections: Vec<Rejection>,
    /// The positions of the rejected mutations in the batch, ascending.
    pub refused: Vec<u32>,
}

/// The constraints of a table, with the names of their properties.
#[derive(Clone, Default)]
pub struct ConstraintSet(Vec<(String, Option<Arc<dyn Constraint>>)>);

impl ConstraintSet {
    /// Reads the constraints from table properties. A class that the registry does not know rejects
    /// every mutation, because what it would accept is unknown. Call
    /// [`check_property`](Self::check_property) when properties are set.
    #[must_use]
    pub fn from_properties(properties: &Properties, registry: &ConstraintRegistry) -> Self {
        let named = properties
            .range(PREFIX.to_owned()..)
            .take_while(|(name, _)| name.starts_with(PREFIX));
        Self(
            named
                .map(|(_, class)| {
                    let class = class.trim();
                    (class.to_owned(), registry.get(class).ok().cloned())
                })
                .collect(),
        )
    }

    /// Checks a property that is about to be set; properties that do not name a constraint pass.
    ///
    /// # Errors
    /// [`ClassNotFound`](crate::ErrorKind::ClassNotFound) for an unknown class.
    pub fn check_property(name: &str, value: &str, registry: &ConstraintRegistry) -> Result<()> {
        if name.starts_with(PREFIX) {
            registry
                .get(value.trim())
                .map_err(|error| error.with("property", name))?;
        }
        Ok(())
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the batch without the mutations that violate a constraint, and one [`Rejection`] per
    /// constraint and code. Costs one call per constraint if the batch as a whole passes, and
    /// copies nothing unless a mutation is rejected.
    #[must_use]
    pub fn screen(&self, environment: &ConstraintEnvironment, batch: MutationBatch) -> Screened {
        let asked: Vec<_> = self
            .0
            .iter()
            .filter(|(_, known)| {
                !known
                    .as_ref()
                    .is_some_and(|constraint| constraint.passes_whole(&batch))
            })
            .collect();
        if asked.is_empty() {
            return Screened {
                kept: batch,
                ..Screened::default()
            };
        }
        let mut rejections = Vec::new();
        let mut refused: Vec<bool> = Vec::with_capacity(batch.mutations());
        let mut codes = Vec::new();
        for mutation in batch.each_mutation() {
            let mut sound = true;
            for (class, constraint) in &asked {
                ask(constraint.as_deref(), environment, &mutation, &mut codes);
                for code in codes.drain(..) {
                    sound = false;
                    tally(&mut rejections, class, constraint.as_deref(), code);
                }
            }
            refused.push(!sound);
        }
        if rejections.is_empty() {
            return Screened {
                kept: batch,
                ..Screened::default()
            };
        }
        let mut kept = MutationBatch::new();
        let mut places = Vec::new();
        for ((place, mutation), refused) in (0..).zip(batch.each_mutation()).zip(refused) {
            if refused {
                places.push(place);
            } else if kept.push_ref(&mutation).is_err() {
                // The larger batch had enough space.
                break;
            }
        }
        Screened {
            kept,
            rejections,
            refused: places,
        }
    }
}

fn ask(
    constraint: Option<&dyn Constraint>,
    environment: &ConstraintEnvironment,
    mutation: &MutationRef<'_>,
    codes: &mut Vec<i16>,
) {
    match constraint {
        None => codes.push(UNKNOWN_CLASS),
        Some(constraint) => {
            constraint.check(environment, mutation, codes);
            codes.sort_unstable();
            codes.dedup();
        }
    }
}

fn tally(
    rejections: &mut Vec<Rejection>,
    class: &str,
    constraint: Option<&dyn Constraint>,
    code: i16,
) {
    let one = rejections
        .iter_mut()
        .find(|one| one.constraint == class && one.code == code);
    if let Some(one) = one {
        one.mutations += 1;
        return;
    }
    let description = match constraint {
        None => "the class is not known to this process, so nothing can be accepted",
        Some(constraint) => constraint
            .describe_violation(code)
            .unwrap_or("no description"),
    };
    rejections.push(Rejection {
        constraint: class.to_owned(),
        code,
        description: description.to_owned(),
        mutations: 1,
    });
}

impl std::fmt::Debug for ConstraintSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|(class, _)| class))
            .finish()
    }
}
