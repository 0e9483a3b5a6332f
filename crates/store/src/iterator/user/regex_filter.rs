//! `RegExFilter`: entries that match regular expressions.

use ostrakon_cell::{Batch, Error, IteratorEnvironment, IteratorOptions, Slot, Span};
use regex::bytes::{Regex, RegexBuilder};

use super::filter::{EntryFilter, FilterClass, NEGATE};
use super::java_regex::from_java;
use super::options;
use crate::error::StoreResult;

/// Keeps entries whose row, family, qualifier and value match. Expressions have Java's syntax and
/// run in time linear in the text; unsupported parts of Java's syntax are rejected when the option
/// is set.
#[derive(Debug, Clone)]
pub struct RegExFilter {
    row: Part,
    family: Part,
    qualifier: Part,
    value: Part,
    any: bool,
}

/// One part's expression, and its result for the last bytes it saw, which neighbours share.
#[derive(Debug, Clone, Default)]
struct Part {
    expression: Option<Regex>,
    last: Option<(Span, bool)>,
}

impl Part {
    /// `None` when there is no expression for this part.
    fn matches(&mut self, batch: &Batch, span: Span) -> Option<bool> {
        let expression = self.expression.as_ref()?;
        if let Some((_, verdict)) = self.last.filter(|(last, _)| *last == span) {
            return Some(verdict);
        }
        let verdict = expression.is_match(batch.bytes(span));
        self.last = Some((span, verdict));
        Some(verdict)
    }
}

impl EntryFilter for RegExFilter {
    fn begin_batch(&mut self) {
        for part in [
            &mut self.row,
            &mut self.family,
            &mut self.qualifier,
            &mut self.value,
        ] {
            part.last = None;
        }
    }

    fn accept(&mut self, batch: &Batch, slot: &Slot) -> bool {
        // A part without an expression matches if all parts must match, and does not if one is
        // enough.
        let missing = !self.any;
        let holds = |part: &mut Part, span| part.matches(batch, span).unwrap_or(missing);
        let Self {
            row,
            family,
            qualifier,
            value,
            any,
        } = self;
        if *any {
            holds(row, slot.row)
                || holds(family, slot.family)
                || holds(qualifier, slot.qualifier)
                || holds(value, slot.value)
        } else {
            holds(row, slot.row)
                && holds(family, slot.family)
                && holds(qualifier, slot.qualifier)
                && holds(value, slot.value)
        }
    }
}

/// The error for an expression that the library rejects.
pub(super) fn broken(error: &regex::Error, option: &'static str) -> Error {
    Error::invalid("the expression cannot be used")
        .with("option", option)
        .with("because", error)
}

impl FilterClass for RegExFilter {
    const NAMES: &'static [&'static str] = &["org.apache.accumulo.core.iterators.user.RegExFilter"];
    const DESCRIPTION: &'static str = "Keeps entries whose parts match regular expressions in \
         Java's syntax. Options: rowRegex, colfRegex, colqRegex, valueRegex (none): the expressions \
         for row, family, qualifier and value; orFields (false): one matching part is enough, \
         instead of all; matchSubstring (false): an expression may match a substring, instead of \
         the whole part; encoding (UTF-8): the encoding of the parts, also ISO-8859-1 or US-ASCII; \
         negate (false): keep the other entries instead.";
    const OPTIONS: &'static [&'static str] = &[
        "rowRegex",
        "colfRegex",
        "colqRegex",
        "valueRegex",
        "orFields",
        "matchSubstring",
        "encoding",
        NEGATE,
    ];

    fn from_options(
        options: &IteratorOptions,
        _: Option<&IteratorEnvironment>,
    ) -> StoreResult<Self> {
        let substring = options::flag(options, "matchSubstring", false)?;
        let encoding = options::text(options, "encoding").unwrap_or("UTF-8");
        let unicode = match encoding.to_ascii_uppercase().as_str() {
            "UTF-8" | "UTF8" => true,
            "ISO-8859-1" | "ISO8859_1" | "LATIN1" | "US-ASCII" | "ASCII" => false,
            _ => {
                return Err(
                    Error::invalid("the encoding is one of UTF-8, ISO-8859-1, US-ASCII")
                        .with("given", encoding),
                );
            }
        };
        let part = |name: &'static str| -> StoreResult<Part> {
            let expression = options
                .get(name)
                .map(|java| {
                    let ours = from_java(java, unicode)
                        .map_err(|error| error.with("option", name).with("given", java))?;
                    let anchored = if substring {
                        ours
                    } else {
                        format!(r"\A(?:{ours})\z")
                    };
                    RegexBuilder::new(&anchored)
                        .unicode(unicode)
                        .crlf(true)
                        .build()
                        .map_err(|error| broken(&error, name))
                })
                .transpose()?;
            Ok(Part {
                expression,
                last: None,
            })
        };
        Ok(Self {
            row: part("rowRegex")?,
            family: part("colfRegex")?,
            qualifier: part("colqRegex")?,
            value: part("valueRegex")?,
            any: options::flag(options, "orFields", false)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::iterator::testing::{MemorySource, entry, init, read_all};

    fn found(options: &[(&str, &str)]) -> String {
        let entries = vec![
            entry("alice", "q", "", 1, "knows 12"),
            entry("bob", "q", "", 1, "knows \u{663}"),
            entry("bob", "r", "", 1, "likes\n7"),
            entry("carol", "q", "", 1, ""),
        ];
        let filter = init("RegExFilter", options, MemorySource::boxed(entries, 3));
        read_all(&mut *filter.expect("sound")).join(" ")
    }

    #[test]
    fn whole_fields_match_unless_a_part_is_enough() {
        assert_eq!(found(&[("rowRegex", "ali|alice")]), "alice@1=knows 12");
        assert_eq!(found(&[("rowRegex", "o")]), "");
        assert_eq!(
            found(&[("rowRegex", "ro"), ("matchSubstring", "true")]),
            "carol@1="
        );
        assert_eq!(
            found(&[("rowRegex", "bob"), ("colqRegex", "r")]),
            "bob@1=likes\n7"
        );
        assert_eq!(
            found(&[
                ("rowRegex", "carol"),
                ("colqRegex", "r"),
                ("orFields", "true")
            ]),
            "bob@1=likes\n7 carol@1="
        );
        assert_eq!(
            found(&[("valueRegex", ".+"), ("negate", "true")]),
            "bob@1=likes\n7 carol@1="
        );
        assert_eq!(found(&[("valueRegex", "")]), "carol@1=");
    }

    #[test]
    fn classes_are_ascii_as_in_java() {
        assert_eq!(found(&[("valueRegex", r"knows \d+")]), "alice@1=knows 12");
        assert_eq!(
            found(&[("valueRegex", r"knows [^\d]")]),
            "bob@1=knows \u{663}"
        );
        assert_eq!(
            found(&[("valueRegex", r"likes\s\d"), ("encoding", "US-ASCII")]),
            "bob@1=likes\n7"
        );
    }

    #[test]
    fn what_cannot_be_had_is_refused() {
        for java in [
            "a(?=b)", r"(a)\1", "a*+", "a{2}+", "(?>a)", "(", r"\Qa\E", "(?U)a", r"\Z",
        ] {
            let refused = init(
                "RegExFilter",
                &[("rowRegex", java)],
                MemorySource::boxed(vec![], 1),
            );
            let text = refused
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default();
            assert!(text.contains("rowRegex"), "{java}: {text}");
        }
        let options = [("rowRegex", "a"), ("encoding", "UTF-16")];
        assert!(init("RegExFilter", &options, MemorySource::boxed(vec![], 1)).is_err());
    }
}
