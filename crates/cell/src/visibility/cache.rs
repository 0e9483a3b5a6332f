//! The verdicts on labels that were evaluated before, in bounded memory.
//!
//! Two generations. New labels go to the young one; when it is full it becomes the old one, and the
//! former old one is emptied and reused. A label found in the old generation is copied to the young
//! one. So labels in use survive any number of labels seen once, and memory is bounded by two
//! generations. Labels lie end to end in one buffer: no allocation per label, and no allocation at
//! all once both buffers have grown.

use std::hash::{BuildHasher, Hasher};

use hashbrown::{DefaultHashBuilder, HashTable};

use super::evaluator::Verdict;

/// The longest label that is cached, in bytes. Longer ones are evaluated each time: they are rare,
/// and the cost is proportional to bytes that had to be read from the table anyway.
pub const MAX_CACHED_LABEL_LENGTH: usize = 4096;

/// Slots of the first look-up; a power of two.
const RECENT: usize = 64;

/// Average bytes per label for which a generation has space; labels are usually shorter.
const BYTES_PER_LABEL: usize = 64;

pub(super) struct VerdictCache {
    young: Generation,
    old: Generation,
    /// Recently requested labels of the young generation, each in the slot that its length and ends
    /// select. A table has few labels, so that this finds most of them without a full hash.
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

/// The location of a label in `labels`, and its verdict.
#[derive(Clone, Copy)]
struct Place {
    start: u32,
    length: u32,
    verdict: Verdict,
}

impl VerdictCache {
    /// Caches at least the last `max_labels` labels if they are of ordinary length, at most twice
    /// as many; 0 disables the cache. Allocates nothing yet.
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

    /// The verdict on `label`: the cached one, or the result of `decide`, which is then cached.
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
            // Doubles, up to the bound.
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

/// The slot of a label in `recent`. Cheap and with collisions, which only cost the full look-up.
fn slot(label: &[u8]) -> usize {
    let mixed = match (label.first_chunk::<8>(), label.last_chunk::<8>()) {
        (Some(first), Some(last)) => {
            u64::from_le_bytes(*first) ^ u64::from_le_bytes(*last).rotate_left(29)
        }
        _ => label
            .iter()
            .fold(0, |mixed, byte| mixed << 8 | u64::from(*byte)),
    };
    // The multiplication carries every bit into the top ones (Knuth's multiplicative hashing).
    let mixed = mixed
        .wrapping_add(label.len() as u64)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (u64::BITS - RECENT.ilog2())) as usize
}

/// Hashes the bytes alone: a label is a whole key, so it needs no terminator.
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

    /// Looks `label` up and returns whether the cache called `decide`.
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
    fn a_label_in_use_is_not_evicted_by_labels_seen_once() {
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
    fn long_labels_are_not_cached() {
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

    /// A location of a former generation may, in the refilled buffer, span two labels that together
    /// spell a third one. Its verdict must not be returned for the third one.
    #[test]
    fn locations_are_dropped_with_their_generation() {
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
    fn size_zero_disables_the_cache() {
        let mut cache = VerdictCache::new(0);
        assert!(decided(&mut cache, b"a", Verdict::Visible));
        assert!(decided(&mut cache, b"a", Verdict::Visible));
        assert_eq!(cache.young.labels.capacity(), 0);
    }

    proptest! {
        /// The verdict is a function of the label alone, whatever was requested before and however
        /// small the cache is.
        #[test]
        fn cached_verdicts_equal_computed_ones(
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
