//! Measurement: rates against time, latencies, activity of the process and the machine.

mod host;
mod latency;
mod rates;
mod statistics;

pub use host::{Host, HostSample, HostSampler, Usage, thread_processor_seconds};
pub use latency::{Latencies, LatencySummary};
pub use rates::{RateSample, RateSampler, Watched, is_steady, max_rate, mean_rate};
pub use statistics::{Spread, spread};
