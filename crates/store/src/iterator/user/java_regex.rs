//! Translates regular expressions from Java's syntax to that of the `regex` library.
//!
//! The two agree on most constructs. Where they would silently differ, the expression is rewritten
//! (`\d \w \s \b` and their opposites mean ASCII in Java) or rejected (possessive quantifiers,
//! `(?U)`). The library itself rejects what it does not support (look-around, back-references,
//! `\Q…\E`, `\G`, `\Z`, `\R`, octal escapes).
//!
//! Remaining differences: `$` outside `(?m)` matches only at the very end, where Java also accepts
//! a line end before it; bytes that are not UTF-8 are matched by no `.`, where Java sees U+FFFD;
//! `.` stops at `\r` and `
//! `, not at U+0085, U+2028 and U+2029; `(?i)` covers all of Unicode.

use ostrakon_cell::Error;

use crate::error::StoreResult;

/// Rewrites `java`, or returns an error that names the unsupported part.
pub(super) fn from_java(java: &str, unicode: bool) -> StoreResult<String> {
    let mut out = String::with_capacity(java.len());
    let mut in_class = 0_usize;
    // Whether the previous character ended a quantifier, so that a `+` would make it possessive.
    let mut quantified = false;
    let mut rest = java.chars().peekable();
    while let Some(char) = rest.next() {
        let mut is_quantifier = false;
        match char {
            '\\' => match rest.next() {
                Some(escaped) => out.push_str(&escape(escaped, in_class > 0, unicode)),
                None => out.push('\\'),
            },
            '[' => {
                in_class += 1;
                out.push('[');
                // A bracket that comes first is no end in Java either when negated or not: both
                // syntaxes read `[]a]` and `[^]a]` as a class that holds the bracket.
                if rest.peek() == Some(&'^') {
                    out.extend(rest.next());
                }
                if rest.peek() == Some(&']') {
                    out.push('\\');
                    out.extend(rest.next());
                }
            }
            ']' if in_class > 0 => {
                in_class -= 1;
                out.push(']');
            }
            '(' if in_class == 0 => {
                out.push('(');
                if rest.peek() == Some(&'?') {
                    out.extend(rest.next());
                    let flags: String = std::iter::from_fn(|| {
                        rest.next_if(|char| char.is_ascii_alphabetic() || *char == '-')
                    })
                    .collect();
                    refuse_flags(&flags)?;
                    out.push_str(&flags);
                }
            }
            '*' | '?' | '+' | '}' if in_class == 0 => {
                if char == '+' && quantified {
                    return Err(Error::invalid(
                        "possessive quantifiers (*+, ++, ?+, {n}+) are not supported: leave out \
                         the second +",
                    ));
                }
                // A lazy `*?` ends the quantifier.
                is_quantifier = !(char == '?' && quantified);
                out.push(char);
            }
            _ => out.push(char),
        }
        quantified = is_quantifier;
    }
    Ok(out)
}

/// Rejects Java's `(?U)` and `(?d)`, which have another meaning in the library, or none.
fn refuse_flags(flags: &str) -> StoreResult<()> {
    match flags.chars().find(|flag| !"imsxu-".contains(*flag)) {
        None => Ok(()),
        Some(flag) => Err(Error::invalid(
            "of the flags in (?…) only i, m, s, u and x are supported",
        )
        .with("flag", flag)),
    }
}

fn escape(escaped: char, in_class: bool, unicode: bool) -> String {
    let class = |inner: &str, negated: bool| match (in_class, negated) {
        (true, false) => inner.to_owned(),
        (_, true) => format!("[^{inner}]"),
        (false, false) => format!("[{inner}]"),
    };
    match escaped {
        'd' | 'D' => class("0-9", escaped == 'D'),
        'w' | 'W' => class("0-9A-Z_a-z", escaped == 'W'),
        's' | 'S' => class(r"\t\n\x0B\f\r\x20", escaped == 'S'),
        'h' | 'H' if !unicode => class(r"\t\x20\xA0", escaped == 'H'),
        'e' => r"\x1B".to_owned(),
        'b' if unicode => r"(?-u:\b)".to_owned(),
        'B' if unicode => r"(?-u:\B)".to_owned(),
        other => format!("\\{other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_become_ascii() {
        let ours = |java| from_java(java, true).expect("sound");
        assert_eq!(ours(r"\d+\.\w"), r"[0-9]+\.[0-9A-Z_a-z]");
        assert_eq!(ours(r"[\d.]\S"), r"[0-9.][^\t\n\x0B\f\r\x20]");
        assert_eq!(ours(r"[^\W]"), r"[^[^0-9A-Z_a-z]]");
        assert_eq!(ours(r"\\d"), r"\\d");
        assert_eq!(
            ours("[]+*?]++?".trim_end_matches('?').trim_end_matches('+')),
            "[\\]+*?]"
        );
    }

    #[test]
    fn possessive_quantifiers_are_told_from_plain_ones() {
        for java in ["a++", "a?+", "a{1,2}+", "(ab)*+c"] {
            assert!(from_java(java, true).is_err(), "{java}");
        }
        for java in [
            "a+b+", r"\++", "[+*]+", "a+?", "a??b+", r"\}+", "(?i)a", "(?i:a)",
        ] {
            assert!(from_java(java, true).is_ok(), "{java}");
        }
    }
}
