//! The entries for every engine: those of the continuous test, the same for the same seed.

use ostrakon_cell::{ColumnUpdate, VisibilityExpression};
use ostrakon_lab::continuous::{Generator, GeneratorOptions, Place, ROW_BYTES, format_row};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use crate::Outcome;

/// Maximum number of lists that a writer extends; as in the suite.
const LISTS_MAX: u64 = 1_000_000;
/// Number of entries per list in a short run.
const LIST_ENTRIES: u64 = 27;
const SEED: u64 = 0x6f73_7472_616b;

/// Bytes of row, family and qualifier together.
pub(crate) const KEY_BYTES: u64 = 24;
/// Bytes of a value that points to another row; the first of a list has 16 fewer.
pub(crate) const VALUE_BYTES: u64 = 71;

/// Number of entries, threads and labels.
#[derive(Debug, Clone)]
pub(crate) struct Workload {
    pub(crate) entries: u64,
    pub(crate) writers: usize,
    /// Labels assigned in turn; without any, entries have none.
    pub(crate) labels: Vec<Vec<u8>>,
}

/// The parts of a key, as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyParts {
    pub(crate) row: [u8; ROW_BYTES],
    pub(crate) family: [u8; 4],
    pub(crate) qualifier: [u8; 4],
}

impl KeyParts {
    fn of(place: Place) -> Self {
        let digits = |number: u16| {
            let [.., a, b, c, d] = format_row(u64::from(number));
            [a, b, c, d]
        };
        Self {
            row: format_row(place.row),
            family: digits(place.family),
            qualifier: digits(place.qualifier),
        }
    }
}

/// Row, family and qualifier, separated by zero bytes, which sorts like the parts. It is two bytes longer than
/// the parts, and lacks the label and the timestamp, which Ostrakon stores in addition.
#[inline]
pub(crate) fn join_key(key: &mut Vec<u8>, row: &[u8], family: &[u8], qualifier: &[u8]) {
    key.clear();
    key.extend_from_slice(row);
    key.push(0);
    key.extend_from_slice(family);
    key.push(0);
    key.extend_from_slice(qualifier);
}

/// This many different labels, each a small expression.
pub(crate) fn labels(count: usize) -> Outcome<Vec<Vec<u8>>> {
    let labels = (0..count).map(|number| format!("group{number:02}&(audit|team{number:02})"));
    let labels: Vec<Vec<u8>> = labels.map(String::into_bytes).collect();
    for label in &labels {
        VisibilityExpression::parse(label)?;
    }
    Ok(labels)
}

/// Authorizations that satisfy all of [`labels`].
pub(crate) fn authorizations(count: usize) -> Vec<String> {
    let groups = (0..count).map(|number| format!("group{number:02}"));
    groups.chain(["audit".to_owned()]).collect()
}

impl Workload {
    fn share(&self, writer: usize) -> u64 {
        let writers = self.writers as u64;
        self.entries / writers + u64::from((writer as u64) < self.entries % writers)
    }

    fn generator(writer: usize) -> Outcome<Generator> {
        Ok(Generator::new(GeneratorOptions {
            checksum: false,
            seed: SEED + writer as u64,
            ..GeneratorOptions::default()
        })?)
    }

    /// Makes the entries of one writer, in order. Each but the first of a list points to the previous
    /// one of that list, which `verify` checks.
    pub(crate) fn make(
        &self,
        writer: usize,
        mut put: impl FnMut(&[u8], ColumnUpdate<'_>) -> Outcome<()>,
    ) -> Outcome<()> {
        let mut generator = Self::generator(writer)?;
        let share = self.share(writer);
        let lists = (share / LIST_ENTRIES).clamp(1, LISTS_MAX) as usize;
        let mut newest: Vec<u64> = Vec::with_capacity(lists);
        let (mut list, mut label) = (0, 0);
        for _ in 0..share {
            let place = generator.draw_place();
            if let Some(bytes) = self.labels.get(label) {
                generator.set_label(bytes);
                label = (label + 1) % self.labels.len();
            }
            let previous = newest.get(list).copied();
            let (row, update) = generator.make(place, previous);
            put(row, update)?;
            match newest.get_mut(list) {
                Some(row) => *row = place.row,
                None => newest.push(place.row),
            }
            list = (list + 1) % lists;
        }
        Ok(())
    }

    /// About `count` of the keys, from the whole run, in random order.
    pub(crate) fn sample(&self, count: u64) -> Outcome<Vec<KeyParts>> {
        let step = (self.entries / count.max(1)).max(1);
        let mut keys = Vec::new();
        for writer in 0..self.writers {
            // Only drawing places uses random numbers, so this gives the same places as `make`.
            let mut generator = Self::generator(writer)?;
            for at in 0..self.share(writer) {
                let place = generator.draw_place();
                if at % step == 0 {
                    keys.push(KeyParts::of(place));
                }
            }
        }
        keys.shuffle(&mut StdRng::seed_from_u64(SEED));
        Ok(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn samples_are_generated_keys_and_links_have_targets() {
        let workload = Workload {
            entries: 1_001,
            writers: 2,
            labels: labels(3).unwrap(),
        };
        let (mut keys, mut rows, mut links) = (HashSet::new(), HashSet::new(), 0);
        for writer in 0..2 {
            workload
                .make(writer, |row, update| {
                    let mut key = Vec::new();
                    join_key(&mut key, row, update.family, update.qualifier);
                    let value = update.value.unwrap();
                    assert!(!update.visibility.is_empty());
                    if value.len() as u64 == VALUE_BYTES {
                        links += 1;
                        assert!(rows.contains(&value[54..70]), "points to what is there");
                    }
                    rows.insert(row.to_vec());
                    keys.insert(key);
                    Ok(())
                })
                .unwrap();
        }
        assert_eq!((keys.len(), links > 900), (1_001, true));
        let sample = workload.sample(100).unwrap();
        assert!((95..=110).contains(&sample.len()), "{}", sample.len());
        let mut key = Vec::new();
        for parts in &sample {
            join_key(&mut key, &parts.row, &parts.family, &parts.qualifier);
            assert!(keys.contains(&key), "{parts:?}");
        }
        assert!(!sample.is_sorted_by(|a, b| a.row <= b.row));
    }
}
