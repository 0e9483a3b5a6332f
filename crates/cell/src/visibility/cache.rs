//! What was decided about which label, in bounded memory.
//!
//! Two generations. New labels go to the young one; when it is full it becomes the old one and the
//! former old one is emptied and reused. A label found in the old generation is copied to the
//! young one, so labels in use survive any number of labels seen once, and the whole never holds
//! more than two generations. Labels lie end to end in one buffer: no allocation per label, and
//! none at all once both buffers have grown.

use std::hash::{BuildHasher, Hasher};

use hashbrown::{DefaultHashBuilder, HashTable};

use super::evaluator::Verdict;

/// The longest label that is remembered, in bytes. Longer ones are read each time: rare, and the
/// work is in proportion to bytes that had to be read from the table anyway.
pub const MAX_CACHED_LABEL_LENGTH: usize = 4096;

/// How many slots the first look-up has; a power of two.
const RECENT: usize = 64;

/// Average bytes a label that a generation has room for; labels are usually shorter.
const BYTES_PER_LABEL: usize = 64;

pub(super) struct VerdictCache {
    young: Generation,
    old: Generation,
    /// Labels asked for lately, in the young generation, each in the slot that its length and ends
    /// choose: a table has few labels, and this answers for most of them without a full hash.
    recent: [Option<Place>; RECENT],
    hasher: DefaultHashBuilder,
    max_labels: usize,
    max_bytes: usize,
}

#[derive(Default)]
struct Generation {
    places: HashTable<Place>,
    /// Labels end to end.
    labels: Vec<u8>,
}

/// Where a label lies in `labels`, and what was decided.
#[derive(Clone, Copy)]
struct Place {
    start: u32,
    length: u32,
    verdict: Verdict,
}

impl VerdictCache {
    /// Remembers at least the last `max_labels` labels if they are of ordinary length, at most
    /// twice as many; 0 remembers none. Allocates nothing yet.
    pub(super) fn new(max_labels: usize) -> Self {
        // Offsets are 32 bits wide.
        let max_labels =
            max_labels.min((u32::MAX as usize - MAX_CACHED_LABEL_LENGTH) / BYTES_PER_LABEL);
        Self {
            young: Generation::default(),
            old: Generation::default(),
            recent: [None; RECENT],
            hasher: DefaultHashBuilder::default(),
            max_labels,
            max_bytes: max_labels * BYTES_PER_LABEL + MAX_CACHED_LABEL_LENGTH,
        }
    }

    pub(super) fn max_labels(&self) -> usize {
        self.max_labels
    }

    /// The verdict on `label`: the one remembered, or else what `decide` says, which is then
    /// remembered.
    pub(super) fn get_or_decide(
        &mut self,
        label: &[u8],
        decide: impl FnOnce() -> Verdict,
    ) -> Verdict {
        let slot = slot(label);
        if let Some(Some(place)) = self.recent.get(slot)
            && self.young.label(*place) == label
        {
            return place.verdict;
        }
        if label.len() > MAX_CACHED_LABEL_LENGTH || self.max_labels == 0 {
            return decide();
        }
        let hashed = hash(&self.hasher, label);
        if let Some(place) = self.young.find(hashed, label) {
            self.note(slot, place);
            return place.verdict;
        }
        let verdict = self
            .old
            .find(hashed, label)
            .map_or_else(decide, |place| place.verdict);
        let place = self.remember(hashed, label, verdict);
        self.note(slot, place);
        verdict
    }

    fn note(&mut self, slot: usize, place: Place) {
        if let Some(recent) = self.recent.get_mut(slot) {
            *recent = Some(place);
        }
    }

    fn remember(&mut self, hashed: u64, label: &[u8], verdict: Verdict) -> Place {
        if self.young.places.len() >= self.max_labels
            || self.young.labels.len() + label.len() > self.max_bytes
        {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.places.clear();
            self.young.labels.clear();
            self.recent = [None; RECENT];
        }
        // Both fit: `max_bytes` is below 4 GiB.
        let place = Place {
            start: self.young.labels.len() as u32,
            length: label.len() as u32,
            verdict,
        };
        let Generation { places, labels } = &mut self.young;
        let length = labels.len() + label.len();
        if length > labels.capacity() {
            // Doubling, but never beyond the bound.
            let capacity = (2 * labels.capacity()).min(self.max_bytes).max(length);
            labels.reserve_exact(capacity - labels.len());
        }
        labels.extend_from_slice(label);
        let rehash = |place: &Place| hash(&self.hasher, at(labels, *place));
        places.insert_unique(hashed, place, rehash);
        place
    }
}

impl Generation {
    fn find(&self, hashed: u64, label: &[u8]) -> Option<Place> {
        self.places
            .find(hashed, |place| self.label(*place) == label)
            .copied()
    }

    fn label(&self, place: Place) -> &[u8] {
        at(&self.labels, place)
    }
}

/// Where in `recent` a label belongs. Cheap and open to collisions: those only cost the full
/// look-up.
fn slot(label: &[u8]) -> usize {
    let mixed = match (label.first_chunk::<8>(), label.last_chunk::<8>()) {
        (Some(first), Some(last)) => {
            u64::from_le_bytes(*first) ^ u64::from_le_bytes(*last).rotate_left(29)
        }
        _ => label
            .iter()
            .fold(0, |mixed, byte| mixed << 8 | u64::from(*byte)),
    };
    // A multiplication carries every bit into the top ones (Knuth's multiplicative hashing).
    let mixed = mixed
        .wrapping_add(label.len() as u64)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (u64::BITS - RECENT.ilog2())) as usize
}

/// The bytes alone: a label is a whole key, so nothing needs to mark where it ends.
fn hash(hasher: &DefaultHashBuilder, label: &[u8]) -> u64 {
    let mut hasher = hasher.build_hasher();
    hasher.write(label);
    hasher.finish()
}

/// A place always lies inside the buffer it was made for.
fn at(labels: &[u8], place: Place) -> &[u8] {
    let start = place.start as usize;
    labels
        .get(start..start + place.length as usize)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Asks for `label` and tells whether the cache had to ask back.
    fn decided(cache: &mut VerdictCache, label: &[u8], verdict: Verdict) -> bool {
        let mut asked = false;
        let answer = cache.get_or_decide(label, || {
            asked = true;
            verdict
        });
        assert_eq!(answer, verdict, "{label:?}");
        asked
    }

    #[test]
    fn a_label_is_decided_once() {
        let mut cache = VerdictCache::new(4);
        assert!(decided(&mut cache, b"a", Verdict::Visible));
        assert!(decided(&mut cache, b"b", Verdict::Hidden));
        assert!(decided(&mut cache, b"ab", Verdict::Unparsable));
        assert!(!decided(&mut cache, b"a", Verdict::Visible));
        assert!(!decided(&mut cache, b"a", Verdict::Visible));
        assert!(!decided(&mut cache, b"ab", Verdict::Unparsable));
        assert!(!decided(&mut cache, b"b", Verdict::Hidden));
    }

    #[test]
    fn a_label_in_use_survives_labels_seen_once() {
        let mut cache = VerdictCache::new(8);
        decided(&mut cache, b"hot", Verdict::Visible);
        for number in 0..1000 {
            decided(
                &mut cache,
                format!("cold-{number}").as_bytes(),
                Verdict::Hidden,
            );
            assert!(
                !decided(&mut cache, b"hot", Verdict::Visible),
                "after {number}"
            );
        }
        assert!(
            decided(&mut cache, b"cold-0", Verdict::Hidden),
            "long forgotten"
        );
    }

    #[test]
    fn memory_is_bounded_under_a_million_labels() {
        let labels = 1000;
        let mut cache = VerdictCache::new(labels);
        let mut label = [b'x'; 60];
        for number in 0_u32..1_000_000 {
            // Lengths from 4 to 60 bytes; the number makes each label different.
            let length = 4 + (number % 57) as usize;
            label[..4].copy_from_slice(&number.to_le_bytes());
            assert!(decided(&mut cache, &label[..length], Verdict::Hidden));
        }
        for generation in [&cache.young, &cache.old] {
            assert!(generation.places.len() <= labels);
            assert!(generation.labels.capacity() <= cache.max_bytes);
        }
    }

    #[test]
    fn long_labels_do_not_push_out_the_bound() {
        let mut cache = VerdictCache::new(16);
        for number in 0_u32..100 {
            let mut label = vec![b'x'; MAX_CACHED_LABEL_LENGTH];
            label[..4].copy_from_slice(&number.to_le_bytes());
            assert!(decided(&mut cache, &label, Verdict::Visible));
            assert!(
                !decided(&mut cache, &label, Verdict::Visible),
                "the longest is remembered"
            );
            label.push(b'x');
            assert!(decided(&mut cache, &label, Verdict::Hidden));
            assert!(
                decided(&mut cache, &label, Verdict::Hidden),
                "one byte more is not"
            );
            assert!(
                cache.young.labels.len() <= cache.max_bytes
                    && cache.old.labels.len() <= cache.max_bytes
            );
        }
    }

    /// A place of a former generation may, in the buffer filled anew, lie across two labels that
    /// together spell a third one. Its verdict must not be taken for that of the third.
    #[test]
    fn a_place_is_forgotten_with_its_generation() {
        let (visible, hidden) = (b"aaaaaaaa1bbbbbbbb", b"aaaaaaaa2bbbbbbbb");
        assert_eq!(slot(visible), slot(hidden), "the case needs a collision");
        let mut cache = VerdictCache::new(2);
        decided(&mut cache, b"z", Verdict::Visible);
        decided(&mut cache, visible, Verdict::Visible);
        decided(&mut cache, b"zaaaaaaaa", Verdict::Visible);
        decided(&mut cache, b"2bbbbbbbb", Verdict::Visible);
        assert_eq!(cache.young.labels, b"zaaaaaaaa2bbbbbbbb");
        assert!(decided(&mut cache, hidden, Verdict::Hidden));
    }

    #[test]
    fn nothing_is_remembered_if_so_wished() {
        let mut cache = VerdictCache::new(0);
        assert!(decided(&mut cache, b"a", Verdict::Visible));
        assert!(decided(&mut cache, b"a", Verdict::Visible));
        assert_eq!(cache.young.labels.capacity(), 0);
    }

    proptest! {
        /// The verdict is a function of the label, whatever was asked before and however small
        /// the cache is.
        #[test]
        fn answers_are_those_of_the_decider(
            max_labels in 0_usize..6,
            labels in prop::collection::vec("[ab]{0,3}", 0..200),
        ) {
            let mut cache = VerdictCache::new(max_labels);
            for label in &labels {
                let verdict = match label.len() % 3 {
                    0 => Verdict::Unparsable,
                    1 if label.contains('a') => Verdict::Visible,
                    _ => Verdict::Hidden,
                };
                decided(&mut cache, label.as_bytes(), verdict);
            }
        }
    }
}
