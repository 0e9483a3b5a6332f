//! The columns that a scan fetches.

use crate::{KeyRef, compare_bytes, same_bytes};

/// Up to this many columns are compared faster one by one than by binary search.
const FEW: usize = 8;

/// One requested column: a family, or a family and a qualifier.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Column {
    /// The family.
    pub family: Vec<u8>,
    /// The qualifier, or `None` for all of the family.
    pub qualifier: Option<Vec<u8>>,
}

impl Column {
    /// All of a family.
    #[must_use]
    pub fn family(family: impl Into<Vec<u8>>) -> Self {
        Self {
            family: family.into(),
            qualifier: None,
        }
    }

    /// One column.
    #[must_use]
    pub fn new(family: impl Into<Vec<u8>>, qualifier: impl Into<Vec<u8>>) -> Self {
        Self {
            family: family.into(),
            qualifier: Some(qualifier.into()),
        }
    }
}

/// The columns a scan fetches; empty means all.
///
/// ```
/// use ostrakon_cell::{Column, ColumnSelection};
/// let selection = ColumnSelection::new([Column::family("edge"), Column::new("meta", "name")]);
/// assert!(selection.contains(b"edge", b"anything"));
/// assert!(selection.contains(b"meta", b"name"));
/// assert!(!selection.contains(b"meta", b"age"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct ColumnSelection {
    /// Sorted by family, then qualifier; a whole family (`None`) comes first and covers the
    /// family's other columns.
    columns: Vec<Column>,
    /// The distinct families, sorted.
    families: Vec<Vec<u8>>,
    qualified: bool,
}

/// The other fields follow from the columns. Called for every point read.
impl PartialEq for ColumnSelection {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.columns.len() == other.columns.len() && self.columns == other.columns
    }
}

impl Eq for ColumnSelection {}

impl ColumnSelection {
    /// Every column.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// The given columns; an empty list means all.
    #[must_use]
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        let mut columns: Vec<Column> = columns.into_iter().collect();
        columns.sort();
        columns.dedup_by(|next, kept| {
            next.family == kept.family
                && (kept.qualifier.is_none() || kept.qualifier == next.qualifier)
        });
        let mut families: Vec<Vec<u8>> =
            columns.iter().map(|column| column.family.clone()).collect();
        families.dedup();
        let qualified = columns.iter().any(|column| column.qualifier.is_some());
        Self {
            columns,
            families,
            qualified,
        }
    }

    /// Whether every column is fetched.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.columns.is_empty()
    }

    /// The columns, sorted; empty for all.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The distinct families, sorted; empty for all.
    #[must_use]
    pub fn families(&self) -> &[Vec<u8>] {
        &self.families
    }

    /// Whether some column names a qualifier, so that comparing families is not sufficient.
    #[must_use]
    pub fn has_qualifiers(&self) -> bool {
        self.qualified
    }

    /// Whether some column of the family may be fetched.
    #[must_use]
    pub fn contains_family(&self, family: &[u8]) -> bool {
        self.families.is_empty()
            || self
                .families
                .binary_search_by(|known| compare_bytes(known, family))
                .is_ok()
    }

    /// Whether the column is fetched.
    #[must_use]
    pub fn contains(&self, family: &[u8], qualifier: &[u8]) -> bool {
        if self.columns.is_empty() {
            return true;
        }
        if self.columns.len() <= FEW {
            return self.columns.iter().any(|column| {
                same_bytes(&column.family, family)
                    && (column.qualifier.as_ref()).is_none_or(|own| same_bytes(own, qualifier))
            });
        }
        let probe = |wanted: Option<&[u8]>| {
            self.columns
                .binary_search_by(|column| {
                    compare_bytes(&column.family, family).then_with(|| {
                        match (column.qualifier.as_deref(), wanted) {
                            (Some(own), Some(wanted)) => compare_bytes(own, wanted),
                            (own, wanted) => own.is_some().cmp(&wanted.is_some()),
                        }
                    })
                })
                .is_ok()
        };
        probe(None) || (self.qualified && probe(Some(qualifier)))
    }

    /// Whether the key's column is fetched.
    #[must_use]
    pub fn contains_key(&self, key: KeyRef<'_>) -> bool {
        self.contains(key.family, key.qualifier)
    }
}
