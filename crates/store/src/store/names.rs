//! What a table may be called.

use crate::error::{Error, StoreResult};

/// Longest name, in bytes, namespace included.
const LONGEST: usize = 1024;

/// Checks a table's name: letters, digits and `_`, with an optional `namespace.` before.
pub(super) fn check_name(name: &str) -> StoreResult<()> {
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let ok = match name.split_once('.') {
        Some((namespace, table)) => is_word(namespace) && is_word(table),
        None => is_word(name),
    };
    if ok && name.len() <= LONGEST {
        return Ok(());
    }
    Err(Error::invalid(
        "a table is called by letters, digits and underscores, with an optional namespace and a dot \
         before",
    )
    .with("given", name.get(..64).unwrap_or(name)))
}

/// The known name nearest to `name`, if one is near.
pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> Option<&'a str> {
    known
        .map(|known| (strsim::damerau_levenshtein(known, name), known.as_str()))
        .filter(|(distance, known)| *distance <= known.len().max(3) / 3)
        .min()
        .map(|(_, known)| known)
}
