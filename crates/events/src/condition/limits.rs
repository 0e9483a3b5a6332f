//! What a condition may need: length, depth, regular expressions.
//!
//! The limits are those of the printed form, because that is what the iterators next to the data get. They are checked
//! before anything is read.

use ostrakon_cell::{Error, Result};
use regex::bytes::{Regex, RegexBuilder};

use super::{Condition, Operator};

/// The most bytes of an expression.
pub(super) const BYTES_MAX: usize = 256 << 10;
/// Deeper expressions would need much stack.
pub(super) const DEPTH_MAX: usize = 64;
/// The most bytes of one regular expression in compiled form.
const REGEX_BYTES_MAX: usize = 2 << 20;
/// Each tablet compiles them again.
const REGEXES_MAX: usize = 64;

/// Compiles a regular expression of bounded size.
pub(super) fn compile_regex(pattern: &str) -> Result<Regex> {
    RegexBuilder::new(pattern)
        .size_limit(REGEX_BYTES_MAX)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => Error::invalid(
                "the regular expression needs more than 2 MiB once it is compiled: repeat less in it, or switch Unicode \
                 classes off by (?-u)",
            ),
            error => Error::invalid("not a valid regular expression").with_source(error),
        })
}

/// Checks the depth of a condition and the number of its regular expressions.
pub(crate) fn check_limits(condition: &Condition) -> Result<()> {
    let mut regexes = 0;
    walk(condition, 0, &mut regexes)?;
    if regexes > REGEXES_MAX {
        return Err(Error::invalid(
            "the condition has more than 64 regular expressions: join some of them by |",
        )
        .with("regular expressions", regexes));
    }
    Ok(())
}

/// Checks that a condition is short enough to be sent to the tablets. Counts and the index need not do so.
pub(crate) fn check_length(condition: &Condition) -> Result<()> {
    let bytes = condition.to_string().len();
    if bytes > BYTES_MAX {
        return Err(Error::invalid(
            "the condition has more than 256 KiB once all its values are written out: use fewer or shorter values; \
             a byte that is not printable takes four",
        )
        .with("bytes", bytes));
    }
    Ok(())
}

/// Counts regular expressions, and checks the depth as it is printed: each `and`, `or` and `not` adds a parenthesis.
fn walk(condition: &Condition, depth: usize, regexes: &mut usize) -> Result<()> {
    // The expression itself is the first level.
    if depth + 1 > DEPTH_MAX {
        return Err(Error::invalid(
            "the condition is nested too deeply: at most 63 levels of parentheses are possible, and `not` is one of them",
        ));
    }
    match condition {
        Condition::All => Ok(()),
        Condition::And(parts) | Condition::Or(parts) => parts
            .iter()
            .try_for_each(|part| walk(part, depth + 1, regexes)),
        Condition::Not(part) => walk(part, depth + 1, regexes),
        Condition::Test { operator, .. } => {
            *regexes += usize::from(matches!(operator, Operator::Regex(_)));
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_condition;

    fn refusal(condition: &Condition) -> String {
        let checked = check_limits(condition).and_then(|()| check_length(condition));
        checked.expect_err("refused").to_string()
    }

    #[test]
    fn what_passes_is_read_back() {
        let mut deep = Condition::test("a", Operator::Exists);
        while check_limits(&deep).is_ok() {
            let text = deep.to_string();
            assert_eq!(parse_condition(&text, 0).expect(&text).to_string(), text);
            let other = Condition::test("b", Operator::Exists);
            deep = match deep {
                deep @ Condition::And(_) => Condition::Or(vec![other, deep]),
                deep => Condition::And(vec![other, deep]),
            };
        }
        assert!(refusal(&deep).contains("63 levels"));
        assert!(parse_condition(&deep.to_string(), 0).is_err());
    }

    #[test]
    fn the_error_names_the_limit() {
        // As text it is short enough; printed, each byte is \xNN.
        let long = Condition::equal("a", vec![0xff; 100_000]);
        assert!(refusal(&long).contains("256 KiB"));
        let regexes = vec![Condition::test("a", Operator::Regex("x".into())); 65];
        assert!(refusal(&Condition::Or(regexes)).contains("64 regular expressions"));
    }

    #[test]
    fn regular_expressions_are_bounded() {
        let error = compile_regex(r"(\w{100}){100}").expect_err("too large");
        assert!(error.to_string().contains("2 MiB"), "{error}");
        compile_regex(r"^bot|crawl\w+").expect("small");
        assert!(
            compile_regex("(")
                .expect_err("wrong")
                .to_string()
                .contains("not a valid")
        );
    }
}
