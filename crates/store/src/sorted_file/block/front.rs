//! What a search asks of a block first, in one place.
//!
//! A block that is not in the processor's caches costs a wait for memory wherever it is touched. The rows of its
//! restarts lie apart from each other; here are the beginnings of some of them side by side, and the bytes that all
//! rows begin with, so that a search waits once instead of once for each.

#![deny(clippy::indexing_slicing)]

use super::format::BlockLayout;
use super::lane::RESTART_INTERVAL;
use crate::codec::order_prefix;

/// So many restarts are sampled at most.
const SAMPLES: usize = 32;

/// A prefix up to this length is copied.
const PREFIX_BYTES: usize = 24;

/// Samples of the restarts' rows.
#[derive(Debug)]
pub(super) struct Front {
    /// First four bytes of the sampled rows behind the block's prefix, as [`word`] makes them; behind the last sample
    /// the largest number. Few bytes, since every line of memory counts, and few are needed: rows of a block that still
    /// begin alike are told apart by themselves.
    words: [u32; SAMPLES],
    /// Where the suffixes of the sampled rows begin.
    starts: [u16; SAMPLES],
    prefix: [u8; PREFIX_BYTES],
    prefix_len: usize,
    /// Number of samples, and of restarts from one to the next.
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
            // Those of large blocks are not kept; see `start`.
            *own_start = u16::try_from(start).unwrap_or(u16::MAX);
        }
        Some(front)
    }

    /// What all rows of the block begin with.
    #[inline]
    pub(super) fn prefix<'a>(&'a self, raw: &'a [u8], layout: &BlockLayout) -> Option<&'a [u8]> {
        match self.prefix.get(..self.prefix_len) {
            Some(prefix) => Some(prefix),
            None => layout.row_prefix.of(raw),
        }
    }

    /// Where the suffix of a restart begins, if that is known here.
    #[inline]
    pub(super) fn start(&self, restart: usize) -> Option<usize> {
        if self.step != 1 {
            return None;
        }
        let start = *self.starts.get(restart)?;
        (start != u16::MAX).then_some(usize::from(start))
    }

    /// Two restarts between which the last one lies whose row is before a row of which `target` stands behind the
    /// prefix: it is the first of them or one before the second. The first restart counts as before.
    #[inline]
    pub(super) fn narrow(&self, target: &[u8], restarts: usize) -> (usize, usize) {
        let target = word(target);
        let (mut less, mut equal) = (0_u32, 0_u32);
        // All of them, also those behind the last sample: a loop of fixed length is a few instructions.
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

/// The first four bytes as [`order_prefix`] has the first eight.
#[inline]
fn word(bytes: &[u8]) -> u32 {
    match bytes.first_chunk::<4>() {
        Some(word) => u32::from_be_bytes(*word),
        None => (order_prefix(bytes) >> 32) as u32,
    }
}
