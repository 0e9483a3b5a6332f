//! Filters: any bytes with a right checksum are a filter or an error.
#![no_main]

#[path = "../shared/sorted_file.rs"]
#[allow(dead_code, reason = "each target uses a part")]
mod shared;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut forge = shared::Forge::new();
    let filter = forge.part(bytes);
    let block = forge.part(&[]);
    let index = forge.part(&shared::index_of(block, 1));
    forge.read(index, Some(filter), 1, 1);
});
