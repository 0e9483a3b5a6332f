//! A condition made ready for evaluation: literals in typed form, fields by number.

use std::ops::Bound;

use memchr::memmem::Finder;
use ostrakon_cell::lexicoder::encode_i64;
use ostrakon_cell::{Error, Result};
use regex::bytes::Regex;

use super::limits::compile_regex;
use super::{Condition, Operator};
use crate::time::{is_small, parse_moment};
use crate::value::{FieldType, address, typed};

/// A set of typed forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Forms {
    /// These, sorted.
    These(Vec<Vec<u8>>),
    /// Those between two bounds.
    Between(Bound<Vec<u8>>, Bound<Vec<u8>>),
    /// Those that begin with this.
    Prefix(Vec<u8>),
    /// All.
    Any,
}

/// A test of one field.
#[derive(Debug, Clone)]
pub(crate) enum Test {
    Forms(Forms),
    /// Ends with this. No order has values with one end beside each other, so that no index finds them.
    Suffix(Vec<u8>),
    /// Has this somewhere; nothing for an index either.
    Contains(Box<Finder<'static>>),
    Regex(Regex),
}

#[derive(Debug, Clone)]
enum Node {
    All,
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    /// The time of the event.
    Time(Forms),
    Field(usize, FieldType, Test),
}

/// A condition that can be evaluated.
#[derive(Debug, Clone)]
pub(crate) struct Filter {
    /// The fields that it reads, sorted.
    names: Vec<Vec<u8>>,
    node: Node,
}

/// Makes the test of a field of type `kind`.
pub(crate) fn compile(kind: FieldType, field: &str, operator: &Operator) -> Result<Test> {
    let form = |literal: &[u8]| {
        let mut scratch = Vec::new();
        if kind == FieldType::Time {
            let moment = std::str::from_utf8(literal).ok().map(parse_moment);
            let moment = moment.ok_or_else(|| of_another_type(kind, field, literal))?;
            encode_i64(
                moment.map_err(|error| of_a_time(field, literal, error))?,
                &mut scratch,
            );
            return Ok(scratch);
        }
        typed(kind, literal, &mut scratch)
            .map(<[u8]>::to_vec)
            .ok_or_else(|| of_another_type(kind, field, literal))
    };
    let only_text = |operator: &str| match kind.is_text() {
        true => Ok(()),
        false => Err(not_text(kind, field, operator)),
    };
    Ok(Test::Forms(match operator {
        Operator::Equal(value) => Forms::These(vec![form(value)?]),
        Operator::In(values) => {
            let mut forms = values
                .iter()
                .map(|value| form(value))
                .collect::<Result<Vec<_>>>()?;
            forms.sort();
            forms.dedup();
            Forms::These(forms)
        }
        Operator::Less(value) => Forms::Between(Bound::Unbounded, Bound::Excluded(form(value)?)),
        Operator::AtMost(value) => Forms::Between(Bound::Unbounded, Bound::Included(form(value)?)),
        Operator::Greater(value) => Forms::Between(Bound::Excluded(form(value)?), Bound::Unbounded),
        Operator::AtLeast(value) => Forms::Between(Bound::Included(form(value)?), Bound::Unbounded),
        Operator::Prefix(prefix) => {
            only_text("startswith")?;
            Forms::Prefix(prefix.clone())
        }
        Operator::Suffix(suffix) => {
            only_text("endswith")?;
            return Ok(Test::Suffix(suffix.clone()));
        }
        Operator::Contains(part) => {
            only_text("contains")?;
            let part = Finder::new(part).into_owned();
            return Ok(Test::Contains(Box::new(part)));
        }
        Operator::Regex(pattern) => {
            only_text("=~")?;
            return compile_regex(pattern).map(Test::Regex);
        }
        Operator::Network(network) => {
            if kind != FieldType::Ip {
                return Err(Error::invalid(
                    "only addresses lie in a network: change the field's type to ip, or write a list in parentheses",
                )
                .with("field", field)
                .with("type", kind.as_str()));
            }
            let (first, last) = network_bounds(network)?;
            Forms::Between(Bound::Included(first), Bound::Included(last))
        }
        Operator::Exists => Forms::Any,
    }))
}

/// The error of an operator that is for text alone.
fn not_text(kind: FieldType, field: &str, operator: &str) -> Error {
    let retype = "or change the type of the field to text, if it is not indexed";
    let advice = match kind {
        FieldType::U64 | FieldType::I64 | FieldType::F64 => {
            format!("compare numbers, as in `{field}` >= 400 and `{field}` < 500, {retype}")
        }
        FieldType::Ip => {
            format!("write `{field}` in '10.0.0.0/8' for the addresses of a network, {retype}")
        }
        FieldType::Time => {
            format!("compare times, as in `{field}` >= '2024-05-17' and `{field}` < '2024-05-18'")
        }
        _ => format!("compare with == or !=, {retype}"),
    };
    let name = kind.as_str();
    Error::invalid(format!(
        "`{operator}` is for text, and the field `{field}` is of type {name}: {advice}"
    ))
    .with("field", field)
    .with("type", name)
}

/// The error of a literal that is not a moment.
fn of_a_time(field: &str, literal: &[u8], error: Error) -> Error {
    match is_small(literal) {
        true => error.with("field", field),
        false => of_another_type(FieldType::Time, field, literal),
    }
}

/// The error of a literal that is not a value of the field's type.
fn of_another_type(kind: FieldType, field: &str, literal: &[u8]) -> Error {
    let text = String::from_utf8_lossy(literal);
    let message = match kind {
        FieldType::Ip if network_bounds(&text).is_ok() => format!(
            "`==` and lists take single addresses: write `{field}` in '{text}' for a network, and join several with `or`"
        ),
        FieldType::Time => format!(
            "the field `{field}` is a time; '{text}' is not one, or not between the years -9999 and 9999"
        ),
        FieldType::I64 | FieldType::F64 => {
            format!(
                "the field `{field}` is an {}; '{text}' is not one",
                kind.as_str()
            )
        }
        FieldType::Ip => format!("the field `{field}` is an IP address; '{text}' is not one"),
        _ => format!(
            "the field `{field}` is a {}; '{text}' is not one",
            kind.as_str()
        ),
    };
    Error::invalid(message)
        .with("field", field)
        .with("type", kind.as_str())
        .with("value", text)
}

/// The first and the last address of a network.
fn network_bounds(network: &str) -> Result<(Vec<u8>, Vec<u8>)> {
    let wrong = || {
        Error::invalid(
            "not a network: write an address and a length, such as 10.0.0.0/8 or 2001:db8::/32",
        )
        .with("given", network)
    };
    let (start, length) = network.split_once('/').ok_or_else(wrong)?;
    let base = address(start.as_bytes()).ok_or_else(wrong)?;
    let length: u32 = length.parse().map_err(|_| wrong())?;
    let length = if start.contains(':') {
        length
    } else {
        length.checked_add(96).ok_or_else(wrong)?
    };
    let host_bits = 128_u32.checked_sub(length).ok_or_else(wrong)?;
    let hosts = 1_u128
        .checked_shl(host_bits)
        .map_or(u128::MAX, |size| size - 1);
    let bits = u128::from(base);
    if bits & hosts != 0 {
        return Err(
            Error::invalid("the address of the network has bits beyond its length: write 10.0.0.0/8 and not 10.0.0.1/8")
                .with("given", network),
        );
    }
    Ok((
        bits.to_be_bytes().to_vec(),
        (bits | hosts).to_be_bytes().to_vec(),
    ))
}

impl Forms {
    #[inline]
    pub(crate) fn contains(&self, form: &[u8]) -> bool {
        match self {
            Self::These(forms) => match forms.as_slice() {
                [one] => one == form,
                many => many
                    .binary_search_by(|one| one.as_slice().cmp(form))
                    .is_ok(),
            },
            Self::Between(from, to) => {
                (match from {
                    Bound::Included(from) => form >= from.as_slice(),
                    Bound::Excluded(from) => form > from.as_slice(),
                    Bound::Unbounded => true,
                }) && (match to {
                    Bound::Included(to) => form <= to.as_slice(),
                    Bound::Excluded(to) => form < to.as_slice(),
                    Bound::Unbounded => true,
                })
            }
            Self::Prefix(prefix) => form.starts_with(prefix),
            Self::Any => true,
        }
    }
}

impl Filter {
    /// A filter. `kind_of` gives the type of a field, or an error for one that cannot be tested; `time_field` is the
    /// field with the time of events, which is also reached as `time`.
    pub(crate) fn new(
        condition: &Condition,
        is_time: &dyn Fn(&str) -> bool,
        kind_of: &dyn Fn(&str) -> Result<FieldType>,
    ) -> Result<Self> {
        let mut names = Vec::new();
        condition.fields(&mut names);
        names.retain(|name| !is_time(name));
        names.sort();
        let node = build(condition, &names, is_time, kind_of)?;
        Ok(Self {
            names: names.into_iter().map(String::into_bytes).collect(),
            node,
        })
    }

    /// The fields that it reads, sorted.
    pub(crate) fn names(&self) -> &[Vec<u8>] {
        &self.names
    }

    pub(crate) fn is_all(&self) -> bool {
        matches!(self.node, Node::All)
    }

    /// Whether the condition holds for an event with these values of [`names`](Self::names).
    #[inline]
    pub(crate) fn holds(&self, values: &[Option<&[u8]>], time: i64, scratch: &mut Vec<u8>) -> bool {
        self.node.holds(values, time, scratch)
    }
}

fn build(
    condition: &Condition,
    names: &[String],
    is_time: &dyn Fn(&str) -> bool,
    kind_of: &dyn Fn(&str) -> Result<FieldType>,
) -> Result<Node> {
    let several = |parts: &[Condition]| {
        parts
            .iter()
            .map(|part| build(part, names, is_time, kind_of))
            .collect::<Result<Vec<_>>>()
    };
    Ok(match condition {
        Condition::All => Node::All,
        Condition::And(parts) => Node::And(several(parts)?),
        Condition::Or(parts) => Node::Or(several(parts)?),
        Condition::Not(part) => Node::Not(Box::new(build(part, names, is_time, kind_of)?)),
        Condition::Test { field, operator } if is_time(field) => {
            match compile(FieldType::Time, field, operator)? {
                Test::Forms(forms) => Node::Time(forms),
                Test::Suffix(_) | Test::Contains(_) | Test::Regex(_) => {
                    return Err(Error::invalid("a time is not tested as text"));
                }
            }
        }
        Condition::Test { field, operator } => {
            let kind = kind_of(field)?;
            let at = names.binary_search(field).unwrap_or_default();
            Node::Field(at, kind, compile(kind, field, operator)?)
        }
    })
}

impl Node {
    fn holds(&self, values: &[Option<&[u8]>], time: i64, scratch: &mut Vec<u8>) -> bool {
        match self {
            Self::All => true,
            Self::And(parts) => parts.iter().all(|part| part.holds(values, time, scratch)),
            Self::Or(parts) => parts.iter().any(|part| part.holds(values, time, scratch)),
            Self::Not(part) => !part.holds(values, time, scratch),
            Self::Time(forms) => {
                scratch.clear();
                encode_i64(time, scratch);
                forms.contains(scratch)
            }
            Self::Field(at, kind, test) => match (values.get(*at).copied().flatten(), test) {
                (None, _) => false,
                (Some(_), Test::Forms(Forms::Any)) => true,
                (Some(value), Test::Suffix(suffix)) => value.ends_with(suffix),
                (Some(value), Test::Contains(part)) => part.find(value).is_some(),
                (Some(value), Test::Regex(regex)) => regex.is_match(value),
                (Some(value), Test::Forms(forms)) => {
                    typed(*kind, value, scratch).is_some_and(|form| forms.contains(form))
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_condition;

    fn holds(expression: &str, kind: FieldType, value: Option<&str>) -> Result<bool> {
        let condition = parse_condition(expression, 0)?;
        let filter = Filter::new(&condition, &|name| name == "time", &|_| Ok(kind))?;
        let values: Vec<_> = filter
            .names()
            .iter()
            .map(|_| value.map(str::as_bytes))
            .collect();
        Ok(filter.holds(&values, 1_000_000, &mut Vec::new()))
    }

    #[test]
    fn tests_follow_the_type_of_the_field() {
        for (expression, kind, value, expected) in [
            ("a == 80", FieldType::U64, "080", true),
            ("a > 9", FieldType::U64, "10", true),
            ("a > 9", FieldType::Text, "10", false),
            ("a >= -1.5", FieldType::F64, "-1.5", true),
            ("a in ('x', 'y')", FieldType::Text, "y", true),
            ("a in '10.0.0.0/8'", FieldType::Ip, "10.255.0.1", true),
            ("a in '10.0.0.0/8'", FieldType::Ip, "11.0.0.1", false),
            (
                "a in '2001:db8::/32'",
                FieldType::Ip,
                "2001:db8:ffff::1",
                true,
            ),
            ("a in '2001:db8::/32'", FieldType::Ip, "2001:db9::", false),
            ("a in '0.0.0.0/0'", FieldType::Ip, "2001:db9::", false),
            ("a in '::/0'", FieldType::Ip, "1.2.3.4", true),
            ("a == 1", FieldType::U64, "not a number", false),
            ("a exists", FieldType::U64, "not a number", true),
            (
                "a startswith 'ab' and a =~ 'c$'",
                FieldType::Text,
                "abc",
                true,
            ),
            ("a endswith 'bc'", FieldType::Text, "abc", true),
            ("a endswith 'bc'", FieldType::Bytes, "bcd", false),
            ("a endswith 'abc'", FieldType::Text, "bc", false),
            ("a endswith ''", FieldType::Text, "", true),
            ("a contains 'b'", FieldType::Bytes, "abc", true),
            ("a contains 'abc'", FieldType::Text, "abc", true),
            ("a contains 'B'", FieldType::Text, "abc", false),
            ("a contains '.'", FieldType::Text, "abc", false),
            ("a contains ''", FieldType::Text, "", true),
            ("not a contains 'b'", FieldType::Text, "abc", false),
            ("time == '1970-01-01T00:00:01Z'", FieldType::Text, "", true),
            ("time == @1 and time == '@1'", FieldType::Text, "", true),
            ("time in (@2, @1.0)", FieldType::Text, "", true),
            ("a == @5", FieldType::Time, "5", true),
            ("a == 1431857103", FieldType::Time, "1431857103", true),
        ] {
            assert_eq!(
                holds(expression, kind, Some(value)).expect(expression),
                expected,
                "{expression} {value}"
            );
        }
        assert!(!holds("a == 1", FieldType::U64, None).expect("valid"));
        assert!(holds("a != 1", FieldType::U64, None).expect("valid"));
        assert!(!holds("a contains ''", FieldType::Text, None).expect("valid"));
        assert!(holds("not a endswith ''", FieldType::Text, None).expect("valid"));
    }

    #[test]
    fn values_of_another_type_are_refused() {
        for (expression, kind) in [
            ("a == 'x'", FieldType::U64),
            ("a startswith '1'", FieldType::U64),
            ("a =~ '1'", FieldType::Ip),
            ("a endswith '1'", FieldType::I64),
            ("a contains '1'", FieldType::Ip),
            ("time contains '1970'", FieldType::Text),
            ("time endswith 'Z'", FieldType::Text),
            ("a in '10.0.0.0/8'", FieldType::Text),
            ("a in '10.0.0.1/8'", FieldType::Ip),
            ("a in '10.0.0.0/33'", FieldType::Ip),
            ("a in '::/129'", FieldType::Ip),
            ("time == 'noon'", FieldType::Text),
        ] {
            assert!(holds(expression, kind, Some("")).is_err(), "{expression}");
        }
        for (expression, kind, message) in [
            (
                "a == 'http'",
                FieldType::U64,
                "the field `a` is a u64; 'http' is not one",
            ),
            (
                "a < 'x'",
                FieldType::F64,
                "the field `a` is an f64; 'x' is not one",
            ),
            (
                "a == 'x'",
                FieldType::Ip,
                "the field `a` is an IP address; 'x' is not one",
            ),
            (
                "a startswith '4'",
                FieldType::U64,
                "compare numbers, as in `a` >= 400 and `a` < 500",
            ),
            (
                "a contains '10.'",
                FieldType::Ip,
                "write `a` in '10.0.0.0/8'",
            ),
            (
                "a endswith '0'",
                FieldType::F64,
                "`endswith` is for text, and the field `a` is of type f64",
            ),
            ("a =~ '^t'", FieldType::Bool, "compare with == or !="),
            (
                "time startswith '2024'",
                FieldType::Text,
                "compare times, as in `time` >= '2024-05-17'",
            ),
            (
                "a in ('54.0.0.0/8', '10.0.0.0/8')",
                FieldType::Ip,
                "write `a` in '54.0.0.0/8' for a network",
            ),
            (
                "time > 2025",
                FieldType::Text,
                "write a date such as 2025-01-01, or @2025 for seconds",
            ),
            ("a in ('2025')", FieldType::Time, "or @2025 for seconds"),
            (
                "time > '10000-01-01'",
                FieldType::Text,
                "between the years -9999 and 9999",
            ),
        ] {
            let error = holds(expression, kind, Some("")).expect_err(expression);
            assert!(error.message().contains(message), "{error}");
        }
    }
}
