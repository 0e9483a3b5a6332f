//! What the operating system knows about this process.

/// The most memory this process ever had resident, in bytes; 0 where `/proc` does not say.
pub(super) fn peak_resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap_or_default();
    let kib = line.trim().trim_end_matches("kB").trim().parse::<u64>();
    kib.unwrap_or(0) * 1024
}

/// About what a run of so many entries takes, and at most what most machines have free.
pub(crate) fn touched_bytes(entries: u64) -> u64 {
    entries.saturating_mul(512).min(2 << 30)
}

/// Has the memory of a run for itself once, so that the system has it ready.
pub(super) fn touch_memory(entries: u64) {
    let bytes = usize::try_from(touched_bytes(entries)).unwrap_or(0);
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
