//! The bytes of an input: a file, a named pipe or stdin, unpacked if they are compressed. Reading ends with
//! an error once the user asked to stop, also while it waits for a pipe.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ostrakon_events::wide_encoding;

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

/// Refuses text that is not read byte by byte, by how it begins.
pub(crate) fn check_encoding(path: &Path, start: &[u8]) -> Result<()> {
    let Some(encoding) = wide_encoding(start) else {
        return Ok(());
    };
    let failure = Failure::usage(format!("the file is {encoding} text, not UTF-8"))
        .with("file", shown_name(path));
    Err(match is_stdin(path) {
        true => failure.next(format!(
            "convert it before: … | iconv -f {encoding} -t UTF-8 | ostrakon …"
        )),
        false => failure.next(format!(
            "convert it: iconv -f {encoding} -t UTF-8 FILE > NEW"
        )),
    })
}

/// Refuses bytes that are neither packed, as the name of their file says, nor text.
pub(crate) fn check_packing(path: &Path, start: &[u8]) -> Result<()> {
    let Some(name) = named_packing(path) else {
        return Ok(());
    };
    if is_text(start) {
        return Ok(());
    }
    Err(Failure::outcome(format!(
        "the file is not {name} data, although its name says so: its beginning is missing or damaged, or it was never \
         compressed"
    ))
    .with("file", shown_name(path))
    .next(format!(
        "get the file again; or, if it is not compressed with {name}, give it another name"
    )))
}

/// Says about a file that is not understood that it is not packed, if its name says so.
pub(crate) fn about_packing(path: &Path, failure: Failure) -> Failure {
    // A pipe cannot be looked into twice.
    let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file());
    let Some(name) = named_packing(path).filter(|_| is_file) else {
        return failure;
    };
    let mut start = [0; MAGIC_BYTES];
    let read = File::open(path).and_then(|mut file| file.read(&mut start));
    let start = start.get(..read.unwrap_or(0)).unwrap_or_default();
    match packing(start) {
        Ok(Packing::None) => failure.with("compression", format!("none: it is not {name} data")),
        _ => failure,
    }
}

/// The program that a name says the file was compressed with.
fn named_packing(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    match ending.as_str() {
        "gz" | "gzip" => Some("gzip"),
        "zst" | "zstd" => Some("zstd"),
        _ => None,
    }
}

/// Whether bytes are the beginning of UTF-8 text. Compressed ones are not, from the first few on.
fn is_text(start: &[u8]) -> bool {
    let text = match std::str::from_utf8(start) {
        Ok(text) => text,
        // A character may be cut.
        Err(error) if error.error_len().is_none() => {
            let valid = start.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(valid).unwrap_or_default()
        }
        Err(_) => return false,
    };
    let is_odd = |one: char| one.is_ascii_control() && !"\t\n\r\x0b\x0c\x1b".contains(one);
    !text.contains(is_odd)
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
    let cannot_read = |error: io::Error| {
        let failure = about(Failure::io("cannot read the file", &error));
        match error.kind() {
            io::ErrorKind::IsADirectory => failure.next(format!(
                "name the files in the directory, such as {}",
                path.join("*").display()
            )),
            _ => failure,
        }
    };
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
    if packing == Packing::None {
        check_encoding(path, &beginning)?;
        check_packing(path, &beginning)?;
    }
    let bytes = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(beginning).chain(raw));
    match packing {
        Packing::Parquet => Ok(Input::Parquet),
        Packing::None => Ok(Input::Text(Box::new(bytes))),
        Packing::Gzip | Packing::Zstd => {
            let unpacked = unpacked(packing, bytes).map_err(cannot_read)?;
            let mut unpacked = BufReader::with_capacity(BUFFER_BYTES, unpacked);
            check_encoding(path, unpacked.fill_buf().map_err(cannot_read)?)?;
            Ok(Input::Text(Box::new(unpacked)))
        }
    }
}

fn unpacked(packing: Packing, bytes: impl BufRead + Send + 'static) -> io::Result<Unpacked> {
    Ok(match packing {
        Packing::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(bytes)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Unpacked {
                bytes: Box::new(decoder),
                name: "zstd",
            }
        }
        _ => Unpacked {
            bytes: Box::new(flate2::bufread::MultiGzDecoder::new(bytes)),
            name: "gzip",
        },
    })
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

/// What comes out of a compressed input. A few bytes of that may stand for gigabytes, so this is watched too.
struct Unpacked {
    bytes: Box<dyn Read + Send>,
    /// What the input was compressed with.
    name: &'static str,
}

impl Read for Unpacked {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        check_stop()?;
        self.bytes.read(bytes).map_err(|error| match error.kind() {
            kind @ io::ErrorKind::UnexpectedEof => {
                let message = format!("the {} data is cut off: its end is missing", self.name);
                io::Error::new(kind, message)
            }
            _ => error,
        })
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

    #[test]
    fn packed_bytes_are_no_text() {
        for (start, expected) in [
            (&b"ts,host\r\n1\ta\x1b[0m\n"[..], true),
            ("caf\u{e9}".as_bytes(), true),
            // A character that is cut.
            (b"caf\xc3", true),
            (b"", true),
            (b"caf\xe9 au lait", false),
            (b"a\0b", false),
            (b"a\x08\x04b", false),
        ] {
            assert_eq!(is_text(start), expected, "{start:?}");
        }
        for (name, expected) in [
            ("a.csv.gz", Some("gzip")),
            ("A.GZ", Some("gzip")),
            ("a.zst", Some("zstd")),
            ("gz", None),
            ("a.csv", None),
        ] {
            assert_eq!(named_packing(Path::new(name)), expected, "{name}");
        }
    }
}
