//! A compact copy of what a search reads of a block first.
//!
//! A block that is not in the CPU caches costs a cache miss wherever it is touched. The rows of its
//! restarts lie far apart; this stores the first bytes of some of them next to each other, and the
//! common prefix of all rows, so that a search has one cache miss instead of one for each.

#![deny(clippy::indexing_slicing)]

use super::format::BlockLayout;
use super::lane::RESTART_INTERVAL;
use crate::codec::order_prefix;

/// Maximum number of sampled restarts.
const SAMPLES: usize = 32;

/// A prefix up to this length is copied.
const PREFIX_BYTES: usize = 24;

/// Samples of the restarts' rows.
#[derive(Debug)]
pub(super) struct Front {
    /// First four bytes of the sampled rows after the block's prefix, as [`word`] makes them; the
    /// unused rest is filled with the largest number. Few bytes, since every cache line counts, and
    /// few are needed: rows of a block with equal first bytes are compared directly.
    words: [u32; SAMPLES],
    /// The start of the suffix of each sampled row.
    starts: [u16; SAMPLES],
    prefix: [u8; PREFIX_BYTES],
    prefix_len: usize,
    /// Number of samples, and distance between sampled restarts.
    samples: u32,
    step: u32,
}

impl Front {
    /// Takes the samples; `None` if the block is malformed.
    pub(super) fn of(raw: &[u8], layout: &BlockLayout) -> Option<Self> {
        let restarts = layout.entries.div_ceil(RESTART_INTERVAL);
        let step = restarts.div_ceil(SAMPLES);
        let samples = restarts.div_ceil(step);
        let mut front = Self {
            words: [u32::MAX; SAMPLES],
            starts: [0; SAMPLES],
            prefix: [0; PREFIX_BYTES],
            prefix_len: layout.row_prefix.len,
            samples: samples as u32,
            step: u32::try_from(step).ok()?,
        };
        let prefix = layout.row_prefix.of(raw)?;
        if let Some(own) = front.prefix.get_mut(..prefix.len()) {
            own.copy_from_slice(prefix);
        }
        let suffixes = layout.suffixes.of(raw)?;
        let places = front.words.iter_mut().zip(&mut front.starts);
        for (at, (own_word, own_start)) in places.enumerate().take(samples) {
            let restart = at * step;
            let len = layout.row_lens.get(raw, restart * RESTART_INTERVAL)? as usize;
            let start = layout.suffix_starts.get(raw, restart)? as usize;
            let end = start.checked_add(len.checked_sub(prefix.len())?)?;
            *own_word = word(suffixes.get(start..end)?);
            // Positions in large blocks are not stored; see `start`.
            *own_start = u16::try_from(start).unwrap_or(u16::MAX);
        }
        Some(front)
    }

    /// The common prefix of all rows of the block.
    #[inline]
    pub(super) fn prefix<'a>(&'a self, raw: &'a [u8], layout: &BlockLayout) -> Option<&'a [u8]> {
        match self.prefix.get(..self.prefix_len) {
            Some(prefix) => Some(prefix),
            None => layout.row_prefix.of(raw),
        }
    }

    /// The start of a restart's suffix, if it is known here.
    #[inline]
    pub(super) fn start(&self, restart: usize) -> Option<usize> {
        if self.step != 1 {
            return None;
        }
        let start = *self.starts.get(restart)?;
        (start != u16::MAX).then_some(usize::from(start))
    }

    /// Two restarts that bound the last one whose row is before a row; `target` is the row after
    /// the prefix. The result is the first of them or one before the second. The first restart
    /// counts as before.
    #[inline]
    pub(super) fn narrow(&self, target: &[u8], restarts: usize) -> (usize, usize) {
        let target = word(target);
        let (mut less, mut equal) = (0_u32, 0_u32);
        // All samples, including the unused ones: a loop of fixed length takes few instructions.
        for own in &self.words {
            less += u32::from(*own < target);
            equal += u32::from(*own == target);
        }
        // The restart before the first one that is not less, and the first one that is greater.
        let low = less.min(self.samples).saturating_sub(1);
        let high = (less + equal).min(self.samples).max(1);
        let step = self.step as usize;
        (low as usize * step, (high as usize * step).min(restarts))
    }
}

/// The first four bytes, ordered as [`order_prefix`] orders the first eight.
#[inline]
fn word(bytes: &[u8]) -> u32 {
    match bytes.first_chunk::<4>() {
        Some(word) => u32::from_be_bytes(*word),
        None => (order_prefix(bytes) >> 32) as u32,
    }
}
