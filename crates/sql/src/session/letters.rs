//! Columns in other letters of relations whose columns are not known before the statement is planned, such as those of a
//! table function. `spelling` respells all others.
//!
//! The engine reads names without quotes in lower case. A column that it does not find by such a name is written as the
//! only one that differs from it in case, and the statement is planned again.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::common::{Column, SchemaError, Span};
use datafusion::error::DataFusionError;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Expr, Ident, ObjectNamePart, Statement as Ast};

use super::walk::visit_expressions_mut;

/// How many times a statement is planned at most. The engine reports all columns of a SELECT at once, and else one.
pub(super) const PLANS_MAX: usize = 200;

/// The statement with the columns that `error` misses as the relation spells them; `None` if the error is another one, or no
/// column or several could be meant.
pub(super) fn respelled(error: &DataFusionError, statement: &Statement) -> Option<Statement> {
    let mut all = Vec::new();
    put_missed(error, None, &mut all);
    let named: Vec<(&Missed<'_>, String)> = all
        .iter()
        .filter_map(|missed| {
            let columns = missed.valid.iter().filter(|column| missed.may_be(column));
            Some((missed, spelling_in(columns, &missed.column.name)?))
        })
        .collect();
    let mut statement = statement.clone();
    let ast = ast_of(&mut statement)?;
    let mut found = false;
    for (missed, name) in &named {
        found |= missed.span.is_none() && respell_target(ast, &missed.column.name, name);
    }
    // Few places have a column, and most errors one: a search for each is short.
    let _: ControlFlow<()> = visit_expressions_mut(ast, |expr| {
        for (missed, name) in &named {
            if let Some(ident) = missed.identifier(expr) {
                ident.value.clone_from(name);
                ident.quote_style = Some('"');
                found = true;
                break;
            }
        }
        ControlFlow::Continue(())
    });
    found.then_some(statement)
}

/// Respells a column that an INSERT names before its rows. The engine does not say where it misses one.
fn respell_target(ast: &mut Ast, name: &str, spelled: &str) -> bool {
    let Ast::Insert(insert) = ast else {
        return false;
    };
    let parts = insert.columns.iter_mut().flat_map(|column| &mut column.0);
    let mut found = false;
    for part in parts {
        if let ObjectNamePart::Identifier(ident) = part
            && ident.quote_style.is_none()
            && ident.value.to_ascii_lowercase() == name
        {
            spelled.clone_into(&mut ident.value);
            ident.quote_style = Some('"');
            found = true;
        }
    }
    found
}

/// The only spelling of `name` among columns.
fn spelling_in<'a>(columns: impl Iterator<Item = &'a Column>, name: &str) -> Option<String> {
    only_spelling(columns.map(|column| column.name.as_str()), name)
}

/// The only one of these names that differs from `name` in case alone.
pub(super) fn only_spelling<'a>(
    names: impl Iterator<Item = &'a str>,
    name: &str,
) -> Option<String> {
    let wanted = name.to_lowercase();
    let spelled: BTreeSet<&str> = names.filter(|one| one.to_lowercase() == wanted).collect();
    match spelled.first() {
        Some(one) if spelled.len() == 1 => Some((*one).to_owned()),
        _ => None,
    }
}

/// A column that a relation does not have.
struct Missed<'a> {
    column: &'a Column,
    /// Where the statement names it, if the engine says so.
    span: Option<Span>,
    valid: &'a [Column],
}

fn put_missed<'a>(error: &'a DataFusionError, span: Option<Span>, all: &mut Vec<Missed<'a>>) {
    match error {
        DataFusionError::Diagnostic(diagnostic, inner) => {
            put_missed(inner, diagnostic.span.or(span), all);
        }
        DataFusionError::Context(_, inner) => put_missed(inner, span, all),
        // Several items of a SELECT.
        DataFusionError::Collection(errors) => {
            for error in errors {
                put_missed(error, span, all);
            }
        }
        DataFusionError::SchemaError(inner, _) => {
            if let SchemaError::FieldNotFound {
                field,
                valid_fields,
            } = &**inner
            {
                all.push(Missed {
                    column: field,
                    // Either the error knows the place, or the column.
                    span: span.or_else(|| field.spans().first()),
                    valid: valid_fields,
                });
            }
        }
        _ => {}
    }
}

impl Missed<'_> {
    /// Whether a column is of the relation that the statement names.
    fn may_be(&self, column: &Column) -> bool {
        match (&self.column.relation, &column.relation) {
            (None, _) => true,
            (Some(named), Some(other)) => named.resolved_eq(other),
            (Some(_), None) => false,
        }
    }

    /// The name of the column in an expression that is this one, if it has no quotes.
    fn identifier<'e>(&self, expr: &'e mut Expr) -> Option<&'e mut Ident> {
        let (span, ident) = match expr {
            Expr::Identifier(ident) => (Span::try_from_sqlparser_span(ident.span), ident),
            Expr::CompoundIdentifier(idents) => {
                let spans = idents.iter().map(|ident| ident.span);
                let span = Span::union_iter(spans.filter_map(Span::try_from_sqlparser_span));
                (span, idents.last_mut()?)
            }
            _ => return None,
        };
        let is_it = span.is_some()
            && span == self.span
            && ident.quote_style.is_none()
            && ident.value.to_ascii_lowercase() == self.column.name;
        is_it.then_some(ident)
    }
}

pub(super) fn ast_of(statement: &mut Statement) -> Option<&mut Ast> {
    match statement {
        Statement::Statement(ast) => Some(ast),
        Statement::Explain(explain) => ast_of(&mut explain.statement),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling_is_taken_and_several_are_not() {
        let of = |names: &[&str]| only_spelling(names.iter().copied(), "größe");
        assert_eq!(of(&["Größe", "b"]).as_deref(), Some("Größe"));
        assert_eq!(of(&["Größe", "GrÖße"]), None);
        assert_eq!(
            of(&["Größe", "Größe"]).as_deref(),
            Some("Größe"),
            "of two relations"
        );
        assert_eq!(of(&["b"]), None);
    }
}
