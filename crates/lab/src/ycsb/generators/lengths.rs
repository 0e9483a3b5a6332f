//! How long a value is, and how many records a scan reads.

use std::path::Path;

use ostrakon_cell::{Error, ErrorKind, Result};

use super::super::random::JavaRandom;
use super::{Uniform, Zipfian};

/// A distribution of lengths.
#[derive(Debug, Clone)]
pub(in super::super) enum LengthGenerator {
    Constant(i64),
    Uniform(Uniform),
    Zipfian(Box<Zipfian>),
    Histogram(Histogram),
}

/// Lengths in blocks, with how often each comes.
#[derive(Debug, Clone)]
pub(in super::super) struct Histogram {
    block: i64,
    buckets: Vec<i64>,
    sum: i32,
}

impl LengthGenerator {
    #[inline]
    pub(in super::super) fn next(&mut self, random: &mut JavaRandom) -> i64 {
        match self {
            Self::Constant(length) => *length,
            Self::Uniform(uniform) => uniform.next(random),
            Self::Zipfian(zipfian) => zipfian.next(random),
            Self::Histogram(histogram) => histogram.next(random),
        }
    }
}

impl Histogram {
    fn next(&self, random: &mut JavaRandom) -> i64 {
        let mut left = i64::from(random.next_below(self.sum));
        let but_last = self.buckets.len() - 1;
        for (at, bucket) in self.buckets.iter().take(but_last).enumerate() {
            left -= bucket;
            // As in YCSB, a bucket also gets the first number of the next one.
            if left <= 0 {
                return (at as i64 + 1) * self.block;
            }
        }
        but_last as i64 * self.block
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let block = lines.next()?.strip_prefix("BlockSize\t")?;
        let mut buckets = Vec::new();
        for line in lines {
            let mut words = line.split('\t');
            let at: usize = words.next()?.parse().ok()?;
            let count: i64 = words.next()?.parse().ok()?;
            if at > buckets.len() || count < 0 {
                return None;
            }
            buckets.insert(at, count);
        }
        let sum = buckets
            .iter()
            .try_fold(0_i64, |sum, &one| sum.checked_add(one))?;
        Some(Self {
            block: block.trim().parse().ok().filter(|&block| block > 0)?,
            sum: i32::try_from(sum).ok().filter(|&sum| sum > 0)?,
            buckets,
        })
    }
}

/// Reads YCSB's histogram file: `BlockSize`, tab, a number; then a line per bucket with its number, tab, its count.
pub(in super::super) fn read_histogram(file: &Path) -> Result<LengthGenerator> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        Error::new(
            ErrorKind::Io,
            "the histogram of field lengths cannot be read",
        )
        .with("file", file.display())
        .with("property", "fieldlengthhistogram")
        .with_source(error)
    })?;
    Histogram::parse(&text)
        .map(LengthGenerator::Histogram)
        .ok_or_else(|| {
            Error::invalid(
                "not a histogram of field lengths: the first line is BlockSize, a tab and a number, each further \
                 line the number of a bucket, a tab and its count",
            )
            .with("file", file.display())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histograms_give_multiples_of_their_block() {
        let histogram = Histogram::parse("BlockSize\t10\n0\t1\n1\t0\n2\t3\n3\t1\n").unwrap();
        let mut random = JavaRandom::new(5);
        let mut counts = [0; 4];
        for _ in 0..5_000 {
            let length = histogram.next(&mut random);
            assert_eq!(length % 10, 0);
            counts[(length / 10) as usize] += 1;
        }
        // Numbers 0 and 1 fall into the first bucket, 2 to 4 into the third; the last one is never left over.
        assert!((1_850..2_150).contains(&counts[1]), "{counts:?}");
        assert!((2_850..3_150).contains(&counts[3]), "{counts:?}");
        for bad in [
            "",
            "BlockSize\t0\n0\t1",
            "BlockSize\t5",
            "BlockSize\t5\n1\t1",
            "BlockSize\t5\n0\tx",
        ] {
            assert!(Histogram::parse(bad).is_none(), "{bad:?}");
        }
    }
}
