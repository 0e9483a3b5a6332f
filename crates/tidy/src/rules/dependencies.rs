//! What a dependency may bring, by deny.toml: its licence, where it comes from, and crates that are banned. `make deny` checks
//! the same with cargo-deny, and advisories too, which need the network.

use serde_json::Value;

use crate::finding::Finding;

const FILE: &str = "deny.toml";
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Reports each package of `cargo metadata` that deny.toml does not allow.
///
/// # Errors
/// One of the two texts cannot be read.
pub fn check(metadata: &str, deny: &str) -> Result<Vec<Finding>, String> {
    let metadata: Value = serde_json::from_str(metadata).map_err(|error| error.to_string())?;
    let deny: toml::Table = deny.parse().map_err(|error| format!("{FILE}: {error}"))?;
    let list = |table: &str, key: &str| {
        let found = deny.get(table).and_then(|table| table.get(key)?.as_array());
        found.cloned().unwrap_or_default()
    };
    let allowed = list("licenses", "allow");
    let allowed: Vec<&str> = allowed.iter().filter_map(toml::Value::as_str).collect();
    let banned = list("bans", "deny");
    let banned: Vec<&str> = banned
        .iter()
        .filter_map(|one| one.get("crate")?.as_str())
        .collect();
    let packages = metadata.get("packages").and_then(Value::as_array);
    let packages = packages.ok_or("cargo metadata lists no packages")?;
    let mut findings = Vec::new();
    for package in packages {
        let of = |key: &str| package.get(key).and_then(Value::as_str);
        let name = format!(
            "{} {}",
            of("name").unwrap_or("?"),
            of("version").unwrap_or("?")
        );
        let mut report = |what: String, instead: &str| {
            findings.push(Finding::new(FILE, 0, format!("{name}: {what}"), instead));
        };
        match of("license") {
            None => report("states no licence".into(), "take another crate"),
            Some(licence) if !satisfies(licence, &allowed) => report(
                format!("the licence `{licence}` is not allowed"),
                "take another crate, or allow the licence if it asks for no more than to be named",
            ),
            Some(_) => {}
        }
        if of("source").is_some_and(|source| source != REGISTRY) {
            report(
                "does not come from crates.io".into(),
                "take a published version",
            );
        }
        if of("name").is_some_and(|name| banned.contains(&name)) {
            report("the crate is banned".into(), "see the reason in deny.toml");
        }
    }
    Ok(findings)
}

/// Whether a licence of an SPDX expression may be chosen so that all it asks for is allowed. `A/B` is the old form of `A OR B`.
fn satisfies(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (holds, rest) = any(&words, allowed);
    holds && rest.is_empty()
}

fn any<'a>(words: &'a [&'a str], allowed: &[&str]) -> (bool, &'a [&'a str]) {
    let (mut holds, mut rest) = all(words, allowed);
    while let Some((&"OR", after)) = rest.split_first() {
        let (other, left) = all(after, allowed);
        holds |= other;
        rest = left;
    }
    (holds, rest)
}

fn all<'a>(words: &'a [&'a str], allowed: &[&str]) -> (bool, &'a [&'a str]) {
    let (mut holds, mut rest) = one(words, allowed);
    while let Some((&"AND", after)) = rest.split_first() {
        let (other, left) = one(after, allowed);
        holds &= other;
        rest = left;
    }
    (holds, rest)
}

fn one<'a>(words: &'a [&'a str], allowed: &[&str]) -> (bool, &'a [&'a str]) {
    match words {
        ["(", inner @ ..] => {
            let (holds, rest) = any(inner, allowed);
            match rest.split_first() {
                Some((&")", after)) => (holds, after),
                _ => (false, rest),
            }
        }
        [name, "WITH", exception, rest @ ..] => (
            allowed.contains(&format!("{name} WITH {exception}").as_str()),
            rest,
        ),
        [name, rest @ ..] => (allowed.contains(name), rest),
        // What is left over makes the whole expression invalid.
        [] => (false, &["nothing"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_satisfied_by_what_is_allowed() {
        let allowed = ["MIT", "Apache-2.0 WITH LLVM-exception", "Zlib"];
        for good in [
            "MIT",
            "GPL-3.0 OR MIT",
            "MIT/GPL-3.0",
            "(MIT OR GPL-3.0) AND Zlib",
            "Apache-2.0 WITH LLVM-exception",
            "GPL-3.0 AND Zlib OR MIT",
        ] {
            assert!(satisfies(good, &allowed), "{good}");
        }
        for bad in [
            "GPL-3.0",
            "",
            "MIT AND GPL-3.0",
            "Apache-2.0",
            "MIT OR",
            "(MIT",
            "MIT Zlib",
        ] {
            assert!(!satisfies(bad, &allowed), "{bad}");
        }
    }

    #[test]
    fn a_package_that_is_not_allowed_is_found() {
        let deny = "[licenses]\nallow = [\"MIT\"]\n[bans]\ndeny = [{ crate = \"evil\", reason = \"x\" }]\n";
        let found = |package: &str| {
            let metadata = format!("{{\"packages\": [{package}]}}");
            check(&metadata, deny).unwrap().len()
        };
        let of = |name: &str, licence: &str, source: &str| {
            format!(
                "{{\"name\": \"{name}\", \"version\": \"1.0.0\", \"license\": {licence}, \"source\": {source}}}"
            )
        };
        let registry = format!("\"{REGISTRY}\"");
        assert_eq!(found(&of("a", "\"MIT\"", &registry)), 0);
        assert_eq!(found(&of("a", "\"MIT\"", "null")), 0);
        assert_eq!(found(&of("a", "\"GPL-3.0\"", &registry)), 1);
        assert_eq!(found(&of("a", "null", &registry)), 1);
        assert_eq!(
            found(&of("a", "\"MIT\"", "\"git+https://example.org/a\"")),
            1
        );
        assert_eq!(found(&of("evil", "\"MIT\"", &registry)), 1);
        assert!(check("{}", deny).is_err());
    }
}
