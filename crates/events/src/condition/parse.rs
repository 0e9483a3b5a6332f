//! Reads an expression.

use std::borrow::Cow;

use ostrakon_cell::{Error, Result};

use super::lexer::{Kind, Token, place, words, wrong};
use super::limits::{BYTES_MAX, DEPTH_MAX, compile_regex};
use super::{Condition, Operator};
use crate::event_type::field_name;
use crate::time::{is_supported, parse_span, show_time};

/// Reads an expression such as `domain_name == 'example.org' and time > ago('1h')`. `now` is the present moment in
/// microseconds since 1970, for `now()` and `ago()`.
///
/// ```
/// let condition = ostrakon_events::parse_condition("status >= 500 and not host startswith 'test.'", 0)?;
/// assert_eq!(condition.to_string(), "(`status` >= '500' and not (`host` startswith 'test.'))");
/// # Ok::<(), ostrakon_cell::Error>(())
/// ```
///
/// # Errors
/// [`InvalidArgument`](ostrakon_cell::ErrorKind::InvalidArgument) with the position of the mistake.
pub fn parse_condition(text: &str, now: i64) -> Result<Condition> {
    if text.len() > BYTES_MAX {
        return Err(Error::invalid("an expression has at most 256 KiB"));
    }
    let mut parser = Parser {
        text,
        tokens: words(text)?,
        at: 0,
        depth: 0,
        now,
    };
    if parser.peek() == &Kind::End {
        return Ok(Condition::All);
    }
    let condition = parser.any()?;
    match parser.peek() {
        Kind::End => Ok(condition),
        _ => Err(parser.wrong("the expression should end here, or go on with `and` or `or`")),
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    now: i64,
}

impl Parser<'_> {
    fn peek(&self) -> &Kind {
        self.tokens
            .get(self.at)
            .map_or(&Kind::End, |token| &token.kind)
    }

    fn next(&mut self) -> Kind {
        let kind = self.peek().clone();
        self.at += 1;
        kind
    }

    /// An error at the word that comes next.
    fn wrong(&self, message: impl Into<Cow<'static, str>>) -> Error {
        let at = self
            .tokens
            .get(self.at)
            .map_or(self.text.len(), |token| token.at);
        wrong(self.text, at, message)
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Kind::Word(found) if found.eq_ignore_ascii_case(word));
        self.at += usize::from(found);
        found
    }

    fn takes_symbol(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Kind::Symbol(found) if *found == symbol);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str, message: &'static str) -> Result<()> {
        if self.takes_symbol(symbol) {
            return Ok(());
        }
        Err(self.wrong(message))
    }

    fn any(&mut self) -> Result<Condition> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.wrong("the expression is nested too deeply: at most 63 levels of parentheses are possible"));
        }
        let mut parts = vec![self.every()?];
        while self.takes_word("or") {
            parts.push(self.every()?);
        }
        self.depth -= 1;
        Ok(match parts.len() {
            1 => parts.remove(0),
            _ => Condition::Or(parts),
        })
    }

    fn every(&mut self) -> Result<Condition> {
        let mut parts = vec![self.negated()?];
        while self.takes_word("and") {
            parts.push(self.negated()?);
        }
        Ok(match parts.len() {
            1 => parts.remove(0),
            _ => Condition::And(parts),
        })
    }

    fn negated(&mut self) -> Result<Condition> {
        let mut negations = 0;
        while self.takes_word("not") {
            negations += 1;
        }
        let mut condition = if self.takes_symbol("(") {
            let inner = self.any()?;
            self.expect(")", "a `)` is missing")?;
            inner
        } else {
            self.test()?
        };
        for _ in 0..negations % 2 {
            condition = Condition::Not(Box::new(condition));
        }
        Ok(condition)
    }

    fn test(&mut self) -> Result<Condition> {
        let field = match self.peek().clone() {
            Kind::Word(word) => {
                let word_is = |other: &str| word.eq_ignore_ascii_case(other);
                if word_is("true") {
                    self.at += 1;
                    return Ok(Condition::All);
                }
                if [
                    "and",
                    "or",
                    "in",
                    "exists",
                    "startswith",
                    "endswith",
                    "contains",
                    "matches",
                    "ago",
                    "now",
                    "false",
                ]
                .into_iter()
                .any(word_is)
                {
                    return Err(self.wrong("a field is expected here, not a keyword; write a field of that name in backquotes"));
                }
                word
            }
            Kind::Name(name) => name,
            Kind::Text(text) if self.is_before_operator() => {
                let name = as_name(&field_name(&String::from_utf8_lossy(&text)));
                return Err(self.wrong(format!(
                    "the name of a field is not in quotes: if the field {name} is meant, begin the test with {name}"
                )));
            }
            Kind::Text(_) | Kind::Number(_) => {
                return Err(self.wrong("a test begins with the name of a field: write `host == 'x'`, not `'x' == host`"));
            }
            _ => {
                return Err(self.wrong("a test of a field is expected here, such as `host == 'x'`"));
            }
        };
        self.at += 1;
        let (operator, negated) = self.operator()?;
        let test = Condition::Test { field, operator };
        Ok(match negated {
            true => Condition::Not(Box::new(test)),
            false => test,
        })
    }

    /// Whether an operator and a value in quotes, or an operator that needs none, come after the next word.
    fn is_before_operator(&self) -> bool {
        let kind = |ahead: usize| self.tokens.get(self.at + ahead).map(|token| &token.kind);
        match kind(1) {
            Some(Kind::Symbol(symbol)) => {
                !["(", ")", ","].contains(symbol)
                    && matches!(kind(2), Some(Kind::Text(_) | Kind::Number(_)))
            }
            Some(Kind::Word(word)) => [
                "exists",
                "in",
                "startswith",
                "endswith",
                "contains",
                "matches",
            ]
            .iter()
            .any(|operator| word.eq_ignore_ascii_case(operator)),
            _ => false,
        }
    }

    /// The error of an operator of other languages.
    fn foreign_operator(&self) -> Option<Error> {
        let Kind::Word(word) = self.peek() else {
            return None;
        };
        let advice = match word.to_ascii_lowercase().as_str() {
            "is" => {
                "there is no operator `is`: use `not X exists` for `X is null`, and `X exists` for `X is not null`"
            }
            "like" | "ilike" => {
                "there is no operator `like`: use startswith, endswith or contains, or =~ with a regular expression"
            }
            "between" => "there is no operator `between`: use `X >= 1 and X <= 2`",
            _ => return None,
        };
        Some(self.wrong(advice))
    }

    /// The operator and its literal, and whether the test is negated.
    fn operator(&mut self) -> Result<(Operator, bool)> {
        if self.takes_word("exists") {
            return Ok((Operator::Exists, false));
        }
        if self.takes_word("not") {
            if self.takes_word("in") {
                return Ok((self.set()?, true));
            }
            let other = self.foreign_operator();
            return Err(other.unwrap_or_else(|| self.wrong("`in` is expected after `not` here")));
        }
        if self.takes_word("in") {
            return Ok((self.set()?, false));
        }
        if self.takes_word("startswith") {
            return Ok((Operator::Prefix(self.literal()?), false));
        }
        if self.takes_word("endswith") {
            return Ok((Operator::Suffix(self.literal()?), false));
        }
        if self.takes_word("contains") {
            return Ok((Operator::Contains(self.literal()?), false));
        }
        if self.takes_word("matches") {
            return Ok((self.pattern()?, false));
        }
        if let Some(error) = self.foreign_operator() {
            return Err(error);
        }
        let Kind::Symbol(symbol) = self.peek().clone() else {
            return Err(self.wrong(
                "an operator is expected here: == != < <= > >= =~ !~ in, startswith, endswith, contains, exists",
            ));
        };
        self.at += 1;
        Ok(match symbol {
            "==" | "=" => (Operator::Equal(self.literal()?), false),
            "!=" | "<>" => (Operator::Equal(self.literal()?), true),
            "<" => (Operator::Less(self.literal()?), false),
            "<=" => (Operator::AtMost(self.literal()?), false),
            ">" => (Operator::Greater(self.literal()?), false),
            ">=" => (Operator::AtLeast(self.literal()?), false),
            "=~" => (self.pattern()?, false),
            "!~" => (self.pattern()?, true),
            _ => {
                self.at -= 1;
                return Err(self.wrong("an operator is expected here"));
            }
        })
    }

    /// `('a', 'b')`, or the text of a network.
    fn set(&mut self) -> Result<Operator> {
        if let Kind::Text(network) = self.peek().clone() {
            let network = String::from_utf8(network)
                .map_err(|_| self.wrong("a network is expected here, such as '10.0.0.0/8'"))?;
            self.at += 1;
            return Ok(Operator::Network(network));
        }
        self.expect(
            "(",
            "a list in parentheses or a network such as '10.0.0.0/8' is expected here",
        )?;
        let mut values = vec![self.literal()?];
        while self.takes_symbol(",") {
            values.push(self.literal()?);
        }
        self.expect(")", "a `)` is missing after the list")?;
        Ok(Operator::In(values))
    }

    fn pattern(&mut self) -> Result<Operator> {
        let at = self.tokens.get(self.at).map_or(0, |token| token.at);
        let Kind::Text(pattern) = self.peek().clone() else {
            return Err(self.wrong("a regular expression in quotes is expected here"));
        };
        let pattern = String::from_utf8(pattern).map_err(|_| {
            self.wrong(
                "a regular expression is text; write a byte that is not text as (?-u)\\\\xNN in it",
            )
        })?;
        compile_regex(&pattern).map_err(|error| error.with("at", place(self.text, at)))?;
        self.at += 1;
        Ok(Operator::Regex(pattern))
    }

    fn literal(&mut self) -> Result<Vec<u8>> {
        match self.next() {
            Kind::Text(text) => Ok(text),
            Kind::Number(number) => Ok(number.into_bytes()),
            // Seconds since 1970. As a name, it would be that of a field.
            Kind::Word(word) if is_marked(&word) => Ok(word.into_bytes()),
            Kind::Word(word) if word.eq_ignore_ascii_case("true") => Ok(b"true".to_vec()),
            Kind::Word(word) if word.eq_ignore_ascii_case("false") => Ok(b"false".to_vec()),
            Kind::Word(word) if word.eq_ignore_ascii_case("now") => {
                self.expect("(", "write now()")?;
                self.expect(")", "write now()")?;
                Ok(show_time(self.now).into_bytes())
            }
            Kind::Word(word) if word.eq_ignore_ascii_case("ago") => {
                self.expect("(", "write ago('1h')")?;
                let span = match self.peek().clone() {
                    Kind::Text(span) => String::from_utf8_lossy(&span).into_owned(),
                    Kind::Number(span) => span,
                    _ => return Err(self.wrong("write ago('1h')")),
                };
                let moment = self.now.checked_sub(parse_span(&span)?);
                let Some(moment) = moment.filter(|moment| is_supported(*moment)) else {
                    return Err(
                        self.wrong("the span of time is too long: times begin with the year -9999")
                    );
                };
                self.at += 1;
                self.expect(")", "write ago('1h')")?;
                Ok(show_time(moment).into_bytes())
            }
            _ => {
                self.at -= 1;
                Err(self.wrong(
                    "a value is expected here: text in quotes, a number, now() or ago('1h')",
                ))
            }
        }
    }
}

/// The name of a field as a condition has it: in backquotes if it would be read as another word.
pub(crate) fn as_name(name: &str) -> String {
    let test = Condition::test(name, Operator::Exists);
    match parse_condition(&format!("{name} exists"), 0) {
        Ok(read) if read == test => name.to_owned(),
        _ => format!("`{name}`"),
    }
}

/// Whether this is a number after `@`.
fn is_marked(word: &str) -> bool {
    let number = word.strip_prefix('@');
    let number = number.map(|number| number.strip_prefix('-').unwrap_or(number));
    number.is_some_and(|number| number.starts_with(|first: char| first.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> String {
        parse_condition(text, 0).expect("valid").to_string()
    }

    #[test]
    fn what_other_languages_write_is_answered_with_what_to_write_here() {
        for (text, advice) in [
            ("a == 1 && b == 2", "use `and`"),
            ("a == 1 || b == 2", "use `or`"),
            ("!(a == 1)", "use `not`"),
            ("a is null", "use `not X exists`"),
            ("a IS NOT NULL", "`X exists` for `X is not null`"),
            ("a like '%x'", "startswith, endswith or contains"),
            ("a not like '%x'", "startswith, endswith or contains"),
            ("a between 1 and 2", "use `X >= 1"),
            ("'First Name' == 'ann'", "if the field First_Name is meant"),
            ("\"and\" exists", "if the field `and` is meant"),
            ("'x' == host", "write `host == 'x'`"),
        ] {
            let error = parse_condition(text, 0).expect_err(text).to_string();
            assert!(error.contains(advice), "{text}: {error}");
        }
        assert_eq!(
            read("is == 1 and like exists"),
            "(`is` == '1' and `like` exists)"
        );
        assert_eq!(
            (as_name("id.port"), as_name("not")),
            ("id.port".into(), "`not`".into())
        );
    }

    #[test]
    fn precedence_is_not_then_and_then_or() {
        assert_eq!(
            read("a == 1 or b == 2 and not c == 3"),
            "(`a` == '1' or (`b` == '2' and not (`c` == '3')))"
        );
        assert_eq!(read("not not a exists"), "`a` exists");
        assert_eq!(read("a != 'x'"), "not (`a` == 'x')");
        assert_eq!(
            read("A IN ('x', 2) AND b in '10.0.0.0/8'"),
            "(`A` in ('x', '2') and `b` in '10.0.0.0/8')"
        );
        assert_eq!(read("`and` =~ '^a|b$'"), "`and` =~ '^a|b$'");
        assert_eq!(
            read("a ENDSWITH '.exe' and not b contains \"x'\""),
            "(`a` endswith '.exe' and not (`b` contains 'x\\''))"
        );
        assert_eq!(
            read("time > @2025 or time < @-1.5"),
            "(`time` > '@2025' or `time` < '@-1.5')"
        );
        assert_eq!(read("`contains` contains 5"), "`contains` contains '5'");
        assert_eq!(read(""), "true");
    }

    #[test]
    fn ago_and_now_are_moments() {
        let day = 86_400_000_000;
        let read = parse_condition("time > ago('1h') and time <= now()", day).expect("valid");
        assert_eq!(
            read.to_string(),
            "(`time` > '1970-01-01T23:00:00Z' and `time` <= '1970-01-02T00:00:00Z')"
        );
    }

    #[test]
    fn errors_say_where_and_what_is_expected() {
        for (text, message) in [
            ("a ==", "a value is expected here"),
            ("a == 'x", "the text is not ended"),
            ("(a == 1", "a `)` is missing"),
            ("a == 1 b == 2", "should end here"),
            ("'x' == a", "begins with the name of a field"),
            ("a ~ 1", "no meaning here"),
            ("a =~ '('", "not a valid regular expression"),
            ("and == 1", "not a keyword"),
            ("contains == 1", "not a keyword"),
            ("a == @b", "a value is expected here"),
            ("a contains", "a value is expected here"),
            ("a == ago('1 year')", "not a span of time"),
            ("time > ago('99999999d')", "too long"),
            ("a == '\\q'", "not an escape"),
            ("a in 5", "a list in parentheses"),
        ] {
            let error = parse_condition(text, 0).expect_err(text).to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
        let error = parse_condition("host == 'x' und b == 1", 0)
            .expect_err("wrong")
            .to_string();
        assert!(error.contains("at: `und b == 1`, position: 13"), "{error}");
        assert!(parse_condition(&"(".repeat(100_000), 0).is_err());
        assert!(parse_condition(&format!("{}a exists", "not ".repeat(50_000)), 0).is_ok());
    }

    fn conditions() -> impl Strategy<Value = Condition> {
        let value = prop::collection::vec(any::<u8>(), 0..6);
        let leaf = ("[a-z.]{1,4}", value, 0..8).prop_map(|(field, value, operator)| {
            let operator = match operator {
                0 => Operator::Equal(value),
                1 => Operator::In(vec![value.clone(), value]),
                2 => Operator::Less(value),
                3 => Operator::AtLeast(value),
                4 => Operator::Prefix(value),
                5 => Operator::Suffix(value),
                6 => Operator::Contains(value),
                _ => Operator::Exists,
            };
            Condition::test(field, operator)
        });
        leaf.prop_recursive(4, 16, 3, |inner| {
            let several = prop::collection::vec(inner.clone(), 2..4);
            prop_oneof![
                several.clone().prop_map(Condition::And),
                several.prop_map(Condition::Or),
                inner.prop_map(|inner| Condition::Not(Box::new(inner))),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_as_the_same(condition in conditions()) {
            let text = condition.to_string();
            let read = parse_condition(&text, 0).expect("valid");
            // Two negations cancel out when they are read.
            prop_assert_eq!(read.to_string().len() <= text.len(), true);
            prop_assert_eq!(parse_condition(&read.to_string(), 0).expect("valid"), read);
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            let _ = parse_condition(&text, 0);
        }
    }
}
