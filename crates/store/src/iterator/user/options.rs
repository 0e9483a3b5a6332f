//! Reading options, with errors that say what would be right.

use ostrakon_cell::{Error, IteratorOptions};

use crate::error::StoreResult;

/// Refuses options a class does not know: a misspelt one would silently do nothing.
pub(super) fn only(options: &IteratorOptions, known: &[&str]) -> StoreResult<()> {
    match options.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) if known.is_empty() => {
            Err(Error::invalid("this class takes no options").with("given", name))
        }
        Some(name) => Err(Error::invalid(format!(
            "no such option; known are {}",
            known.join(", ")
        ))
        .with("given", name)),
    }
}

/// An option that is a number.
pub(super) fn number(options: &IteratorOptions, name: &'static str) -> StoreResult<Option<i64>> {
    options
        .get(name)
        .map(|text| {
            text.trim().parse().map_err(|_| {
                Error::invalid("the option takes a whole number of 64 bits")
                    .with("option", name)
                    .with("given", text)
            })
        })
        .transpose()
}
