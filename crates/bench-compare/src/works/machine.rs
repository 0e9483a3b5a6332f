//! What the operating system knows about this process.

/// The peak resident memory of this process, in bytes; 0 if `/proc` does not have it.
pub(super) fn peak_resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap_or_default();
    let kib = line.trim().trim_end_matches("kB").trim().parse::<u64>();
    kib.unwrap_or(0) * 1024
}

/// About the memory of a run with this many entries, or records of YCSB, and at most what most machines have free.
pub(crate) fn touched_bytes(entries: u64, are_records: bool) -> u64 {
    let each = if are_records { 4096 } else { 512 };
    entries.saturating_mul(each).min(2 << 30)
}

/// Touches memory once, so that the system has it ready for a run.
pub(super) fn touch_memory(bytes: u64) {
    let bytes = usize::try_from(bytes).unwrap_or(0);
    std::hint::black_box(vec![1_u8; bytes]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_known_on_linux() {
        assert!(!cfg!(target_os = "linux") || peak_resident_bytes() > 0);
    }
}
