//! Valid names of tables and namespaces.

use crate::catalog::namespace_of;
use crate::error::{Error, StoreResult};

/// Longest name, in bytes, namespace included.
const LONGEST: usize = 1024;
/// Longest name of a namespace, so that its tables can still be named.
const LONGEST_NAMESPACE: usize = LONGEST / 2;
/// The namespace of system tables.
const RESERVED: &str = "accumulo";

/// Checks a table's name: letters, digits and `_`, with an optional prefix `namespace.`.
fn check_name(name: &str) -> StoreResult<()> {
    let ok = match name.split_once('.') {
        Some((namespace, table)) => is_word(namespace) && is_word(table),
        None => is_word(name),
    };
    if ok && name.len() <= LONGEST {
        return Ok(());
    }
    Err(Error::invalid(
        "a table's name consists of letters, digits and underscores; the name of a namespace and a dot may stand \
         before it",
    )
    .with("given", name.get(..64).unwrap_or(name)))
}

/// Checks the name of a new or renamed table: well-formed, and not in the reserved namespace.
pub(super) fn check_new_name(name: &str) -> StoreResult<()> {
    check_name(name)?;
    if namespace_of(name) == RESERVED {
        return Err(reserved().with("table", name));
    }
    Ok(())
}

/// Checks the name of a new or renamed namespace.
pub(super) fn check_namespace(name: &str) -> StoreResult<()> {
    if name == RESERVED {
        return Err(reserved().with("namespace", name));
    }
    if is_word(name) && name.len() <= LONGEST_NAMESPACE {
        return Ok(());
    }
    Err(
        Error::invalid("a namespace's name consists of letters, digits and underscores")
            .with("given", name.get(..64).unwrap_or(name)),
    )
}

fn reserved() -> Error {
    Error::invalid("the namespace `accumulo` is reserved for system tables: choose another name")
}

fn is_word(word: &str) -> bool {
    !word.is_empty()
        && word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Among more names, none is looked for. Programs ask for tables that they then create, and comparing a thousand names
/// takes longer than that.
const COMPARED_MAX: usize = 300;

/// The known name most similar to `name`, if one is similar.
pub(super) fn nearest<'a>(
    name: &str,
    known: impl ExactSizeIterator<Item = &'a String>,
) -> Option<&'a str> {
    if known.len() > COMPARED_MAX {
        return None;
    }
    let most = |known: &str| known.len().max(3) / 3;
    known
        .map(String::as_str)
        // Each character more or less is a difference.
        .filter(|known| known.len().abs_diff(name.len()) <= most(known))
        .map(|known| (strsim::damerau_levenshtein(known, name), known))
        .filter(|(distance, known)| *distance <= most(known))
        .min()
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_similar_name_is_found_among_few_names() {
        let names = |count: usize| {
            (0..count)
                .map(|at| format!("table_{at}"))
                .collect::<Vec<_>>()
        };
        let few = names(COMPARED_MAX);
        assert_eq!(nearest("tabel_7", few.iter()), Some("table_7"));
        assert_eq!(nearest("other", few.iter()), None);
        assert_eq!(nearest(&"table_7".repeat(1_000_000), few.iter()), None);
        assert_eq!(nearest("tabel_7", names(COMPARED_MAX + 1).iter()), None);
    }
}
