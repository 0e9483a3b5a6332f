//! Indexes: any bytes with a right checksum are an index or an error.
#![no_main]

#[path = "../shared/sorted_file.rs"]
#[allow(dead_code, reason = "each target uses a part")]
mod shared;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut forge = shared::Forge::new();
    let index = forge.part(bytes);
    // The counts an index must agree with: one byte each in small indexes.
    let blocks = bytes.first().copied().unwrap_or(0);
    let entries = bytes.get(1).copied().unwrap_or(0);
    forge.read(index, None, u64::from(blocks), u64::from(entries));
    // And as the root over a partition, which is the same bytes.
    let mut forge = shared::Forge::new();
    forge.part(bytes);
    let root = forge.part(bytes);
    forge.read_as(true, root, None, u64::from(blocks), u64::from(entries));
});
