//! Tests of the whole module: cases by hand, and random expressions against a reference parser that
//! shares no code with it.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// The meaning of an expression, as a plain tree.
#[derive(Clone, Debug)]
enum Tree {
    Term(String),
    And(Vec<Tree>),
    Or(Vec<Tree>),
}

impl Tree {
    fn holds(&self, held: &BTreeSet<String>) -> bool {
        match self {
            Self::Term(name) => held.contains(name),
            Self::And(operands) => operands.iter().all(|operand| operand.holds(held)),
            Self::Or(operands) => operands.iter().any(|operand| operand.holds(held)),
        }
    }

    fn names(&self, names: &mut BTreeSet<String>) {
        match self {
            Self::Term(name) => drop(names.insert(name.clone())),
            Self::And(operands) | Self::Or(operands) => {
                operands.iter().for_each(|operand| operand.names(names));
            }
        }
    }

    /// Writes the tree; `dice` decides where redundant quotes and parentheses go.
    fn write(&self, dice: &mut impl Iterator<Item = bool>, inside: bool) -> String {
        let needless = dice.next().unwrap_or(false);
        let (text, group) = match self {
            Self::Term(name) => {
                let quoted = format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""));
                let text = quote_term(name).unwrap().into_owned();
                (
                    if dice.next().unwrap_or(false) {
                        quoted
                    } else {
                        text
                    },
                    false,
                )
            }
            Self::And(operands) | Self::Or(operands) => {
                let sign = if matches!(self, Self::And(_)) {
                    "&"
                } else {
                    "|"
                };
                let operands: Vec<_> = operands
                    .iter()
                    .map(|operand| operand.write(dice, true))
                    .collect();
                (operands.join(sign), operands.len() > 1)
            }
        };
        if (group && inside) || needless {
            format!("({text})")
        } else {
            text
        }
    }
}

/// The reference parser: recursive descent over a list of tokens. `None` if the expression breaks
/// the grammar; only for expressions within the limits, and never the empty one.
fn judge(expression: &[u8]) -> Option<Tree> {
    #[derive(PartialEq)]
    enum Token {
        Sign(char),
        Name(String),
    }
    let mut tokens = Vec::new();
    let mut chars = std::str::from_utf8(expression).ok()?.chars().peekable();
    while let Some(c) = chars.next() {
        let mut name = String::new();
        match c {
            '&' | '|' | '(' | ')' => {
                tokens.push(Token::Sign(c));
                continue;
            }
            '"' => loop {
                match chars.next()? {
                    '"' => break,
                    '\\' => name.push(chars.next().filter(|c| ['"', '\\'].contains(c))?),
                    c => name.push(c),
                }
            },
            c => {
                name.push(c);
                while let Some(c) = chars.next_if(|c| !"&|()\"".contains(*c)) {
                    name.push(c);
                }
                if !name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "_-:./".contains(c))
                {
                    return None;
                }
            }
        }
        if name.is_empty() {
            return None;
        }
        tokens.push(Token::Name(name));
    }

    fn group(tokens: &[Token], at: &mut usize) -> Option<Tree> {
        let mut operands = Vec::new();
        let mut operator = None;
        loop {
            match tokens.get(*at)? {
                Token::Name(name) => {
                    *at += 1;
                    operands.push(Tree::Term(name.clone()));
                }
                Token::Sign('(') => {
                    *at += 1;
                    operands.push(group(tokens, at)?);
                    if tokens.get(*at)? != &Token::Sign(')') {
                        return None;
                    }
                    *at += 1;
                }
                Token::Sign(_) => return None,
            }
            match tokens.get(*at) {
                Some(Token::Sign(sign @ ('&' | '|'))) => {
                    *at += 1;
                    if *operator.get_or_insert(*sign) != *sign {
                        return None;
                    }
                }
                _ if operands.len() == 1 => return operands.pop(),
                _ if operator == Some('&') => return Some(Tree::And(operands)),
                _ => return Some(Tree::Or(operands)),
            }
        }
    }
    let mut at = 0;
    let tree = group(&tokens, &mut at)?;
    (at == tokens.len()).then_some(tree)
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-e]",
        2 => "[a-c_.:/-]{1,3}",
        1 => prop::sample::select(vec!["\"", "\\", "a\"", "\\\\b", "a b", "&", "(a)", "ä", "日本", "\0", "\u{10ffff}"])
            .prop_map(str::to_owned),
        1 => "\\PC{1,4}",
    ]
}

fn tree() -> impl Strategy<Value = Tree> {
    name()
        .prop_map(Tree::Term)
        .prop_recursive(5, 40, 4, |inner| {
            let operands = prop::collection::vec(inner, 1..4);
            prop_oneof![
                operands.clone().prop_map(Tree::And),
                operands.prop_map(Tree::Or)
            ]
        })
}

fn written_tree() -> impl Strategy<Value = (Tree, String)> {
    (
        tree(),
        prop::collection::vec(prop::bool::weighted(0.2), 0..100),
    )
        .prop_map(|(tree, dice)| {
            let text = tree.write(&mut dice.into_iter(), false);
            (tree, text)
        })
}

/// Bytes that resemble expressions more often than random ones do.
fn anything() -> impl Strategy<Value = Vec<u8>> {
    let broken = (
        written_tree(),
        any::<prop::sample::Index>(),
        any::<Option<u8>>(),
        "[a&|()\"\\\\ ]{0,2}",
    )
        .prop_map(|((_, text), place, byte, more)| {
            let mut bytes = text.into_bytes();
            let place = place.index(bytes.len());
            match byte {
                Some(byte) => bytes[place] = byte,
                None => drop(bytes.splice(place..place + 1, more.into_bytes())),
            }
            bytes
        });
    prop_oneof![
        "[ab&|()]{0,12}".prop_map(String::into_bytes),
        "[ab&|()\"\\\\ ]{0,12}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..40),
        broken,
    ]
}

fn authorizations(held: &BTreeSet<String>) -> Authorizations {
    Authorizations::new(held).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn evaluation_matches_tree((tree, text) in written_tree(), subset: u64, more in prop::collection::vec(name(), 0..3)) {
        let mut names = BTreeSet::new();
        tree.names(&mut names);
        let chosen = names.iter().enumerate().filter(|(i, _)| subset >> (i % 64) & 1 == 1);
        let held = chosen.map(|(_, name)| name.clone());
        let held: BTreeSet<_> = held.chain(more).collect();
        let visible = tree.holds(&held);
        let authorizations = authorizations(&held);

        prop_assert_eq!(evaluate(text.as_bytes(), &authorizations), Ok(visible));
        let label = VisibilityExpression::parse(&text).unwrap();
        prop_assert_eq!(label.evaluate(&authorizations), visible);
        prop_assert_eq!(label.as_str(), &text);
        prop_assert_eq!(label.terms(), names.into_iter().collect::<Vec<_>>());

        let mut evaluator = VisibilityEvaluator::new(&authorizations);
        for _ in 0..2 {
            prop_assert_eq!(evaluator.evaluate(text.as_bytes()).is_visible(), visible);
        }

        let normal = label.normalised();
        prop_assert_eq!(normal.evaluate(&authorizations), visible, "{}", normal);
    }

    #[test]
    fn normalising_is_idempotent_and_ignores_order((tree, text) in written_tree(), dice: Vec<bool>) {
        let normal = VisibilityExpression::parse(&text).unwrap().normalised();
        prop_assert_eq!(normal.normalised(), normal.clone());
        prop_assert!(normal.as_str().len() <= text.len());

        fn reversed(tree: &Tree) -> Tree {
            match tree {
                Tree::Term(_) => tree.clone(),
                Tree::And(operands) => Tree::And(operands.iter().rev().map(reversed).collect()),
                Tree::Or(operands) => {
                    Tree::Or(operands.iter().rev().chain(operands.first()).map(reversed).collect())
                }
            }
        }
        let other = reversed(&tree).write(&mut dice.into_iter(), false);
        prop_assert_eq!(VisibilityExpression::parse(other).unwrap().normalised(), normal);
    }

    #[test]
    fn all_parsers_agree_on_errors(bytes in anything(), held: BTreeSet<bool>) {
        let held = held.into_iter().map(|more| if more { "a" } else { "b" }.to_owned()).collect();
        let authorizations = authorizations(&held);
        let validated = validate(&bytes);
        let evaluated = evaluate(&bytes, &authorizations);
        prop_assert_eq!(validated, evaluated.map(|_| ()));
        prop_assert_eq!(VisibilityExpression::parse(&bytes).map(|_| ()), validated);
        let mut evaluator = VisibilityEvaluator::new(&authorizations);
        for turn in 1..=2 {
            let verdict = evaluator.evaluate(&bytes);
            prop_assert_eq!(verdict.is_visible(), evaluated == Ok(true));
            prop_assert_eq!(verdict == Verdict::Unparsable, evaluated.is_err());
            prop_assert_eq!(evaluator.unparsable(), if evaluated.is_err() { turn } else { 0 });
            prop_assert_eq!(evaluator.first_error(), evaluated.err());
        }
        if let Err(error) = validated {
            prop_assert!(error.position() <= bytes.len());
            prop_assert!(!error.to_string().is_empty());
        }
        if !bytes.is_empty() {
            let tree = judge(&bytes);
            prop_assert_eq!(tree.map(|tree| tree.holds(&held)), evaluated.ok(), "{:?}", validated);
        }
    }

    #[test]
    fn a_quoted_name_is_the_name(name in name()) {
        let term = VisibilityExpression::parse(quote_term(&name).unwrap().as_bytes()).unwrap();
        prop_assert_eq!(term.terms(), [name.clone()]);
        prop_assert!(term.evaluate(&Authorizations::new([&name]).unwrap()));
        prop_assert!(!term.evaluate(&Authorizations::new([name + "x"]).unwrap()));
    }

    #[test]
    fn authorizations_round_trip(names in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..20), 0..10)) {
        let set = Authorizations::new(&names).unwrap();
        prop_assert_eq!(Authorizations::deserialise(set.serialise().as_bytes()), Ok(set.clone()));
        prop_assert_eq!(set.len(), names.iter().collect::<BTreeSet<_>>().len());
        for name in &names {
            prop_assert!(set.contains(name));
        }
        let (left, right) = names.split_at(names.len() / 2);
        let left = Authorizations::new(left).unwrap();
        let right = Authorizations::new(right).unwrap();
        prop_assert_eq!(&left.union(&right), &set);
        prop_assert!(left.is_subset(&set));
        prop_assert_eq!(left.is_subset(&right), left.difference(&right).is_empty());
        prop_assert_eq!(left.difference(&right).union(&right), set);
    }

    #[test]
    fn any_bytes_are_read_as_authorizations_or_rejected(mut bytes: Vec<u8>, header: bool) {
        if header {
            bytes.splice(..0, *b"!AUTH1:");
        }
        if let Err(error) = Authorizations::deserialise(&bytes) {
            prop_assert!(error.position() <= bytes.len());
        }
    }
}

/// Each line of these lists is a case of Accumulo's grammar.
#[test]
fn expressions_that_accumulo_accepts_are_accepted() {
    let sound = [
        "",
        "a",
        "(a)",
        "((a))",
        "a|b",
        "a&b",
        "ab&bc",
        "A&B&C&D",
        "(A)|B|(C)",
        "A&(B)&(C)",
        "_&-&:&.&/",
        "a.b/c:d_e-9",
        "(a|b)&(x|y)",
        "((A|B|C)|foo)&bar",
        "(one&two)|(foo&bar)",
        "((one|foo)|bar)&two",
        "a&(b&(c&(d|e)))",
        r#""A""#,
        r#"("A")"#,
        r#"A&"B.D""#,
        r#"A&"B\\D""#,
        r#"A&"B\"D""#,
        r#""(&|)""#,
        r#""\\""#,
        r#""\"""#,
        "\"日本\"",
        "\" \"",
    ];
    for text in sound {
        assert_eq!(validate(text.as_bytes()), Ok(()), "{text}");
    }
}

#[test]
fn plain_terms_have_these_bytes_and_no_others() {
    let plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-:./";
    for byte in 0..=u8::MAX {
        let taken = plain.as_bytes().contains(&byte);
        assert_eq!(validate(&[byte]).is_ok(), taken, "{byte:#x}");
        assert_eq!(validate(&[b'x', byte]).is_ok(), taken, "{byte:#x}");
    }
}

#[test]
fn errors_have_a_kind_and_a_position() {
    use VisibilityErrorKind as Kind;
    let bad = |byte| Kind::BadCharacter { byte };
    let cases: &[(&[u8], Kind, usize)] = &[
        (b"=", bad(b'='), 0),
        (b"a*b", bad(b'*'), 1),
        (b"a b", bad(b' '), 1),
        (b" a", bad(b' '), 0),
        (b"a& b", bad(b' '), 2),
        (b"(a) ", bad(b' '), 3),
        (b"dog|!cat", bad(b'!'), 4),
        (b"a\xc3\xa4", bad(0xc3), 1),
        (b"a\\", bad(b'\\'), 1),
        (b"&", Kind::EmptyTerm, 0),
        (b"|a", Kind::EmptyTerm, 0),
        (b"a&&b", Kind::EmptyTerm, 2),
        (b"a&|b", Kind::EmptyTerm, 2),
        (b"(|a)", Kind::EmptyTerm, 1),
        (b"\"\"", Kind::EmptyTerm, 0),
        (b"a&\"\"", Kind::EmptyTerm, 2),
        (b"()", Kind::EmptyParentheses, 0),
        (b"a|()", Kind::EmptyParentheses, 2),
        (b"a|", Kind::TrailingOperator, 1),
        (b"a|(b)&", Kind::MixedOperators, 5),
        (b"a&(b)&", Kind::TrailingOperator, 5),
        (b"(five|)", Kind::TrailingOperator, 5),
        (b"one(five)", Kind::MissingOperator, 3),
        (b"(five)one", Kind::MissingOperator, 6),
        (b"(one)(two)", Kind::MissingOperator, 5),
        (b"\"A\"A", Kind::MissingOperator, 3),
        (b"A\"A\"", Kind::MissingOperator, 1),
        (b"\"A\"\"B\"", Kind::MissingOperator, 3),
        (b"(A)\"B\"", Kind::MissingOperator, 3),
        (b"\"A\"(B)", Kind::MissingOperator, 3),
        (b"a|b&c", Kind::MixedOperators, 3),
        (b"A&B&C|D", Kind::MixedOperators, 5),
        (b"(A&B)|(C&D)&(E)", Kind::MixedOperators, 11),
        (b"x|(a&b|c)", Kind::MixedOperators, 6),
        (b"(", Kind::UnclosedParenthesis, 0),
        (b"(a&b", Kind::UnclosedParenthesis, 0),
        (b"((a)&(b&(c))", Kind::UnclosedParenthesis, 0),
        (b"(a&(b|c)&(\"(\\\"\"", Kind::UnclosedParenthesis, 9),
        (b"(a&\"\\\\)\"", Kind::UnclosedParenthesis, 0),
        (b")", Kind::UnmatchedParenthesis, 0),
        (b"b|a)", Kind::UnmatchedParenthesis, 3),
        (b"(a))&b", Kind::UnmatchedParenthesis, 3),
        (b"\"", Kind::UnclosedQuote, 0),
        (b"a&\"b)", Kind::UnclosedQuote, 2),
        (b"\"a\\\"", Kind::UnclosedQuote, 0),
        (b"\"a\\b\"", Kind::BadEscape, 2),
        (b"\"a\\", Kind::BadEscape, 2),
        (b"a|\"b\xff\"", Kind::InvalidUtf8, 4),
        (b"\"\xe6\x97\"", Kind::InvalidUtf8, 1),
    ];
    for (text, kind, position) in cases {
        let error = validate(text).expect_err(&text.escape_ascii().to_string());
        assert_eq!(
            (error.kind(), error.position()),
            (*kind, *position),
            "{}",
            text.escape_ascii()
        );
        let message = error.to_string();
        assert!(message.contains(&format!("byte {position}:")), "{message}");
    }
}

#[test]
fn messages_say_what_to_do() {
    let message = |text: &[u8]| validate(text).expect_err("broken").to_string();
    assert_eq!(
        message(b"a|b&c"),
        "visibility expression, byte 3: '&' and '|' are mixed without parentheses; say which binds first, as in A&(B|C)"
    );
    assert!(message(b"a!").contains("byte 1: '!' cannot stand outside quotes"));
    assert!(message(b"a\xff").contains("byte 1: byte 0xff cannot stand outside quotes"));
    assert!(message(b"(a").ends_with("add the missing ')'"));
    assert!(message(b"\"\\n\"").ends_with("write \\\\ for a backslash"));
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| "(".repeat(depth) + "a" + &")".repeat(depth);
    assert_eq!(validate(nested(MAX_DEPTH).as_bytes()), Ok(()));
    let error = validate(nested(MAX_DEPTH + 1).as_bytes()).unwrap_err();
    assert_eq!(
        (error.kind(), error.position()),
        (VisibilityErrorKind::TooDeep, MAX_DEPTH)
    );
    assert!(
        error.to_string().contains("more than 128 parentheses"),
        "{error}"
    );
    assert_eq!(
        validate(&vec![b'('; MAX_EXPRESSION_LENGTH])
            .unwrap_err()
            .kind(),
        VisibilityErrorKind::TooDeep
    );

    // The deepest possible tree: operators alternate, so no level is merged.
    let mut deep = "z".to_owned();
    for level in 0..MAX_DEPTH {
        deep = format!("({deep}){}a{level}", if level % 2 == 0 { '&' } else { '|' });
    }
    let label = VisibilityExpression::parse(&deep).unwrap();
    assert_eq!(label.normalised().normalised(), label.normalised());
    // The outermost operator is `|`, so its term alone makes the expression true.
    assert!(label.evaluate(&Authorizations::new([format!("a{}", MAX_DEPTH - 1)]).unwrap()));
    assert!(!label.evaluate(&Authorizations::new([format!("a{}", MAX_DEPTH - 2)]).unwrap()));
}

#[test]
fn length_is_bounded() {
    let longest = vec![b'a'; MAX_EXPRESSION_LENGTH];
    let held = Authorizations::new([&longest]).unwrap();
    assert_eq!(evaluate(&longest, &held), Ok(true));
    assert!(
        VisibilityEvaluator::new(&held)
            .evaluate(&longest)
            .is_visible()
    );
    let error = evaluate(&[&longest[..], b"a"].concat(), &held).unwrap_err();
    assert_eq!(
        (error.kind(), error.position()),
        (VisibilityErrorKind::TooLong, MAX_EXPRESSION_LENGTH)
    );
}

#[test]
fn a_wide_expression_takes_time_in_proportion() {
    // Half a million operands: a quadratic algorithm would take seconds.
    let mut wide = "b|a|".repeat(MAX_EXPRESSION_LENGTH / 4 - 1);
    wide.push('c');
    let label = VisibilityExpression::parse(&wide).unwrap();
    assert_eq!(label.normalised().as_str(), "a|b|c");
    assert_eq!(label.terms(), ["a", "b", "c"]);
}

#[test]
fn normal_forms() {
    let cases = [
        ("", ""),
        ("(((a)))", "a"),
        ("(b)|a", "a|b"),
        ("b&c&a", "a&b&c"),
        ("(a&c)&b", "a&b&c"),
        ("(b|(a|c))&x", "x&(a|b|c)"),
        ("(d&c&b&a)|(b&c&a&d)", "a&b&c&d"),
        // Terms before groups; then shorter groups first; then operand by operand.
        ("(x&y&z)|(b&a)|(a&c)|q", "q|(a&b)|(a&c)|(x&y&z)"),
        ("(b|c)&((a&d)|e)&z", "z&(b|c)&(e|(a&d))"),
        ("(a&b&c)|(x&y)", "(x&y)|(a&b&c)"),
        // A group that loses its duplicates becomes its term, and may merge with the level around
        // it.
        ("b&(a|a)", "a&b"),
        ("c&((a&b)|(b&a))", "a&b&c"),
        // One spelling per term: quotes only where needed. The written bytes decide the order.
        ("\"a\"|a", "a"),
        ("b|\"a b\"", "\"a b\"|b"),
        (r#""\\"&"\"""#, r#""\""&"\\""#),
        // No further logical simplification.
        ("a|(a&b)", "a|(a&b)"),
    ];
    for (text, normal) in cases {
        assert_eq!(
            VisibilityExpression::parse(text)
                .unwrap()
                .normalised()
                .as_str(),
            normal,
            "{text}"
        );
    }
}

#[test]
fn names_with_quotes_and_backslashes_are_matched_unescaped() {
    let held = Authorizations::new([r#"a"b"#, r"c\d"]).unwrap();
    let mut evaluator = VisibilityEvaluator::new(&held);
    for (label, visible) in [
        (r#""a\"b""#, true),
        (r#""c\\d""#, true),
        (r#""c\\\\d""#, false),
        (r#""a\\\"b""#, false),
    ] {
        assert_eq!(evaluate(label.as_bytes(), &held), Ok(visible), "{label}");
        assert_eq!(
            evaluator.evaluate(label.as_bytes()).is_visible(),
            visible,
            "{label}"
        );
    }
    assert_eq!(
        quote_term("").unwrap_err().kind(),
        VisibilityErrorKind::EmptyTerm
    );
}

#[test]
fn entries_without_label_take_the_default() {
    let held = Authorizations::new(["a"]).unwrap();
    let label = |text: &str| VisibilityExpression::parse(text).unwrap();
    let verdict = |text| {
        VisibilityEvaluator::new(&held)
            .with_default_label(&label(text))
            .evaluate(b"")
    };
    assert_eq!(
        VisibilityEvaluator::new(&held).evaluate(b""),
        Verdict::Visible
    );
    assert_eq!(verdict(""), Verdict::Visible);
    assert_eq!(verdict("a|b"), Verdict::Visible);
    assert_eq!(verdict("b"), Verdict::Hidden);
    let mut evaluator = VisibilityEvaluator::new(&held)
        .with_default_label(&label("b"))
        .with_cached_labels(1)
        .clone();
    assert_eq!(
        evaluator.evaluate(b""),
        Verdict::Hidden,
        "a clone keeps the default"
    );
    assert_eq!(
        evaluator.evaluate(b"a"),
        Verdict::Visible,
        "a label is not touched by it"
    );
}

#[test]
fn unparsable_labels_are_counted_each_time_and_the_first_is_kept() {
    let mut evaluator = VisibilityEvaluator::new(&Authorizations::new(["a"]).unwrap());
    assert_eq!(evaluator.first_error(), None);
    for label in [&b"a"[..], b"a&", b"b", b"a|b&c", b"a&", b""] {
        evaluator.evaluate(label);
    }
    assert_eq!(evaluator.unparsable(), 3);
    assert_eq!(
        evaluator.first_error().unwrap().kind(),
        VisibilityErrorKind::TrailingOperator
    );
    let clone = evaluator.clone();
    assert_eq!((clone.unparsable(), clone.first_error()), (0, None));
    assert_eq!(
        format!("{evaluator:?}"),
        "VisibilityEvaluator { held: 1, unlabelled: Visible, unparsable: 3, .. }"
    );
}

#[test]
fn authorizations_as_lists_and_as_text() {
    let parse = |list| Authorizations::parse(list);
    assert_eq!(parse(""), Ok(Authorizations::empty()));
    assert_eq!(parse("  "), Ok(Authorizations::empty()));
    assert_eq!(
        parse("b , a,b").unwrap().iter().collect::<Vec<_>>(),
        [b"a", b"b"]
    );
    for (list, position) in [(",", 0), ("a,", 2), ("a,,b", 2), ("a, ,b", 2)] {
        let error = parse(list).unwrap_err();
        assert_eq!(
            (error.kind(), error.position()),
            (AuthorizationsErrorKind::EmptyName, position),
            "{list}"
        );
    }
    let error = Authorizations::new(["a", ""]).unwrap_err();
    assert_eq!(
        (error.kind(), error.position()),
        (AuthorizationsErrorKind::EmptyName, 1)
    );
    assert!(
        error
            .to_string()
            .starts_with("authorizations, position 1: a name is empty")
    );

    let odd = Authorizations::new([&b"a,b"[..], b"x\"y", b"\xff", b"plain"]).unwrap();
    assert_eq!(odd.to_string(), "\"a,b\",plain,\"x\\\"y\",\"\u{fffd}\"");
    assert_eq!(
        format!("{odd:?}"),
        "Authorizations(\"a,b\",plain,\"x\\\"y\",\"\u{fffd}\")"
    );
}

#[test]
fn authorizations_as_accumulo_stores_them() {
    let read = |text: &str| Authorizations::deserialise(text.as_bytes());
    assert_eq!(Authorizations::empty().serialise(), "!AUTH1:");
    assert_eq!(read("!AUTH1:"), Ok(Authorizations::empty()));
    assert_eq!(read("!AUTH1:Yg==,YQ=="), Authorizations::new(["a", "b"]));
    assert_eq!(read("b,a"), Authorizations::new(["a", "b"]), "the old form");
    assert_eq!(read(""), Ok(Authorizations::empty()));
    let error = |text| {
        read(text)
            .map_err(|error| (error.kind(), error.position()))
            .unwrap_err()
    };
    assert_eq!(
        error("!AUTH1:YQ==,Y!=="),
        (AuthorizationsErrorKind::BadBase64, 13)
    );
    assert_eq!(
        error("!AUTH1:YQ==,"),
        (AuthorizationsErrorKind::EmptyName, 12)
    );
    assert_eq!(error("!AUTH1:YQ"), (AuthorizationsErrorKind::BadBase64, 9));
    let bad = Authorizations::deserialise(b"a\xff").unwrap_err();
    assert_eq!(
        (bad.kind(), bad.position()),
        (AuthorizationsErrorKind::InvalidUtf8, 1)
    );
}
