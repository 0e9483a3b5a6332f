//! Set operations on two dictionaries: one pass over both, comparing words before bytes.

use std::cmp::Ordering;

use super::dictionary::{Keys, MISSING};
use super::text::Text;
use crate::error::{Result, checked_count};

/// All keys of two dictionaries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Union {
    /// The keys.
    pub keys: Keys,
    /// For each key of the left dictionary its position in [`Self::keys`].
    pub left: Vec<u32>,
    /// The same for the right one.
    pub right: Vec<u32>,
}

/// Keys that are in both dictionaries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intersection {
    /// Their positions in the left dictionary, ascending.
    pub left: Vec<u32>,
    /// Their positions in the right one, of the same length.
    pub right: Vec<u32>,
}

impl Keys {
    /// Merges two dictionaries.
    ///
    /// # Errors
    /// [`crate::Error::TooLarge`] when the union passes 2³²−2 keys.
    pub fn union(&self, other: &Self) -> Result<Union> {
        let most = self.len() + other.len();
        let mut text =
            Text::with_capacity(most, self.text().bytes().len() + other.text().bytes().len());
        let mut words = Vec::with_capacity(most);
        let mut left = Vec::with_capacity(self.len());
        let mut right = Vec::with_capacity(other.len());
        self.merge(other, |mine, theirs| {
            let position = words.len() as u32;
            if let Some(mine) = mine {
                text.push(self.at(mine));
                words.push(self.words()[mine]);
                left.push(position);
            } else if let Some(theirs) = theirs {
                text.push(other.at(theirs));
                words.push(other.words()[theirs]);
            }
            if theirs.is_some() {
                right.push(position);
            }
        });
        checked_count("keys", words.len())?;
        Ok(Union {
            keys: Self::from_sorted(text, words),
            left,
            right,
        })
    }

    /// Finds the keys of both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Intersection {
        // A few keys against many are looked up, many against many are merged.
        if self.len() * 16 < other.len() {
            let found = other.look_up(self);
            return Intersection {
                left: found.right,
                right: found.left,
            };
        }
        if other.len() * 16 < self.len() {
            return self.look_up(other);
        }
        let mut both = Intersection {
            left: Vec::new(),
            right: Vec::new(),
        };
        self.merge(other, |mine, theirs| {
            if let (Some(mine), Some(theirs)) = (mine, theirs) {
                both.left.push(mine as u32);
                both.right.push(theirs as u32);
            }
        });
        both
    }

    /// Positions of the keys that the other dictionary lacks.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Vec<u32> {
        let mut only = Vec::new();
        self.merge(other, |mine, theirs| {
            if let (Some(mine), None) = (mine, theirs) {
                only.push(mine as u32);
            }
        });
        only
    }

    /// For each key its position in the other dictionary, or [`MISSING`].
    #[must_use]
    pub fn positions_in(&self, other: &Self) -> Vec<u32> {
        let mut positions = vec![MISSING; self.len()];
        let both = self.intersection(other);
        for (mine, theirs) in both.left.iter().zip(&both.right) {
            positions[*mine as usize] = *theirs;
        }
        positions
    }

    fn look_up(&self, few: &Self) -> Intersection {
        let mut both = Intersection {
            left: Vec::new(),
            right: Vec::new(),
        };
        for theirs in 0..few.len() {
            if let Some(mine) = self.find(few.at(theirs)) {
                both.left.push(mine as u32);
                both.right.push(theirs as u32);
            }
        }
        both
    }

    /// Visits the keys of both in order, with the position in each dictionary that has it.
    fn merge(&self, other: &Self, mut visit: impl FnMut(Option<usize>, Option<usize>)) {
        let (mut mine, mut theirs) = (0, 0);
        while mine < self.len() && theirs < other.len() {
            match self.compare(mine, other, theirs) {
                Ordering::Less => {
                    visit(Some(mine), None);
                    mine += 1;
                }
                Ordering::Greater => {
                    visit(None, Some(theirs));
                    theirs += 1;
                }
                Ordering::Equal => {
                    visit(Some(mine), Some(theirs));
                    mine += 1;
                    theirs += 1;
                }
            }
        }
        (mine..self.len()).for_each(|mine| visit(Some(mine), None));
        (theirs..other.len()).for_each(|theirs| visit(None, Some(theirs)));
    }
}
