//! The range of rows of a tablet, or of a reference to a file.

/// The rows after `after` (exclusive) up to `through` (inclusive); `None` is infinite.
///
/// A tablet's extent is a fence, and so is the part of a file that a tablet may read.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fence {
    /// The rows begin after this one.
    pub after: Option<Vec<u8>>,
    /// This is the last row.
    pub through: Option<Vec<u8>>,
}

impl Fence {
    /// All rows.
    pub const ALL: Self = Self {
        after: None,
        through: None,
    };

    /// The rows after `after` up to `through`.
    #[must_use]
    pub fn new(after: Option<Vec<u8>>, through: Option<Vec<u8>>) -> Self {
        Self { after, through }
    }

    /// Whether every row is inside.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.after.is_none() && self.through.is_none()
    }

    /// Whether no row can be inside.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!((&self.after, &self.through), (Some(after), Some(through)) if after >= through)
    }

    /// Whether `row` is inside.
    #[must_use]
    pub fn contains(&self, row: &[u8]) -> bool {
        self.after.as_deref().is_none_or(|after| row > after)
            && self.through.as_deref().is_none_or(|through| row <= through)
    }

    /// The rows inside both; `None` if there are none.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        let after = self.after.as_ref().max(other.after.as_ref());
        let through = match (&self.through, &other.through) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (one, other) => one.as_ref().or(other.as_ref()),
        };
        let both = Self::new(after.cloned(), through.cloned());
        (!both.is_empty()).then_some(both)
    }

    /// Whether every row of `other` is inside.
    #[must_use]
    pub fn encloses(&self, other: &Self) -> bool {
        let from = self.after.is_none() || other.after >= self.after;
        let to = match (&self.through, &other.through) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(mine), Some(theirs)) => theirs <= mine,
        };
        from && to
    }

    /// Whether some row from `first` to `last`, both included, may be inside.
    #[must_use]
    pub fn meets(&self, first: &[u8], last: &[u8]) -> bool {
        self.after.as_deref().is_none_or(|after| last > after)
            && self
                .through
                .as_deref()
                .is_none_or(|through| first <= through)
    }

    /// Whether `next` begins where this one ends.
    #[must_use]
    pub fn adjoins(&self, next: &Self) -> bool {
        self.through.is_some() && self.through == next.after
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fences() -> impl Strategy<Value = Fence> {
        let row = proptest::option::of(0..6_u8).prop_map(|row| row.map(|byte| vec![byte]));
        (row.clone(), row).prop_map(|(after, through)| Fence { after, through })
    }

    fn rows(fence: &Fence) -> Vec<u8> {
        // 255 stands for all rows beyond the largest end.
        [0, 1, 2, 3, 4, 5, 255]
            .into_iter()
            .filter(|row| fence.contains(&[*row]))
            .collect()
    }

    proptest! {
        #[test]
        fn set_operations_agree_with_row_by_row(a in fences(), b in fences()) {
            let both: Vec<u8> = rows(&a).into_iter().filter(|row| rows(&b).contains(row)).collect();
            match a.intersection(&b) {
                Some(fence) => prop_assert_eq!(rows(&fence), both),
                None => prop_assert!(both.is_empty()),
            }
            if a.encloses(&b) {
                prop_assert!(rows(&b).iter().all(|row| rows(&a).contains(row)));
            }
            if !a.is_empty() && !b.is_empty() && a.adjoins(&b) {
                let joined = Fence::new(a.after.clone(), b.through.clone());
                prop_assert_eq!(rows(&joined), [rows(&a), rows(&b)].concat());
            }
        }

        #[test]
        fn meeting_agrees_with_row_by_row(a in fences(), first in 0..6_u8, count in 0..4_u8) {
            let inside = (first..=first + count).any(|row| a.contains(&[row]));
            if inside {
                prop_assert!(a.meets(&[first], &[first + count]));
            }
            if !a.meets(&[first], &[first + count]) {
                prop_assert!(!inside);
            }
        }
    }

    #[test]
    fn ends() {
        let fence = Fence::new(Some(b"b".to_vec()), Some(b"d".to_vec()));
        assert!(
            !fence.contains(b"b")
                && fence.contains(b"b\0")
                && fence.contains(b"d")
                && !fence.contains(b"d\0")
        );
        assert!(
            Fence::ALL.encloses(&fence) && !fence.encloses(&Fence::ALL) && fence.encloses(&fence)
        );
        assert!(
            !Fence::new(None, Some(vec![])).is_empty(),
            "the empty row is a row"
        );
        assert!(Fence::new(Some(b"x".to_vec()), Some(b"x".to_vec())).is_empty());
    }
}
