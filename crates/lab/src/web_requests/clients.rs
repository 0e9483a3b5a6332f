//! Several clients at once, each with a part of the time.

use std::time::{Duration, Instant};

use ostrakon_cell::{Error, ErrorKind, Result};

use crate::Progress;
use crate::measure::{Usage, thread_processor_seconds};
use crate::threads::in_threads;

/// What a client got, or all of them together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Answer {
    /// Events.
    pub events: u64,
    /// Entries: the fields of the events, or what a scan returned.
    pub entries: u64,
    /// Bytes of keys, names and values that the client received.
    pub bytes: u64,
    /// Entries that were handled next to the data, where that is counted. A query reads a window of time again if it
    /// holds more events than fit in memory, so this may differ from round to round.
    pub handled: u64,
    /// Nanoseconds that the client spent on what it had received: counting it.
    pub own_nanos: u64,
}

impl Answer {
    fn add(&mut self, other: Self) {
        self.events += other.events;
        self.entries += other.entries;
        self.bytes += other.bytes;
        self.handled += other.handled;
        self.own_nanos += other.own_nanos;
    }

    /// What every round gives alike.
    fn alike(self) -> Self {
        Self {
            handled: 0,
            own_nanos: 0,
            ..self
        }
    }
}

/// What clients came to.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ClientFigures {
    /// What all clients got in one round: every round gives the same, but for `handled`, which is a
    /// mean, and for `own_nanos`.
    pub answer: Answer,
    /// Rounds that were measured.
    pub rounds: u64,
    /// Time of a round, from the start of the first client to the end of the last: the mean.
    pub seconds: f64,
    /// Processors that the clients' threads kept busy, all together. A scan of cached data runs mostly on the thread that
    /// asks.
    pub client_processors: f64,
    /// Processors that all other threads of the process kept busy.
    pub other_processors: f64,
    /// The share of the clients' time in which they counted what they had received, instead of waiting for more or
    /// reading it.
    pub own_share: f64,
}

/// Runs `ask` in as many threads as there are clients, round after round for `duration`, at least one round. Client `at` of
/// `count` asks for its part of the time from `times.0` to before `times.1`. One round warms the caches and is not
/// measured.
///
/// # Errors
/// Those of `ask`; two rounds give different answers; the run was cancelled.
pub fn run_clients(
    count: usize,
    times: (i64, i64),
    duration: Duration,
    progress: &dyn Progress,
    ask: impl Fn((i64, i64)) -> Result<Answer> + Sync,
) -> Result<ClientFigures> {
    let round = || -> Result<(Answer, f64, f64)> {
        let clients = in_threads(
            "client",
            count,
            || (),
            |at| {
                let (before, started) = (thread_processor_seconds(), Instant::now());
                let answer = ask(part(times, at, count))?;
                let elapsed = started.elapsed().as_secs_f64();
                Ok((answer, thread_processor_seconds() - before, elapsed))
            },
        )?;
        let (mut answer, mut processor_seconds, mut elapsed) = (Answer::default(), 0.0, 0.0);
        for (one, seconds, took) in clients {
            answer.add(one);
            processor_seconds += seconds;
            elapsed += took;
        }
        Ok((answer, processor_seconds, elapsed))
    };
    let (expected, _, _) = round()?;
    let mut figures = ClientFigures {
        answer: expected,
        ..ClientFigures::default()
    };
    let mut handled = 0;
    let (before, started) = (Usage::now(), Instant::now());
    let (mut client_seconds, mut own_seconds, mut all_seconds) = (0.0, 0.0, 0.0);
    while figures.rounds == 0 || started.elapsed() < duration {
        if progress.cancelled() {
            return Err(Error::new(ErrorKind::Cancelled, "the clients were stopped"));
        }
        let (answer, processor_seconds, took) = round()?;
        handled += answer.handled;
        own_seconds += answer.own_nanos as f64 / 1e9;
        all_seconds += took;
        if answer.alike() != expected.alike() {
            return Err(Error::new(
                ErrorKind::Internal,
                "the same query gave another answer, although nothing was written",
            )
            .with("first", format!("{expected:?}"))
            .with("then", format!("{answer:?}")));
        }
        client_seconds += processor_seconds;
        figures.rounds += 1;
    }
    let elapsed = started.elapsed().as_secs_f64().max(1e-9);
    let process = Usage::now().processor_seconds - before.processor_seconds;
    figures.answer.handled = handled / figures.rounds;
    figures.seconds = elapsed / figures.rounds as f64;
    figures.own_share = own_seconds / f64::max(all_seconds, 1e-9);
    figures.client_processors = client_seconds / elapsed;
    // The process is counted in ticks, threads in nanoseconds: a short run may have fewer of the former.
    figures.other_processors = (process - client_seconds).max(0.0) / elapsed;
    Ok(figures)
}

/// Part `at` of `count` of a time.
pub(super) fn part((from, to): (i64, i64), at: usize, count: usize) -> (i64, i64) {
    let border =
        |at: usize| from + ((to - from) as i128 * at as i128 / count.max(1) as i128) as i64;
    (border(at), border(at + 1))
}
