//! What to say instead of the engine's reasons, which name its own parts or not what to do.

/// Parts of reasons, and what to say instead.
const INSTEAD: [(&str, &str); 8] = [
    (
        "does not support logical expression WindowFunction",
        "window functions cannot be used in WHERE, GROUP BY or HAVING, or within each other: filter with QUALIFY, or \
         compute them in a query in FROM",
    ),
    (
        "Unary operator '-' only supports",
        "only numbers with a sign, intervals and times can be negated: write 0 - x for a BIGINT UNSIGNED",
    ),
    (
        "Invalid interval arithmetic operation",
        "an interval cannot be multiplied or divided: make it of a number, as in CAST(n || ' days' AS INTERVAL)",
    ),
    (
        "Too many columns! The subquery should only return one column",
        "the subquery of IN returns one column: for several, write EXISTS with a condition for each",
    ),
    (
        "Insert-returning clause not supported",
        "RETURNING is not supported: select the records by their keys afterwards",
    ),
    (
        "Collate is not supported",
        "COLLATE is not supported: text is ordered by its bytes",
    ),
    (
        "Pivot is not supported",
        "PIVOT is not supported: write an aggregate for each value, as in sum(v) FILTER (WHERE name = 'a')",
    ),
    (
        "Unpivot is not supported",
        "UNPIVOT is not supported: write a query for each column, with UNION ALL",
    ),
];

/// What to say of a statement that cannot be planned.
pub(super) fn of_plan(reason: &str) -> Option<String> {
    about_subquery(reason)
        .or_else(|| instead(reason))
        .map(str::to_owned)
        .or_else(|| about_names(reason))
        .or_else(|| about_relations(reason))
        .or_else(|| about_letters(reason))
        .or_else(|| about_groups(reason))
        .or_else(|| with_fields_once(reason))
}

/// What to say of what the engine cannot do.
pub(super) fn of_gap(reason: &str) -> Option<String> {
    about_type(reason).or_else(|| instead(reason).map(str::to_owned))
}

/// What to say of a clause that the parser does not know. It knows `* EXCLUDE (a)`.
pub(super) fn of_syntax(reason: &str) -> Option<&'static str> {
    reason.contains("found: EXCLUDE").then_some(
        "EXCLUDE in the frame of a window is not supported: combine the frame before the row with the one after it, as in \
         coalesce(sum(x) OVER (ORDER BY k ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING), 0) + \
         coalesce(sum(x) OVER (ORDER BY k ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING), 0)",
    )
}

/// What to say of a value.
pub(super) fn of_value(reason: &str) -> Option<&'static str> {
    if reason.contains("Cannot access field at argument") {
        return Some(
            "a.b was read as the field `b` of a column `a` that is not a struct: if `a` is a relation of the outer query, give \
             it another name with AS, because a relation of the subquery has a column of this name",
        );
    }
    reason.contains("Arithmetic Overflow in AvgAccumulator").then_some(
        "an average of DECIMAL has more than 38 digits, of which four are added after the point: cast the values to DOUBLE",
    )
}

fn instead(reason: &str) -> Option<&'static str> {
    let known = INSTEAD.iter().find(|(part, _)| reason.contains(part));
    known.map(|(_, text)| *text)
}

/// What to say instead of a message about a subquery that names parts of the engine, or names that it has made up.
fn about_subquery(reason: &str) -> Option<&'static str> {
    const MADE_UP: [&str; 8] = [
        "__always_true",
        "__correlated_sq_",
        "__matched_",
        "__own_",
        "__raised_",
        "__scalar_sq_",
        "__compared_",
        "__sorted_",
    ];
    if reason.contains("Correlated scalar subquery must be aggregated") {
        return Some(
            "a query as a value that names columns of the outer query has to be an aggregate, which has one row: aggregate it, \
             as in (SELECT max(…) …), or write a join",
        );
    }
    if reason.contains("Correlated scalar subquery can only be used") {
        return Some(
            "a query as a value that names columns of the outer query can stand in WHERE, HAVING and the list of SELECT, and \
             not in ON or inside of a window function: move the condition to WHERE, compute the value in a query in FROM, or \
             write a join",
        );
    }
    let is_made_up = MADE_UP.iter().any(|name| reason.contains(name));
    is_made_up.then_some(
        "the query engine cannot run this subquery: give what it computes a name with AS, leave out DISTINCT, or write a join",
    )
}

/// What to say about two columns of one name.
fn about_names(reason: &str) -> Option<String> {
    let (_, rest) = reason.split_once("unqualified field name ")?;
    let name = rest.strip_suffix(" which would be ambiguous")?;
    Some(format!(
        "two columns of a query are called {name}: give one of them another name with AS"
    ))
}

/// What to say about a name that several relations have.
fn about_relations(reason: &str) -> Option<String> {
    let (_, name) = reason.split_once("Ambiguous reference to unqualified field ")?;
    Some(format!(
        "several relations of the query have a column {name}: write the relation before it, as in `relation.{name}`"
    ))
}

/// Names each field once that a query has and that could have been meant.
fn with_fields_once(reason: &str) -> Option<String> {
    const LIST: &str = "Valid fields are ";
    let (before, fields) = reason.split_once(LIST)?;
    let fields = fields.strip_suffix('.').unwrap_or(fields);
    let mut once: Vec<&str> = Vec::new();
    for field in fields.split(", ") {
        if !once.contains(&field) {
            once.push(field);
        }
    }
    Some(format!("{before}{LIST}{}.", once.join(", ")))
}

/// What to say about a column that there is under a name with other letters.
fn about_letters(reason: &str) -> Option<String> {
    let (before, rest) = reason.split_once(" Column names are case sensitive.")?;
    let (_, after) = rest.split_once("enable_ident_normalization configuration.")?;
    Some(format!(
        "{before} A name with upper-case letters is written in double quotes.{after}"
    ))
}

/// What to say about a type that there is not.
fn about_type(reason: &str) -> Option<String> {
    let (_, name) = reason.split_once("Unsupported SQL type ")?;
    Some(format!(
        "there is no type {name}: use BIGINT, BIGINT UNSIGNED, DOUBLE, BOOLEAN, DATE, TIMESTAMP, VARCHAR or BYTEA"
    ))
}

/// What to say about a column that is neither a group nor aggregated.
fn about_groups(reason: &str) -> Option<String> {
    let (before, _) = reason.split_once("\" must appear in the GROUP BY clause")?;
    let (_, column) = before.rsplit_once('"')?;
    let name = column.rsplit('.').next().unwrap_or(column);
    Some(format!(
        "the column {column} is selected, but is not in GROUP BY: add it there, or aggregate it, as in max({name})"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_named_once() {
        let engine = "No field named b. Valid fields are t.a, t.c, t.a.";
        let expected = "No field named b. Valid fields are t.a, t.c.";
        assert_eq!(of_plan(engine).as_deref(), Some(expected));
    }

    #[test]
    fn columns_outside_of_groups_are_named() {
        let engine = "Column in SELECT must be in GROUP BY or an aggregate function: While expanding wildcard, column \
                      \"events.web.client\" must appear in the GROUP BY clause or must be part of an aggregate function, \
                      currently only \"count(Int64(1))\" appears in the SELECT clause satisfies this requirement";
        assert_eq!(
            about_groups(engine).as_deref(),
            Some(
                "the column events.web.client is selected, but is not in GROUP BY: add it there, or aggregate it, as in \
                 max(client)"
            )
        );
        assert_eq!(about_groups("No field named a"), None);
    }
}
