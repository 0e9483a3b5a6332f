//! Every exemption from a lint and every skipped test states its reason.

use proc_macro2::{TokenStream, TokenTree};

use crate::finding::Finding;
use crate::rust::Attribute;
use crate::sources::Sources;
use crate::tree::Tree;

/// Reports `allow`, `expect` and `ignore` without a reason.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let sources = Sources::of(tree);
    let mut findings = Vec::new();
    for (path, source) in &sources.files {
        for attribute in &source.outline.attributes {
            if let Some(name) = without_reason(attribute) {
                findings.push(Finding::new(
                    path,
                    attribute.line,
                    format!("`{name}` without a reason"),
                    if name == "ignore" {
                        "write `#[ignore = \"why, and how to run it\"]`"
                    } else {
                        "add `reason = \"…\"`; prefer `expect`, which warns once it is stale"
                    },
                ));
            }
        }
    }
    findings
}

fn without_reason(attribute: &Attribute) -> Option<&'static str> {
    match attribute.name.as_str() {
        "allow" => lacks_reason(&attribute.tokens).then_some("allow"),
        "expect" => lacks_reason(&attribute.tokens).then_some("expect"),
        "ignore" => (attribute.tokens.len() == 1).then_some("ignore"),
        "cfg_attr" => {
            let Some(TokenTree::Group(body)) = attribute.tokens.get(1) else {
                return None;
            };
            let tokens: Vec<TokenTree> = body.stream().into_iter().collect();
            tokens.windows(2).find_map(|pair| match pair {
                [TokenTree::Ident(name), TokenTree::Group(_)] if lacks_reason(pair) => {
                    ["allow", "expect"].into_iter().find(|word| name == word)
                }
                _ => None,
            })
        }
        _ => None,
    }
}

/// Whether the group after the name has no `reason`.
fn lacks_reason(tokens: &[TokenTree]) -> bool {
    let Some(TokenTree::Group(group)) = tokens.get(1) else {
        return false;
    };
    let stream: TokenStream = group.stream();
    !stream
        .into_iter()
        .any(|token| matches!(&token, TokenTree::Ident(word) if word == "reason"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings_of(text: &str) -> usize {
        check(&Tree::of(&[("a/Cargo.toml", ""), ("a/src/lib.rs", text)])).len()
    }

    #[test]
    fn exemptions_without_reason_are_refused() {
        for text in [
            "#[allow(dead_code)] fn f() {}",
            "#![expect(clippy::unwrap_used)]",
            "fn f() { #[allow(x)] let y = 1; }",
            "struct A { #[expect(dead_code)] b: u8 }",
            "#[cfg_attr(test, allow(dead_code))] fn f() {}",
            "#[test] #[ignore] fn f() {}",
        ] {
            assert_eq!(findings_of(text), 1, "{text}");
        }
    }

    #[test]
    fn exemptions_with_reason_pass() {
        for text in [
            "#[allow(dead_code, reason = \"x\")] fn f() {}",
            "#[cfg_attr(test, expect(dead_code, reason = \"x\"))] fn f() {}",
            "#[test] #[ignore = \"slow\"] fn f() {}",
            "fn allow(x: u8) {} #[must_use] fn expect() {}",
        ] {
            assert_eq!(findings_of(text), 0, "{text}");
        }
    }
}
