//! The constraints of the table, asked for each record, so that a refused one is rejected with its line.
//!
//! The table asks them again for each batch, and knows no lines.

use ostrakon_cell::{
    ConstraintEnvironment, ConstraintRegistry, ConstraintSet, Mutation, MutationBatch, Table,
};
use ostrakon_store::constraint::{DEFAULT_CONSTRAINT, stock_constraints};

use crate::failure::Result;

/// What a table refuses.
pub(crate) struct Screen {
    constraints: ConstraintSet,
    environment: ConstraintEnvironment,
}

impl Screen {
    /// The constraints of a table; `None` if there are none but that of the sizes of keys, which the writer checks too.
    pub(crate) fn of(table: &dyn Table) -> Result<Option<Self>> {
        Self::with(table, &stock_constraints())
    }

    fn with(table: &dyn Table, registry: &ConstraintRegistry) -> Result<Option<Self>> {
        let mut properties = table.properties()?;
        let (_, of_keys) = DEFAULT_CONSTRAINT;
        properties.retain(|_, class| class.trim() != of_keys);
        let constraints = ConstraintSet::from_properties(&properties, registry);
        Ok((!constraints.is_empty()).then(|| Self {
            constraints,
            environment: ConstraintEnvironment {
                table: table.name().into(),
                ..ConstraintEnvironment::default()
            },
        }))
    }

    /// Why the table refuses a mutation.
    pub(super) fn refusal(&self, mutation: &Mutation) -> Option<String> {
        let mut batch = MutationBatch::new();
        if let Err(error) = batch.push(mutation) {
            return Some(error.message().to_owned());
        }
        let screened = self.constraints.screen(&self.environment, batch);
        let first = screened.rejections.first()?;
        let class = first.constraint.rsplit('.').next().unwrap_or_default();
        Some(format!("{class}: {}", first.description))
    }
}
