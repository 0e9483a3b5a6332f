//! `lab …`: passes sources to the lab, and shows its figures.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ostrakon_cell::{Authorizations, Error, ErrorKind, Source};
use ostrakon_lab::continuous::{
    self, AgitateOptions, Agitated, BatchWalkOptions, IngestOptions, MoruOptions, RowRange,
    RunRecord, ScanTestOptions, Settle, StatsOptions, VerifyOptions, WalkOptions,
};
use ostrakon_lab::experiments::{ExperimentOptions, experiment, experiments, run_experiment};
use ostrakon_lab::report::{ReportOptions, write_report};
use ostrakon_store::StoreOptions;
use serde::Serialize;
use serde_json::json;

use super::access::{Absent, Access, open_directory};
use super::figures::show;
use super::lab_progress::{LabProgress, Lines};
use super::lab_rank;
use super::lab_rig::{StoreRig, conditions};
use super::lab_summary;
use super::lab_ycsb;
use crate::args::{
    AgitateArgs, BatchWalkArgs, ContinuousCommand, IngestArgs, KeepArgs, LabCommand, MoruArgs,
    Place, ReaderArgs, RunArgs, ScanTestArgs, SettleChoice, StatsArgs, VerifyHow, WalkArgs,
    WriterArgs,
};
use crate::failure::{Failure, Result, nearest};
use crate::output::{Columns, Output, counted};

/// Runs one of the commands.
pub(super) fn run(access: &Access, command: LabCommand, out: &mut Output) -> Result<()> {
    match command {
        LabCommand::List => list(out),
        LabCommand::Run(args) => run_experiments(access, args, out),
        LabCommand::Report(args) => {
            let options = ReportOptions {
                file: args.output,
                baseline: args.baseline,
            };
            let summary = write_report(&args.directory, &options)?;
            out.object(&summary, || {
                format!(
                    "wrote {} to {}",
                    counted(summary.records as u64, "record", "records"),
                    summary.file.display()
                )
            })
        }
        LabCommand::Continuous(command) => run_continuous(access, *command, out),
        LabCommand::Rank(args) => lab_rank::run(args, out),
        LabCommand::Ycsb(command) => lab_ycsb::run(access, *command, out),
    }
}

fn list(out: &mut Output) -> Result<()> {
    let mut columns = Columns::new(&["experiment", "what it measures"]);
    for one in experiments() {
        if out.is_json() {
            let object = json!({"experiment": one.name, "description": one.description});
            out.object(&object, String::new)?;
        }
        columns.row(vec![one.name.into(), one.description.into()]);
    }
    if !out.is_json() {
        columns.write(out.stream())?;
    }
    Ok(())
}

fn run_experiments(access: &Access, args: RunArgs, out: &mut Output) -> Result<()> {
    let all: Vec<&str> = experiments().iter().map(|one| one.name).collect();
    let names: Vec<&str> = if args.names == ["all"] {
        all.clone()
    } else {
        args.names.iter().map(String::as_str).collect()
    };
    // Check all names before the first experiment runs.
    for name in &names {
        if experiment(name).is_none() {
            let failure = Failure::usage(format!("there is no experiment `{name}`"));
            return Err(match nearest(name, all.iter().copied()) {
                Some(near) => failure.next(format!("did you mean `{near}`?")),
                None => failure.next("run `ostrakon lab list` to see the experiments"),
            });
        }
    }
    if !(args.scale.is_finite() && args.scale > 0.0) || args.repeat == 0 {
        return Err(
            Failure::usage("--scale must be greater than 0, and --repeat at least 1")
                .next("leave them out for a scale of 1 and three repetitions"),
        );
    }
    let options = ExperimentOptions {
        scale: args.scale,
        repetitions: args.repeat,
        out: args.out.clone(),
        durability: args.durability,
    };
    let _new = NewDirectories::of([&args.out, args.work.as_ref().unwrap_or(&args.out)]);
    let rig = StoreRig::new(args.work.as_deref().unwrap_or(&args.out), access.memory)?;
    let progress = LabProgress::start(Lines::Terminal);
    for name in names {
        let (record, file) = run_experiment(&rig, name, &options, &progress)?;
        progress.clear();
        lab_summary::show(&record, &file, out)?;
        if progress.stopped() {
            return Err(Failure::interrupted("stopped; the records so far are kept"));
        }
    }
    Ok(())
}

fn run_continuous(access: &Access, command: ContinuousCommand, out: &mut Output) -> Result<()> {
    use Absent::Refuse;
    match command {
        ContinuousCommand::Ingest(args) => ingest(access, args, out),
        ContinuousCommand::Agitate(args) => agitate(access, args, out),
        ContinuousCommand::Walk(args) => access
            .for_reading()
            .with_store(Refuse, |source| walk(access, &source, args, out)),
        ContinuousCommand::BatchWalk(args) => access
            .for_reading()
            .with_store(Refuse, |source| batch_walk(access, &source, args, out)),
        ContinuousCommand::Scan(args) => access
            .for_reading()
            .with_store(Refuse, |source| scan(access, &source, args, out)),
        ContinuousCommand::Moru(args) => {
            access.with_store(Refuse, |source| moru(&source, args, out))
        }
        ContinuousCommand::Verify(args) => access.for_reading().with_store(Refuse, |source| {
            let options = verify_options(args.table.clone(), &args.how);
            let figures =
                continuous::run_verify(&source, &options, &LabProgress::start(Lines::Terminal))?;
            show(out, &figures)?;
            keep(access, &args.keep, ("verify", &args.table), &figures)?;
            sound(figures.fault())
        }),
        ContinuousCommand::Stats(args) => access
            .for_reading()
            .with_store(Refuse, |source| stats(&source, &args, out)),
    }
}

/// Directories that were not there when a command began. They are removed at its end if they are empty.
struct NewDirectories(Vec<PathBuf>);

impl NewDirectories {
    fn of<const N: usize>(paths: [&PathBuf; N]) -> Self {
        let absent = paths.into_iter().filter(|path| !path.exists());
        Self(absent.cloned().collect())
    }
}

impl Drop for NewDirectories {
    fn drop(&mut self) {
        for path in &self.0 {
            // A directory that holds something stays.
            let _ = std::fs::remove_dir(path);
        }
    }
}

/// Writes a record of a run, if one is wanted.
fn keep(
    access: &Access,
    args: &KeepArgs,
    (program, table): (&str, &str),
    figures: &impl Serialize,
) -> Result<()> {
    let Some(directory) = &args.record else {
        return Ok(());
    };
    let memory = access
        .memory
        .unwrap_or_else(|| StoreOptions::default().memory_budget_bytes);
    let source = conditions(access.directory()?, memory);
    RunRecord::new(program, table, source, figures)?.write(directory)?;
    Ok(())
}

/// A failure where the figures have a fault.
fn sound(fault: Option<&str>) -> Result<()> {
    match fault {
        None => Ok(()),
        Some(fault) => Err(Failure::outcome(fault)
            .next("run `ostrakon check` to see whether the files are damaged")),
    }
}

fn range(place: &Place) -> RowRange {
    RowRange {
        min: place.min,
        max: place.max,
    }
}

/// Seconds as the user gives them.
fn span(seconds: f64) -> Result<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|_| {
        Failure::usage(format!("`{seconds}` is not a valid number of seconds"))
            .next("give a number of seconds, such as 10 or 0.5")
    })
}

fn ingest_options(place: &Place, writer: &WriterArgs) -> Result<IngestOptions> {
    Ok(IngestOptions {
        table: place.table.clone(),
        splits: writer.splits,
        properties: writer
            .properties
            .iter()
            .map(|one| (one.name.clone(), one.value.clone()))
            .collect(),
        flush_interval: writer.flush_interval,
        max_depth: writer.depth,
        writers: writer.writers,
        rows: range(place),
        family_max: writer.max_cf,
        qualifier_max: writer.max_cq,
        checksum: !writer.no_checksum,
        visibilities: match &writer.visibilities {
            Some(file) => continuous::read_visibilities(file)?,
            None => Vec::new(),
        },
        delete_probability: writer.delete_probability,
        buffer_bytes: usize::try_from(writer.buffer).unwrap_or(usize::MAX),
        batch_bytes: usize::try_from(writer.batch).unwrap_or(usize::MAX),
        durability: writer.durability,
        seed: place.seed,
        ..IngestOptions::default()
    })
}

fn ingest(access: &Access, args: IngestArgs, out: &mut Output) -> Result<()> {
    let options = IngestOptions {
        entries: args.entries,
        duration: args.seconds.map(span).transpose()?,
        settle: match args.settle {
            SettleChoice::No => Settle::No,
            SettleChoice::Flush => Settle::Flush,
            SettleChoice::Compact => Settle::Compact,
        },
        stats_seconds: args.stats,
        ..ingest_options(&args.place, &args.writer)?
    };
    access.with_store(Absent::Create, |source| {
        if args.agitated {
            continuous::run_ingest(&source, &options, &LabProgress::for_parent())?;
            return Ok(());
        }
        let progress = LabProgress::start(match args.stats {
            Some(_) => Lines::Shown,
            None => Lines::Terminal,
        });
        let figures = continuous::run_ingest(&source, &options, &progress)?;
        drop(progress);
        show(out, &figures)?;
        keep(access, &args.keep, ("ingest", &options.table), &figures)
    })
}

fn authorizations(reader: &ReaderArgs) -> Result<Vec<Authorizations>> {
    Ok(match &reader.auths_file {
        Some(file) => continuous::read_authorizations(file)?,
        None => Vec::new(),
    })
}

fn walk(access: &Access, source: &Arc<dyn Source>, args: WalkArgs, out: &mut Output) -> Result<()> {
    let options = WalkOptions {
        duration: args.reader.seconds.map(span).transpose()?,
        queries: args.queries,
        pause: args.reader.pause.map(Duration::from_millis),
        walkers: args.walkers,
        rows: range(&args.place),
        authorizations: authorizations(&args.reader)?,
        examples: args.reader.examples,
        seed: args.place.seed,
        table: args.place.table.clone(),
        ..WalkOptions::default()
    };
    let figures = continuous::run_walk(source, &options, &LabProgress::start(Lines::Terminal))?;
    show(out, &figures)?;
    keep(access, &args.keep, ("walk", &options.table), &figures)?;
    sound(figures.fault())
}

fn batch_walk(
    access: &Access,
    source: &Arc<dyn Source>,
    args: BatchWalkArgs,
    out: &mut Output,
) -> Result<()> {
    let walk = args.walk;
    let options = BatchWalkOptions {
        duration: walk.reader.seconds.map(span).transpose()?,
        queries: walk.queries,
        pause: walk.reader.pause.map(Duration::from_millis),
        batch_rows: args.batch_rows,
        threads: args.threads,
        walkers: walk.walkers,
        rows: range(&walk.place),
        authorizations: authorizations(&walk.reader)?,
        examples: walk.reader.examples,
        seed: walk.place.seed,
        table: walk.place.table.clone(),
    };
    let figures =
        continuous::run_batch_walk(source, &options, &LabProgress::start(Lines::Terminal))?;
    show(out, &figures)?;
    keep(access, &walk.keep, ("batch-walk", &options.table), &figures)?;
    sound(figures.fault())
}

fn scan(
    access: &Access,
    source: &Arc<dyn Source>,
    args: ScanTestArgs,
    out: &mut Output,
) -> Result<()> {
    let options = ScanTestOptions {
        duration: args.reader.seconds.map(span).transpose()?,
        scans: args.scans,
        pause: args.reader.pause.map(Duration::from_millis),
        entries_per_scan: args.entries_per_scan,
        rows: range(&args.place),
        authorizations: authorizations(&args.reader)?,
        seed: args.place.seed,
        table: args.place.table,
    };
    let figures = continuous::run_scan(source, &options, &LabProgress::start(Lines::Terminal))?;
    show(out, &figures)?;
    keep(access, &args.keep, ("scan", &options.table), &figures)?;
    sound((figures.corrupt > 0).then_some("entries are damaged"))
}

fn moru(source: &Arc<dyn Source>, args: MoruArgs, out: &mut Output) -> Result<()> {
    let options = MoruOptions {
        authorizations: args.auths,
        threads: args.threads,
        checksum: !args.no_checksum,
        durability: args.durability,
        seed: args.place.seed,
        table: args.place.table,
        ..MoruOptions::default()
    };
    let figures = continuous::run_moru(source, &options, &LabProgress::start(Lines::Terminal))?;
    show(out, &figures)?;
    sound((figures.corrupt > 0).then_some("entries are damaged"))
}

fn stats(source: &Arc<dyn Source>, args: &StatsArgs, out: &mut Output) -> Result<()> {
    let options = StatsOptions {
        table: args.table.clone(),
        interval: span(args.interval)?,
        lines: args.lines,
    };
    // The lines are the result: text is printed during the run, JSON at the end.
    let progress = LabProgress::start(if out.is_json() {
        Lines::Hidden
    } else {
        Lines::Result
    });
    let figures = continuous::run_stats(source, &options, &progress)?;
    if out.is_json() {
        for line in &figures.lines {
            out.object(line, String::new)?;
        }
    }
    Ok(())
}

fn verify_options(table: String, how: &VerifyHow) -> VerifyOptions {
    let defaults = VerifyOptions::default();
    VerifyOptions {
        table,
        authorizations: how.auths.clone(),
        threads: how.threads,
        memory_bytes: how.link_memory,
        scratch: how.scratch.clone().unwrap_or(defaults.scratch),
        examples: how.examples,
        ranges_max: defaults.ranges_max,
    }
}

/// Flush interval of a child process. With the suite's million it would be killed before it links any list.
const AGITATED_INTERVAL: u64 = 10_000;

/// How long a tablet server of Accumulo's suite lives, and how long it is down after its kill.
const SUITE_LIFE: Duration = Duration::from_secs(20 * 60);
const SUITE_DOWN: Duration = Duration::from_secs(10 * 60);

/// This program, as the child process that is killed.
struct OwnChild<'a> {
    access: &'a Access,
    directory: &'a Path,
    args: &'a AgitateArgs,
}

impl Agitated for OwnChild<'_> {
    fn ingest_command(&self, child: u64) -> ostrakon_cell::Result<Command> {
        let program = std::env::current_exe().map_err(|error| {
            Error::new(ErrorKind::Io, "cannot find this program's own executable")
                .with_source(error)
        })?;
        let (place, writer) = (&self.args.place, &self.args.writer);
        let mut command = Command::new(program);
        command.arg("--data").arg(self.directory);
        if let Some(memory) = self.access.memory {
            command.args(["--memory", &memory.to_string()]);
        }
        command.args([
            "lab",
            "continuous",
            "ingest",
            "--agitated",
            "--settle",
            "no",
        ]);
        let mut number = |name: &str, value: u64| {
            command.arg(format!("--{name}={value}"));
        };
        number("min", place.min);
        number("max", place.max);
        number("splits", writer.splits as u64);
        number("writers", writer.writers as u64);
        number("depth", u64::from(writer.depth));
        number("max-cf", u64::from(writer.max_cf));
        number("max-cq", u64::from(writer.max_cq));
        number("buffer", writer.buffer);
        number("batch", writer.batch);
        if let Some(seed) = place.seed {
            // The same seed would write the same rows again.
            number("seed", seed.wrapping_add(child));
        }
        number(
            "flush-interval",
            writer.flush_interval.unwrap_or(AGITATED_INTERVAL),
        );
        command.arg(format!("--table={}", place.table));
        command.arg(format!(
            "--delete-probability={}",
            writer.delete_probability
        ));
        if let Some(durability) = writer.durability {
            command.arg(format!("--durability={durability}"));
        }
        if writer.no_checksum {
            command.arg("--no-checksum");
        }
        if let Some(file) = &writer.visibilities {
            command.arg("--visibilities").arg(file);
        }
        for one in &writer.properties {
            command.arg(format!("--property={}={}", one.name, one.value));
        }
        Ok(command)
    }

    fn open(&self) -> ostrakon_cell::Result<Arc<dyn Source>> {
        Ok(open_directory(self.directory, true, self.access)?)
    }
}

fn agitate(access: &Access, args: AgitateArgs, out: &mut Output) -> Result<()> {
    let (life_min, life_max, down) = if args.suite_periods {
        (SUITE_LIFE, SUITE_LIFE, SUITE_DOWN)
    } else {
        (span(args.life_min)?, span(args.life_max)?, span(args.down)?)
    };
    if args.kills == 0 {
        return Err(Failure::usage("--kills is 0: nothing would be tested")
            .next("use --kills 1 or more, or leave it out"));
    }
    if life_min > life_max {
        return Err(
            Failure::usage("--life-min is greater than --life-max").next("swap the two values")
        );
    }
    let options = AgitateOptions {
        kills: args.kills,
        life_min,
        life_max,
        down,
        verify_each: args.verify_each,
        verify: verify_options(args.place.table.clone(), &args.how),
        seed: args.place.seed,
    };
    let agitated = OwnChild {
        access,
        directory: access.directory()?,
        args: &args,
    };
    let progress = LabProgress::start(Lines::Terminal);
    let figures = continuous::run_agitate(&agitated, &options, &progress)?;
    drop(progress);
    show(out, &figures)?;
    keep(access, &args.keep, ("agitate", &args.place.table), &figures)?;
    sound(figures.fault())
}
