//! The reference model's own constraints: a few rules written down plainly.

use ostrakon_cell::constraint::Screened;
use ostrakon_cell::mutation::MutationRef;
use ostrakon_cell::source::Rejection;
use ostrakon_cell::{
    Authorizations, ClassInfo, Error, ErrorKind, MutationBatch, Properties, Result,
    VisibilityExpression,
};

/// Whether a mutation is refused, and the code if it is.
type Rule = fn(&MutationRef<'_>) -> bool;

/// Last part of the class name, code, description, rule.
const RULES: &[(&str, i16, &str, Rule)] = &[
    ("DefaultKeySizeConstraint", 1, "a key over 1 MiB", |_| false),
    ("NoDeleteConstraint", 1, "a delete", |mutation| {
        mutation.updates().any(|update| update.deleted)
    }),
    ("AlphaNumKeyConstraint", 1, "an odd row", |mutation| {
        !mutation.row().iter().all(u8::is_ascii_alphanumeric)
    }),
    ("AlphaNumKeyConstraint", 2, "an odd family", |mutation| {
        let odd = |part: &[u8]| !part.iter().all(u8::is_ascii_alphanumeric);
        mutation.updates().any(|update| odd(update.family))
    }),
    ("AlphaNumKeyConstraint", 3, "an odd qualifier", |mutation| {
        let odd = |part: &[u8]| !part.iter().all(u8::is_ascii_alphanumeric);
        mutation.updates().any(|update| odd(update.qualifier))
    }),
    // Decided where the writer is known.
    ("VisibilityConstraint", 2, "a label of others", |_| false),
];

/// The property every new table has.
pub(super) const DEFAULT: (&str, &str) = (
    "table.constraint.1",
    "org.apache.accumulo.core.data.constraints.DefaultKeySizeConstraint",
);

fn rules_of(class: &str) -> impl Iterator<Item = &'static (&'static str, i16, &'static str, Rule)> {
    let short = class.rsplit('.').next().unwrap_or(class).to_owned();
    RULES.iter().filter(move |rule| rule.0 == short)
}

fn classes(set: &Properties) -> impl Iterator<Item = &String> {
    set.iter()
        .filter(|(name, _)| name.starts_with("table.constraint."))
        .map(|(_, class)| class)
}

pub(super) fn describe(class: &str) -> Option<ClassInfo> {
    let (name, _, description, _) = rules_of(class).next()?;
    Some(ClassInfo {
        name: (*name).to_owned(),
        description: (*description).to_owned(),
        scans_only: false,
    })
}

pub(super) fn check(set: &Properties) -> Result<()> {
    match classes(set).find(|class| rules_of(class).next().is_none()) {
        None => Ok(()),
        Some(class) => Err(
            Error::new(ErrorKind::ClassNotFound, "no such constraint class").with("class", class),
        ),
    }
}

/// What is left of a batch, and what was refused. `held` is what a writer may see who is somebody.
pub(super) fn screen(
    set: &Properties,
    batch: &MutationBatch,
    held: Option<&Authorizations>,
) -> Screened {
    let mut screened = Screened::default();
    let Screened {
        kept,
        rejections,
        refused,
    } = &mut screened;
    let may_not_see = |label: &[u8]| {
        let expression = VisibilityExpression::parse(label);
        held.is_some_and(|held| !expression.is_ok_and(|label| label.evaluate(held)))
    };
    for (place, mutation) in (0..).zip(batch.each_mutation()) {
        let mut sound = true;
        for class in classes(set) {
            let breaks = |rule: &(&str, i16, &str, Rule)| match (rule.0, rule.1) {
                ("VisibilityConstraint", 2) => mutation
                    .updates()
                    .any(|update| may_not_see(update.visibility)),
                _ => (rule.3)(&mutation),
            };
            for (_, code, description, _) in rules_of(class).filter(|rule| breaks(rule)) {
                sound = false;
                let known = rejections
                    .iter_mut()
                    .find(|one| one.constraint == *class && one.code == *code);
                match known {
                    Some(one) => one.mutations += 1,
                    None => rejections.push(Rejection {
                        constraint: class.clone(),
                        code: *code,
                        description: (*description).to_owned(),
                        mutations: 1,
                    }),
                }
            }
        }
        if sound {
            // There was room in a larger batch.
            let _ = kept.push_ref(&mutation);
        } else {
            refused.push(place);
        }
    }
    screened
}
