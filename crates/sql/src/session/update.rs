//! UPDATE

use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result as QueryResult, plan_err};
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Assignment, AssignmentTarget, Expr as AstExpr, Ident, ObjectNamePart, SelectItem,
    Statement as Ast,
};
use ostrakon_cell::{Error, ErrorKind, Result};

use super::SqlSession;
use super::change::{Rows, changed, counted, external};
use super::letters::only_spelling;
use super::selected::Selected;
use super::spelling::normal;
use crate::checked::stored;
use crate::records::{Changed, ColumnType, RecordSchema, RecordWriter};

/// UPDATE
pub(super) async fn update(
    session: &SqlSession,
    statement: Statement,
) -> QueryResult<SendableRecordBatchStream> {
    let Statement::Statement(ast) = statement else {
        return plan_err!("the statement does not update a table");
    };
    let Ast::Update(mut update) = *ast else {
        return plan_err!("the statement does not update a table");
    };
    let assignments = std::mem::take(&mut update.assignments);
    let selected = Selected::by_update(update);
    let name = selected.table()?;
    let (table, schema) = changed(session, &name).map_err(external)?;
    let alias = selected.alias().map(|alias| normal(&alias.name));
    let alias = alias.unwrap_or_else(|| name.table().to_owned());
    let assigned = assigned(&schema, &alias, assignments).map_err(external)?;
    let changed = Changed {
        columns: assigned.places.into(),
        has_labels: assigned.has_labels,
    };
    let plan = selected
        .with_items(assigned.items)
        .plan(session, &table, &schema)
        .await?;
    if let Some(label) = schema.label.as_ref().filter(|_| changed.has_labels) {
        check_label(&plan, &alias, label)?;
    }
    let plan = converted(plan, &assigned.kinds)?;
    let writer = RecordWriter::new(
        table,
        Arc::new(schema),
        session.authorizations.clone(),
        session.label(),
    );
    let plan = session.prepare(plan).await?;
    let labels = changed.clone();
    let check = Box::new(move |batch: &_| labels.check_labels(batch));
    let rows = Rows::Reserving(plan, session.value_limit, check);
    Ok(counted(rows, writer, move |writer, batch| {
        writer.update(batch, &changed)
    }))
}

/// The new values of an UPDATE.
struct Assigned {
    /// As the items of a query, the label last.
    items: Vec<SelectItem>,
    /// The types of the columns that they are for.
    kinds: Vec<ColumnType>,
    /// The places of these columns in the schema, without that of the label.
    places: Vec<usize>,
    has_labels: bool,
}

/// The new values. If there is a new label, all columns have values: they are written again with it.
fn assigned(schema: &RecordSchema, alias: &str, assignments: Vec<Assignment>) -> Result<Assigned> {
    let mut values: Vec<Option<AstExpr>> = schema.columns.iter().map(|_| None).collect();
    let mut label = None;
    for assignment in assignments {
        let name = spelled(schema, target(alias, &assignment)?);
        let place = schema.columns.iter().position(|column| column.name == name);
        let value = match place {
            _ if schema.label.as_ref() == Some(&name) => &mut label,
            Some(place) => match values.get_mut(place) {
                Some(value) => value,
                None => return Err(unknown(schema, &name)),
            },
            None => return Err(unknown(schema, &name)),
        };
        if value.replace(assignment.value).is_some() {
            return Err(Error::invalid("a column has two new values").with("column", name));
        }
    }
    // All cells keep the labels that they have, of which the column shows one.
    if let Some(name) = &schema.label {
        label = label.filter(|value| !is_itself(alias, name, value));
    }
    let mut assigned = Assigned {
        items: Vec::new(),
        kinds: Vec::new(),
        places: Vec::new(),
        has_labels: label.is_some(),
    };
    for (place, (column, value)) in schema.columns.iter().zip(values).enumerate() {
        let value = match value {
            Some(value) => value,
            None if assigned.has_labels => {
                AstExpr::Identifier(Ident::with_quote('"', column.name.as_str()))
            }
            None => continue,
        };
        assigned.items.push(item(&column.name, value));
        assigned.kinds.push(column.kind);
        assigned.places.push(place);
    }
    if let (Some(name), Some(value)) = (&schema.label, label) {
        assigned.items.push(item(name, value));
        assigned.kinds.push(ColumnType::Text);
    }
    Ok(assigned)
}

/// Whether a value is the column that it is assigned to.
fn is_itself(alias: &str, name: &str, value: &AstExpr) -> bool {
    match value {
        AstExpr::Nested(inner) => is_itself(alias, name, inner),
        AstExpr::Identifier(column) => normal(column) == name,
        AstExpr::CompoundIdentifier(parts) => match parts.as_slice() {
            [relation, column] => normal(relation) == alias && normal(column) == name,
            [schema, relation, column] => {
                normal(schema) == "public" && normal(relation) == alias && normal(column) == name
            }
            _ => false,
        },
        _ => false,
    }
}

/// Refuses a new label that is computed from the labels. The cells of a record may have several, of which the column shows
/// one: `CASE WHEN k = 2 THEN 'hr' ELSE l END` would give it to all of them, and publish the others.
fn check_label(plan: &LogicalPlan, alias: &str, label: &str) -> QueryResult<()> {
    let LogicalPlan::Projection(projection) = plan else {
        return Ok(());
    };
    let is_label = |column: &Column| {
        let relation = column.relation.as_ref();
        column.name == label && relation.is_none_or(|relation| relation.table() == alias)
    };
    let mut is_read = false;
    if let Some(item) = projection.expr.last() {
        item.apply(|part| {
            let outer: &[Expr] = match part {
                Expr::ScalarSubquery(query) => &query.outer_ref_columns,
                Expr::Exists(exists) => &exists.subquery.outer_ref_columns,
                Expr::InSubquery(query) => &query.subquery.outer_ref_columns,
                Expr::SetComparison(query) => &query.subquery.outer_ref_columns,
                _ => &[],
            };
            is_read |= match part {
                Expr::Column(column) => is_label(column),
                _ => outer.iter().any(
                    |outer| matches!(outer, Expr::OuterReferenceColumn(_, column) if is_label(column)),
                ),
            };
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    match is_read {
        true => Err(external(
            Error::invalid(
                "a new label cannot be computed from the label column, which shows one of the labels of a record: write the \
                 new label, and choose the records with WHERE",
            )
            .with("column", label),
        )),
        false => Ok(()),
    }
}

fn item(name: &str, expr: AstExpr) -> SelectItem {
    let alias = Ident::with_quote('"', name);
    SelectItem::ExprWithAlias { expr, alias }
}

/// The name of the column that has a new value.
fn target<'a>(alias: &str, assignment: &'a Assignment) -> Result<&'a Ident> {
    let refused = |why: &'static str| Err(Error::invalid(why).with("column", &assignment.target));
    let AssignmentTarget::ColumnName(name) = &assignment.target else {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "columns are set one by one: SET a = …, b = …",
        ));
    };
    let parts = name.0.iter().map(ObjectNamePart::as_ident);
    let Some(parts) = parts.collect::<Option<Vec<&Ident>>>() else {
        return refused("SET takes names of columns");
    };
    match parts.as_slice() {
        [column] => Ok(*column),
        [relation, column] if normal(relation) == alias => Ok(*column),
        _ => refused("UPDATE sets columns of its own table: name them without another relation"),
    }
}

/// A column as the table spells it: without quotes, in other letters if no column has the name in small ones.
fn spelled(schema: &RecordSchema, column: &Ident) -> String {
    let name = normal(column);
    if column.quote_style.is_some() || schema.names().any(|one| one == name) {
        return name;
    }
    only_spelling(schema.names(), &name).unwrap_or(name)
}

fn unknown(schema: &RecordSchema, name: &str) -> Error {
    if schema.keys.iter().any(|(key, _)| key == name) {
        return Error::new(
            ErrorKind::Unsupported,
            "the primary key of a record cannot be changed: insert the record with the new key, and delete the old one",
        )
        .with("column", name);
    }
    let names: Vec<&str> = schema.names().collect();
    Error::invalid("the table has no such column")
        .with("column", name)
        .with("columns", names.join(", "))
}

/// The plan with its items, which follow the row, converted to the types of their columns as those of an INSERT.
fn converted(plan: LogicalPlan, kinds: &[ColumnType]) -> QueryResult<LogicalPlan> {
    let LogicalPlan::Projection(mut projection) = plan else {
        return plan_err!("the statement does not update a table");
    };
    let input = projection.input.schema().clone();
    for (item, kind) in projection.expr.iter_mut().skip(1).zip(kinds) {
        let kind = kind.data_type();
        if item.get_type(&input)? != kind {
            let name = item.schema_name().to_string();
            let value = std::mem::take(item).unalias();
            let cast = Expr::Cast(Cast::new(Box::new(value), kind));
            *item = stored(cast, &name)?.alias(name);
        }
    }
    LogicalPlan::Projection(projection).recompute_schema()
}
