//! Makes requests.

use std::fmt::Write as _;

use ostrakon_events::{Epoch, EqualRecords, EventType, Field, Record};

use super::fields::{FIELDS, Make, RequestField};
use crate::draws::{below, mix, unit};

/// Domains that are asked for.
const DOMAINS: usize = 10_000;
/// 10 September 2013, in seconds since 1970.
const START_SECONDS: i64 = 1_378_771_200;
const SECOND: i64 = 1_000_000;
/// Microseconds of an hour.
const HOUR: i64 = 3600 * SECOND;
/// Shards of the event table.
const SHARDS: u16 = 8;
/// The fractional part of the golden ratio: multiples of it fill an interval evenly.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// A class of requests with a known share of all. The classes are values of the field `share`, which has an index.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// The value of the field.
    pub name: &'static str,
    /// The share of all requests.
    pub of_all: f64,
}

const SHARES: [Share; 6] = [
    share("s0.0001", 0.0001),
    share("s0.001", 0.001),
    share("s0.003", 0.003),
    share("s0.01", 0.01),
    share("s0.03", 0.03),
    share("s0.1", 0.1),
];
const REST: &str = "rest";

const fn share(name: &'static str, of_all: f64) -> Share {
    Share { name, of_all }
}

/// Requests over eight hours. The request of a number depends on the seed and on how many there are, and on nothing else.
#[derive(Debug, Clone)]
pub struct WebRequests {
    seed: u64,
    count: u64,
    /// For each domain, the share of requests to it or to a more frequent one.
    domains: Vec<f64>,
}

impl WebRequests {
    /// The event type of the paper.
    pub const TYPE: &'static str = "web_request";

    /// The seed of experiments: the same requests in every run, so that runs can be compared.
    pub const SEED: u64 = 2013;

    /// So many requests.
    #[must_use]
    pub fn new(count: u64, seed: u64) -> Self {
        let sum: f64 = (1..=DOMAINS).map(|rank| 1.0 / rank as f64).sum();
        let mut so_far = 0.0;
        let domains = (1..=DOMAINS).map(|rank| {
            so_far += 1.0 / (rank as f64 * sum);
            so_far
        });
        Self {
            seed,
            count,
            domains: domains.collect(),
        }
    }

    /// How many requests there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The classes with a known share.
    #[must_use]
    pub fn shares() -> &'static [Share] {
        &SHARES
    }

    /// The first time and the first after the last, in microseconds since 1970.
    #[must_use]
    pub fn times(&self) -> (i64, i64) {
        let start = START_SECONDS * SECOND;
        (start, start + 8 * HOUR)
    }

    /// The last hour.
    #[must_use]
    pub fn last_hour(&self) -> (i64, i64) {
        let (_, end) = self.times();
        (end - HOUR, end)
    }

    /// The definition of the event type.
    #[must_use]
    pub fn event_type(&self) -> EventType {
        let field = |field: &RequestField| Field {
            name: field.name.to_owned(),
            kind: field.kind,
            indexed: field.indexed,
            id: None,
        };
        EventType {
            name: Self::TYPE.to_owned(),
            time: "event_time".to_owned(),
            resolution: "us".to_owned(),
            bin: "10m".to_owned(),
            visibility: None,
            visibility_field: None,
            keep: None,
            equal_records: EqualRecords::default(),
            shards: vec![Epoch {
                from: None,
                count: SHARDS,
            }],
            fields: FIELDS.iter().map(field).collect(),
        }
    }

    /// The names of the fields, in the order in which [`fill`](Self::fill) gives them.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        FIELDS.iter().map(|field| field.name.to_owned()).collect()
    }

    /// The time of a request. Requests are in order of time.
    #[must_use]
    pub fn time(&self, number: u64) -> i64 {
        let (from, to) = self.times();
        let (span, count) = ((to - from) as u128, u128::from(self.count.max(1)));
        let start = u128::from(number) * span / count;
        let width = (u128::from(number) + 1) * span / count - start;
        let within = (u128::from(self.draw(number, 0)) * width) >> 64;
        from + (start + within) as i64
    }

    /// The class of a request, if its share is known.
    #[must_use]
    pub fn share(&self, number: u64) -> Option<Share> {
        // Even in time and number, so that small classes have their share too.
        let offset = unit(mix(self.seed));
        let mut place = (number as f64).mul_add(GOLDEN, offset).fract();
        SHARES.into_iter().find(|share| {
            place -= share.of_all;
            place < 0.0
        })
    }

    /// The rank of the domain of a request, from 0, the most frequent.
    #[must_use]
    pub fn domain_rank(&self, number: u64) -> usize {
        let place = unit(self.draw(number, 1));
        let rank = self.domains.partition_point(|&known| known <= place);
        rank.min(DOMAINS - 1)
    }

    /// The name of the domain of that rank.
    #[must_use]
    pub fn domain(rank: usize) -> String {
        format!("site-{rank:05}.example")
    }

    /// Puts a request into `record`.
    pub fn fill(&self, number: u64, record: &mut Record) {
        record.clear();
        let mut text = String::new();
        for (at, field) in (0_u32..).zip(FIELDS) {
            text.clear();
            // A String takes whatever is written.
            let _ = self.value(field.make, number, u64::from(at) + 2, &mut text);
            record.push(at, text.as_bytes());
        }
    }

    fn value(&self, make: Make, number: u64, at: u64, text: &mut String) -> std::fmt::Result {
        let draw = self.draw(number, at);
        match make {
            Make::Time => {
                let time = self.time(number);
                write!(text, "{}.{:06}", time / SECOND, time % SECOND)
            }
            Make::Bin => {
                let bin = 600 * SECOND;
                let time = self.time(number);
                write!(text, "{}", (time - time % bin) / SECOND)
            }
            Make::Domain => text.write_str(&Self::domain(self.domain_rank(number))),
            Make::Share => text.write_str(self.share(number).map_or(REST, |share| share.name)),
            Make::Address(net, hosts) => {
                let host = below(draw, hosts);
                write!(text, "10.{net}.{}.{}", host >> 8, host & 0xff)
            }
            Make::Number(limit) => write!(text, "{}", below(draw, limit)),
            Make::Skewed(limit) => {
                let place = unit(draw);
                write!(text, "{}", (place * place * place * limit as f64) as u64)
            }
            Make::Choice(all) => {
                let place = unit(draw);
                let at = (place * place * all.len() as f64) as usize;
                text.write_str(all.get(at).copied().unwrap_or_default())
            }
            Make::Name(start, count) => write!(text, "{start}{}", below(draw, count)),
            Make::Hex(digits) => {
                for part in 0..digits.div_ceil(16) {
                    let width = (digits - part * 16).min(16);
                    let bits = mix(draw.wrapping_add(part as u64)) >> (64 - 4 * width as u32);
                    write!(text, "{bits:0width$x}")?;
                }
                Ok(())
            }
        }
    }

    /// The random number of a field of a request.
    fn draw(&self, number: u64, at: u64) -> u64 {
        mix(mix(self.seed.wrapping_add(number)) ^ at.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}
