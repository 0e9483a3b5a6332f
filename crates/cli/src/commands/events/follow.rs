//! `events ingest --follow`: the files of a directory, and what is added to them.
//!
//! The store is open only while something is written to it, so that other programs can use it in between.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use glob::Pattern;
use ostrakon_cell::ErrorKind;
use ostrakon_events::{
    EventStore, EventType, Ingest, LogFormat, LogRest, LogText, Record, RecordSource, parse_span,
};
use std::io::BufRead;

use super::followed::{
    Counted, Head, Position, Positions, Seen, beginning, is_whole, new_lines, note_key,
};
use super::ingest::{
    Rejects, Total, add_part, add_row, check_renamed, options, tell, warn_of_another_kind,
};
use super::logs::{Content, Reading, shown};
use crate::args::EventsIngestArgs;
use crate::commands::access::{Absent, Access};
use crate::failure::{Failure, Result};
use crate::interrupt::Watch;
use crate::output::{Output, counted};

/// Files that a message names before it counts the rest.
const NAMED: usize = 5;

/// How long a look at Ctrl-C may be away.
const TURN: Duration = Duration::from_millis(100);

/// Why a file was not read.
enum Trouble {
    /// The file itself. It is tried again when it has changed.
    Input(Failure),
    /// Everything else ends the command.
    Other(Failure),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Other(failure)
    }
}

impl From<ostrakon_cell::Error> for Trouble {
    fn from(error: ostrakon_cell::Error) -> Self {
        Self::Other(error.into())
    }
}

struct Follower<'a> {
    args: &'a EventsIngestArgs,
    reading: Reading,
    rejects: Rejects,
    watch: Watch,
    /// How far files were read, by the name of their note. Empty until the store was read.
    positions: Option<Positions>,
    /// Lines of Zeek's logs about their format, by the name of their note.
    seen: BTreeMap<Vec<u8>, Seen>,
    /// The lines of files in which a line was rejected.
    counted: BTreeMap<Vec<u8>, Counted>,
    /// Files that could not be read, with their size then; they are tried again when it has changed.
    failed: BTreeMap<PathBuf, u64>,
    /// The type as it was when the positions were read.
    definition: Option<EventType>,
    /// Files whose fields were compared with those of the type.
    compared: BTreeSet<PathBuf>,
    total: Total,
}

/// Follows a directory until Ctrl-C, or until nothing was added for so long as asked for.
pub(super) fn run(access: &Access, args: &EventsIngestArgs, out: &mut Output) -> Result<()> {
    let started = Instant::now();
    let interval = parse_span(&args.interval)?;
    let interval = Duration::from_micros(u64::try_from(interval).unwrap_or_default());
    let directory = args.follow.as_deref().unwrap_or(Path::new("."));
    if let Some(rejects) = &args.rejects
        && is_in(rejects, directory)
    {
        return Err(
            Failure::usage("the file of --rejects is in the directory that is followed")
                .next("choose a name in another directory"),
        );
    }
    let mut follower = Follower {
        args,
        reading: Reading::new(&args.source)?,
        rejects: Rejects::of_followed(args)?,
        watch: Watch::start(),
        positions: None,
        failed: BTreeMap::new(),
        seen: BTreeMap::new(),
        counted: BTreeMap::new(),
        definition: None,
        compared: BTreeSet::new(),
        total: Total::default(),
    };
    let mut last_news = Instant::now();
    loop {
        if follower.look(access, directory)? {
            last_news = Instant::now();
        } else if args
            .until_idle
            .is_some_and(|idle| last_news.elapsed() >= Duration::from_secs(idle))
        {
            break;
        }
        if follower.wait(interval) {
            break;
        }
    }
    follower.rejects.flush()?;
    let seconds = started.elapsed().as_secs_f64();
    let told = tell(args, &follower.total, &follower.rejects, seconds, out);
    match (follower.unread(), told) {
        (None, told) => told,
        (Some(unread), Ok(())) => Err(unread),
        // Of both, the last message is the one with the exit code.
        (Some(unread), Err(rejected)) => {
            unread.warn();
            Err(rejected)
        }
    }
}

impl Follower<'_> {
    /// Waits for the next look; whether the program is to stop.
    fn wait(&self, interval: Duration) -> bool {
        let begun = Instant::now();
        while !self.watch.stopped() && begun.elapsed() < interval {
            std::thread::sleep(TURN.min(interval));
        }
        self.watch.stopped()
    }

    /// The failure that reports files that were not read, whose reasons were told before.
    fn unread(&self) -> Option<Failure> {
        if self.failed.is_empty() {
            return None;
        }
        let count = counted(self.failed.len() as u64, "file was", "files were");
        let names: Vec<String> = self
            .failed
            .keys()
            .take(NAMED)
            .map(|path| shown(path))
            .collect();
        let more = self.failed.len() - names.len();
        let mut names = names.join(", ");
        if more > 0 {
            names.push_str(&format!(" and {more} more"));
        }
        let failure = Failure::outcome(format!("{count} not read; all others are stored"));
        Some(failure.with("not read", names).next(
            "correct them, and they are read by the next run; or choose the files to read with --name",
        ))
    }

    /// Reads what is new; whether there was something.
    fn look(&mut self, access: &Access, directory: &Path) -> Result<bool> {
        let files = files_of(directory, &self.args.names)?;
        self.failed.retain(|path, _| files.contains(path));
        if self.positions.is_some() && !self.has_news(&files)? {
            return Ok(false);
        }
        let looked = access.with_store(Absent::Refuse, |source| {
            let store = EventStore::new(source);
            if self.positions.is_none() {
                let notes = store.notes(&self.args.name)?;
                self.positions = Some(known(&notes));
                self.definition = Some(store.get(&self.args.name)?);
            }
            check_renamed(&store.get(&self.args.name)?, &self.args.source)?;
            let mut ingest = store.ingest(&self.args.name, options(self.args))?;
            let mut news = false;
            for path in &files {
                news |= self.read(&mut ingest, path)?;
                if self.watch.stopped() {
                    break;
                }
            }
            let report = ingest.finish()?;
            self.total.events += report.events;
            self.total.duplicates += report.duplicates;
            self.total.repeated += report.repeated;
            self.total.entries += report.entries;
            if report.events > 0 {
                tracing::info!("{} stored", counted(report.events, "event", "events"));
            }
            Ok(news)
        });
        match looked {
            // Another program uses the store: its turn comes later.
            Err(failure) if failure.is_kind(ErrorKind::Locked) => {
                Failure::warning("another program uses the store, so that nothing was stored yet")
                    .next("close it there; until then this command tries again and again")
                    .warn();
                Ok(true)
            }
            looked => {
                if looked.is_err() {
                    // What is known may not be what was committed.
                    self.positions = None;
                }
                looked
            }
        }
    }

    /// Whether some file has complete lines that were not read.
    fn has_news(&self, files: &BTreeSet<PathBuf>) -> Result<bool> {
        for path in files {
            let Some(mut file) = open(path)? else {
                continue;
            };
            let size = file.metadata().map_or(0, |data| data.len());
            if self.failed.get(path) == Some(&size) {
                continue;
            }
            let position = self.position(path, &mut file)?;
            let is_new = match is_whole(&mut file).map_err(about(path))? {
                true => position.bytes != size,
                false => new_lines(path, &mut file, (&position, Head::None))?.is_some(),
            };
            if is_new {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// How far a file was read; its beginning if what is there is not what was read.
    fn position(&self, path: &Path, file: &mut File) -> Result<Position> {
        let key = note_key(path, file);
        match self.positions.as_ref().and_then(|all| all.get(&key)) {
            Some(known) if known.is_in(file).map_err(about(path))? => Ok(known.clone()),
            _ => Ok(Position::start()),
        }
    }

    /// Reads what is new in a file; whether there was something.
    fn read(&mut self, ingest: &mut Ingest, path: &Path) -> Result<bool> {
        let Some(mut file) = open(path)? else {
            return Ok(false);
        };
        let size = file.metadata().map_or(0, |data| data.len());
        if size == 0 || self.failed.get(path) == Some(&size) {
            return Ok(false);
        }
        let position = self.position(path, &mut file)?;
        let read = match is_whole(&mut file).map_err(about(path))? {
            true if position.bytes == size => return Ok(false),
            true => self.read_whole(ingest, path, (&mut file, size)),
            false => self.read_lines(ingest, path, (&mut file, &position)),
        };
        match read {
            Err(Trouble::Input(failure)) => {
                failure.with("not read", shown(path)).warn();
                self.failed.insert(path.to_owned(), size);
                Ok(false)
            }
            Err(Trouble::Other(failure)) => Err(failure),
            Ok(read) => {
                self.failed.remove(path);
                Ok(read)
            }
        }
    }

    /// A file that is packed, or Parquet: all of it, whenever its size has changed.
    fn read_whole(
        &mut self,
        ingest: &mut Ingest,
        path: &Path,
        (file, size): (&mut File, u64),
    ) -> Result<bool, Trouble> {
        match self.reading.open(path).map_err(Trouble::Input)?.content {
            Content::Text(text, input) => {
                let whole = Rest {
                    lines_before: &mut || Ok(0),
                    tell: &mut |_, _| Ok(()),
                };
                self.add_text(ingest, path, (&text, input), whole)?;
            }
            Content::Rows(rows) => self.add_rows(ingest, path, rows)?,
        }
        if !self.watch.stopped() {
            let position = Position::after(size, file).map_err(about(path))?;
            self.note(ingest, note_key(path, file), position);
        }
        Ok(true)
    }

    /// The complete lines after a position; from the beginning if the file was replaced meanwhile.
    fn read_lines(
        &mut self,
        ingest: &mut Ingest,
        path: &Path,
        (file, position): (&mut File, &Position),
    ) -> Result<bool, Trouble> {
        let start = beginning(file).map_err(about(path))?;
        let format = self.reading.format(path, &start).map_err(Trouble::Input)?;
        let head = match format {
            LogFormat::Csv => Head::FirstRecord,
            LogFormat::Tsv => Head::FirstLine,
            LogFormat::Zeek => Head::Directives(self.seen.entry(note_key(path, file)).or_default()),
            _ => Head::None,
        };
        let Some(mut new) = new_lines(path, file, (position, head))? else {
            return Ok(false);
        };
        // The format is that of the same content.
        let now = beginning(file).map_err(about(path))?;
        if !now.starts_with(&start) {
            return Ok(true);
        }
        let input = std::mem::replace(&mut new.input, Box::new(std::io::empty()));
        let rest = LogRest {
            // With the lines that have come since, by which the file is known.
            beginning: now,
            start: new.start,
            head: new.head,
        };
        let text = LogText {
            rest: Some(rest),
            grows: true,
            ..self.reading.text(format)
        };
        // The position in the file after what was read of the input.
        let place = |read: u64| (new.start + read.saturating_sub(new.head)).min(new.end);
        let mut counting = file.try_clone().map_err(about(path))?;
        let key = note_key(path, file);
        let counted = self.counted.remove(&key);
        // From the beginning, the file is another one.
        let mut counted = counted.filter(|_| new.start > 0).unwrap_or_default();
        let rest = Rest {
            lines_before: &mut || {
                let lines = new.lines_before(&mut counting, &mut counted);
                lines.map_err(about(path))
            },
            tell: &mut |ingest, read| {
                if let Some(at) = new.position(place(read), file).map_err(about(path))? {
                    ingest.note(&note_key(path, file), at.to_text().as_bytes());
                }
                Ok(())
            },
        };
        let read = self.add_text(ingest, path, (&text, input), rest);
        self.counted.insert(key, counted);
        let read = match read {
            // The next look finds what the file holds now. What was stored of its old lines is not stored again.
            Err(Trouble::Input(_)) if new.has_changed() => return Ok(true),
            read => read?,
        };
        let end = match read {
            // A record that began before the end of the file waits for the rest.
            Some(unfinished) => place(unfinished),
            None => new.end,
        };
        if end == new.start {
            return Ok(false);
        }
        if let Some(position) = new.position(end, file).map_err(about(path))? {
            self.note(ingest, note_key(path, file), position);
        }
        Ok(true)
    }

    fn note(&mut self, ingest: &mut Ingest, key: Vec<u8>, position: Position) {
        ingest.note(&key, position.to_text().as_bytes());
        if let Some(all) = &mut self.positions {
            all.insert(key, position);
        }
    }

    /// Adds all records of a text; after each part tells how much was read, so that a killed program need not read all of
    /// a long file again. Returns how much was read if the input was not read to its end: its last record is not complete, or
    /// the program is to stop.
    fn add_text(
        &mut self,
        ingest: &mut Ingest,
        path: &Path,
        (text, input): (&LogText, Box<dyn BufRead + Send>),
        rest: Rest<'_>,
    ) -> Result<Option<u64>, Trouble> {
        let mut reader = ingest.read_log(text, input);
        let mut before = None;
        while let Some(mut part) = reader
            .next_part()
            .map_err(|error| Trouble::Input(error.into()))?
        {
            let position = part.position;
            for rejected in &mut part.rejected {
                let before = match before {
                    Some(before) => before,
                    None => *before.insert((rest.lines_before)()?),
                };
                rejected.line = rejected.line.saturating_add_signed(before);
            }
            add_part(ingest, path, part, &mut self.rejects)?;
            (rest.tell)(ingest, position)?;
            if self.watch.stopped() {
                return Ok(Some(position));
            }
        }
        if let Some(definition) = &self.definition
            && self.compared.insert(path.to_owned())
        {
            warn_of_another_kind(definition, path, reader.fields());
        }
        Ok(reader.unfinished())
    }

    /// Adds all rows of a table.
    fn add_rows(
        &mut self,
        ingest: &mut Ingest,
        path: &Path,
        mut rows: Box<dyn RecordSource>,
    ) -> Result<(), Trouble> {
        ingest.start_source();
        let mut record = Record::default();
        for number in 1_u64.. {
            let step = rows
                .next(&mut record)
                .map_err(|error| Trouble::Input(error.into()))?;
            let row = (&*rows, step, &record);
            if !add_row(ingest, path, row, &mut self.rejects)?
                || number % 1024 == 0 && self.watch.stopped()
            {
                break;
            }
        }
        if let Some(definition) = &self.definition
            && self.compared.insert(path.to_owned())
        {
            let names = rows.names().iter().map(String::as_str);
            warn_of_another_kind(definition, path, names);
        }
        Ok(())
    }
}

/// What is particular to a part of a file.
struct Rest<'a> {
    /// How many lines the file has before those of the input, without those that the input has twice. Asked once, if a line
    /// is rejected.
    lines_before: &'a mut dyn FnMut() -> Result<i64>,
    /// Told how much of the input was read, after each part.
    tell: &'a mut dyn FnMut(&mut Ingest, u64) -> Result<()>,
}

fn known(notes: &BTreeMap<Vec<u8>, Vec<u8>>) -> Positions {
    notes
        .iter()
        .filter_map(|(key, value)| Some((key.clone(), Position::read(value)?)))
        .collect()
}

fn about(path: &Path) -> impl Fn(std::io::Error) -> Failure {
    move |error| Failure::io("cannot read the log file", &error).with("file", shown(path))
}

/// Opens a file; `None` if it is gone.
fn open(path: &Path) -> Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(about(path)(error)),
    }
}

/// Whether a file is, or would be, in a directory.
fn is_in(file: &Path, directory: &Path) -> bool {
    let folder = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    matches!((folder.canonicalize(), directory.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// The regular files of a directory whose names match one of the patterns, if there are any. Hidden ones, and those that programs are still writing under another name, are left
/// out.
fn files_of(directory: &Path, patterns: &[Pattern]) -> Result<BTreeSet<PathBuf>> {
    let about = |error: std::io::Error| {
        Failure::io("cannot read the directory", &error)
            .with("directory", directory.display().to_string())
    };
    let mut files = BTreeSet::new();
    for entry in std::fs::read_dir(directory).map_err(about)? {
        let entry = entry.map_err(about)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_other = !(patterns.is_empty() || patterns.iter().any(|one| one.matches(&name)))
            || name.starts_with('.')
            || name.ends_with('~')
            || [".partial", ".tmp", ".swp"]
                .iter()
                .any(|ending| name.ends_with(ending));
        // Follows symbolic links, which often name the present log.
        let is_file = std::fs::metadata(entry.path()).is_ok_and(|data| data.is_file());
        if is_file && !is_other {
            files.insert(entry.path());
        }
    }
    Ok(files)
}
