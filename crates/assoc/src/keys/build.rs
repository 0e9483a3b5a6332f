//! Builds a dictionary from a list with repeats, and the position of each text in it.

use xxhash_rust::xxh3::xxh3_64;

use super::dictionary::Keys;
use super::text::Text;
use crate::error::{Result, checked_count};

impl Keys {
    /// Sorts and removes repeats. The second result says for each text at which position its key is.
    ///
    /// Repeats are found with a hash table over prefix words, and only the distinct texts are sorted:
    /// edge lists hold each key many times. A list in order needs neither.
    ///
    /// # Errors
    /// [`crate::Error::TooLarge`] for 2³²−1 texts or more.
    pub fn build(text: &Text) -> Result<(Self, Vec<u32>)> {
        checked_count("texts", text.len())?;
        let words = text.words();
        if let Some(result) = build_sorted(text, &words) {
            return Ok(result);
        }
        let mut distinct = Distinct::new(text, &words);
        let mut inverse: Vec<u32> = (0..text.len()).map(|at| distinct.identify(at)).collect();
        let order = distinct.order();
        let mut rank = vec![0; order.len()];
        let mut keys = Text::with_capacity(order.len(), 8 * order.len());
        let mut key_words = Vec::with_capacity(order.len());
        for (position, id) in order.iter().enumerate() {
            rank[*id as usize] = position as u32;
            let first = distinct.first[*id as usize] as usize;
            keys.push(text.get(first));
            key_words.push(words[first]);
        }
        for id in &mut inverse {
            *id = rank[*id as usize];
        }
        Ok((Self::from_sorted(keys, key_words), inverse))
    }

    /// A dictionary of texts whose positions are of no interest.
    ///
    /// # Errors
    /// As [`Self::build`].
    pub fn from_text(text: &Text) -> Result<Self> {
        Ok(Self::build(text)?.0)
    }
}

/// The result for a list that does not descend anywhere.
fn build_sorted(text: &Text, words: &[u64]) -> Option<(Keys, Vec<u32>)> {
    let compare = |at: usize| {
        words[at - 1]
            .cmp(&words[at])
            .then_with(|| text.get(at - 1).cmp(text.get(at)))
    };
    let mut inverse = Vec::new();
    let mut starts = Vec::new();
    for at in 0..text.len() {
        if at == 0 || compare(at).is_lt() {
            starts.push(at as u32);
        } else if compare(at).is_gt() {
            return None;
        }
        inverse.push(starts.len() as u32 - 1);
    }
    let mut keys = Text::with_capacity(starts.len(), 8 * starts.len());
    let mut key_words = Vec::with_capacity(starts.len());
    for start in starts {
        keys.push(text.get(start as usize));
        key_words.push(words[start as usize]);
    }
    Some((Keys::from_sorted(keys, key_words), inverse))
}

/// A hash table from text to the order of first appearance. Open addressing, at most half full.
struct Distinct<'a> {
    text: &'a Text,
    words: &'a [u64],
    /// Upper half: upper half of the hash. Lower half: id plus one, zero when free.
    slots: Vec<u64>,
    /// Where each id appeared first.
    first: Vec<u32>,
    /// Prefix word and length of each id, so that a hit stays away from the list.
    known: Vec<(u64, u64)>,
}

const HIGH: u64 = 0xffff_ffff_0000_0000;

impl<'a> Distinct<'a> {
    fn new(text: &'a Text, words: &'a [u64]) -> Self {
        let expected = (text.len() / 4).clamp(16, 1 << 17);
        Self {
            text,
            words,
            slots: vec![0; (2 * expected).next_power_of_two()],
            first: Vec::new(),
            known: Vec::new(),
        }
    }

    fn hash(&self, at: usize) -> u64 {
        let text = self.text.get(at);
        if text.len() > 8 {
            return xxh3_64(text);
        }
        let seed = self.words[at] ^ (text.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let product = u128::from(seed).wrapping_mul(0xd6e8_feb8_6659_fd93_a076_1d64_78bd_642f);
        (product as u64) ^ ((product >> 64) as u64)
    }

    /// The id of the text at a position, new or known.
    fn identify(&mut self, at: usize) -> u32 {
        let hash = self.hash(at);
        let mask = self.slots.len() - 1;
        let length = self.text.get(at).len() as u64;
        let mut slot = hash as usize & mask;
        loop {
            let found = self.slots[slot];
            if found == 0 {
                break;
            }
            if (found ^ hash) & HIGH == 0 {
                let id = found as u32 - 1;
                if self.known[id as usize] == (self.words[at], length)
                    && (length <= 8
                        || self.text.get(self.first[id as usize] as usize) == self.text.get(at))
                {
                    return id;
                }
            }
            slot = (slot + 1) & mask;
        }
        let id = self.first.len() as u32;
        self.slots[slot] = (hash & HIGH) | u64::from(id + 1);
        self.first.push(at as u32);
        self.known.push((self.words[at], length));
        if 2 * self.first.len() > self.slots.len() {
            self.grow();
        }
        id
    }

    fn grow(&mut self) {
        let size = 4 * self.slots.len();
        let mut slots = vec![0; size];
        for (id, first) in self.first.iter().enumerate() {
            let hash = self.hash(*first as usize);
            let mut slot = hash as usize & (size - 1);
            while slots[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            slots[slot] = (hash & HIGH) | (id as u64 + 1);
        }
        self.slots = slots;
    }

    /// The ids in key order.
    fn order(&self) -> Vec<u32> {
        let mut order: Vec<(u64, u32)> = self
            .known
            .iter()
            .enumerate()
            .map(|(id, (word, _))| (*word, id as u32))
            .collect();
        order.sort_unstable();
        let mut start = 0;
        while start < order.len() {
            let word = order[start].0;
            let same = order[start..]
                .iter()
                .take_while(|(other, _)| *other == word)
                .count();
            if same > 1 {
                order[start..start + same].sort_unstable_by_key(|(_, id)| {
                    self.text.get(self.first[*id as usize] as usize)
                });
            }
            start += same;
        }
        order.into_iter().map(|(_, id)| id).collect()
    }
}
