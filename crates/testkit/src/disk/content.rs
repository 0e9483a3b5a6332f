//! The bytes of one file: as programs see them, and as they lie on the platter.

use ostrakon_store::clock::Random;

use super::faults::Crash;

const SECTOR_BYTES: usize = 512;

/// A change that no sync has covered yet.
#[derive(Clone, Debug)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    SetLen(usize),
}

/// One file's bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    live: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Change>,
}

impl Content {
    pub(super) fn live(&self) -> &[u8] {
        &self.live
    }

    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) {
        let change = Change::Write {
            offset,
            bytes: bytes.to_vec(),
        };
        apply(&mut self.live, &change);
        self.pending.push(change);
    }

    pub(super) fn set_len(&mut self, len: usize) {
        let change = Change::SetLen(len);
        apply(&mut self.live, &change);
        self.pending.push(change);
    }

    /// Everything written reaches the platter.
    pub(super) fn sync(&mut self) {
        for change in self.pending.drain(..) {
            apply(&mut self.durable, &change);
        }
    }

    /// A sync fails: programs still see what they wrote, but it will never reach the platter.
    pub(super) fn lose(&mut self) {
        self.pending.clear();
    }

    /// Only what reached the platter is left, and what the crash let through.
    pub(super) fn crash(&mut self, crash: Crash, random: &mut Random) {
        match crash {
            Crash::Process => return,
            Crash::PowerLost => {}
            Crash::PowerLostTorn => self.keep_prefix(random),
            Crash::PowerLostScattered => self.keep_sectors(random),
        }
        self.pending.clear();
        self.live.clone_from(&self.durable);
    }

    fn keep_prefix(&mut self, random: &mut Random) {
        let whole = random.below(self.pending.len() as u64 + 1) as usize;
        for change in self.pending.iter().take(whole) {
            apply(&mut self.durable, change);
        }
        if let Some(Change::Write { offset, bytes }) = self.pending.get(whole) {
            let torn = random.below(bytes.len() as u64 + 1) as usize;
            write(&mut self.durable, *offset, &bytes[..torn]);
        }
    }

    fn keep_sectors(&mut self, random: &mut Random) {
        for change in &self.pending {
            match change {
                Change::SetLen(len) if random.one_in(2) => {
                    apply(&mut self.durable, &Change::SetLen(*len));
                }
                Change::SetLen(_) => {}
                Change::Write { offset, bytes } => {
                    let mut at = 0;
                    while at < bytes.len() {
                        // Sectors lie at multiples of their size in the file, not in the write.
                        let to_boundary = SECTOR_BYTES - (offset + at) % SECTOR_BYTES;
                        let end = bytes.len().min(at + to_boundary);
                        if random.one_in(2) {
                            write(&mut self.durable, offset + at, &bytes[at..end]);
                        }
                        at = end;
                    }
                }
            }
        }
    }

    /// Other bytes, for programs and on the platter alike.
    pub(super) fn replace(&mut self, bytes: &[u8]) {
        self.live = bytes.to_vec();
        self.durable = bytes.to_vec();
        self.pending.clear();
    }

    /// Rot: the bit changes for programs and on the platter alike. `false` beyond the end.
    pub(super) fn flip(&mut self, offset: usize, bit: u32) -> bool {
        let mask = 1 << (bit % 8);
        if let Some(byte) = self.durable.get_mut(offset) {
            *byte ^= mask;
        }
        match self.live.get_mut(offset) {
            Some(byte) => {
                *byte ^= mask;
                true
            }
            None => false,
        }
    }
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write { offset, bytes: new } => write(bytes, *offset, new),
        Change::SetLen(len) => bytes.resize(*len, 0),
    }
}

fn write(bytes: &mut Vec<u8>, offset: usize, new: &[u8]) {
    if new.is_empty() {
        return;
    }
    let end = offset + new.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[offset..end].copy_from_slice(new);
}
