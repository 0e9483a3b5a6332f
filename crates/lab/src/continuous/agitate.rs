//! Agitate: kills the writer repeatedly, and verifies that nothing acknowledged is lost.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Sender, bounded};
use ostrakon_cell::{Error, ErrorKind, Result, Source};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use serde::Serialize;

use super::verify::{VerifyOptions, run_verify};
use crate::control::Control;
use crate::threads::seed;
use crate::{NoProgress, Progress};

/// Provided by the caller: how to start a writer in a separate process, and how to open the
/// store when that process is gone.
pub trait Agitated {
    /// A command that ingests until it is killed, into the table and store that are agitated. It
    /// must be the writer itself, not a shell around it, so that the kill reaches it. Its
    /// standard output is read: lines `flushed <writer> <entries>` (see
    /// [`Progress::flushed`]) tell what was acknowledged; other lines are skipped. Its standard
    /// error goes to a pipe and is shown if it dies by itself. `child` counts from 0 and serves to
    /// vary the seed.
    ///
    /// # Errors
    /// When the program cannot be named.
    fn ingest_command(&self, child: u64) -> Result<Command>;

    /// Opens the store.
    ///
    /// # Errors
    /// When it cannot be opened; then the agitation has found something.
    fn open(&self) -> Result<Arc<dyn Source>>;
}

/// Settings of [`run_agitate`].
#[derive(Debug, Clone)]
pub struct AgitateOptions {
    /// Times a writer is killed. Default 3.
    pub kills: u64,
    /// The shortest time a writer lives after its first sign of life. Default 0.5 s.
    pub life_min: Duration,
    /// The longest. Default 5 s. The moment is drawn evenly between the two.
    pub life_max: Duration,
    /// Time between a kill and the next opening. Default 0.
    pub down: Duration,
    /// Verifies after every kill instead of only at the end. Default no.
    pub verify_each: bool,
    /// How to verify. The table is named here.
    pub verify: VerifyOptions,
    /// Start of the random sequence. `None`, the default, draws one.
    pub seed: Option<u64>,
}

impl Default for AgitateOptions {
    fn default() -> Self {
        Self {
            kills: 3,
            life_min: Duration::from_millis(500),
            life_max: Duration::from_secs(5),
            down: Duration::ZERO,
            verify_each: false,
            verify: VerifyOptions::default(),
            seed: None,
        }
    }
}

/// What agitation found. [`is_sound`](Self::is_sound) judges it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct AgitateFigures {
    /// Times a writer was killed.
    pub kills: u64,
    /// Entries in the table at the end.
    pub entries: u64,
    /// Rows that others point to and that are not there.
    pub undefined: u64,
    /// Entries that are damaged.
    pub corrupt: u64,
    /// Rows that others point to.
    pub referenced: u64,
    /// Rows no entry points to.
    pub unreferenced: u64,
    /// Entries that were there before plus those the writers said were acknowledged.
    pub acknowledged: u64,
    /// Entries that the killed writers said were acknowledged.
    pub written: u64,
    /// Acknowledged entries that are not in the table, and those that an earlier verification found there. The
    /// links alone would not show the loss of the newest entries, which nothing points to yet.
    ///
    /// Entries are counted, so that up to a writer's round of entries, written and not yet acknowledged when it
    /// was killed, may hide the loss of as many. [`AgitateOptions::verify_each`] keeps that to one kill; without
    /// it the rounds of all kills add up.
    pub lost: u64,
    /// Seconds by the clock.
    pub seconds: f64,
    /// Seconds each opening after a kill took.
    pub open_seconds: Vec<f64>,
    /// What verify said of undefined rows and damaged entries, if any.
    pub findings: Vec<String>,
}

impl AgitateFigures {
    /// Whether nothing was lost or damaged, and there was something that could have been.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.fault().is_none()
    }

    /// Why the run is not sound, if it is not: something was lost or damaged, or the run proved
    /// nothing.
    #[must_use]
    pub fn fault(&self) -> Option<&'static str> {
        if self.has_loss() {
            Some("entries are missing or damaged")
        } else if self.kills == 0 {
            Some("no writer was killed, so nothing is proved")
        } else if self.written == 0 {
            Some(
                "no writer had anything acknowledged before it was killed, so nothing is proved: \
                 let them live longer, or flush more often",
            )
        } else if self.referenced == 0 {
            Some(
                "no row is referenced by another, so a missing one would not be noticed: let the \
                 writers live longer, or flush more often",
            )
        } else {
            None
        }
    }

    fn has_loss(&self) -> bool {
        self.undefined > 0 || self.corrupt > 0 || self.lost > 0
    }
}

/// Starts a writer, kills it with SIGKILL at a random moment, opens the store, and again; verifies
/// at the end.
///
/// # Errors
/// A writer dies without being killed (the error quotes its output), the store does not open, or verify fails to run.
pub fn run_agitate(
    agitated: &dyn Agitated,
    options: &AgitateOptions,
    progress: &dyn Progress,
) -> Result<AgitateFigures> {
    if options.life_min > options.life_max {
        return Err(Error::invalid(
            "the shortest life of a writer is longer than the longest: swap the two",
        ));
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed(options.seed));
    let control = Control::new(None, None, progress);
    let mut figures = AgitateFigures::default();
    // Entries the table cannot have fewer of.
    let mut held = 0;

    // What is there already may be lost as well.
    let source = agitated.open()?;
    match source.table(&options.verify.table) {
        Err(error) if error.kind() == ErrorKind::TableNotFound => {}
        Err(error) => return Err(error),
        Ok(_) => {
            held = run_verify(&source, &options.verify, &NoProgress)?.entries;
            figures.acknowledged = held;
        }
    }
    drop(source);

    progress.phase("kill", Some(options.kills));
    while figures.kills < options.kills && control.goes_on() {
        let spread = options.life_max - options.life_min;
        let life = options.life_min + spread.mul_f64(random.random());
        let acknowledged = live_and_die(agitated, figures.kills, life, &control)?;
        figures.kills += 1;
        figures.acknowledged += acknowledged;
        figures.written += acknowledged;
        held += acknowledged;
        control.pause(options.down);
        let began = Instant::now();
        let source = agitated
            .open()
            .map_err(|error| error.with("after kill", figures.kills))?;
        let open_seconds = began.elapsed().as_secs_f64();
        figures.open_seconds.push(open_seconds);
        progress.line(&format!(
            "kill {} after {:.2} s: {acknowledged} entries acknowledged, opened in {open_seconds:.3} s",
            figures.kills,
            life.as_secs_f64(),
        ));
        if options.verify_each && figures.kills < options.kills {
            judge(&source, options, (&mut figures, &mut held), &NoProgress)?;
            if figures.has_loss() {
                break;
            }
        }
        progress.done(figures.kills);
    }
    // A wish to stop ends the killing; what was done is judged all the same.
    judge(
        &agitated.open()?,
        options,
        (&mut figures, &mut held),
        &Uncancelled(progress),
    )?;
    figures.seconds = control.seconds();
    Ok(figures)
}

/// Verifies. What is there now must be there the next time: entries that were written and not acknowledged when
/// their writer died would make up for acknowledged ones that a later writer loses.
fn judge(
    source: &Arc<dyn Source>,
    options: &AgitateOptions,
    (figures, held): (&mut AgitateFigures, &mut u64),
    progress: &dyn Progress,
) -> Result<()> {
    let verify = run_verify(source, &options.verify, progress)?;
    figures.entries = verify.entries;
    figures.undefined = verify.undefined;
    figures.corrupt = verify.corrupt;
    figures.referenced = verify.referenced;
    figures.unreferenced = verify.unreferenced;
    figures.lost = held.saturating_sub(verify.entries);
    *held = verify.entries.max(*held);
    let undefined = verify.undefined_examples.iter().map(|row| {
        let by = row.referenced_by.join(", ");
        format!("row {} is missing; {by} point to it", row.row)
    });
    let corrupt = verify
        .corrupt_examples
        .iter()
        .map(|entry| format!("{}: {}", entry.key, entry.fault));
    figures.findings = undefined.chain(corrupt).collect();
    Ok(())
}

/// Passes everything on but the wish to stop.
struct Uncancelled<'a>(&'a dyn Progress);

impl Progress for Uncancelled<'_> {
    fn phase(&self, what: &str, total: Option<u64>) {
        self.0.phase(what, total);
    }
    fn done(&self, units: u64) {
        self.0.done(units);
    }
    fn line(&self, text: &str) {
        self.0.line(text);
    }
}

/// A writer that tells nothing of its flushes is taken for alive after this time.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// Bytes kept of what a writer says on its standard error.
const STDERR_KEPT: usize = 4096;

/// Starts a writer, lets it live, kills it. Returns the entries it said were acknowledged.
fn live_and_die(
    agitated: &dyn Agitated,
    number: u64,
    life: Duration,
    control: &Control<'_>,
) -> Result<u64> {
    let mut command = agitated.ingest_command(number)?;
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map(Killed)
        .map_err(|error| {
            Error::new(ErrorKind::Io, "the writer's process cannot be started")
                .with("program", &program)
                .with_source(error)
        })?;
    let (stdout, stderr) = (child.0.stdout.take(), child.0.stderr.take());
    std::thread::scope(|scope| {
        let (alive, first_sign) = bounded(1);
        let said = scope.spawn(move || stdout.map_or(0, |stdout| listen(stdout, &alive)));
        let complaints = scope.spawn(move || stderr.map_or_else(String::new, tail));
        let _ = first_sign.recv_timeout(SILENCE_MAX);
        control.pause(life);
        let died = child.0.try_wait().ok().flatten();
        // Dead or alive: after this the pipes end, and the two threads with them.
        drop(child);
        let said = said.join().unwrap_or_default();
        let complaints = complaints.join().unwrap_or_default();
        match died {
            None => Ok(said),
            Some(status) => Err(Error::new(
                ErrorKind::Unavailable,
                "the writer ended by itself before it was killed; it must ingest without end",
            )
            .with("program", program)
            .with("status", status)
            .with("it said", complaints.trim())),
        }
    })
}

/// A process that does not outlive this value.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // SIGKILL; an error means that it is gone already. Waiting frees its lock on the store.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reads `flushed <writer> <entries>` lines to the end; returns the entries of all writers.
fn listen(stdout: impl Read, alive: &Sender<()>) -> u64 {
    let mut writers: BTreeMap<u64, u64> = BTreeMap::new();
    let mut reader = BufReader::new(stdout);
    let mut line = String::new();
    loop {
        line.clear();
        match reader.read_line(&mut line) {
            // The kill may cut a line: without its end the number may be cut as well.
            Ok(read) if read > 0 && line.ends_with('\n') => {}
            _ => return writers.values().sum(),
        }
        let mut words = line.split_whitespace();
        if words.next() == Some("flushed")
            && let Some(Ok(writer)) = words.next().map(str::parse)
            && let Some(Ok(entries)) = words.next().map(str::parse)
        {
            writers.insert(writer, entries);
            let _ = alive.try_send(());
        }
    }
}

fn tail(mut stderr: impl Read) -> String {
    let (mut kept, mut buffer) = (Vec::new(), [0; 1024]);
    while let Ok(read @ 1..) = stderr.read(&mut buffer) {
        kept.extend_from_slice(buffer.get(..read).unwrap_or_default());
        let excess = kept.len().saturating_sub(STDERR_KEPT);
        kept.drain(..excess);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::continuous::{Generator, GeneratorOptions, IngestOptions, Place, run_ingest};
    use ostrakon_cell::{BatchWriter, BatchWriterConfig, ColumnUpdate};
    use ostrakon_testkit::reference_model::MapSource;

    /// The writer is a shell that only claims to have written; the table is as it is.
    struct Pretended {
        script: &'static str,
        source: Arc<dyn Source>,
    }

    impl Agitated for Pretended {
        fn ingest_command(&self, child: u64) -> Result<Command> {
            let mut command = Command::new("sh");
            command
                .arg("-c")
                .arg(self.script)
                .env("CHILD", child.to_string());
            Ok(command)
        }
        fn open(&self) -> Result<Arc<dyn Source>> {
            Ok(Arc::clone(&self.source))
        }
    }

    fn pretended(script: &'static str, entries: u64) -> Pretended {
        let source: Arc<dyn Source> = Arc::new(MapSource::new());
        let options = IngestOptions {
            entries: Some(entries),
            // Two rounds, so that one half points to the other; never so many that lists are
            // joined: every entry stays one.
            flush_interval: Some(entries / 2),
            ..IngestOptions::default()
        };
        run_ingest(&source, &options, &NoProgress).unwrap();
        Pretended { script, source }
    }

    fn options(kills: u64) -> AgitateOptions {
        AgitateOptions {
            kills,
            life_min: Duration::from_millis(20),
            life_max: Duration::from_millis(60),
            verify_each: true,
            ..AgitateOptions::default()
        }
    }

    #[test]
    fn writers_are_killed_and_the_table_judged() {
        let agitated = pretended("echo flushed 0 0; exec sleep 100", 200);
        let began = Instant::now();
        let figures = run_agitate(&agitated, &options(3), &NoProgress).unwrap();
        assert!(began.elapsed() < Duration::from_secs(10));
        assert_eq!((figures.kills, figures.entries), (3, 200));
        assert_eq!(
            (figures.undefined, figures.corrupt, figures.lost),
            (0, 0, 0)
        );
        assert_eq!((figures.acknowledged, figures.open_seconds.len()), (200, 3));
    }

    #[test]
    fn a_run_that_proves_nothing_is_not_sound() {
        let agitated = pretended("echo flushed 0 0; exec sleep 100", 200);
        let figures = run_agitate(&agitated, &options(1), &NoProgress).unwrap();
        assert_eq!((figures.written, figures.referenced), (0, 100));
        let fault = figures.fault().unwrap();
        assert!(
            fault.contains("acknowledged") && !figures.is_sound(),
            "{fault}"
        );
        let sound = AgitateFigures {
            written: 1,
            ..figures
        };
        assert!(sound.is_sound());
        for (other, says) in [
            (
                AgitateFigures {
                    kills: 0,
                    ..sound.clone()
                },
                "killed",
            ),
            (
                AgitateFigures {
                    referenced: 0,
                    ..sound.clone()
                },
                "referenced",
            ),
            (
                AgitateFigures {
                    lost: 1,
                    ..sound.clone()
                },
                "missing",
            ),
            (
                AgitateFigures {
                    written: 0,
                    undefined: 1,
                    ..sound
                },
                "missing",
            ),
        ] {
            assert!(other.fault().unwrap().contains(says), "{other:?}");
        }
    }

    #[test]
    fn acknowledged_entries_that_are_not_there_are_lost() {
        let script = "echo flushed 0 50; echo flushed 1 7; echo flushed 0 70; printf 'flushed 0 9'; exec sleep 100";
        let figures = run_agitate(&pretended(script, 200), &options(2), &NoProgress).unwrap();
        // 77 claimed by the first writer, none written: found at once, so there is no second kill.
        assert_eq!(
            (figures.kills, figures.acknowledged, figures.lost),
            (1, 277, 77)
        );
        assert!(!figures.is_sound());
    }

    /// A child whose work on the table, entries written or deleted, is given by its number; of each it says that
    /// ten entries were acknowledged.
    struct Working {
        pretended: Pretended,
        work: Vec<i64>,
    }

    impl Agitated for Working {
        fn ingest_command(&self, child: u64) -> Result<Command> {
            let mut writer = BatchWriter::new(
                self.pretended.source.table("ci")?,
                BatchWriterConfig::default(),
            );
            let work = self.work[child as usize];
            // Rows of their own, which no entry points to; the entries of the previous child are deleted.
            let from = 1000 * (child - u64::from(work < 0));
            for number in from..from + work.unsigned_abs() {
                let mut generator = Generator::new(GeneratorOptions::default())?;
                let place = Place {
                    row: number + 1,
                    ..Place::default()
                };
                let (row, update) = generator.make(place, None);
                let value = update.value.filter(|_| work > 0);
                writer.put(row, ColumnUpdate { value, ..update })?;
            }
            writer.close()?;
            self.pretended.ingest_command(child)
        }
        fn open(&self) -> Result<Arc<dyn Source>> {
            self.pretended.open()
        }
    }

    #[test]
    fn unacknowledged_entries_do_not_hide_lost_ones() {
        let script = "echo flushed 0 10; exec sleep 100";
        // The first child writes 50 entries and has 10 of them acknowledged; the second has 10
        // acknowledged, none of which is there, and takes 5 of the first away.
        let agitated = Working {
            pretended: pretended(script, 200),
            work: vec![50, -5],
        };
        let figures = run_agitate(&agitated, &options(2), &NoProgress).unwrap();
        assert_eq!((figures.acknowledged, figures.entries), (220, 245));
        assert_eq!(figures.lost, 15);
        assert!(!figures.is_sound());
    }

    #[test]
    fn the_error_of_a_writer_that_fails_by_itself_is_quoted() {
        let agitated = pretended("echo flushed 0 0; echo no such table >&2; exit 3", 20);
        let error = run_agitate(&agitated, &options(1), &NoProgress).unwrap_err();
        assert!(error.to_string().contains("no such table"), "{error}");
    }
}
