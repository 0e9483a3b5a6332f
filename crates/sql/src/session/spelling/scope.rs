//! The relations that a SELECT reads, and how it finds a column among them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{Ident, JoinConstraint, JoinOperator};

use crate::session::using::constraint_of;

/// In the place of a name that the engine makes of an expression. No name without quotes can be that.
pub(super) const UNNAMED: &str = "";

/// Names of columns, as they are spelled.
#[derive(Debug, Default)]
pub(super) struct Names {
    all: Vec<String>,
    /// The spellings of each name, by the name in lower case.
    folded: HashMap<String, Vec<String>>,
}

impl FromIterator<String> for Names {
    fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Self {
        let mut found = Self::default();
        for name in names {
            let spellings = found.folded.entry(name.to_lowercase()).or_default();
            // Both sides of a join by name have its columns.
            if !spellings.contains(&name) {
                spellings.push(name.clone());
                found.all.push(name);
            }
        }
        found
    }
}

impl Names {
    pub(super) fn iter(&self) -> impl Iterator<Item = &String> {
        self.all.iter()
    }

    /// The spellings of a name in any letters.
    pub(super) fn spellings(&self, name: &str) -> &[String] {
        self.folded
            .get(&name.to_lowercase())
            .map_or(&[], Vec::as_slice)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.spellings(name).iter().any(|one| one == name)
    }
}

/// A relation in FROM.
pub(super) struct Relation {
    /// How columns name it; `None` if they cannot.
    pub(super) name: Option<String>,
    /// `None` if they are not known.
    pub(super) columns: Option<Arc<Names>>,
}

/// What a SELECT reads and names.
#[derive(Default)]
pub(super) struct Scope {
    pub(super) relations: Vec<Relation>,
    /// The aliases that it gives.
    pub(super) aliases: HashSet<String>,
    /// Columns of joins with USING: one for both relations.
    pub(super) common: HashSet<String>,
    /// Whether it has a join with NATURAL.
    pub(super) is_natural: bool,
}

/// What a name is in a scope.
pub(super) enum Found {
    /// The column of one relation, or a common one, with these letters.
    Exact,
    /// A column of several relations.
    Ambiguous,
    /// The only column that differs in case.
    Spelled(String),
    /// Not known, or several could be meant.
    Unclear,
    Absent,
}

impl Scope {
    pub(super) fn of(relation: Relation) -> Self {
        Self {
            relations: vec![relation],
            ..Self::default()
        }
    }

    /// Looks for a column without quotes, of one relation or of all.
    pub(super) fn find(&self, relation: Option<&str>, name: &str) -> Found {
        let lower = name.to_ascii_lowercase();
        let (mut exact, mut is_known) = (0, true);
        let mut other: Option<&String> = None;
        let mut is_one = true;
        for one in self.named(relation) {
            let Some(columns) = &one.columns else {
                is_known = false;
                continue;
            };
            exact += usize::from(columns.has(&lower));
            for spelling in columns.spellings(name) {
                is_one = is_one && other.is_none_or(|other| other == spelling);
                other = Some(spelling);
            }
        }
        match (exact, other) {
            (0, _) if !is_known => Found::Unclear,
            (0, None) => Found::Absent,
            (0, Some(other)) if is_one => Found::Spelled(other.clone()),
            (0, Some(_)) => Found::Unclear,
            (1, _) => Found::Exact,
            _ if self.is_natural || self.common.contains(&lower) => Found::Exact,
            _ => Found::Ambiguous,
        }
    }

    /// The relations that a column with this relation before it, or with none, may be of.
    fn named(&self, relation: Option<&str>) -> impl Iterator<Item = &Relation> {
        self.relations
            .iter()
            .filter(move |one| relation.is_none() || one.name.as_deref() == relation)
    }

    pub(super) fn has_relation(&self, name: &str) -> bool {
        self.named(Some(name)).next().is_some()
    }

    /// Whether it may have a column with exactly this name.
    pub(super) fn may_have(&self, relation: Option<&str>, name: &str) -> bool {
        self.named(relation)
            .any(|one| one.columns.as_ref().is_none_or(|columns| columns.has(name)))
    }

    /// Whether it has a column with exactly this name; `None` if not all columns are known.
    pub(super) fn has(&self, relation: Option<&str>, name: &str) -> Option<bool> {
        let mut is_known = true;
        for one in self.named(relation) {
            match &one.columns {
                Some(columns) if columns.has(name) => return Some(true),
                Some(_) => {}
                None => is_known = false,
            }
        }
        is_known.then_some(false)
    }

    /// A column of these relations, and one of others, that differ in case alone and are not common.
    pub(super) fn almost_common<'a>(&'a self, other: &'a Self) -> Option<(&'a str, &'a str)> {
        let right: Vec<&Names> = other.known().collect();
        self.known().flat_map(Names::iter).find_map(|left| {
            let mut spellings = right.iter().flat_map(|columns| columns.spellings(left));
            match right.iter().any(|columns| columns.has(left)) {
                true => None,
                false => Some((left.as_str(), spellings.next()?.as_str())),
            }
        })
    }

    fn known(&self) -> impl Iterator<Item = &Names> {
        self.relations
            .iter()
            .filter_map(|one| one.columns.as_deref())
    }

    /// The columns that these relations and others both have, in the order of these; `None` if not all are known, or one is
    /// ambiguous.
    pub(super) fn common_with(&self, other: &Self) -> Option<Vec<String>> {
        if !self.is_complete() || !other.is_complete() {
            return None;
        }
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        for name in self.known().flat_map(Names::iter) {
            let times = other.known().filter(|columns| columns.has(name)).count();
            let is_repeated = !seen.insert(name) && !self.common.contains(name);
            if times > 0 && (is_repeated || (times > 1 && !other.common.contains(name))) {
                return None;
            }
            if times > 0 && !found.contains(name) {
                found.push(name.clone());
            }
        }
        Some(found)
    }

    fn is_complete(&self) -> bool {
        let is_complete = |names: &Arc<Names>| !names.has(UNNAMED);
        !self.is_natural
            && self
                .relations
                .iter()
                .all(|one| one.columns.as_ref().is_some_and(is_complete))
    }

    pub(super) fn add(&mut self, other: Self) {
        self.relations.extend(other.relations);
        self.common.extend(other.common);
        self.is_natural |= other.is_natural;
    }

    /// Adds the relations on the other side of a join.
    pub(super) fn join(&mut self, other: Self, operator: &JoinOperator) {
        self.add(other);
        match constraint_of(operator) {
            Some(JoinConstraint::Natural) => self.is_natural = true,
            Some(JoinConstraint::Using(names)) => {
                let idents = names.iter().filter_map(|name| name.0.last()?.as_ident());
                self.common.extend(idents.map(normal));
            }
            _ => {}
        }
    }
}

/// A name as the engine reads it.
pub(in crate::session) fn normal(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_ascii_lowercase(),
    }
}
