//! Errors of unknown names say which known name is similar.

use ostrakon_cell::Error;

/// Adds the known name that is most similar to the wanted one as `similar`, if one is similar enough.
pub(crate) fn with_similar<'a>(
    error: Error,
    wanted: &str,
    known: impl Iterator<Item = &'a str>,
) -> Error {
    let nearest = known
        .map(|known| (strsim::damerau_levenshtein(known, wanted), known))
        .filter(|(distance, known)| *distance <= known.len().max(3) / 3)
        .min();
    match nearest {
        Some((_, known)) => error.with("similar", known),
        None => error,
    }
}
