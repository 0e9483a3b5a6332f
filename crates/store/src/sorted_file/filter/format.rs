//! A blocked Bloom filter: all bits of a key are in one run of 64 bytes, so that a look-up costs
//! one cache miss. After Putze, Sanders and Singler, "Cache-, Hash- and Space-Efficient Bloom
//! Filters" (2007).
//!
//! ```text
//! probes             1 byte: bits per key
//! runs               64 bytes each
//! ```
//!
//! The run of a key is the upper half of its hash times the number of runs, shifted right by 32. Bit k of the run,
//! for k from 0, is bits 55..=63 of (lower half of the hash, made odd, times 0x9e3779b97f4a7c15^(k+1)).

#![deny(clippy::indexing_slicing)]

use super::KeyHash;

const RUN_BYTES: usize = 64;
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// A filter in memory.
#[derive(Debug)]
pub(crate) struct Bloom {
    bytes: Vec<u8>,
    probes: u32,
    runs: u32,
}

#[inline]
fn run_of(hash: KeyHash, runs: u32) -> usize {
    (((hash.0 >> 32) * u64::from(runs)) >> 32) as usize
}

/// Calls `each` with the bits of a key in its run.
#[inline]
fn each_bit(hash: KeyHash, probes: u32, mut each: impl FnMut(usize) -> bool) -> bool {
    let mut state = (hash.0 & 0xffff_ffff) | 1;
    for _ in 0..probes {
        state = state.wrapping_mul(MULTIPLIER);
        if !each((state >> 55) as usize) {
            return false;
        }
    }
    true
}

impl Bloom {
    /// Decodes a filter; `None` if the bytes are invalid.
    pub(crate) fn parse(bytes: Vec<u8>) -> Option<Self> {
        let (&probes, runs) = bytes.split_first()?;
        if probes == 0 || probes > PROBES_MAX || runs.is_empty() || runs.len() % RUN_BYTES != 0 {
            return None;
        }
        let runs = u32::try_from(runs.len() / RUN_BYTES).ok()?;
        Some(Self {
            bytes,
            probes: u32::from(probes),
            runs,
        })
    }

    /// Whether a key with this hash may have been added.
    #[inline]
    pub(crate) fn may_contain(&self, hash: KeyHash) -> bool {
        let start = 1 + run_of(hash, self.runs) * RUN_BYTES;
        let Some(run) = self.bytes.get(start..start + RUN_BYTES) else {
            return true;
        };
        each_bit(hash, self.probes, |bit| {
            run.get(bit / 8)
                .is_some_and(|byte| byte & (1 << (bit % 8)) != 0)
        })
    }

    /// Memory held, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.capacity() + size_of::<Self>()
    }
}

const PROBES_MAX: u8 = 16;

/// The bytes of a filter over `hashes` with a false-positive rate of about `error_rate`.
pub(super) fn encode(hashes: &[u64], error_rate: f64) -> Vec<u8> {
    let rate = error_rate.clamp(1e-6, 0.5);
    // The optimum of an unblocked filter, plus a margin since runs fill unevenly.
    let ideal = -rate.ln() / (std::f64::consts::LN_2 * std::f64::consts::LN_2);
    let bits_per_key = ideal * (1.0 + 0.012 * ideal);
    let probes = (ideal * std::f64::consts::LN_2).round().clamp(1.0, 16.0) as u8;
    let bits = (hashes.len() as f64 * bits_per_key).ceil() as usize;
    let runs = bits.div_ceil(RUN_BYTES * 8).max(1);
    let mut out = vec![0; 1 + runs * RUN_BYTES];
    if let Some((head, body)) = out.split_first_mut() {
        *head = probes;
        for &hash in hashes {
            let hash = KeyHash(hash);
            let start = run_of(hash, runs as u32) * RUN_BYTES;
            if let Some(run) = body.get_mut(start..start + RUN_BYTES) {
                each_bit(hash, u32::from(probes), |bit| {
                    if let Some(byte) = run.get_mut(bit / 8) {
                        *byte |= 1 << (bit % 8);
                    }
                    true
                });
            }
        }
    }
    out
}
