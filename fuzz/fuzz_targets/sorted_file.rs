//! Whole files: any bytes are a file or an error.
#![no_main]

#[path = "../shared/sorted_file.rs"]
#[allow(dead_code, reason = "each target uses a part")]
mod shared;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    shared::read_all(bytes);
    // And with a description of any bytes that the footer vouches for.
    let mut forge = shared::Forge::new();
    let place = forge.part(bytes);
    shared::read_all(&forge.finish(place));
});
