//! Batches of mutations: any bytes are a batch or an error, and what is a batch reads the same
//! from every door.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ostrakon_cell::MutationBatch;
use ostrakon_cell::mutation::read_update;

fuzz_target!(|bytes: &[u8]| {
    for at in 0..bytes.len().min(64) {
        // Any offset: a wrong index entry must not panic either.
        if let Some((_, next)) = read_update(bytes, at) {
            assert!(
                next > at && next <= bytes.len(),
                "an update ends inside the bytes"
            );
        }
    }
    let Ok(batch) = MutationBatch::from_encoded(bytes.to_vec()) else {
        return;
    };
    assert_eq!(batch.encoded(), bytes);
    let (mut updates, mut mutations) = (0, 0);
    for (at, update) in batch.updates() {
        let alone = read_update(bytes, at as usize);
        assert_eq!(
            alone.map(|(alone, _)| alone),
            Some(update),
            "an update can be read alone"
        );
        updates += 1;
        mutations += usize::from(update.first);
        assert!(
            !update.deleted || update.value.is_empty(),
            "a delete has no value"
        );
    }
    assert_eq!((batch.len(), batch.mutations()), (updates, mutations));
});
