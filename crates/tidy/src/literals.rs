//! The string literals of Rust and Python sources, which hold messages among other things.

use proc_macro2::{TokenStream, TokenTree};

use crate::rust::Outline;

/// The text of a literal, or of adjacent ones that the compiler joins, with the line ends of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Literal {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// The source between the quotes. Escapes are kept; a backslash before a line end is not.
    pub text: String,
}

/// The literals of a Rust file outside of tests and documentation.
///
/// # Errors
/// The lexer's message, if the text is not Rust.
pub fn of_rust(text: &str, outline: &Outline) -> Result<Vec<Literal>, String> {
    let stream: TokenStream = text
        .parse()
        .map_err(|error: proc_macro2::LexError| error.to_string())?;
    let mut literals = Vec::new();
    read_tokens(stream, &mut literals);
    literals.retain(|literal| {
        let inside = |(first, last): &(usize, usize)| (*first..=*last).contains(&literal.line);
        !outline.test_lines.iter().any(inside)
    });
    Ok(literals)
}

fn read_tokens(stream: TokenStream, literals: &mut Vec<Literal>) {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => {
                let first = group.stream().into_iter().next();
                let hash = at.checked_sub(1).and_then(|before| tokens.get(before));
                let is_doc = matches!(hash, Some(TokenTree::Punct(mark)) if "#!".contains(mark.as_char()))
                    && matches!(first, Some(TokenTree::Ident(name)) if name == "doc");
                if !is_doc {
                    read_tokens(group.stream(), literals);
                }
            }
            TokenTree::Literal(literal) => {
                let source = literal.to_string();
                if let (Some(from), Some(to)) = (source.find('"'), source.rfind('"'))
                    && from < to
                {
                    let inner = source.get(from + 1..to).unwrap_or_default();
                    literals.push(Literal {
                        line: literal.span().start().line,
                        text: inner.replace("\\\n", "\n"),
                    });
                }
            }
            _ => {}
        }
    }
}

/// The literals of a Python file, docstrings among them.
#[must_use]
pub fn of_python(text: &str) -> Vec<Literal> {
    let mut literals: Vec<Literal> = Vec::new();
    // Whether only blanks, line ends and prefixes came since the last literal.
    let mut adjacent = false;
    let mut rest = text;
    let mut line = 1;
    while let Some(next) = rest.chars().next() {
        let length = match next {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => {
                let (inner, length) = quoted(rest, next);
                match literals.last_mut().filter(|_| adjacent) {
                    Some(last) => {
                        // As many line ends as there are between the two, so that lines are right.
                        let known = last.line + last.text.matches('\n').count();
                        last.text.push_str(&"\n".repeat(line - known));
                        last.text.push_str(inner);
                    }
                    None => literals.push(Literal {
                        line,
                        text: inner.to_owned(),
                    }),
                }
                adjacent = true;
                length
            }
            _ => {
                let prefix = rest.trim_start_matches(['r', 'b', 'f', 'R', 'B', 'F']);
                let is_prefix = prefix.starts_with(['"', '\'']);
                adjacent &= next.is_whitespace() || is_prefix;
                if is_prefix {
                    rest.len() - prefix.len()
                } else {
                    next.len_utf8()
                }
            }
        };
        let (done, left) = rest.split_at(length.max(1));
        line += done.matches('\n').count();
        rest = left;
    }
    literals
}

/// The text between the quotes at the start, and the length of all of it.
fn quoted(text: &str, quote: char) -> (&str, usize) {
    let three: String = [quote; 3].iter().collect();
    let delimiter = if text.starts_with(&three) {
        three
    } else {
        quote.to_string()
    };
    let inner = text.get(delimiter.len()..).unwrap_or_default();
    let mut at = 0;
    while let Some(rest) = inner.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with(&delimiter) {
            break;
        }
        let escaped = usize::from(rest.starts_with('\\'));
        at += rest
            .chars()
            .take(1 + escaped)
            .map(char::len_utf8)
            .sum::<usize>();
    }
    let length = (at + 2 * delimiter.len()).min(text.len());
    (inner.get(..at).unwrap_or_default(), length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(literals: Vec<Literal>) -> Vec<(usize, String)> {
        literals
            .into_iter()
            .map(|one| (one.line, one.text))
            .collect()
    }

    #[test]
    fn messages_of_rust_are_found() {
        let text = "/// Docs \"x\"\nfn f() { err(format!(\"a {b} \\\n  c\"), r#\"d\"#); }\n#[cfg(test)]\nmod tests { const A: &str = \"t\"; }\n";
        let outline = Outline::of(text).unwrap();
        assert_eq!(
            texts(of_rust(text, &outline).unwrap()),
            [(2, "a {b} \n  c".to_owned()), (3, "d".to_owned())]
        );
    }

    #[test]
    fn messages_of_python_are_found() {
        let text = "# it's not\nraise E(\n    f\"a {b!r} \"\n    'c'\n)\nx = {'d': \"\"\"e\n'f'\"\"\", 'g\\'h': ''}\n";
        assert_eq!(
            texts(of_python(text)),
            [
                (3, "a {b!r} \nc".to_owned()),
                (6, "d".to_owned()),
                (6, "e\n'f'".to_owned()),
                (7, "g\\'h".to_owned()),
                (7, String::new()),
            ]
        );
    }
}
