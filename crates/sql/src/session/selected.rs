//! The records that UPDATE and DELETE change: those that a query of their table finds.

use std::sync::Arc;

use datafusion::common::{Column as ColumnName, Result as QueryResult, TableReference, plan_err};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{Expr, Filter, Limit, LogicalPlan, LogicalPlanBuilder, TableSource};
use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::ast::{
    Expr as AstExpr, FromTable, LimitClause, Query, Select, SelectItem, SetExpr, Statement as Ast,
    TableAlias, TableFactor, TableWithJoins, Update,
};
use ostrakon_cell::Table;

use super::SqlSession;
use crate::records::{RecordSchema, RecordsTable};

/// A query of one table.
pub(super) struct Selected {
    table: TableWithJoins,
    condition: Option<AstExpr>,
    limit: Option<AstExpr>,
    /// What is computed for each record.
    items: Vec<SelectItem>,
}

impl Selected {
    /// The records that a DELETE names.
    ///
    /// # Errors
    /// The statement does not delete from one table.
    pub(super) fn by_deletion(statement: Statement) -> QueryResult<Self> {
        let Statement::Statement(ast) = statement else {
            return plan_err!("the statement does not delete from a table");
        };
        let Ast::Delete(delete) = *ast else {
            return plan_err!("the statement does not delete from a table");
        };
        let (FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables)) = delete.from;
        let Ok([table]) = <[TableWithJoins; 1]>::try_from(tables) else {
            return plan_err!("DELETE takes one table");
        };
        Ok(Self {
            table,
            condition: delete.selection,
            limit: delete.limit,
            items: Vec::new(),
        })
    }

    /// The records that an UPDATE names.
    pub(super) fn by_update(update: Update) -> Self {
        Self {
            table: update.table,
            condition: update.selection,
            limit: None,
            items: Vec::new(),
        }
    }

    /// The same with values that are computed for each record.
    pub(super) fn with_items(self, items: Vec<SelectItem>) -> Self {
        Self { items, ..self }
    }

    /// The name of the table.
    ///
    /// # Errors
    /// It is not a table.
    pub(super) fn table(&self) -> QueryResult<TableReference> {
        match &self.table.relation {
            // The columns would have other names than those of the table.
            TableFactor::Table {
                alias: Some(alias), ..
            } if !alias.columns.is_empty() => {
                plan_err!("an alias of a table that is changed takes no names of columns")
            }
            TableFactor::Table { name, .. } => Ok(TableReference::parse_str(&name.to_string())),
            _ => plan_err!("only the records of a table can be changed"),
        }
    }

    /// The name that the statement gives the table.
    pub(super) fn alias(&self) -> Option<&TableAlias> {
        match &self.table.relation {
            TableFactor::Table { alias, .. } => alias.as_ref(),
            _ => None,
        }
    }

    /// The plan of the query. Its first column has the rows of the records as they are stored; the items follow.
    ///
    /// # Errors
    /// Those of the engine; an item that is not computed from one record.
    pub(super) async fn plan(
        self,
        session: &SqlSession,
        table: &Arc<dyn Table>,
        schema: &RecordSchema,
    ) -> QueryResult<LogicalPlan> {
        let mut row = "row".to_owned();
        while schema.names().any(|name| name == row) {
            row.push('_');
        }
        let relation = RecordsTable::new(
            table.clone(),
            schema.clone(),
            session.authorizations.clone(),
            session.sees_layout,
        );
        let source = provider_as_source(Arc::new(relation.with_rows(&row)));
        let has_items = !self.items.is_empty();
        let query = self.query()?;
        let plan = session.context.state().statement_to_plan(query).await?;
        with_rows(&plan, &source, has_items)
    }

    fn query(self) -> QueryResult<Statement> {
        let mut statements = DFParser::parse_sql("SELECT 1")?;
        if let Some(Statement::Statement(ast)) = statements.front_mut()
            && let Ast::Query(query) = &mut **ast
            && let Query {
                body, limit_clause, ..
            } = &mut **query
            && let SetExpr::Select(select) = &mut **body
        {
            let Select {
                projection,
                from,
                selection,
                ..
            } = &mut **select;
            if !self.items.is_empty() {
                *projection = self.items;
            }
            *from = vec![self.table];
            *selection = self.condition;
            *limit_clause = self.limit.map(|limit| LimitClause::LimitOffset {
                limit: Some(limit),
                offset: None,
                limit_by: Vec::new(),
            });
        }
        match statements.pop_front() {
            Some(statement) => Ok(statement),
            None => plan_err!("the statement has no query"),
        }
    }
}

/// A plan with another source for its table, which has one more column with the rows. That one is the first of the
/// result. Subqueries read their own tables.
fn with_rows(
    plan: &LogicalPlan,
    source: &Arc<dyn TableSource>,
    has_items: bool,
) -> QueryResult<LogicalPlan> {
    let below = |input: &LogicalPlan| with_rows(input, source, has_items);
    match plan {
        LogicalPlan::TableScan(scan) => {
            LogicalPlanBuilder::scan(scan.table_name.clone(), source.clone(), None)?.build()
        }
        LogicalPlan::SubqueryAlias(alias) => LogicalPlanBuilder::from(below(&alias.input)?)
            .alias(alias.alias.clone())?
            .build(),
        LogicalPlan::Filter(filter) => {
            let input = Arc::new(below(&filter.input)?);
            Ok(LogicalPlan::Filter(Filter::try_new(
                filter.predicate.clone(),
                input,
            )?))
        }
        LogicalPlan::Limit(limit) => Ok(LogicalPlan::Limit(Limit {
            input: Arc::new(below(&limit.input)?),
            ..limit.clone()
        })),
        LogicalPlan::Projection(projection) => {
            let input = below(&projection.input)?;
            let Some(last) = input.schema().fields().len().checked_sub(1) else {
                return plan_err!("the table has no columns");
            };
            let row = Expr::Column(ColumnName::from(input.schema().qualified_field(last)));
            let items = projection.expr.iter().filter(|_| has_items).cloned();
            let columns: Vec<Expr> = std::iter::once(row).chain(items).collect();
            LogicalPlanBuilder::from(input).project(columns)?.build()
        }
        _ => plan_err!(
            "a statement that changes records computes each value from one record: put aggregates and window functions \
             into a subquery"
        ),
    }
}
