//! Messages about functions that do not exist.

/// Functions of other databases, and what to write here.
const ELSEWHERE: [(&str, &str); 20] = [
    ("ago", "now() - INTERVAL '1 hour'"),
    ("charindex", "strpos"),
    ("datediff", "the difference of the two times"),
    ("dateadd", "time + INTERVAL '1 day'"),
    ("epoch", "extract(epoch FROM time)"),
    ("getdate", "now()"),
    ("group_concat", "string_agg"),
    ("isnull", "coalesce, or IS NULL"),
    ("len", "length"),
    ("listagg", "string_agg"),
    ("mod", "a % b"),
    ("regexp_extract", "(regexp_match(text, '…(part)…'))[1]"),
    ("regexp_matches", "regexp_like"),
    ("sign", "signum"),
    ("strftime", "to_char"),
    ("strptime", "to_timestamp"),
    ("time_bucket", "date_bin"),
    ("unix_timestamp", "extract(epoch FROM time)"),
    ("variance", "var_samp"),
    ("year", "extract(year FROM time)"),
];

/// Functions that exist only with OVER.
const WINDOWS: [&str; 9] = [
    "cume_dist",
    "dense_rank",
    "lag",
    "lead",
    "nth_value",
    "ntile",
    "percent_rank",
    "rank",
    "row_number",
];

/// Replaces the engine's message about a function that there is not: its suggestion can be far from what was meant.
pub(super) fn about_function(reason: &str) -> Option<String> {
    let rest = reason.strip_prefix("Invalid function '")?;
    let (name, rest) = rest.split_once('\'')?;
    let wanted = name.to_lowercase();
    if WINDOWS.contains(&wanted.as_str()) {
        return Some(format!(
            "{name} is a window function: write {name}(…) OVER (…)"
        ));
    }
    let known = ELSEWHERE.iter().find(|(theirs, _)| *theirs == wanted);
    let next = match known {
        Some((_, ours)) => format!(": use {ours}"),
        None => {
            let suggested = rest
                .split_once("Did you mean '")
                .and_then(|(_, rest)| rest.split('\'').next());
            let near = suggested.filter(|suggested| {
                let distance = strsim::damerau_levenshtein(&wanted, suggested);
                distance <= 1 + wanted.chars().count() / 4
            });
            near.map_or_else(String::new, |near| format!(": did you mean {near}?"))
        }
    };
    Some(format!("there is no function {name}{next}"))
}

/// The name of a function of tables that there is not.
pub(crate) fn missing_table_function(reason: &str) -> Option<&str> {
    let (_, rest) = reason.split_once("able function '")?;
    rest.strip_suffix("' not found")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_are_what_was_meant_or_absent() {
        for (name, suggested, expected) in [
            (
                "epoch",
                "cosh",
                "there is no function epoch: use extract(epoch FROM time)",
            ),
            (
                "STRFTIME",
                "to_time",
                "there is no function STRFTIME: use to_char",
            ),
            (
                "substrr",
                "substr",
                "there is no function substrr: did you mean substr?",
            ),
            ("histogram", "ltrim", "there is no function histogram"),
        ] {
            let engine = format!("Invalid function '{name}'. Did you mean '{suggested}'?");
            assert_eq!(about_function(&engine).as_deref(), Some(expected));
        }
        assert_eq!(about_function("Invalid number"), None);
    }

    #[test]
    fn functions_of_tables_are_named() {
        let engine = "Error during planning: table function 'read_csv' not found";
        assert_eq!(missing_table_function(engine), Some("read_csv"));
        assert_eq!(missing_table_function("there is no table"), None);
    }
}
