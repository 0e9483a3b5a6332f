//! Links in the Markdown pages point to files and headings that exist.

use std::collections::BTreeSet;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::finding::Finding;
use crate::tree::{Tree, folder_of, join};

/// Reports a link within the repository whose target does not exist.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree
        .texts("", ".md")
        .filter(|(path, _)| !path.starts_with("fixtures/"))
    {
        for (event, span) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
            let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event
            else {
                continue;
            };
            if dest_url.contains("://") || dest_url.starts_with("mailto:") {
                continue;
            }
            let line = text
                .get(..span.start)
                .map_or(0, |before| before.matches('\n').count())
                + 1;
            let (file, anchor) = match dest_url.split_once('#') {
                Some((file, anchor)) => (file, Some(anchor)),
                None => (dest_url.as_ref(), None),
            };
            let target = if file.is_empty() {
                Some(path.to_owned())
            } else {
                join(folder_of(path), file)
            };
            let Some(target) = target.filter(|to| tree.has_file(to) || tree.has_folder(to)) else {
                findings.push(Finding::new(
                    path,
                    line,
                    format!("the link `{dest_url}` has no target"),
                    "correct the path (it is relative to this page) or remove the link",
                ));
                continue;
            };
            if let (Some(anchor), Some(page)) = (anchor, tree.text(&target))
                && target.ends_with(".md")
                && !anchors(page).contains(anchor)
            {
                findings.push(Finding::new(
                    path,
                    line,
                    format!("`{target}` has no heading for `#{anchor}`"),
                    format!("use one of: {}", Vec::from_iter(anchors(page)).join(", ")),
                ));
            }
        }
    }
    findings
}

/// The anchors a Git host makes of the headings: lower case, blanks to hyphens, punctuation gone.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(part) | Event::Code(part) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&part);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let slug: String = heading
                    .take()
                    .unwrap_or_default()
                    .to_lowercase()
                    .chars()
                    .filter_map(|c| match c {
                        ' ' => Some('-'),
                        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
                        _ => None,
                    })
                    .collect();
                let mut unique = slug.clone();
                let mut count = 1;
                while !anchors.insert(unique) {
                    unique = format!("{slug}-{count}");
                    count += 1;
                }
            }
            _ => {}
        }
    }
    anchors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings_of(link: &str) -> usize {
        let page = format!("# Top\n\nSee [it]({link}).\n");
        let tree = Tree::of(&[
            ("docs/guide/start.md", &page),
            ("docs/other.md", "# What is `it`?\n\n## Twice\n\n## Twice\n"),
        ]);
        check(&tree).len()
    }

    #[test]
    fn links_to_what_exists_pass() {
        for link in [
            "../other.md",
            "../other.md#what-is-it",
            "../other.md#twice-1",
            "#top",
            "../guide",
            "https://example.org/x#y",
        ] {
            assert_eq!(findings_of(link), 0, "{link}");
        }
    }

    #[test]
    fn links_to_what_does_not_exist_are_refused() {
        for link in ["other.md", "../other.md#that", "#bottom", "../../../x.md"] {
            assert_eq!(findings_of(link), 1, "{link}");
        }
    }
}
