//! The bytes of an input: a file, a named pipe or stdin, unpacked if they are compressed. Reading ends with
//! an error once the user asked to stop, also while it waits for a pipe.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::failure::{Failure, Result};
use crate::interrupt;

const BUFFER_BYTES: usize = 256 << 10;
/// Enough to tell the formats below from each other.
const MAGIC_BYTES: usize = 16;
/// Read at once, so that the caller sees the first lines and not only these bytes.
const BEGINNING_BYTES: usize = 64 << 10;
/// Files that were compressed with `zstd --long=31` need as much memory again.
const ZSTD_WINDOW_LOG: u32 = 31;

/// How many bytes of the input were read, before they are unpacked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Consumed(Arc<AtomicU64>);

impl Consumed {
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    #[cfg(feature = "parquet")]
    pub(super) fn set(&self, bytes: u64) {
        self.0.store(bytes, Ordering::Relaxed);
    }
}

/// An input and what its first bytes say.
pub(crate) enum Input {
    /// Text, unpacked.
    Text(Box<dyn BufRead + Send>),
    /// A Parquet file.
    Parquet,
}

/// Whether `path` stands for stdin.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// The name of an input in messages and as `@file`.
pub(crate) fn shown_name(path: &Path) -> String {
    if is_stdin(path) {
        "stdin".into()
    } else {
        path.display().to_string()
    }
}

/// Opens an input. Its first bytes tell whether it is compressed, not its name.
pub(crate) fn open(path: &Path, consumed: &Consumed) -> Result<Input> {
    let about = |failure: Failure| failure.with("file", shown_name(path));
    let (file, waits) = match is_stdin(path) {
        true => (stdin_file(), true),
        false => open_file(path),
    };
    let file = file.map_err(|error| {
        let failure = about(Failure::io("cannot open the file", &error));
        match error.kind() {
            io::ErrorKind::NotFound => failure.next("check the name of the file; - reads stdin"),
            io::ErrorKind::PermissionDenied => failure.next("change the permissions of the file"),
            _ => failure,
        }
    })?;
    let mut raw = Waiting {
        file,
        waits,
        consumed: consumed.clone(),
    };
    let cannot_read = |error: io::Error| about(Failure::io("cannot read the file", &error));
    let mut beginning = vec![0; BEGINNING_BYTES];
    let mut found = 0;
    while found < MAGIC_BYTES && !beginning[..found].contains(&b'\n') {
        match raw.read(&mut beginning[found..]).map_err(cannot_read)? {
            0 => break,
            read => found += read,
        }
    }
    beginning.truncate(found);
    let packing = packing(&beginning).map_err(about)?;
    let is_packed = matches!(packing, Packing::Gzip | Packing::Zstd);
    if is_packed && std::fs::metadata(path).is_ok_and(|found| found.is_file()) {
        verify(path, packing).map_err(|error| {
            let failure = Failure::io("the compressed file is damaged", &error);
            about(failure).next(
                "nothing was read from it, as its records may be wrong; get the file again, or, if you can tell wrong \
                 records, unpack it and read it from stdin",
            )
        })?;
    }
    let bytes = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(beginning).chain(raw));
    Ok(match packing {
        Packing::Parquet => Input::Parquet,
        Packing::None => Input::Text(Box::new(bytes)),
        Packing::Gzip | Packing::Zstd => {
            let unpacked = unpacked(packing, bytes).map_err(cannot_read)?;
            let unpacked = BufReader::with_capacity(BUFFER_BYTES, unpacked);
            Input::Text(Box::new(unpacked))
        }
    })
}

fn unpacked(
    packing: Packing,
    bytes: impl BufRead + Send + 'static,
) -> io::Result<Stoppable<Box<dyn Read + Send>>> {
    Ok(Stoppable(match packing {
        Packing::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(bytes)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Box::new(decoder)
        }
        _ => Box::new(flate2::bufread::MultiGzDecoder::new(bytes)),
    }))
}

/// Unpacks a file for nothing: its checksum is at the end, and what a damaged file gives before that may be wrong. Of a file
/// that was cut off, what is there is right.
fn verify(path: &Path, packing: Packing) -> io::Result<()> {
    let file = BufReader::with_capacity(BUFFER_BYTES, File::open(path)?);
    let outcome =
        unpacked(packing, file).and_then(|mut bytes| io::copy(&mut bytes, &mut io::sink()));
    match outcome {
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof && !interrupt::requested() => {
            Err(error)
        }
        // Whoever reads the file says so.
        _ => Ok(()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    None,
    Gzip,
    Zstd,
    Parquet,
}

/// How bytes are packed, by how they begin. An error for archives that are not unpacked here.
fn packing(magic: &[u8]) -> Result<Packing> {
    let foreign = |name: &str, command: &str| {
        Err(Failure::usage(format!(
            "the file is compressed with {name}, which is not unpacked; gzip and zstd are"
        ))
        .next(format!(
            "unpack it and read it from stdin: {command} FILE | ostrakon … - --format FORMAT"
        )))
    };
    Ok(match magic {
        [0x1f, 0x8b, ..] => Packing::Gzip,
        // A frame, or a frame to skip.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Packing::Zstd,
        [b'P', b'A', b'R', b'1', ..] => Packing::Parquet,
        [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A', b'Y', b'&', ..] => {
            return foreign("bzip2", "bzcat");
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => return foreign("xz", "xzcat"),
        [b'P', b'K', 3, 4, ..] => return foreign("zip", "unzip -p"),
        _ => Packing::None,
    })
}

#[cfg(unix)]
fn stdin_file() -> io::Result<File> {
    use std::os::fd::AsFd as _;

    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// A file, and whether reading it may wait for another process.
#[cfg(unix)]
fn open_file(path: &Path) -> (io::Result<File>, bool) {
    use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};

    let is_pipe = std::fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo());
    let mut options = File::options();
    options.read(true);
    if is_pipe {
        // Opening it must not wait for the process that writes.
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    }
    (options.open(path), is_pipe)
}

#[cfg(not(unix))]
fn stdin_file() -> io::Result<File> {
    use std::os::windows::io::AsHandle as _;

    Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
}

#[cfg(not(unix))]
fn open_file(path: &Path) -> (io::Result<File>, bool) {
    (File::open(path), false)
}

/// Reads from a file; before each read it waits until there is something to read, in short turns.
struct Waiting {
    file: File,
    waits: bool,
    consumed: Consumed,
}

impl Read for Waiting {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            check_stop()?;
            if self.waits && !is_ready(&self.file)? {
                continue;
            }
            match self.file.read(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.waits = true,
                Err(error) => return Err(error),
                Ok(read) => {
                    self.consumed.add(read);
                    return Ok(read);
                }
            }
        }
    }
}

#[cfg(unix)]
fn is_ready(file: &File) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    const TURN: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 100_000_000,
    };
    match poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&TURN)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(unix))]
fn is_ready(_file: &File) -> io::Result<bool> {
    Ok(true)
}

/// A few compressed bytes may stand for gigabytes, so what comes out is watched too.
struct Stoppable<R>(R);

impl<R: Read> Read for Stoppable<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        check_stop()?;
        self.0.read(bytes)
    }
}

/// The import finds out why by its watch. `Interrupted` would be tried again by the callers.
fn check_stop() -> io::Result<()> {
    match interrupt::requested() {
        true => Err(io::Error::other("stopped")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell_the_packing() {
        for (magic, expected) in [
            (&b"\x1f\x8b\x08"[..], Packing::Gzip),
            (b"\x28\xb5\x2f\xfd\x24", Packing::Zstd),
            (b"\x5f\x2a\x4d\x18", Packing::Zstd),
            (b"PAR1\x15", Packing::Parquet),
            (b"PARIS,1", Packing::None),
            (b"BZh,1", Packing::None),
            (b"", Packing::None),
        ] {
            assert_eq!(packing(magic).expect("readable"), expected, "{magic:?}");
        }
        for magic in [&b"BZh91AY&SY"[..], b"\xfd7zXZ\0", b"PK\x03\x04"] {
            assert!(packing(magic).is_err(), "{magic:?}");
        }
    }
}
