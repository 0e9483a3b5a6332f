//! Prefetches memory before it is needed.
//!
//! In data larger than the CPU caches a point read mostly waits for memory. A prefetch costs one
//! instruction; a load in its place would stall the instructions after it. Where there is no such
//! instruction these functions do nothing.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Prefetches the cache line of the byte at `at`; does nothing if there is none.
#[inline]
pub(crate) fn prefetch(bytes: &[u8], at: usize) {
    if let Some(byte) = bytes.get(at) {
        line_of(byte);
    }
}

/// Prefetches all cache lines of a value, which should be few.
#[inline]
pub(crate) fn prefetch_value<T>(value: &T) {
    prefetch_pointed(value);
}

/// As [`prefetch_value`], for a value that may have been dropped: nothing is read.
#[inline]
pub(crate) fn prefetch_pointed<T>(value: *const T) {
    let start = value.cast::<u8>();
    for offset in (0..size_of::<T>()).step_by(LINE) {
        line_of(start.wrapping_add(offset));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[expect(
    unsafe_code,
    reason = "the instruction has no safe name; docs/decisions/0013 has the measurement"
)]
fn line_of(byte: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: every x86-64 processor has the instruction, and it has no effect visible to a
    // program, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(byte.cast()) }
}

#[cfg(target_arch = "aarch64")]
#[inline]
#[expect(
    unsafe_code,
    reason = "the instruction has no safe name; docs/decisions/0013 has the measurement"
)]
fn line_of(byte: *const u8) {
    // SAFETY: the instruction is a hint: it neither faults nor has an effect visible to a program,
    // whatever the address.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) byte, options(nostack, preserves_flags, readonly));
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline]
fn line_of(_: *const u8) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_place_may_be_asked_for() {
        let bytes = vec![7; 1000];
        for at in [0, 999, 1000, usize::MAX] {
            prefetch(&bytes, at);
        }
        prefetch(&[], 0);
        prefetch_value(&bytes);
        prefetch_value(&[0_u64; 100]);
        prefetch_value(&());
        prefetch_pointed(std::ptr::null::<u64>());
        prefetch_pointed(std::sync::Weak::<[u64; 9]>::new().as_ptr());
        assert!(bytes.iter().all(|&byte| byte == 7));
    }
}
