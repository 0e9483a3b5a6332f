//! Clauses that the parser reads and the query engine passes over: an answer without them would be another one.

use datafusion::sql::sqlparser::ast::{
    ColumnOption, CreateTable, Delete, Expr, FromTable, GroupByExpr, Insert, JoinConstraint,
    JoinOperator, OnConflictAction, OnInsert, Query, Select, SetExpr, SqliteOnConflict,
    TableConstraint, TableFactor, TableWithJoins, Update,
};
use ostrakon_cell::{Error, ErrorKind, Result};

fn refused(clause: &str) -> Result<()> {
    Err(Error::new(
        ErrorKind::Unsupported,
        "there is no such clause: leave it out",
    )
    .with("clause", clause))
}

/// Refuses the first clause that is there.
fn check(clauses: &[(&str, bool)]) -> Result<()> {
    match clauses.iter().find(|(_, is_there)| *is_there) {
        Some((clause, _)) => refused(clause),
        None => Ok(()),
    }
}

pub(super) fn check_query(query: &Query) -> Result<()> {
    check(&[
        ("FOR UPDATE", !query.locks.is_empty()),
        ("FOR", query.for_clause.is_some()),
        ("SETTINGS", query.settings.is_some()),
        ("FORMAT", query.format_clause.is_some()),
    ])
}

/// Refuses `FROM t` alone, and `SELECT FROM t`, as a statement: rows without columns would be shown as nothing.
pub(super) fn check_result(query: &Query) -> Result<()> {
    match &*query.body {
        SetExpr::Select(select) if select.projection.is_empty() => Err(Error::invalid(
            "the query has no columns: write SELECT * FROM …, or name columns",
        )),
        _ => Ok(()),
    }
}

pub(super) fn check_select(select: &Select) -> Result<()> {
    select.from.iter().try_for_each(check_joins)?;
    let (GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers)) = &select.group_by;
    if !modifiers.is_empty() {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "GROUP BY takes no WITH ROLLUP, WITH CUBE or WITH TOTALS: write GROUP BY ROLLUP (a, b) or GROUP BY CUBE (a, b)",
        ));
    }
    check(&[
        ("modifier of SELECT", select.select_modifiers.is_some()),
        ("SELECT AS", select.value_table_mode.is_some()),
        ("INTO", select.into.is_some()),
        ("PREWHERE", select.prewhere.is_some()),
        ("CONNECT BY", !select.connect_by.is_empty()),
        ("DISTRIBUTE BY", !select.distribute_by.is_empty()),
    ])
}

/// A join without a condition would be one of all rows with all rows, and large tables would never end.
fn check_joins(relation: &TableWithJoins) -> Result<()> {
    let has_none = relation.joins.iter().any(|join| {
        // The query itself has the condition.
        let is_lateral = matches!(&join.relation, TableFactor::Derived { lateral: true, .. });
        !is_lateral
            && matches!(
                join.join_operator,
                JoinOperator::Join(JoinConstraint::None)
                    | JoinOperator::Inner(JoinConstraint::None)
                    | JoinOperator::Left(JoinConstraint::None)
                    | JoinOperator::LeftOuter(JoinConstraint::None)
                    | JoinOperator::Right(JoinConstraint::None)
                    | JoinOperator::RightOuter(JoinConstraint::None)
                    | JoinOperator::FullOuter(JoinConstraint::None)
            )
    });
    match has_none {
        true => Err(Error::invalid(
            "a join has no condition: add ON or USING, or write CROSS JOIN for all pairs of rows",
        )),
        false => Ok(()),
    }
}

pub(super) fn check_insert(insert: &Insert) -> Result<()> {
    let keeps = match &insert.on {
        Some(OnInsert::OnConflict(conflict)) => conflict.action == OnConflictAction::DoNothing,
        _ => matches!(insert.or, Some(SqliteOnConflict::Ignore)),
    };
    if keeps {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "INSERT always replaces the record with the same key: to keep those that are there, select only new ones, as in \
             INSERT INTO t SELECT … FROM s WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.k = s.k)",
        ));
    }
    if insert.on.is_some() || insert.or.is_some() {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "INSERT replaces the record with the same key: leave ON CONFLICT, OR REPLACE and the like out",
        ));
    }
    Ok(())
}

pub(super) fn check_update(update: &Update) -> Result<()> {
    if update.from.is_some() || !update.table.joins.is_empty() {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "UPDATE takes one table: name others in subqueries, as in \
             UPDATE t SET v = (SELECT max(s.v) FROM s WHERE s.k = t.k) WHERE k IN (SELECT k FROM s)",
        ));
    }
    check(&[
        ("RETURNING", update.returning.is_some()),
        ("OUTPUT", update.output.is_some()),
        ("UPDATE OR", update.or.is_some()),
        ("ORDER BY", !update.order_by.is_empty()),
        ("LIMIT", update.limit.is_some()),
    ])
}

pub(super) fn check_delete(delete: &Delete) -> Result<()> {
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    let has_joins = from.iter().any(|table| !table.joins.is_empty());
    if from.len() > 1 || has_joins || !delete.tables.is_empty() || delete.using.is_some() {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "DELETE takes one table: name others in subqueries, as in \
             DELETE FROM t WHERE k IN (SELECT k FROM s)",
        ));
    }
    check(&[
        ("RETURNING", delete.returning.is_some()),
        ("OUTPUT", delete.output.is_some()),
        ("ORDER BY", !delete.order_by.is_empty()),
    ])
}

pub(super) fn check_relation(relation: &TableFactor) -> Result<()> {
    if let TableFactor::NestedJoin {
        table_with_joins, ..
    } = relation
    {
        return check_joins(table_with_joins);
    }
    if let TableFactor::Derived { sample, .. } = relation {
        return check(&[("TABLESAMPLE", sample.is_some())]);
    }
    let TableFactor::Table {
        with_hints,
        version,
        with_ordinality,
        partitions,
        json_path,
        sample,
        index_hints,
        ..
    } = relation
    else {
        return Ok(());
    };
    check(&[
        ("WITH (hint)", !with_hints.is_empty()),
        ("version of a table", version.is_some()),
        ("WITH ORDINALITY", *with_ordinality),
        ("PARTITION", !partitions.is_empty()),
        ("path into JSON", json_path.is_some()),
        ("TABLESAMPLE", sample.is_some()),
        ("index hint", !index_hints.is_empty()),
    ])
}

/// Columns have a type, and may be the primary key. Only its columns are never NULL.
pub(super) fn check_table(table: &CreateTable) -> Result<()> {
    let in_key = |name: &str| {
        table.constraints.iter().any(|constraint| {
            match constraint {
            TableConstraint::PrimaryKey(key) => key.columns.iter().any(|column| {
                matches!(&column.column.expr, Expr::Identifier(found) if found.value == name)
            }),
            _ => false,
        }
        })
    };
    for column in &table.columns {
        let options = || column.options.iter().map(|option| &option.option);
        let is_key = options().any(|option| matches!(option, ColumnOption::PrimaryKey(_)))
            || in_key(&column.name.value);
        for option in options() {
            match option {
                ColumnOption::Null | ColumnOption::PrimaryKey(_) => {}
                ColumnOption::NotNull if is_key => {}
                ColumnOption::NotNull => {
                    return Err(Error::new(
                        ErrorKind::Unsupported,
                        "only columns of the primary key are NOT NULL: leave it out elsewhere",
                    )
                    .with("column", &column.name.value));
                }
                other => return refused(&other.to_string()),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::parse_statements;

    #[test]
    fn clauses_that_would_be_passed_over_are_refused() {
        for text in [
            "SELECT count(*) FROM r TABLESAMPLE (0)",
            "SELECT count(*) FROM r TABLESAMPLE BERNOULLI (0)",
            "SELECT k FROM (SELECT k FROM r PREWHERE k > 100) AS s",
            "SELECT k FROM r START WITH k = 1 CONNECT BY PRIOR k = v",
            "SELECT k FROM r FOR UPDATE",
            "SELECT k FROM r WITH (NOLOCK)",
            "SELECT k INTO s FROM r",
            "INSERT INTO t SELECT k FROM r TABLESAMPLE (1)",
            "CREATE TABLE n (k BIGINT PRIMARY KEY, b VARCHAR NOT NULL)",
            "CREATE TABLE n (k BIGINT PRIMARY KEY, b BIGINT GENERATED ALWAYS AS (k * 2) STORED)",
            "CREATE TABLE n (k BIGINT PRIMARY KEY, b BIGINT AUTO_INCREMENT)",
            "CREATE TABLE n (k BIGINT PRIMARY KEY, b VARCHAR COMMENT 'x')",
            "SELECT 'abc' SIMILAR TO 'a%'",
            "SELECT k FROM r JOIN t WHERE r.k = t.k",
            "SELECT k FROM r LEFT JOIN t",
            "SELECT k FROM a JOIN (r INNER JOIN t) ON a.k = r.k",
            "FROM r",
            "SELECT FROM r",
            "INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING",
            "INSERT OR REPLACE INTO t VALUES (1)",
        ] {
            assert!(parse_statements(text).is_err(), "{text}");
        }
        for text in [
            "SELECT k FROM r AS s JOIN t ON r.k = t.k WHERE k > 1 GROUP BY k HAVING k > 2 ORDER BY k LIMIT 3",
            "SELECT k FROM r CROSS JOIN t",
            "SELECT k FROM r JOIN LATERAL (SELECT j FROM t WHERE t.k = r.k) x",
            "SELECT k FROM r WHERE EXISTS (SELECT FROM t WHERE t.k = r.k)",
            "REPLACE INTO t VALUES (1)",
            "SELECT k FROM r NATURAL JOIN t",
            "SELECT k FROM r JOIN t USING (k)",
            "SELECT k FROM r, t",
            "FROM r SELECT k",
            "WITH s AS (SELECT 1) SELECT * FROM s UNION ALL SELECT 2",
            "CREATE TABLE n (k BIGINT NOT NULL PRIMARY KEY, b VARCHAR NULL)",
            "CREATE TABLE n (k BIGINT NOT NULL, b VARCHAR, PRIMARY KEY (k))",
        ] {
            assert!(parse_statements(text).is_ok(), "{text}");
        }
    }
}
