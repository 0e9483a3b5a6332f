//! `events ingest --follow`: the files of a directory, and what is added to them.
//!
//! The store is open only while something is written to it, so that other programs can use it in between.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ostrakon_cell::ErrorKind;
use ostrakon_events::{
    EventStore, EventType, Ingest, LogFormat, LogRest, LogText, Record, RecordSource, parse_span,
};
use std::io::BufRead;

use super::directory::{Found, NAMED, and_more, refuse_file, warn_of_names, warn_of_others};
use super::followed::{
    Counted, Head, Position, Positions, Seen, beginning, is_whole, new_lines, note_key,
};
use super::ingest::{
    Rejects, Total, add_part, add_row, check_renamed, has_fixed_fields, options,
    refuse_without_time, tell, warn_of_another_kind,
};
use super::logs::{Content, Reading, shown};
use crate::args::EventsIngestArgs;
use crate::commands::access::{Absent, Access};
use crate::failure::{Failure, Result};
use crate::import::{check_encoding, check_packing};
use crate::interrupt::Watch;
use crate::output::{Output, counted};

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

/// A file that could not be read.
struct Failed {
    /// Its size then; it is tried again when that has changed. `None` if it could not be opened, which is tried again each
    /// time.
    size: Option<u64>,
    /// What was told about it.
    told: String,
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
    /// Files that could not be read.
    failed: BTreeMap<PathBuf, Failed>,
    /// Entries of the directory that are no files, which were told.
    others: BTreeSet<PathBuf>,
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
    if directory.is_file() {
        return Err(refuse_file(&args.name, directory));
    }
    warn_of_names(directory, &args.names)?;
    let mut follower = Follower {
        args,
        reading: Reading::new(&args.source)?,
        rejects: Rejects::of_followed(args)?,
        watch: Watch::start(),
        positions: None,
        failed: BTreeMap::new(),
        others: BTreeSet::new(),
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
        let names = self.failed.keys().take(NAMED);
        let names = names.map(|path| shown(path)).collect();
        let names = and_more(names, self.failed.len());
        let failure = Failure::outcome(format!("{count} not read; all others are stored"));
        Some(failure.with("not read", names).next(
            "correct them, and they are read by the next run; or choose the files to read with --name",
        ))
    }

    /// Reads what is new; whether there was something.
    fn look(&mut self, access: &Access, directory: &Path) -> Result<bool> {
        let found = Found::in_directory(directory, &self.args.names)?;
        warn_of_others(directory, found.others, &mut self.others);
        let files = found.files;
        self.failed.retain(|path, _| files.contains(path));
        if self.positions.is_some() && !files.iter().any(|path| self.has_news(path)) {
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

    /// Whether a file has complete lines that were not read, or cannot be read, which was not told yet.
    fn has_news(&self, path: &Path) -> bool {
        match self.is_longer(path) {
            Ok(is_longer) => is_longer,
            Err(_) => !self.failed.contains_key(path),
        }
    }

    fn is_longer(&self, path: &Path) -> Result<bool> {
        let Some(mut file) = open(path)? else {
            return Ok(false);
        };
        let size = file.metadata().map_or(0, |data| data.len());
        if self.has_failed(path, size) {
            return Ok(false);
        }
        if self.has_failed_to_open(path) {
            return Ok(true);
        }
        let position = self.position(path, &mut file)?;
        Ok(match is_whole(&mut file).map_err(about(path))? {
            true => position.bytes != size,
            false => new_lines(path, &mut file, (&position, Head::None))?.is_some(),
        })
    }

    /// Whether a file could not be read, and has the same size still.
    fn has_failed(&self, path: &Path, size: u64) -> bool {
        let failed = self.failed.get(path);
        failed.is_some_and(|failed| failed.size == Some(size))
    }

    fn has_failed_to_open(&self, path: &Path) -> bool {
        let failed = self.failed.get(path);
        failed.is_some_and(|failed| failed.size.is_none())
    }

    /// Leaves a file that cannot be read. It is told once why.
    fn leave(&mut self, path: &Path, size: Option<u64>, failure: Failure) {
        let told = failure.message().to_owned();
        let is_told = (self.failed.get(path)).is_some_and(|failed| failed.told == told);
        self.failed.insert(path.to_owned(), Failed { size, told });
        if !is_told {
            let what = match failure.named("stored") {
                Some(_) => "not read to its end",
                None => "not read",
            };
            failure.with(what, shown(path)).warn();
        }
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
        let mut file = match open(path) {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(false),
            Err(failure) => {
                self.leave(path, None, failure);
                return Ok(false);
            }
        };
        if self.has_failed_to_open(path) {
            self.failed.remove(path);
        }
        let size = file.metadata().map_or(0, |data| data.len());
        if size == 0 || self.has_failed(path, size) {
            return Ok(false);
        }
        match self.read_from(ingest, path, (&mut file, size)) {
            Err(Trouble::Input(failure)) => {
                self.leave(path, Some(size), failure);
                Ok(false)
            }
            Err(Trouble::Other(failure)) => Err(failure),
            Ok(read) => {
                self.failed.remove(path);
                Ok(read)
            }
        }
    }

    /// Reads a file from where it was read to.
    fn read_from(
        &mut self,
        ingest: &mut Ingest,
        path: &Path,
        (file, size): (&mut File, u64),
    ) -> Result<bool, Trouble> {
        let position = self.position(path, file).map_err(Trouble::Input)?;
        match is_whole(file).map_err(unreadable(path))? {
            true if position.bytes == size => Ok(false),
            true => self.read_whole(ingest, path, (file, size)),
            false => self.read_lines(ingest, path, (file, &position)),
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
            let position = Position::after(size, file).map_err(unreadable(path))?;
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
        let start = beginning(file).map_err(unreadable(path))?;
        check_encoding(path, &start).map_err(Trouble::Input)?;
        check_packing(path, &start).map_err(Trouble::Input)?;
        let format = self.reading.format(path, &start).map_err(Trouble::Input)?;
        let head = match format {
            LogFormat::Csv => Head::FirstRecord,
            LogFormat::Tsv => Head::FirstLine,
            LogFormat::Zeek => Head::Directives(self.seen.entry(note_key(path, file)).or_default()),
            _ => Head::None,
        };
        let new = new_lines(path, file, (position, head)).map_err(Trouble::Input)?;
        let Some(mut new) = new else {
            return Ok(false);
        };
        // The format is that of the same content.
        let now = beginning(file).map_err(unreadable(path))?;
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
        let mut counting = file.try_clone().map_err(unreadable(path))?;
        let key = note_key(path, file);
        let counted = self.counted.remove(&key);
        // From the beginning, the file is another one.
        let mut counted = counted.filter(|_| new.start > 0).unwrap_or_default();
        let rest = Rest {
            lines_before: &mut || {
                let lines = new.lines_before(&mut counting, &mut counted);
                lines.map_err(unreadable(path))
            },
            tell: &mut |ingest, read| {
                if let Some(at) = new.position(place(read), file).map_err(unreadable(path))? {
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
        if let Some(position) = new.position(end, file).map_err(unreadable(path))? {
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
        let (mut before, mut events) = (None, 0);
        loop {
            let mut part = match reader.next_part() {
                Ok(Some(part)) => part,
                Ok(None) => break,
                Err(error) => return Err(Trouble::Input(about_stored(error.into(), events))),
            };
            if let Some(definition) = &self.definition
                && !part.rejected.is_empty()
                && has_fixed_fields(text.format)
            {
                let refused = refuse_without_time(definition, path, reader.fields());
                refused.map_err(Trouble::Input)?;
            }
            events += part.events() as u64;
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
            if let Some(definition) = &self.definition
                && number == 1
            {
                let names = rows.names().iter().map(String::as_str);
                refuse_without_time(definition, path, names).map_err(Trouble::Input)?;
            }
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
    lines_before: &'a mut dyn FnMut() -> Result<i64, Trouble>,
    /// Told how much of the input was read, after each part.
    tell: &'a mut dyn FnMut(&mut Ingest, u64) -> Result<(), Trouble>,
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

fn unreadable(path: &Path) -> impl Fn(std::io::Error) -> Trouble {
    move |error| Trouble::Input(about(path)(error))
}

/// Adds how many events were read before a file failed.
fn about_stored(failure: Failure, events: u64) -> Failure {
    match events {
        0 => failure,
        events => failure.with(
            "stored",
            format!(
                "{} read before this place",
                counted(events, "event", "events")
            ),
        ),
    }
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
