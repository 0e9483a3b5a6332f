//! Selects the entries of a block by column; each family and qualifier of the block is checked
//! once.

use std::ops::Range;

use ostrakon_cell::ColumnSelection;

use super::format::Block;
use super::lane::BytesLane;

/// Up to this many entries are checked one by one: a block may have many more families and
/// qualifiers.
const FEW: usize = 24;

/// Maximum number of pairs of a family and a qualifier whose verdicts are kept.
const PAIRS_MAX: usize = 1 << 12;

/// The selected entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// All requested entries.
    All,
    /// The entries at the positions in `picks`, perhaps none.
    Some,
}

/// Buffers kept between calls.
#[derive(Debug, Default)]
pub(crate) struct ChoiceScratch {
    families: Vec<Verdict>,
    /// Per family, and per qualifier in it.
    pairs: Vec<Verdict>,
    family_ids: Vec<u32>,
    qualifier_ids: Vec<u32>,
}

/// The verdict on a family, or on a family with a qualifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// None of it is selected.
    No,
    /// All of it is.
    Yes,
    /// Undecided without the qualifier.
    Open,
}

impl Verdict {
    fn of(selected: bool) -> Self {
        if selected { Self::Yes } else { Self::No }
    }

    fn of_family(columns: &ColumnSelection, family: &[u8]) -> Self {
        if !columns.contains_family(family) {
            Self::No
        } else if !columns.has_qualifiers() {
            Self::Yes
        } else {
            Self::Open
        }
    }
}

impl Block {
    /// Selects those of `entries` whose columns are in the selection, which must not be that of all
    /// columns. Unless all of them are, their positions replace those in `picks`. `None` if the
    /// block is malformed.
    pub(crate) fn choose(
        &self,
        columns: &ColumnSelection,
        entries: Range<usize>,
        scratch: &mut ChoiceScratch,
        picks: &mut Vec<u32>,
    ) -> Option<Chosen> {
        picks.clear();
        let (raw, layout) = (self.raw(), self.layout());
        if entries.len() <= FEW {
            for at in entries.clone() {
                let family = layout.family.get(raw, at)?;
                if columns.contains_family(family)
                    && (!columns.has_qualifiers()
                        || columns.contains(family, layout.qualifier.get(raw, at)?))
                {
                    picks.push(at as u32);
                }
            }
            return Some(match picks.len() == entries.len() {
                true => Chosen::All,
                false => Chosen::Some,
            });
        }
        let Some(families) = layout.family.words() else {
            return self.choose_one_by_one(columns, entries, picks);
        };
        scratch.families.clear();
        for id in 0..families {
            let family = layout.family.word(raw, id)?;
            scratch.families.push(Verdict::of_family(columns, family));
        }
        let is = |verdict| scratch.families.iter().all(|of| *of == verdict);
        if is(Verdict::Yes) {
            return Some(Chosen::All);
        }
        if is(Verdict::No) {
            return Some(Chosen::Some);
        }
        let open = scratch.families.contains(&Verdict::Open);
        match layout.qualifier.words() {
            _ if !open => {}
            Some(words) if families.checked_mul(words)? <= PAIRS_MAX => {
                return self.choose_by_pairs(columns, entries, words, scratch, picks);
            }
            _ => return self.choose_one_by_one(columns, entries, picks),
        }
        self.family_ids(&entries, &mut scratch.family_ids)?;
        for (at, id) in entries.clone().zip(&scratch.family_ids) {
            if *scratch.families.get(*id as usize)? == Verdict::Yes {
                picks.push(at as u32);
            }
        }
        Some(chosen(picks, &entries))
    }

    /// For families and qualifiers with dictionaries.
    fn choose_by_pairs(
        &self,
        columns: &ColumnSelection,
        entries: Range<usize>,
        words: usize,
        scratch: &mut ChoiceScratch,
        picks: &mut Vec<u32>,
    ) -> Option<Chosen> {
        let (raw, layout) = (self.raw(), self.layout());
        scratch.pairs.clear();
        for (id, verdict) in scratch.families.iter().enumerate() {
            if *verdict != Verdict::Open {
                scratch.pairs.resize(scratch.pairs.len() + words, *verdict);
                continue;
            }
            let family = layout.family.word(raw, id)?;
            for word in 0..words {
                let qualifier = layout.qualifier.word(raw, word)?;
                let selected = columns.contains(family, qualifier);
                scratch.pairs.push(Verdict::of(selected));
            }
        }
        let is = |verdict| scratch.pairs.iter().all(|of| *of == verdict);
        if is(Verdict::Yes) {
            return Some(Chosen::All);
        }
        if is(Verdict::No) {
            return Some(Chosen::Some);
        }
        let BytesLane::Dictionary { ids, .. } = layout.qualifier else {
            return None;
        };
        scratch.qualifier_ids.clear();
        scratch.qualifier_ids.reserve(entries.len());
        let into = &mut scratch.qualifier_ids;
        ids.for_each(raw, entries.start, entries.end, |id| into.push(id as u32))?;
        if let [_] = scratch.families.as_slice() {
            for (at, qualifier) in entries.clone().zip(&scratch.qualifier_ids) {
                if *scratch.pairs.get(*qualifier as usize)? == Verdict::Yes {
                    picks.push(at as u32);
                }
            }
            return Some(chosen(picks, &entries));
        }
        self.family_ids(&entries, &mut scratch.family_ids)?;
        let ids = scratch.family_ids.iter().zip(&scratch.qualifier_ids);
        for (at, (family, qualifier)) in entries.clone().zip(ids) {
            let (family, qualifier) = (*family as usize, *qualifier as usize);
            if qualifier >= words {
                return None;
            }
            if *scratch.pairs.get(family * words + qualifier)? == Verdict::Yes {
                picks.push(at as u32);
            }
        }
        Some(chosen(picks, &entries))
    }

    /// For too many families or qualifiers to check each of them.
    fn choose_one_by_one(
        &self,
        columns: &ColumnSelection,
        entries: Range<usize>,
        picks: &mut Vec<u32>,
    ) -> Option<Chosen> {
        let (raw, layout) = (self.raw(), self.layout());
        let mut families = layout.family.walk(raw, entries.start)?;
        let mut qualifiers = layout.qualifier.walk(raw, entries.start)?;
        // Neighbours usually share their family.
        let mut judged: Option<(&[u8], Verdict)> = None;
        for at in entries.clone() {
            let family = families.next(raw)?;
            let qualifier = qualifiers.next(raw)?;
            let verdict = match judged {
                Some((last, verdict)) if last == family => verdict,
                _ => Verdict::of_family(columns, family),
            };
            judged = Some((family, verdict));
            let selected = match verdict {
                Verdict::No => false,
                Verdict::Yes => true,
                Verdict::Open => columns.contains(family, qualifier),
            };
            if selected {
                picks.push(at as u32);
            }
        }
        Some(chosen(picks, &entries))
    }

    fn family_ids(&self, entries: &Range<usize>, into: &mut Vec<u32>) -> Option<()> {
        let BytesLane::Dictionary { ids, .. } = self.layout().family else {
            return None;
        };
        into.clear();
        into.reserve(entries.len());
        ids.for_each(self.raw(), entries.start, entries.end, |id| {
            into.push(id as u32);
        })
    }
}

fn chosen(picks: &[u32], entries: &Range<usize>) -> Chosen {
    match picks.len() == entries.len() {
        true => Chosen::All,
        false => Chosen::Some,
    }
}
