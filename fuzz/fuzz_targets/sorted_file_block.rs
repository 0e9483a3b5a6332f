//! Blocks: any bytes with a right checksum are a block or an error.
#![no_main]

#[path = "../shared/sorted_file.rs"]
#[allow(dead_code, reason = "each target uses a part")]
mod shared;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut forge = shared::Forge::new();
    let block = forge.part(bytes);
    let entries = u64::from(bytes.first().copied().unwrap_or(0) & 127);
    let index = forge.part(&shared::index_of(block, entries));
    forge.read(index, None, 1, entries);
});
