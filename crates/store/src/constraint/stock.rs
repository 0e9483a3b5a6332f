//! All stock constraints in one registry.

use std::sync::Arc;

use ostrakon_cell::ConstraintRegistry;

use super::key_size::DefaultKeySizeConstraint;
use super::no_delete::NoDeleteConstraint;
use super::plain_text::{AlphaNumKeyConstraint, NumericValueConstraint};
use super::visibility::VisibilityConstraint;

/// The property and class that every new table has, as in Accumulo.
pub const DEFAULT_CONSTRAINT: (&str, &str) = (
    "table.constraint.1",
    "org.apache.accumulo.core.data.constraints.DefaultKeySizeConstraint",
);

/// The constraints every store knows; register your own on top.
#[must_use]
pub fn stock_constraints() -> ConstraintRegistry {
    let mut registry = ConstraintRegistry::new();
    registry.register(Arc::new(DefaultKeySizeConstraint));
    registry.register(Arc::new(NoDeleteConstraint));
    registry.register(Arc::new(VisibilityConstraint));
    registry.register(Arc::new(AlphaNumKeyConstraint));
    registry.register(Arc::new(NumericValueConstraint));
    registry
}
