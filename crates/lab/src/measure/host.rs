//! Activity of the process and the machine, read from `/proc`. Elsewhere everything reads as zero.

use std::path::Path;
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Sender, bounded};
use ostrakon_cell::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

/// The machine a run was on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Processors this process may use.
    pub processors: usize,
    /// The processor's name.
    pub processor_model: String,
    /// Memory of the machine, in bytes.
    pub memory_bytes: u64,
    /// The operating system's kernel.
    pub kernel: String,
    /// Name of the machine's architecture.
    pub architecture: String,
}

impl Host {
    /// The present machine.
    #[must_use]
    pub fn here() -> Self {
        let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
        Self {
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            processor_model: field(&read("/proc/cpuinfo"), "model name")
                .unwrap_or_default()
                .to_owned(),
            memory_bytes: kib(&read("/proc/meminfo"), "MemTotal"),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            architecture: std::env::consts::ARCH.to_owned(),
        }
    }
}

/// Counters of the process and the machine at a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Processor seconds of this process.
    pub processor_seconds: f64,
    /// Processor seconds of the whole machine, this process included.
    pub machine_seconds: f64,
    /// Resident memory of this process, in bytes.
    pub resident_bytes: u64,
    /// Bytes this process had read from the disk.
    pub disk_read_bytes: u64,
    /// Bytes this process had written towards the disk.
    pub disk_written_bytes: u64,
}

/// Ticks of `/proc/stat` in a second: fixed at 100 in Linux's interface to programs.
const TICKS: f64 = 100.0;

impl Usage {
    /// The present counters.
    #[must_use]
    pub fn now() -> Self {
        Self::of(Path::new("/proc"))
    }

    fn of(proc: &Path) -> Self {
        let read = |file: &str| std::fs::read_to_string(proc.join(file)).unwrap_or_default();
        let stat = read("self/stat");
        // The program's name may hold spaces and brackets: count from the last bracket.
        let ticks: u64 = stat.rsplit_once(')').map_or(0, |(_, rest)| {
            let numbers = rest.split_whitespace().skip(11).take(2);
            numbers
                .filter_map(|number| number.parse::<u64>().ok())
                .sum()
        });
        let machine = read("stat");
        let machine: u64 = machine.lines().next().map_or(0, |line| {
            // user nice system idle iowait irq softirq steal; the rest is counted in user.
            let numbers = line.split_whitespace().skip(1).take(8).enumerate();
            numbers
                .filter(|(at, _)| !matches!(at, 3 | 4 | 7))
                .filter_map(|(_, number)| number.parse::<u64>().ok())
                .sum()
        });
        let io = read("self/io");
        let count = |name| {
            field(&io, name)
                .and_then(|number| number.parse().ok())
                .unwrap_or(0)
        };
        Self {
            processor_seconds: ticks as f64 / TICKS,
            machine_seconds: machine as f64 / TICKS,
            resident_bytes: kib(&read("self/status"), "VmRSS"),
            disk_read_bytes: count("read_bytes"),
            disk_written_bytes: count("write_bytes"),
        }
    }
}

/// Processor seconds of the calling thread so far, by the scheduler's clock; 0 where the system does not tell.
#[must_use]
pub fn thread_processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_whitespace().next();
    nanoseconds.map_or(0.0, |number| number.parse().unwrap_or(0.0) / 1e9)
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (field, value) = line.split_once(':')?;
        (field.trim() == name).then(|| value.trim())
    })
}

fn kib(text: &str, name: &str) -> u64 {
    field(text, name)
        .and_then(|value| value.trim_end_matches("kB").trim().parse::<u64>().ok())
        .unwrap_or(0)
        * 1024
}

/// What happened between two moments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct HostSample {
    /// Seconds since sampling began, at the end of the interval.
    pub seconds: f64,
    /// Processors this process kept busy.
    pub processors: f64,
    /// Processors the whole machine kept busy.
    pub machine_processors: f64,
    /// Resident memory of this process at the end, in bytes.
    pub resident_bytes: u64,
    /// Bytes read from the disk a second.
    pub disk_read_bytes_per_second: f64,
    /// Bytes written towards the disk a second.
    pub disk_written_bytes_per_second: f64,
}

impl HostSample {
    fn between(before: &Usage, after: &Usage, seconds: f64, at: f64) -> Self {
        let seconds = seconds.max(1e-9);
        let rate = |before: u64, after: u64| after.saturating_sub(before) as f64 / seconds;
        Self {
            seconds: at,
            processors: (after.processor_seconds - before.processor_seconds).max(0.0) / seconds,
            machine_processors: (after.machine_seconds - before.machine_seconds).max(0.0) / seconds,
            resident_bytes: after.resident_bytes,
            disk_read_bytes_per_second: rate(before.disk_read_bytes, after.disk_read_bytes),
            disk_written_bytes_per_second: rate(
                before.disk_written_bytes,
                after.disk_written_bytes,
            ),
        }
    }
}

/// Samples the process and the machine in the background.
#[derive(Debug)]
pub struct HostSampler<'scope> {
    stop: Sender<()>,
    thread: ScopedJoinHandle<'scope, Vec<HostSample>>,
}

impl<'scope> HostSampler<'scope> {
    /// Starts sampling every so often.
    ///
    /// # Errors
    /// When the system starts no more threads.
    pub fn start<'env>(scope: &'scope Scope<'scope, 'env>, interval: Duration) -> Result<Self> {
        let (stop, stopped) = bounded::<()>(1);
        let thread = std::thread::Builder::new()
            .name("lab-host".to_owned())
            .spawn_scoped(scope, move || {
                let started = Instant::now();
                let (mut before, mut then) = (Usage::now(), started);
                let mut samples = Vec::new();
                loop {
                    let over = stopped
                        .recv_timeout(interval)
                        .is_err_and(|why| why == crossbeam_channel::RecvTimeoutError::Disconnected);
                    let (after, now) = (Usage::now(), Instant::now());
                    let width = (now - then).as_secs_f64();
                    // A sliver at the end holds too few ticks to say anything.
                    if !over || width >= interval.as_secs_f64() / 2.0 || samples.is_empty() {
                        let at = (now - started).as_secs_f64();
                        samples.push(HostSample::between(&before, &after, width, at));
                    }
                    (before, then) = (after, now);
                    if over {
                        return samples;
                    }
                }
            })
            .map_err(|error| {
                Error::new(ErrorKind::Io, "no thread could be started").with_source(error)
            })?;
        Ok(Self { stop, thread })
    }

    /// Ends sampling.
    #[must_use]
    pub fn finish(self) -> Vec<HostSample> {
        drop(self.stop);
        self.thread.join().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_from_a_synthetic_proc() {
        let folder = tempfile::tempdir().unwrap();
        let proc = folder.path();
        std::fs::create_dir(proc.join("self")).unwrap();
        let write = |file: &str, text: &str| std::fs::write(proc.join(file), text).unwrap();
        write(
            "self/stat",
            "7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 250 150 0 0 20 0",
        );
        write("stat", "cpu  100 10 200 9000 50 5 5 40 0 0\ncpu0 1 2 3\n");
        write("self/status", "Name:\tx\nVmRSS:\t   2048 kB\n");
        write("self/io", "rchar: 1\nread_bytes: 4096\nwrite_bytes: 8192\n");
        let usage = Usage::of(proc);
        assert_eq!(
            usage,
            Usage {
                processor_seconds: 4.0,
                machine_seconds: 3.2,
                resident_bytes: 2 << 20,
                disk_read_bytes: 4096,
                disk_written_bytes: 8192,
            }
        );
        assert_eq!(Usage::of(&proc.join("missing")), Usage::default());
    }

    #[test]
    fn a_busy_thread_shows() {
        let samples = std::thread::scope(|scope| {
            let sampler = HostSampler::start(scope, Duration::from_millis(100)).unwrap();
            let started = Instant::now();
            while started.elapsed() < Duration::from_millis(350) {
                std::hint::black_box(started);
            }
            sampler.finish()
        });
        // A busy machine may wake the sampler late, never early; the last sample is taken when it is told to finish.
        assert!((1..=4).contains(&samples.len()), "{samples:?}");
        for pair in samples[..samples.len() - 1].windows(2) {
            assert!(pair[1].seconds - pair[0].seconds >= 0.09, "{samples:?}");
        }
        if cfg!(target_os = "linux") {
            // How much of a processor it gets depends on what else the machine does.
            assert!(samples.iter().any(|sample| sample.processors > 0.0));
            assert!(samples.iter().all(|sample| sample.resident_bytes > 0));
            assert!(Host::here().memory_bytes > 0);
        }
    }
}
