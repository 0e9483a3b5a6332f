//! The outline of a Rust file, read from its tokens: paths, attributes, module declarations, and
//! which lines are compiled for tests only.
//!
//! Tokens rather than a syntax tree, because paths inside macro calls count as well.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A path such as `crate::wal::Writer`, with the groups of a `use` taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathUse {
    /// The segments, `*` for a glob.
    pub segments: Vec<String>,
    /// Line of the last segment.
    pub line: usize,
    /// Names of the inline modules around it, outermost first.
    pub inside: Vec<String>,
    /// Whether the code around it is compiled for tests only.
    pub in_test: bool,
}

/// An attribute, `#[name(body)]` or `#![name(body)]`.
#[derive(Debug, Clone)]
pub struct Attribute {
    /// Its path as text, such as `expect` or `cfg_attr`.
    pub name: String,
    /// All tokens between the brackets.
    pub tokens: Vec<TokenTree>,
    /// Line of the hash sign.
    pub line: usize,
    /// Whether it is an inner attribute of the file itself.
    pub of_file: bool,
}

/// A module kept in another file, `mod name;`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleDeclaration {
    /// Names of the inline modules around it, then its own.
    pub name: Vec<String>,
    /// The file named by a `path` attribute.
    pub path: Option<String>,
    /// Whether it is compiled for tests only.
    pub in_test: bool,
}

/// The parts of one file that the rules need.
#[derive(Debug, Default)]
pub struct Outline {
    /// Every path of two or more segments.
    pub paths: Vec<PathUse>,
    /// Every attribute, doc comments left out.
    pub attributes: Vec<Attribute>,
    /// Every module declared here and kept elsewhere.
    pub modules: Vec<ModuleDeclaration>,
    /// First and last line of each stretch compiled for tests only.
    pub test_lines: Vec<(usize, usize)>,
}

impl Outline {
    /// Reads a file.
    ///
    /// # Errors
    /// The lexer's message, if the text is not Rust.
    pub fn of(text: &str) -> Result<Self, String> {
        let stream: TokenStream = text
            .parse()
            .map_err(|error: proc_macro2::LexError| error.to_string())?;
        let mut outline = Self::default();
        outline.read(stream, &Place::default());
        Ok(outline)
    }

    fn read(&mut self, stream: TokenStream, place: &Place) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        let mut at = 0;
        // The item being read: its attributes, and whether they keep it to test builds.
        let mut item = Item::default();
        while let Some(token) = tokens.get(at) {
            if let Some((attribute, length)) = attribute_at(&tokens, at, place.depth == 0) {
                if !attribute.of_file && attribute.name != "doc" && is_test_only(&attribute) {
                    item.test_since.get_or_insert(attribute.line);
                }
                if attribute.name == "path" {
                    item.path = attribute.tokens.last().and_then(string_value);
                }
                let body = attribute.tokens.iter().cloned().collect();
                if attribute.name != "doc" {
                    self.attributes.push(attribute);
                    self.read(body, &place.deeper(item.test_since.is_some()));
                }
                at += length;
                continue;
            }
            let in_test = place.in_test || item.test_since.is_some();
            match token {
                TokenTree::Ident(ident) => {
                    let word = ident.to_string();
                    let const_fn = item.keyword.as_deref() == Some("const") && word == "fn";
                    if const_fn || (item.keyword.is_none() && is_item_keyword(&word)) {
                        item.keyword = Some(word.clone());
                    }
                    if word == "mod"
                        && let Some(TokenTree::Ident(name)) = tokens.get(at + 1)
                    {
                        item.module = Some(name.to_string());
                    }
                    if is_double_colon(&tokens, at + 1) {
                        at += self.read_path(&tokens, at, &[], place, in_test);
                        continue;
                    }
                }
                TokenTree::Group(group) => {
                    let mut inner = place.deeper(in_test);
                    if let (Delimiter::Brace, Some(name)) = (group.delimiter(), &item.module) {
                        inner.inside.push(name.clone());
                    }
                    self.read(group.stream(), &inner);
                    if group.delimiter() == Delimiter::Brace && !item.ends_with_semicolon() {
                        self.finish(&mut item, group.span_close().end().line);
                    }
                }
                TokenTree::Punct(punct) if punct.as_char() == ';' => {
                    if let (Some("mod"), Some(name)) = (item.keyword.as_deref(), &item.module) {
                        let mut full = place.inside.clone();
                        full.push(name.clone());
                        let path = item.path.clone();
                        self.modules.push(ModuleDeclaration {
                            name: full,
                            path,
                            in_test,
                        });
                    }
                    self.finish(&mut item, punct.span().end().line);
                }
                // A field, variant or match arm with an attribute ends here.
                TokenTree::Punct(punct) if punct.as_char() == ',' && item.keyword.is_none() => {
                    self.finish(&mut item, punct.span().end().line);
                }
                _ => {}
            }
            at += 1;
        }
        if let Some(last) = tokens.last() {
            self.finish(&mut item, last.span().end().line);
        }
    }

    fn finish(&mut self, item: &mut Item, last_line: usize) {
        if let Some(first) = item.test_since {
            self.test_lines.push((first, last_line));
        }
        *item = Item::default();
    }

    /// Reads the path whose first segment stands at `at`; returns the number of tokens read.
    fn read_path(
        &mut self,
        tokens: &[TokenTree],
        start: usize,
        prefix: &[String],
        place: &Place,
        in_test: bool,
    ) -> usize {
        let mut segments = prefix.to_vec();
        let mut line = 0;
        let mut at = start;
        loop {
            match tokens.get(at) {
                Some(TokenTree::Ident(ident)) => {
                    segments.push(ident.to_string());
                    line = ident.span().start().line;
                    at += 1;
                }
                Some(TokenTree::Punct(punct)) if punct.as_char() == '*' => {
                    segments.push("*".to_owned());
                    line = punct.span().start().line;
                    at += 1;
                    break;
                }
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    for branch in inner.split(is_comma) {
                        if !branch.is_empty() {
                            self.read_path(branch, 0, &segments, place, in_test);
                        }
                    }
                    return at + 1 - start;
                }
                _ => break,
            }
            if !is_double_colon(tokens, at) {
                break;
            }
            at += 2;
        }
        if segments.last().is_some_and(|last| last == "self") {
            segments.pop();
        }
        if segments.len() > 1 {
            self.paths.push(PathUse {
                segments,
                line,
                inside: place.inside.clone(),
                in_test,
            });
        }
        at - start
    }
}

/// Where the walk is.
#[derive(Debug, Clone, Default)]
struct Place {
    inside: Vec<String>,
    in_test: bool,
    depth: usize,
}

impl Place {
    fn deeper(&self, in_test: bool) -> Self {
        let in_test = self.in_test || in_test;
        Self {
            inside: self.inside.clone(),
            in_test,
            depth: self.depth + 1,
        }
    }
}

#[derive(Debug, Default)]
struct Item {
    test_since: Option<usize>,
    path: Option<String>,
    keyword: Option<String>,
    module: Option<String>,
}

impl Item {
    fn ends_with_semicolon(&self) -> bool {
        matches!(
            self.keyword.as_deref(),
            Some("use" | "const" | "static" | "type" | "let")
        )
    }
}

fn is_item_keyword(word: &str) -> bool {
    matches!(
        word,
        "fn" | "struct"
            | "enum"
            | "union"
            | "trait"
            | "impl"
            | "mod"
            | "use"
            | "const"
            | "static"
            | "type"
            | "let"
            | "macro_rules"
    )
}

fn is_comma(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',')
}

fn is_double_colon(tokens: &[TokenTree], at: usize) -> bool {
    let colon =
        |index: usize| matches!(tokens.get(index), Some(TokenTree::Punct(p)) if p.as_char() == ':');
    colon(at) && colon(at + 1)
}

/// The attribute at `at`, and how many tokens it takes.
fn attribute_at(tokens: &[TokenTree], at: usize, top: bool) -> Option<(Attribute, usize)> {
    let TokenTree::Punct(hash) = tokens.get(at)? else {
        return None;
    };
    if hash.as_char() != '#' {
        return None;
    }
    let mut next = at + 1;
    let inner = matches!(tokens.get(next), Some(TokenTree::Punct(p)) if p.as_char() == '!');
    if inner {
        next += 1;
    }
    let TokenTree::Group(group) = tokens.get(next)? else {
        return None;
    };
    if group.delimiter() != Delimiter::Bracket {
        return None;
    }
    let body: Vec<TokenTree> = group.stream().into_iter().collect();
    let name = body.first()?.to_string();
    let line = hash.span().start().line;
    Some((
        Attribute {
            name,
            tokens: body,
            line,
            of_file: inner && top,
        },
        next + 1 - at,
    ))
}

/// `cfg(test)`, `cfg(all(test, …))`, `test`: compiled for tests only. `cfg(any(test, …))` is not.
fn is_test_only(attribute: &Attribute) -> bool {
    if attribute.name == "test" {
        return true;
    }
    attribute.name == "cfg"
        && attribute.tokens.get(1).is_some_and(|body| {
            let text: String = body.to_string().split_whitespace().collect();
            text.starts_with("(test") || text.starts_with("(all(test")
        })
}

/// The text between the quotes of a plain string literal.
#[must_use]
pub fn string_value(token: &TokenTree) -> Option<String> {
    let text = token.to_string();
    Some(text.strip_prefix('"')?.strip_suffix('"')?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        Outline::of(text)
            .unwrap()
            .paths
            .iter()
            .map(|path| path.segments.join("::"))
            .collect()
    }

    #[test]
    fn groups_globs_and_renames_are_taken_apart() {
        assert_eq!(
            paths("use crate::{a::{B, c::*}, d as e, f::{self, G}};"),
            [
                "crate::a::B",
                "crate::a::c::*",
                "crate::d",
                "crate::f",
                "crate::f::G"
            ]
        );
    }

    #[test]
    fn paths_in_expressions_and_macros_count() {
        assert_eq!(
            paths("fn f() { std::fs::read(x); println!(\"{}\", crate::wal::N); }"),
            ["std::fs::read", "crate::wal::N"]
        );
    }

    #[test]
    fn words_in_comments_and_strings_are_not_paths() {
        assert_eq!(
            paths("/// std::fs::read\n// std::fs\nconst A: &str = \"std::fs\";").len(),
            0
        );
    }

    #[test]
    fn test_code_is_told_from_product_code() {
        let text = "use a::b;\n#[cfg(test)]\nuse c::{d, e};\nfn f() {}\n#[cfg(test)]\n\
                    mod tests {\n    use g::h;\n}\n#[cfg(test)]\nmod more;\nuse i::j;\n";
        let outline = Outline::of(text).unwrap();
        let in_test: Vec<&str> = outline
            .paths
            .iter()
            .filter(|p| p.in_test)
            .map(|p| p.segments[0].as_str())
            .collect();
        assert_eq!(in_test, ["c", "c", "g"]);
        assert_eq!(outline.test_lines, [(2, 3), (5, 8), (9, 10)]);
        assert!(outline.modules[0].in_test);
    }

    #[test]
    fn inline_modules_are_named_and_paths_given() {
        let text = "mod a { mod b; #[path = \"x.rs\"] mod c; }";
        let outline = Outline::of(text).unwrap();
        assert_eq!(outline.modules[0].name, ["a", "b"]);
        assert_eq!(outline.modules[1].path.as_deref(), Some("x.rs"));
    }
}
