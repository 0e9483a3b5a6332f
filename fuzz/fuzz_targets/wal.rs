//! A log segment: any bytes read as records, a torn end or damage, never as a panic.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use ostrakon_store::vfs::MemoryVfs;
use ostrakon_store::wal::{
    LogOrigin, SegmentEnd, SegmentPlace, SegmentReader, WalWriter, list_segments,
};

fuzz_target!(|bytes: &[u8]| {
    let vfs = MemoryVfs::shared();
    let dir = Path::new("/wal");
    let (origin, previous) = (LogOrigin::default(), SegmentEnd::default());
    if vfs.create_dir_all(dir).is_err()
        || WalWriter::create(&vfs, dir, 1, origin, previous).is_err()
    {
        return;
    }
    let Some((_, path)) = list_segments(&*vfs, dir).ok().and_then(|mut all| all.pop()) else {
        return;
    };
    // Behind a right header, which no random bytes would have, and as they are.
    let header = vfs.read_to_vec(&path, 1 << 20).unwrap_or_default();
    for content in [[&header, bytes].concat(), bytes.to_vec()] {
        if vfs.replace(&path, &content).is_err() {
            return;
        }
        for is_last in [false, true] {
            let place = SegmentPlace {
                number: 1,
                is_last,
                ..SegmentPlace::default()
            };
            if let Ok(mut reader) = SegmentReader::open(&*vfs, &path, place) {
                while reader.next_record().is_some() {}
                let _ = reader.damage();
            }
        }
    }
});
