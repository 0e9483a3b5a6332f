//! Which record a request asks for.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use ostrakon_cell::{Error, Result};

use super::super::naming::fnv_hash;
use super::super::random::JavaRandom;
use super::{InsertSequence, Uniform, Zipfian};

/// The items of the zipfian distribution before it is scrambled, and their zeta: summing takes minutes.
const SCRAMBLED_ITEMS: i64 = 10_000_000_000;
const SCRAMBLED_ZETA: f64 = 26.469_028_201_783_02;

/// The records at the start of a run.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct KeySpace {
    pub(in super::super) first: i64,
    pub(in super::super) count: i64,
}

impl KeySpace {
    fn last(self) -> i64 {
        self.first + self.count - 1
    }
}

/// A request distribution. Each client thread has a copy; what a sequence counts, the copies share.
#[derive(Debug, Clone)]
pub(in super::super) enum KeyChooser {
    Uniform(Uniform),
    Scrambled {
        zipfian: Zipfian,
        first: i64,
        count: i64,
    },
    Latest(Zipfian),
    Hotspot {
        hot: Uniform,
        cold: Uniform,
        hot_requests: f64,
    },
    Exponential {
        gamma: f64,
    },
    Sequential {
        next: Arc<AtomicI64>,
        keys: KeySpace,
    },
}

impl KeyChooser {
    pub(in super::super) fn uniform(keys: KeySpace) -> Self {
        Self::Uniform(Uniform::new(keys.first, keys.last()))
    }

    /// `more` is the number of records that the run is expected to insert, so that popular keys stay popular.
    pub(in super::super) fn scrambled(keys: KeySpace, more: i64, random: &mut JavaRandom) -> Self {
        Self::Scrambled {
            // One more item than the constant says, in YCSB's constructor as well.
            zipfian: Zipfian::with_zeta(0, SCRAMBLED_ITEMS, SCRAMBLED_ZETA, random),
            first: keys.first,
            count: keys.count + more + 1,
        }
    }

    pub(in super::super) fn latest(inserts: &InsertSequence, random: &mut JavaRandom) -> Self {
        let mut zipfian = Zipfian::new(0, inserts.last() - 1, random);
        zipfian.next_of(inserts.last(), random);
        Self::Latest(zipfian)
    }

    /// Percent of the requests that go to a number of the latest records.
    pub(in super::super) fn exponential(percentile: f64, records: f64) -> Self {
        Self::Exponential {
            gamma: -(1.0 - percentile / 100.0).ln() / records,
        }
    }

    pub(in super::super) fn sequential(keys: KeySpace) -> Self {
        Self::Sequential {
            next: Arc::default(),
            keys,
        }
    }

    /// The number of a record that was inserted and acknowledged, or that was there before the run.
    #[inline]
    pub(in super::super) fn next(
        &mut self,
        inserts: &InsertSequence,
        random: &mut JavaRandom,
    ) -> i64 {
        if let Self::Exponential { gamma } = self {
            loop {
                let back = (-random.next_double().ln() / *gamma) as i32;
                let number = inserts.last() - i64::from(back);
                if number >= 0 {
                    return number;
                }
            }
        }
        loop {
            let number = self.draw(inserts, random);
            if number <= inserts.last() {
                return number;
            }
        }
    }

    #[inline]
    fn draw(&mut self, inserts: &InsertSequence, random: &mut JavaRandom) -> i64 {
        match self {
            Self::Uniform(uniform) => uniform.next(random),
            Self::Scrambled {
                zipfian,
                first,
                count,
            } => *first + fnv_hash(zipfian.next(random)) % *count,
            Self::Latest(zipfian) => {
                let last = inserts.last();
                last - zipfian.next_of(last, random)
            }
            Self::Hotspot {
                hot,
                cold,
                hot_requests,
            } => {
                if random.next_double() < *hot_requests {
                    hot.next(random)
                } else {
                    cold.next(random)
                }
            }
            // Handled by the caller.
            Self::Exponential { .. } => 0,
            Self::Sequential { next, keys } => {
                keys.first + next.fetch_add(1, Ordering::Relaxed) % keys.count.max(1)
            }
        }
    }
}

/// A share of the requests, from 0 to 1, goes to a share of the records, the first ones.
pub(in super::super) fn hotspot(
    keys: KeySpace,
    hot_records: f64,
    hot_requests: f64,
) -> Result<KeyChooser> {
    let hot = (keys.count as f64 * hot_records) as i64;
    if (hot == 0 && hot_requests > 0.0) || (hot == keys.count && hot_requests < 1.0) {
        return Err(Error::invalid(
            "requests of the hotspot distribution would go to a set without records; change \
             hotspotdatafraction or hotspotopnfraction",
        )
        .with("records", keys.count)
        .with("hot records", hot));
    }
    Ok(KeyChooser::Hotspot {
        hot: Uniform::new(keys.first, keys.first + hot - 1),
        cold: Uniform::new(keys.first + hot, keys.last()),
        hot_requests,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: KeySpace = KeySpace {
        first: 100,
        count: 50,
    };

    #[test]
    fn every_distribution_stays_among_the_records() {
        let mut random = JavaRandom::new(3);
        let inserts = InsertSequence::new(150);
        let mut choosers = [
            (KeyChooser::uniform(KEYS), 100),
            (KeyChooser::scrambled(KEYS, 20, &mut random), 100),
            (KeyChooser::latest(&inserts, &mut random), 0),
            (hotspot(KEYS, 0.2, 0.8).unwrap(), 100),
            (KeyChooser::exponential(95.0, 40.0), 0),
            (KeyChooser::sequential(KEYS), 100),
        ];
        for (chooser, low) in &mut choosers {
            for _ in 0..2_000 {
                let number = chooser.next(&inserts, &mut random);
                assert!((*low..150).contains(&number), "{chooser:?} {number}");
            }
        }
    }

    #[test]
    fn the_hot_set_gets_its_share() {
        let mut random = JavaRandom::new(3);
        let inserts = InsertSequence::new(150);
        let mut chooser = hotspot(KEYS, 0.2, 0.8).unwrap();
        let hot = (0..10_000)
            .filter(|_| chooser.next(&inserts, &mut random) < 110)
            .count();
        assert!((7_800..8_200).contains(&hot), "{hot}");
        assert!(hotspot(KEYS, 0.0, 0.5).is_err());
        assert!(hotspot(KEYS, 1.0, 0.5).is_err());
        assert!(hotspot(KEYS, 0.0, 0.0).is_ok());
    }

    #[test]
    fn copies_of_a_sequence_share_their_place() {
        let mut random = JavaRandom::new(3);
        let inserts = InsertSequence::new(150);
        let mut first = KeyChooser::sequential(KEYS);
        let mut second = first.clone();
        assert_eq!(first.next(&inserts, &mut random), 100);
        assert_eq!(second.next(&inserts, &mut random), 101);
        assert_eq!(first.next(&inserts, &mut random), 102);
    }
}
