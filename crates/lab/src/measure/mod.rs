//! Measurement: rates against time, latencies, what the process and the machine did meanwhile.

mod host;
mod latency;
mod rates;
mod statistics;

pub use host::{Host, HostSample, HostSampler, Usage};
pub use latency::{Latencies, LatencySummary};
pub use rates::{RateSample, RateSampler, Watched, max_rate};
pub use statistics::{Spread, spread};
