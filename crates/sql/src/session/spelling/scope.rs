//! The relations that a SELECT reads, and how it finds a column among them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{Ident, JoinConstraint, JoinOperator, ObjectName};

use crate::session::using::constraint_of;

/// In the place of a name that the engine makes of an expression. No name without quotes can be that.
pub(super) const UNNAMED: &str = "";

/// Names of columns, as they are spelled.
#[derive(Debug, Default, Clone)]
pub(super) struct Names {
    all: Vec<String>,
    /// The spellings of each name, by the name in lower case.
    folded: HashMap<String, Vec<String>>,
    /// Whether there may be more.
    pub(super) is_partial: bool,
}

impl FromIterator<String> for Names {
    fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Self {
        let mut found = Self::default();
        names.into_iter().for_each(|name| found.add(name));
        found
    }
}

impl Names {
    /// Nothing is known.
    pub(super) fn unknown() -> Self {
        Self {
            is_partial: true,
            ..Self::default()
        }
    }

    /// Adds a name. Both sides of a join by name have its columns, which are there once.
    pub(super) fn add(&mut self, name: String) {
        let spellings = self.folded.entry(name.to_lowercase()).or_default();
        if !spellings.contains(&name) {
            spellings.push(name.clone());
            self.all.push(name);
        }
    }

    /// The names after the first ones, if there are such.
    pub(super) fn after(&self, count: usize) -> Option<Self> {
        let rest = self.all.iter().skip(count).cloned();
        let mut rest: Self = rest.collect();
        rest.is_partial = self.is_partial;
        (rest.is_partial || !rest.all.is_empty()).then_some(rest)
    }

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

    fn may_have(&self, name: &str) -> bool {
        self.is_partial || self.has(name)
    }
}

/// A relation in FROM.
pub(super) struct Relation {
    /// How columns name it; `None` if they cannot.
    pub(super) name: Option<String>,
    pub(super) columns: Arc<Names>,
    /// The name that was written, if it has several parts.
    pub(super) path: Option<ObjectName>,
    /// Columns that `*` takes from relations on the left of a join with USING.
    pub(super) taken: HashSet<String>,
    /// Whether only the condition of its join sees it: the other side of a semi-join.
    is_inner: bool,
}

/// What a SELECT reads and names.
#[derive(Default)]
pub(super) struct Scope {
    relations: Vec<Relation>,
    /// The aliases that it gives.
    pub(super) aliases: Names,
    /// Columns of joins with USING: one for both relations.
    common: HashSet<String>,
    /// Whether it has a join with NATURAL.
    is_natural: bool,
}

/// What a name is in a scope.
pub(super) enum Found {
    /// A column of one relation, or a common one, that is spelled so.
    Column(String),
    /// A column of several relations, that is spelled so if they agree.
    Ambiguous(Option<String>),
    /// Not known.
    Unclear,
    Absent,
}

impl Scope {
    pub(super) fn of(name: Option<String>, columns: Arc<Names>) -> Self {
        Self {
            relations: vec![Relation {
                name,
                columns,
                path: None,
                taken: HashSet::new(),
                is_inner: false,
            }],
            ..Self::default()
        }
    }

    /// The same for one relation that is named by several parts, such as a namespace and a name.
    pub(super) fn with_path(mut self, path: &ObjectName) -> Self {
        for relation in &mut self.relations {
            relation.path = (path.0.len() > 1).then(|| path.clone());
        }
        self
    }

    /// Looks for a column of one relation, or of all.
    pub(super) fn find(&self, relation: Option<&str>, name: &Ident) -> Found {
        match self.find_in(self.named(relation), name) {
            Found::Absent => self.find_in(self.inner(relation), name),
            found => found,
        }
    }

    fn find_in<'a>(&self, relations: impl Iterator<Item = &'a Relation>, name: &Ident) -> Found {
        let written = normal(name);
        let (mut exact, mut is_known) = (0, true);
        let mut others: Vec<&String> = Vec::new();
        for one in relations {
            is_known &= !one.columns.is_partial;
            if one.columns.has(&written) {
                exact += 1;
            } else if name.quote_style.is_none() {
                others.extend(one.columns.spellings(&name.value));
            }
        }
        match (exact, others.as_slice()) {
            (0, []) if is_known => Found::Absent,
            (1, _) if is_known => Found::Column(written),
            (0 | 1, _) if !is_known => Found::Unclear,
            (0, [first, rest @ ..]) => match rest.iter().all(|other| other == first) {
                true if rest.is_empty() || self.is_common(first) => Found::Column((*first).clone()),
                true => Found::Ambiguous(Some((*first).clone())),
                false => Found::Ambiguous(None),
            },
            _ if self.is_common(&written) => Found::Column(written),
            _ => Found::Ambiguous(Some(written)),
        }
    }

    /// Whether a column belongs to both sides of a join by name. USING may not be spelled yet.
    pub(super) fn is_common(&self, name: &str) -> bool {
        self.is_natural
            || self.common.contains(name)
            || self.common.contains(&name.to_ascii_lowercase())
    }

    /// The relations that a column with this relation before it, or with none, may be of.
    pub(super) fn named(&self, relation: Option<&str>) -> impl Iterator<Item = &Relation> {
        self.relations.iter().filter(move |one| match relation {
            Some(_) => one.name.as_deref() == relation,
            None => !one.is_inner,
        })
    }

    /// Those that a column without a relation is looked for after them.
    fn inner(&self, relation: Option<&str>) -> impl Iterator<Item = &Relation> {
        self.relations
            .iter()
            .filter(move |one| relation.is_none() && one.is_inner)
    }

    pub(super) fn has_relation(&self, name: &str) -> bool {
        self.named(Some(name)).next().is_some()
    }

    /// The alias that a name is, in the letters of the alias.
    pub(super) fn alias(&self, name: &Ident) -> Option<String> {
        let written = normal(name);
        if self.aliases.has(&written) {
            return Some(written);
        }
        match self.aliases.spellings(&name.value) {
            [only] if name.quote_style.is_none() => Some(only.clone()),
            _ => None,
        }
    }

    /// Whether it may have a column with exactly this name.
    pub(super) fn may_have(&self, relation: Option<&str>, name: &str) -> bool {
        self.named(relation).any(|one| one.columns.may_have(name))
    }

    /// Whether it has a column with exactly this name; `None` if not all columns are known.
    pub(super) fn has(&self, relation: Option<&str>, name: &str) -> Option<bool> {
        match self.named(relation).any(|one| one.columns.has(name)) {
            true => Some(true),
            false if self.may_have(relation, name) => None,
            false => Some(false),
        }
    }

    /// The columns that its relations have for sure.
    fn columns(&self) -> impl Iterator<Item = &Names> {
        self.named(None).map(|one| &*one.columns)
    }

    /// A column of these relations, and one of others, that differ in case alone and are not common.
    pub(super) fn almost_common<'a>(&'a self, other: &'a Self) -> Option<(&'a str, &'a str)> {
        let right: Vec<&Names> = other.columns().collect();
        self.columns().flat_map(Names::iter).find_map(|left| {
            let mut spellings = right.iter().flat_map(|columns| columns.spellings(left));
            match right.iter().any(|columns| columns.has(left)) {
                true => None,
                false => Some((left.as_str(), spellings.next()?.as_str())),
            }
        })
    }

    /// The columns that these relations and others both have, in the order of these; `None` if not all are known, or one is
    /// ambiguous.
    pub(super) fn common_with(&self, other: &Self) -> Option<Vec<String>> {
        if !self.is_complete() || !other.is_complete() {
            return None;
        }
        let (mut found, mut seen) = (Vec::new(), HashSet::new());
        for name in self.columns().flat_map(Names::iter) {
            let times = other.columns().filter(|columns| columns.has(name)).count();
            let is_new = seen.insert(name);
            let is_ambiguous = (!is_new && !self.common.contains(name))
                || (times > 1 && !other.common.contains(name));
            match times {
                0 => {}
                _ if is_ambiguous => return None,
                _ if is_new => found.push(name.clone()),
                _ => {}
            }
        }
        Some(found)
    }

    /// Whether all columns are known.
    pub(super) fn is_complete(&self) -> bool {
        !self.is_natural
            && self
                .columns()
                .all(|names| !names.is_partial && !names.has(UNNAMED))
    }

    pub(super) fn add(&mut self, other: Self) {
        self.relations.extend(other.relations);
        self.common.extend(other.common);
        self.is_natural |= other.is_natural;
    }

    /// Adds the relations on the other side of a join.
    pub(super) fn join(&mut self, mut other: Self, operator: &JoinOperator) {
        match operator {
            JoinOperator::Semi(_)
            | JoinOperator::LeftSemi(_)
            | JoinOperator::Anti(_)
            | JoinOperator::LeftAnti(_) => other.hide(),
            JoinOperator::RightSemi(_) | JoinOperator::RightAnti(_) => self.hide(),
            _ => {}
        }
        match constraint_of(operator) {
            Some(JoinConstraint::Natural) => self.is_natural = true,
            Some(JoinConstraint::Using(names)) => {
                let idents = names.iter().filter_map(|name| name.0.last()?.as_ident());
                for name in idents.map(normal) {
                    for relation in &mut other.relations {
                        if relation.columns.has(&name) {
                            relation.taken.insert(name.clone());
                        }
                    }
                    self.common.insert(name);
                }
            }
            _ => {}
        }
        self.add(other);
    }

    fn hide(&mut self) {
        self.relations
            .iter_mut()
            .for_each(|one| one.is_inner = true);
    }
}

/// A name as the engine reads it.
pub(in crate::session) fn normal(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_ascii_lowercase(),
    }
}
