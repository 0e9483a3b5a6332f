//! Parses options, with errors that say what is valid.

use ostrakon_cell::{Error, IteratorOptions};

use crate::error::StoreResult;

/// Rejects unknown options: a misspelt one would silently have no effect.
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

/// The text of an option. An empty text counts as not set: Accumulo's shell sets skipped options to
/// it.
pub(super) fn text<'a>(options: &'a IteratorOptions, name: &str) -> Option<&'a str> {
    options
        .get(name)
        .map(String::as_str)
        .filter(|text| !text.is_empty())
}

/// The text of a required option.
pub(super) fn required<'a>(
    options: &'a IteratorOptions,
    name: &'static str,
) -> StoreResult<&'a str> {
    text(options, name).ok_or_else(|| {
        Error::invalid("an option that must be given is missing").with("option", name)
    })
}

/// An option that is a number.
pub(super) fn number(options: &IteratorOptions, name: &'static str) -> StoreResult<Option<i64>> {
    text(options, name)
        .map(|text| {
            text.trim().parse().map_err(|_| {
                Error::invalid("the option takes a whole number of 64 bits")
                    .with("option", name)
                    .with("given", text)
            })
        })
        .transpose()
}

/// An option that is a size in bytes, optionally with the suffix `B`, `K`, `M` or `G`.
pub(super) fn size(options: &IteratorOptions, name: &'static str) -> StoreResult<Option<u64>> {
    text(options, name)
        .map(|given| {
            let text = given.trim();
            let unit = text.as_bytes().last().map(u8::to_ascii_uppercase);
            let shift = match unit {
                Some(b'K') => 10,
                Some(b'M') => 20,
                Some(b'G') => 30,
                _ => 0,
            };
            text.strip_suffix(['B', 'b', 'K', 'k', 'M', 'm', 'G', 'g'])
                .unwrap_or(text)
                .parse::<u64>()
                .ok()
                .and_then(|number| number.checked_mul(1 << shift))
                .ok_or_else(|| {
                    Error::invalid("the option takes a size in bytes, such as 500000, 64K or 10M")
                        .with("option", name)
                        .with("given", given)
                })
        })
        .transpose()
}

/// An option that is `true` or `false`.
pub(super) fn flag(
    options: &IteratorOptions,
    name: &'static str,
    default: bool,
) -> StoreResult<bool> {
    match text(options, name).map(str::trim) {
        None => Ok(default),
        Some(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Some(text) if text.eq_ignore_ascii_case("false") => Ok(false),
        Some(text) => Err(Error::invalid("the option takes true or false")
            .with("option", name)
            .with("given", text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let read = |text: &str| {
            let options = IteratorOptions::from([("maxBufferSize".into(), text.into())]);
            size(&options, "maxBufferSize")
        };
        for (text, bytes) in [
            ("7", 7),
            ("7B", 7),
            ("2K", 2048),
            ("3m", 3 << 20),
            ("1G", 1 << 30),
        ] {
            assert_eq!(read(text).expect("sound"), Some(bytes));
        }
        assert_eq!(read("").expect("as if not given"), None);
        for text in ["K", "-1", "1T", "99999999999G", "1.5M", "\u{e9}"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
