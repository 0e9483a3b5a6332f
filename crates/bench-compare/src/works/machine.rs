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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_known_on_linux() {
        assert!(!cfg!(target_os = "linux") || peak_resident_bytes() > 0);
    }
}
