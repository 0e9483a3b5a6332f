//! Numbers drawn from a place in a sequence, so that any of them can be made alone.

/// A number below `limit`.
pub(crate) fn below(draw: u64, limit: u64) -> u64 {
    ((u128::from(draw) * u128::from(limit)) >> 64) as u64
}

/// From 0 to below 1.
pub(crate) fn unit(draw: u64) -> f64 {
    (draw >> 11) as f64 / (1_u64 << 53) as f64
}

/// The finisher of SplitMix64: neighbouring numbers become unrelated ones.
pub(crate) fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
