//! Runs a workload: client threads, their schedule, status lines.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use ostrakon_cell::{Error, Result};
use parking_lot::Mutex;

use super::client::{Client, Retry, now_ms};
use super::database::{Database, FieldValues, Records};
use super::measurements::{MeasurementOptions, Measurements, short, summary};
use super::properties::WorkloadProperties;
use super::random::JavaRandom;
use super::report::YcsbReport;
use super::workload::CoreWorkload;
use crate::Progress;
use crate::control::Control;
use crate::threads::{in_threads, seed, thread_seed};

/// What a run does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YcsbPhase {
    /// Inserts the records.
    Load,
    /// Reads and writes them.
    Run,
}

/// Settings of [`run_ycsb`], besides those among the properties.
#[derive(Debug, Clone, Copy)]
pub struct YcsbOptions {
    /// What is done.
    pub phase: YcsbPhase,
    /// The seed of all draws. `None` draws one.
    pub seed: Option<u64>,
    /// Ends the run after this time; `None` takes the property `maxexecutiontime`.
    pub duration: Option<Duration>,
    /// Gives the time that a status line begins with; `None` for no status lines.
    pub status_clock: Option<fn() -> String>,
}

/// The settings among the properties.
struct Plan {
    threads: usize,
    /// Operations of each thread; 0 for no limit.
    operations: Vec<u64>,
    total: u64,
    /// The time of one operation of each thread.
    tick: Option<Duration>,
    duration: Option<Duration>,
    status_every: Duration,
    label: String,
    retry: Retry,
}

/// What a thread shares with the status lines.
struct ThreadState {
    measurements: Mutex<Measurements>,
    done: AtomicU64,
}

/// How often progress is reported.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);

impl Plan {
    fn new(
        properties: &WorkloadProperties,
        workload: &CoreWorkload,
        options: &YcsbOptions,
    ) -> Result<Self> {
        let seconds = properties.count("maxexecutiontime", 0)?.unsigned_abs();
        let seconds = (seconds > 0).then(|| Duration::from_secs(seconds));
        let duration = options.duration.or(seconds);
        let given = |name| properties.get(name).is_some();
        let total = match options.phase {
            YcsbPhase::Load if given("recordcount") || given("insertcount") => {
                workload.load_count()
            }
            YcsbPhase::Load => {
                return Err(Error::invalid(
                    "how many records are to be loaded? Set recordcount or insertcount",
                ));
            }
            YcsbPhase::Run => properties.count("operationcount", 0)?.unsigned_abs(),
        };
        if total == 0 && duration.is_none() {
            return Err(Error::invalid(
                "the run would never end: set operationcount or maxexecutiontime",
            ));
        }
        let mut threads = usize::try_from(properties.count("threadcount", 1)?).unwrap_or(1);
        if threads == 0 {
            return Err(
                Error::invalid("a workload has one thread or more").with("property", "threadcount")
            );
        }
        if total > 0 {
            threads = threads.min(usize::try_from(total).unwrap_or(usize::MAX));
        }
        let share = |at| total / threads as u64 + u64::from(at < total % threads as u64);
        let target = properties.amount("target", 0.0)?;
        let retry_seconds = properties.count("core_workload_insertion_retry_interval", 3)?;
        Ok(Self {
            threads,
            operations: (0..threads as u64).map(share).collect(),
            total,
            tick: (target > 0.0)
                .then(|| Duration::try_from_secs_f64(threads as f64 / target).ok())
                .flatten(),
            duration,
            status_every: Duration::from_secs(
                properties
                    .count("status.interval", 10)?
                    .max(1)
                    .unsigned_abs(),
            ),
            label: properties.get("label").unwrap_or_default().to_owned(),
            retry: Retry {
                limit: properties.parse("core_workload_insertion_retry_limit", 0)?,
                after: Duration::from_secs(retry_seconds.unsigned_abs()),
                keep_going: properties.flag("core_workload_insertion_keep_going_on_error"),
            },
        })
    }
}

/// Checks the properties of a workload, without a database.
///
/// # Errors
/// A malformed property.
pub fn check_ycsb(properties: &WorkloadProperties, options: &YcsbOptions) -> Result<()> {
    let workload = CoreWorkload::new(properties, &mut JavaRandom::new(seed(options.seed)))?;
    Plan::new(properties, &workload, options)?;
    MeasurementOptions::new(properties)?;
    Ok(())
}

/// Runs the workload that the properties describe. `connect` is called in each client thread.
///
/// # Errors
/// A malformed property; no connection; a load that could not insert a record. An error in a run is counted, and stands
/// in [`YcsbReport::error`].
pub fn run_ycsb<'d>(
    properties: &WorkloadProperties,
    options: &YcsbOptions,
    connect: &(dyn Fn(&CoreWorkload) -> Result<Box<dyn Database + 'd>> + Sync),
    progress: &dyn Progress,
) -> Result<YcsbReport> {
    let seed = seed(options.seed);
    let mut random = JavaRandom::new(seed);
    let workload = CoreWorkload::new(properties, &mut random)?;
    let plan = Plan::new(properties, &workload, options)?;
    let measured = MeasurementOptions::new(properties)?;
    let started_ms = now_ms();
    let states: Vec<ThreadState> = (0..plan.threads)
        .map(|_| ThreadState {
            measurements: Mutex::new(Measurements::new(measured.clone(), started_ms)),
            done: AtomicU64::new(0),
        })
        .collect();
    let what = match options.phase {
        YcsbPhase::Load => "ycsb load",
        YcsbPhase::Run => "ycsb run",
    };
    progress.phase(what, (plan.total > 0).then_some(plan.total));
    let first_error = Mutex::new(None);
    let control = Control::new(plan.duration, None, progress);
    let (ended, watch) = crossbeam_channel::bounded::<()>(0);
    let (seconds, outcome) = std::thread::scope(|scope| {
        let clock = options.status_clock;
        let (states, plan) = (&states, &plan);
        scope.spawn(move || monitor(states, plan, clock, &watch, progress));
        let outcome = in_threads(
            "ycsb",
            plan.threads,
            || control.stop(),
            |at| {
                let (Some(state), Some(&operations)) = (states.get(at), plan.operations.get(at))
                else {
                    return Ok(());
                };
                let mut database = connect(&workload)?;
                let mut client = Client {
                    workload: &workload,
                    session: workload.session(JavaRandom::new(thread_seed(seed, at))),
                    database: &mut *database,
                    measurements: &state.measurements,
                    error: &first_error,
                    retry: plan.retry,
                    key: Vec::new(),
                    values: FieldValues::default(),
                    found: Records::default(),
                };
                let thread = Thread {
                    operations,
                    tick: plan.tick,
                    number: at as u32,
                    threads: plan.threads as u32,
                    done: &state.done,
                };
                thread.run(&mut client, options.phase, &control)
            },
        );
        let seconds = control.seconds();
        drop(ended);
        (seconds, outcome)
    });
    outcome?;
    let mut all = Measurements::new(measured, started_ms);
    let mut operations = 0;
    for state in &states {
        all.add_thread(&state.measurements.lock());
        operations += state.done.load(Ordering::Relaxed);
    }
    Ok(YcsbReport {
        phase: options.phase,
        threads: plan.threads,
        operations,
        seconds,
        measurements: all,
        error: first_error.into_inner(),
    })
}

/// The schedule of one client thread.
struct Thread<'a> {
    operations: u64,
    tick: Option<Duration>,
    number: u32,
    threads: u32,
    done: &'a AtomicU64,
}

impl Thread<'_> {
    fn run(&self, client: &mut Client<'_>, phase: YcsbPhase, control: &Control<'_>) -> Result<()> {
        if let Some(tick) = self.tick.filter(|tick| tick.as_secs_f64() >= 1e-3) {
            // Threads begin one after another, so that they do not all ask at the same moment.
            control.pause(tick * self.number / self.threads);
        }
        let started = Instant::now();
        let (mut done, mut intended) = (0_u64, None);
        while (self.operations == 0 || done < self.operations) && control.goes_on() {
            match phase {
                YcsbPhase::Load => client.load(intended, |pause| {
                    control.pause(pause);
                    control.goes_on()
                })?,
                YcsbPhase::Run => client.transaction(intended)?,
            }
            done += 1;
            self.done.store(done, Ordering::Relaxed);
            if let Some(tick) = self.tick {
                let due = started + tick.mul_f64(done as f64);
                control.pause(due.saturating_duration_since(Instant::now()));
                intended = Some(due);
            }
        }
        client.cleanup()
    }
}

/// Reports progress and prints status lines until the run has ended.
fn monitor(
    states: &[ThreadState],
    plan: &Plan,
    clock: Option<fn() -> String>,
    ended: &Receiver<()>,
    progress: &dyn Progress,
) {
    let started = Instant::now();
    let (mut last_at, mut last_done) = (started, 0);
    let mut due = Duration::ZERO;
    loop {
        let over = !matches!(
            ended.recv_timeout(PROGRESS_EVERY),
            Err(RecvTimeoutError::Timeout)
        );
        let done: u64 = states
            .iter()
            .map(|state| state.done.load(Ordering::Relaxed))
            .sum();
        progress.done(done);
        let now = Instant::now();
        if let Some(clock) = clock
            && (over || now - started >= due)
        {
            let line = status_line(&StatusLine {
                states,
                plan,
                seconds: (now - started).as_secs_f64(),
                done,
                recent: (done - last_done) as f64 / (now - last_at).as_secs_f64().max(1e-9),
            });
            progress.line(&format!("{}{} {line}", plan.label, clock()));
            (last_at, last_done) = (now, done);
            due += plan.status_every;
        }
        if over {
            return;
        }
    }
}

struct StatusLine<'a> {
    states: &'a [ThreadState],
    plan: &'a Plan,
    seconds: f64,
    done: u64,
    /// Operations a second since the last line.
    recent: f64,
}

/// A status line as YCSB prints it, after its time.
fn status_line(status: &StatusLine<'_>) -> String {
    let StatusLine { seconds, done, .. } = *status;
    let mut line = format!("{} sec: {done} operations; ", seconds as u64);
    if done > 0 {
        line.push_str(&format!("{} current ops/sec; ", short(status.recent)));
    }
    let left = status.plan.total.saturating_sub(done);
    if left > 0 && done > 0 {
        let estimate = (left as f64 * seconds / done as f64).ceil();
        line.push_str(&format!("est completion in {estimate:.0} seconds "));
    }
    let mut recent = BTreeMap::new();
    for state in status.states {
        state.measurements.lock().take_recent(&mut recent);
    }
    let mut options = None;
    if let Some(state) = status.states.first() {
        options = Some(state.measurements.lock().options().clone());
    }
    if let Some(options) = options {
        for (key, times) in &recent {
            line.push_str(&summary(&key.name(&options), times));
            line.push(' ');
        }
    }
    line.truncate(line.trim_end().len());
    line
}
