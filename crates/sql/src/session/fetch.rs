//! FETCH FIRST, the standard's LIMIT, which the engine does not know.

use datafusion::sql::sqlparser::ast::{Expr, LimitClause, Query, Value};
use ostrakon_cell::{Error, ErrorKind, Result};

/// Writes `FETCH FIRST n ROWS ONLY` as `LIMIT n`.
///
/// # Errors
/// PERCENT or WITH TIES, or a LIMIT beside it.
pub(super) fn as_limit(query: &mut Query) -> Result<()> {
    let Some(fetch) = query.fetch.take() else {
        return Ok(());
    };
    if fetch.with_ties || fetch.percent {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "FETCH with PERCENT or WITH TIES is not supported: number the rows with row_number() or rank() in a \
             subquery, and select by the number",
        ));
    }
    let rows = fetch
        .quantity
        .unwrap_or_else(|| Expr::value(Value::Number("1".to_owned(), false)));
    match &mut query.limit_clause {
        none @ None => {
            *none = Some(LimitClause::LimitOffset {
                limit: Some(rows),
                offset: None,
                limit_by: Vec::new(),
            });
        }
        Some(LimitClause::LimitOffset {
            limit: limit @ None,
            ..
        }) => *limit = Some(rows),
        Some(_) => {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "a query has LIMIT or FETCH, not both",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::parse_statements;

    #[test]
    fn fetch_is_a_limit() {
        let of = |text: &str| parse_statements(text).map(|all| all[0].statement.to_string());
        for (clause, limit) in [
            ("FETCH FIRST 3 ROWS ONLY", "LIMIT 3"),
            ("FETCH NEXT ROW ONLY", "LIMIT 1"),
            (
                "OFFSET 2 ROWS FETCH FIRST 3 ROWS ONLY",
                "OFFSET 2 ROWS LIMIT 3",
            ),
        ] {
            let text = of(&format!("SELECT a FROM (SELECT a FROM t {clause}) AS u")).unwrap();
            let words: Vec<&str> = limit.split(' ').collect();
            assert!(words.iter().all(|word| text.contains(word)), "{text}");
            assert!(!text.contains("FETCH"), "{text}");
        }
        for clause in [
            "FETCH FIRST 10 PERCENT ROWS ONLY",
            "FETCH FIRST 3 ROWS WITH TIES",
            "LIMIT 3 FETCH FIRST 3 ROWS ONLY",
        ] {
            let error = of(&format!("SELECT a FROM t ORDER BY a {clause}")).unwrap_err();
            assert!(error.to_string().contains("FETCH"), "{error}");
        }
    }
}
