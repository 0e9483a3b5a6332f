//! A file that is followed: which file it is, and how far it was read.
//!
//! A file is known by its number on the disk, so that it may be renamed. What stands before the position is checked by a
//! hash of its beginning and its end: a file that was replaced or truncated is read from its beginning. Reading
//! something twice does no harm, because events that are stored already are skipped.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ostrakon_events::{BEGINNING_BYTES, Directives};

use crate::failure::{Failure, Result};

use super::logs::shown;

/// Bytes of the beginning and of the end of what was read that are compared.
const CHECKED_BYTES: u64 = 1024;
/// Steps in which the last line feed is looked for.
const STEP_BYTES: u64 = 64 << 10;
/// A longer line is rejected by its reader. It must get enough of it to tell.
const LINE_BYTES: u64 = 17 << 20;
/// Lines before the first record that a reader of the rest needs, too.
const HEAD_BYTES: u64 = 1 << 20;

/// How far a file was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) bytes: u64,
    /// The hash of what is before.
    check: String,
}

impl Position {
    pub(super) fn start() -> Self {
        Self {
            bytes: 0,
            check: String::new(),
        }
    }

    /// The position in a file after so many bytes.
    pub(super) fn after(bytes: u64, file: &mut File) -> std::io::Result<Self> {
        Ok(Self {
            bytes,
            check: hash(file, bytes)?,
        })
    }

    pub(super) fn to_text(&self) -> String {
        format!("{} {}", self.bytes, self.check)
    }

    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let (bytes, check) = std::str::from_utf8(text).ok()?.split_once(' ')?;
        Some(Self {
            bytes: bytes.parse().ok()?,
            check: check.to_owned(),
        })
    }

    /// Whether it is a position in this file as it is now.
    pub(super) fn is_in(&self, file: &mut File) -> std::io::Result<bool> {
        if self.bytes == 0 {
            return Ok(true);
        }
        Ok(file.metadata()?.len() >= self.bytes && hash(file, self.bytes)? == self.check)
    }
}

fn hash(file: &mut File, bytes: u64) -> std::io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    let first = bytes.min(CHECKED_BYTES);
    for start in [0, bytes - first] {
        let mut part = Vec::new();
        file.seek(SeekFrom::Start(start))?;
        (&*file).take(first).read_to_end(&mut part)?;
        hasher.update(&part);
    }
    Ok(hasher.finalize().to_hex().chars().take(32).collect())
}

/// The name under which the position of a file is noted. Readers of the registry see it, so that it says nothing about
/// the file.
pub(super) fn note_key(path: &Path, file: &File) -> Vec<u8> {
    let identity = identity(path, file);
    blake3::hash(identity.as_bytes())
        .to_hex()
        .as_bytes()
        .to_vec()
}

#[cfg(unix)]
fn identity(path: &Path, file: &File) -> String {
    use std::os::unix::fs::MetadataExt as _;

    file.metadata().map_or_else(
        |_| path.display().to_string(),
        |data| format!("{}:{}", data.dev(), data.ino()),
    )
}

#[cfg(not(unix))]
fn identity(path: &Path, _file: &File) -> String {
    path.display().to_string()
}

/// Positions by the names under which they are noted.
pub(super) type Positions = BTreeMap<Vec<u8>, Position>;

/// Whether a file is packed or Parquet, and therefore read as a whole.
pub(super) fn is_whole(file: &mut File) -> std::io::Result<bool> {
    let mut start = [0; 4];
    file.seek(SeekFrom::Start(0))?;
    let read = file.read(&mut start)?;
    let start = start.get(..read).unwrap_or_default();
    Ok(start.starts_with(&[0x1f, 0x8b])
        || start == [0x28, 0xb5, 0x2f, 0xfd]
        || start == *b"PAR1"
        || start.starts_with(b"BZh")
        || start == [0xfd, b'7', b'z', b'X'])
}

/// The first bytes of a file, by which its format is told, and by which its records are known.
pub(super) fn beginning(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut start = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    (&*file)
        .take(BEGINNING_BYTES as u64)
        .read_to_end(&mut start)?;
    Ok(start)
}

/// Complete lines of a file from a position on, after the lines at its beginning that tell how to read it.
///
/// All of them are of one content of the file. If that changes otherwise than by growing, reading fails, and
/// [`position`](Self::position) returns nothing.
pub(super) struct NewLines {
    pub(super) input: Box<dyn BufRead + Send>,
    /// Bytes of the input before those of the position.
    pub(super) head: u64,
    /// Lines in these bytes.
    head_lines: u64,
    /// Where the lines begin in the file,
    pub(super) start: u64,
    /// and where they end.
    pub(super) end: u64,
    content: Content,
}

impl NewLines {
    /// The position in the file after so many bytes; `None` if the file does not hold any more what was read.
    pub(super) fn position(
        &self,
        bytes: u64,
        file: &mut File,
    ) -> std::io::Result<Option<Position>> {
        let position = Position::after(bytes, file)?;
        // After the position was made: what it was made of is then what was read.
        let is_same = self.content.is_in(file)?;
        Ok(is_same.then_some(position))
    }

    /// How many more lines the file has before the position than the input has.
    pub(super) fn lines_before(
        &self,
        file: &mut File,
        counted: &mut Counted,
    ) -> std::io::Result<i64> {
        let lines = counted.until(file, self.start)?;
        Ok(lines.cast_signed() - self.head_lines.cast_signed())
    }

    /// Whether reading failed because the file changed.
    pub(super) fn has_changed(&self) -> bool {
        self.content.changed.load(Ordering::Relaxed)
    }
}

/// The lines of a file that is followed, as far as they were counted.
#[derive(Debug, Default)]
pub(super) struct Counted {
    bytes: u64,
    lines: u64,
}

impl Counted {
    /// The lines before a position. What was counted before is not read again, unless the file is read from its beginning
    /// again.
    fn until(&mut self, file: &mut File, position: u64) -> std::io::Result<u64> {
        if position < self.bytes {
            *self = Self::default();
        }
        file.seek(SeekFrom::Start(self.bytes))?;
        let mut text = BufReader::with_capacity(256 << 10, (&*file).take(position - self.bytes));
        loop {
            let read = text.fill_buf()?;
            let length = read.len();
            if length == 0 {
                return Ok(self.lines);
            }
            self.lines += memchr::memchr_iter(b'\n', read).count() as u64;
            self.bytes += length as u64;
            text.consume(length);
        }
    }
}

/// The lines before a position that tell how to read those after it.
pub(super) enum Head<'a> {
    None,
    /// The names of the columns, without quotes.
    FirstLine,
    /// The names of the columns, of which those in quotes may have line ends.
    FirstRecord,
    /// Those of Zeek, which may be anywhere.
    Directives(&'a mut Seen),
}

/// Zeek's lines about the format in a file that is followed, as far as they were looked for.
#[derive(Default)]
pub(super) struct Seen {
    bytes: u64,
    directives: Directives,
}

impl Seen {
    /// The lines that tell how to read those after a position.
    fn before(&mut self, file: &mut File, position: u64) -> std::io::Result<Vec<u8>> {
        const MARK: &[u8] = "\u{feff}".as_bytes();
        if position < self.bytes {
            *self = Self::default();
        }
        file.seek(SeekFrom::Start(self.bytes))?;
        let mut text = BufReader::with_capacity(256 << 10, (&*file).take(position - self.bytes));
        if self.bytes == 0 && text.fill_buf()?.starts_with(MARK) {
            text.consume(MARK.len());
        }
        self.directives.read(text)?;
        self.bytes = position;
        Ok(self.directives.text())
    }
}

/// What a file held when its lines were found.
#[derive(Clone)]
struct Content {
    until: Position,
    changed: Arc<AtomicBool>,
}

impl Content {
    /// Whether the file still holds it.
    fn is_in(&self, file: &mut File) -> std::io::Result<bool> {
        let is_same = self.until.is_in(file)?;
        if !is_same {
            self.changed.store(true, Ordering::Relaxed);
        }
        Ok(is_same)
    }
}

/// The complete lines after `position`, or from the beginning if it is not a position in the file any more; `None` if
/// there is none yet.
pub(super) fn new_lines(
    path: &Path,
    file: &mut File,
    (position, head): (&Position, Head<'_>),
) -> Result<Option<NewLines>> {
    let about = |error: std::io::Error| {
        Failure::io("cannot read the log file", &error).with("file", shown(path))
    };
    let size = file.metadata().map_err(about)?.len();
    let Some(end) = last_line_end(file, position.bytes, size).map_err(about)? else {
        return Ok(None);
    };
    let content = Content {
        until: Position::after(end, file).map_err(about)?,
        changed: Arc::default(),
    };
    // Both are of the same content if the position is one in the content whose end was found.
    if !position.is_in(file).map_err(about)? {
        return new_lines(path, file, (&Position::start(), Head::None));
    }
    let start = position.bytes;
    let head = match head {
        Head::FirstLine if start > 0 => first_lines(file, start, false).map_err(about)?,
        Head::FirstRecord if start > 0 => first_lines(file, start, true).map_err(about)?,
        Head::Directives(seen) if start > 0 => seen.before(file, start).map_err(about)?,
        _ => Vec::new(),
    };
    let rest = Placed {
        file: file.try_clone().map_err(about)?,
        at: start,
        content: content.clone(),
    };
    let length = head.len() as u64;
    let head_lines = memchr::memchr_iter(b'\n', &head).count() as u64;
    let input = Cursor::new(head).chain(rest.take(end - start));
    Ok(Some(NewLines {
        input: Box::new(BufReader::with_capacity(256 << 10, input)),
        head: length,
        head_lines,
        start,
        end,
        content,
    }))
}

/// Reads a file from a place of its own. Copies of a file share one place, which the check of a position moves.
struct Placed {
    file: File,
    at: u64,
    content: Content,
}

impl Read for Placed {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        self.file.seek(SeekFrom::Start(self.at))?;
        let read = self.file.read(bytes)?;
        // What is passed on was read before this look at the file.
        if !self.content.is_in(&mut self.file)? {
            return Err(std::io::Error::other("the file changed while it was read"));
        }
        self.at += read as u64;
        Ok(read)
    }
}

/// Where the last complete line ends, if one does after `position`.
fn last_line_end(file: &mut File, position: u64, size: u64) -> std::io::Result<Option<u64>> {
    let mut end = size;
    while end > position {
        let start = end.saturating_sub(STEP_BYTES).max(position);
        let mut part = Vec::new();
        file.seek(SeekFrom::Start(start))?;
        (&*file).take(end - start).read_to_end(&mut part)?;
        if let Some(at) = memchr::memrchr(b'\n', &part) {
            return Ok(Some(start + at as u64 + 1));
        }
        end = start;
    }
    Ok((size.saturating_sub(position) > LINE_BYTES).then_some(size))
}

/// The lines at the beginning of a file that its later lines depend on: its first line or record, which may be a header, or
/// all lines that begin with `#`. Not more than what was read.
fn first_lines(file: &mut File, position: u64, has_quotes: bool) -> std::io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(0))?;
    let mut lines = BufReader::new((&*file).take(position.min(HEAD_BYTES)));
    let (mut head, mut line) = (Vec::new(), Vec::new());
    if has_quotes && !lines.fill_buf()?.starts_with(b"#") {
        let bytes = first_record(lines)?;
        file.seek(SeekFrom::Start(0))?;
        (&*file).take(bytes).read_to_end(&mut head)?;
        return Ok(head);
    }
    while lines.read_until(b'\n', &mut line)? > 0 {
        let comment = line.starts_with(b"#");
        if head.is_empty() || comment {
            head.extend_from_slice(&line);
        }
        if !comment {
            break;
        }
        line.clear();
    }
    Ok(head)
}

/// The bytes of the first record of a text.
fn first_record(text: impl Read) -> std::io::Result<u64> {
    let mut records = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .terminator(csv::Terminator::Any(b'\n'))
        .from_reader(text);
    records.read_byte_record(&mut csv::ByteRecord::new())?;
    Ok(records.position().byte())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn text(file: &mut File, position: u64) -> Option<(String, u64, u64)> {
        let position = Position::after(position, file).expect("read");
        let lines = new_lines(Path::new("x"), file, (&position, Head::FirstLine)).expect("read")?;
        let mut all = String::new();
        let mut input = lines.input;
        input.read_to_string(&mut all).expect("text");
        Some((all, lines.head, lines.end))
    }

    #[test]
    fn only_complete_lines_are_new() {
        let mut file = tempfile::tempfile().expect("a file");
        assert_eq!(text(&mut file, 0), None);
        file.write_all(b"a,b\n1,2").expect("written");
        assert_eq!(text(&mut file, 0), Some(("a,b\n".into(), 0, 4)));
        assert_eq!(text(&mut file, 4), None);
        file.write_all(b"\n3,4\n5").expect("written");
        assert_eq!(text(&mut file, 4), Some(("a,b\n1,2\n3,4\n".into(), 4, 12)));
        assert_eq!(text(&mut file, 12), None);
    }

    #[test]
    fn a_header_with_a_line_end_is_read_again() {
        for (header, has_quotes) in [
            ("a,\"b\nc\"\n", true),
            ("a,w 5\",c\r\n", true),
            ("a,\"b\n", false),
            ("#a,\"b\n", true),
        ] {
            let mut file = tempfile::tempfile().expect("a file");
            let text = format!("{header}1,2\n3,4\n");
            file.write_all(text.as_bytes()).expect("written");
            let position = header.len() as u64 + 4;
            let head = first_lines(&mut file, position, has_quotes).expect("read");
            assert_eq!(String::from_utf8_lossy(&head), header);
        }
    }

    #[test]
    fn lines_are_counted_once() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"1\n2\n3\n4").expect("written");
        let mut counted = Counted::default();
        for (position, lines, from) in [(4, 2, 0), (4, 2, 4), (7, 3, 4), (2, 1, 0)] {
            // Not read again: other bytes there change nothing.
            if from > 0 {
                file.seek(SeekFrom::Start(0)).expect("sought");
                file.write_all(b"xxxx").expect("written");
            } else {
                file.seek(SeekFrom::Start(0)).expect("sought");
                file.write_all(b"1\n2\n").expect("written");
            }
            let found = counted.until(&mut file, position).expect("read");
            assert_eq!(found, lines, "before {position}");
        }
    }

    #[test]
    fn all_lines_of_a_header_are_read_again() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"#a\n#b\nx\ny\n").expect("written");
        assert_eq!(text(&mut file, 8), Some(("#a\n#b\ny\n".into(), 6, 10)));
    }

    #[test]
    fn the_last_lines_about_the_format_are_read_again() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"\xef\xbb\xbf#fields\ta\tb\n#path\tx\n1\t2\n#fields\tb\ta\n3\t4\n")
            .expect("written");
        let mut seen = Seen::default();
        for (position, head) in [
            (27, "#fields\ta\tb\n"),
            (43, "#fields\tb\ta\n"),
            (27, "#fields\ta\tb\n"),
        ] {
            assert_eq!(
                seen.before(&mut file, position).expect("read"),
                head.as_bytes()
            );
        }
    }

    #[test]
    fn lines_are_of_one_content() {
        let lines = |mark: &str| format!("{mark},some of the line\n").repeat(40_000);
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(lines("a").as_bytes()).expect("written");
        for change in 0..3 {
            let from = (&Position::start(), Head::None);
            let found = new_lines(Path::new("x"), &mut file, from).expect("read");
            let mut found = found.expect("lines");
            let mut line = String::new();
            found.input.read_line(&mut line).expect("a line");
            let longer = line.len() as u64;
            assert!(found.position(longer, &mut file).expect("read").is_some());
            match change {
                // A file that grows holds what it held.
                0 => {
                    file.seek(SeekFrom::End(0)).expect("sought");
                    file.write_all(b"b,more\n").expect("written");
                    found.input.read_to_string(&mut line).expect("the rest");
                    assert!(!found.has_changed());
                    continue;
                }
                1 => file.set_len(300_000).expect("truncated"),
                _ => {
                    file.seek(SeekFrom::Start(0)).expect("sought");
                    file.write_all(lines("bb").as_bytes()).expect("written");
                }
            }
            assert!(found.input.read_to_string(&mut line).is_err());
            assert!(found.has_changed());
            assert_eq!(found.position(longer, &mut file).expect("read"), None);
        }
    }

    #[test]
    fn lines_begin_where_the_file_does_if_it_was_replaced() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"a,b\n1,2\n").expect("written");
        let position = Position::after(8, &mut file).expect("read");
        file.seek(SeekFrom::Start(0)).expect("sought");
        file.write_all(b"a,b\n33,44\n5,6\n").expect("written");
        let found =
            new_lines(Path::new("x"), &mut file, (&position, Head::FirstLine)).expect("read");
        let found = found.expect("lines");
        assert_eq!((found.start, found.head, found.end), (0, 0, 14));
    }

    #[test]
    fn a_position_belongs_to_what_was_read() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"one\ntwo\n").expect("written");
        let position = Position::after(4, &mut file).expect("read");
        assert_eq!(
            Position::read(position.to_text().as_bytes()),
            Some(position.clone())
        );
        file.seek(SeekFrom::End(0)).expect("sought");
        file.write_all(b"three\n").expect("written");
        assert!(position.is_in(&mut file).expect("read"));
        file.set_len(2).expect("truncated");
        assert!(!position.is_in(&mut file).expect("read"));
        file.seek(SeekFrom::Start(0)).expect("sought");
        file.write_all(b"uno\ndue\n").expect("written");
        assert!(!position.is_in(&mut file).expect("read"));
        assert!(Position::start().is_in(&mut file).expect("read"));
    }
}
