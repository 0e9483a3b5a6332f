//! Joins by name: USING and NATURAL.

use datafusion::sql::sqlparser::ast::{
    Ident, JoinConstraint, ObjectName, ObjectNamePart, TableFactor, TableWithJoins,
};
use ostrakon_cell::{Error, ErrorKind, Result};

use super::Speller;
use super::scope::{Found, Scope};
use crate::session::using::constraint_of_mut;

impl Speller<'_> {
    /// Spells the columns of USING as the relations on both sides do, and writes NATURAL with USING where it is known which
    /// columns they have in common.
    ///
    /// # Errors
    /// NATURAL between relations with columns that differ in case alone: it joins by those that are spelled alike.
    pub(super) fn spell_joins(&mut self, tables: &mut TableWithJoins) -> Result<Scope> {
        let mut left = self.spell_nested(&mut tables.relation)?;
        for join in &mut tables.joins {
            let right = self.spell_nested(&mut join.relation)?;
            match constraint_of_mut(&mut join.join_operator) {
                Some(JoinConstraint::Using(names)) => {
                    for name in names {
                        spell_common(&left, &right, name);
                    }
                }
                Some(constraint @ JoinConstraint::Natural) => {
                    if let Some((one, other)) = left.almost_common(&right) {
                        return Err(Error::new(
                            ErrorKind::Unsupported,
                            "NATURAL does not join columns that differ in upper and lower case: join them with ON",
                        )
                        .with("columns", format!("\"{one}\" and \"{other}\"")));
                    }
                    match left.common_with(&right) {
                        Some(columns) if !columns.is_empty() => {
                            let name = |column: &String| {
                                ObjectName::from(vec![Ident::with_quote('"', column.clone())])
                            };
                            *constraint = JoinConstraint::Using(columns.iter().map(name).collect());
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
            left.join(right, &join.join_operator);
        }
        Ok(left)
    }

    fn spell_nested(&mut self, factor: &mut TableFactor) -> Result<Scope> {
        if let TableFactor::NestedJoin {
            table_with_joins,
            alias,
        } = factor
        {
            let scope = self.spell_joins(table_with_joins)?;
            if alias.is_none() {
                return Ok(scope);
            }
        }
        Ok(self.relation(factor))
    }
}

/// Spells a column of USING as both sides do, if they agree.
fn spell_common(left: &Scope, right: &Scope, name: &mut ObjectName) {
    let Some(ObjectNamePart::Identifier(name)) = name.0.last_mut() else {
        return;
    };
    if name.quote_style.is_none()
        // Also if it is written in capitals: EXCLUDE compares it as it is written.
        && let Found::Column(spelling) = left.find(None, name)
        && let Found::Column(other) = right.find(None, name)
        && spelling == other
    {
        *name = Ident::with_quote('"', spelling);
    }
}
