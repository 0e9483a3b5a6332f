//! Sentences about the queries of web requests.

use super::super::sawyer2013::{Crossover, crossover};
use super::super::unit::Unit;
use super::rows::{Rows, rate, times};

/// A share in percent.
fn share(value: f64) -> String {
    format!("{} %", Unit::Count.show(value * 100.0))
}

impl Rows<'_> {
    /// The highest value of a metric, and the row that has it.
    fn highest(&self, metric: &str) -> Option<(&str, f64)> {
        let of = self.0.iter().filter_map(|row| {
            let mean = row.metrics.get(metric)?.mean;
            Some((row.name.as_str(), mean))
        });
        of.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    pub(super) fn scan_limit(&self) -> Option<String> {
        let (name, highest) = self.highest("scan.rate")?;
        Some(format!(
            "The highest rate: {} entries/s with {name}, in one process; the paper approaches 500,000 from 8 servers.",
            rate(highest)
        ))
    }

    pub(super) fn handled(&self) -> Option<String> {
        let (name, highest) = self.highest("select.handled_rate")?;
        Some(format!(
            "Entries handled: at most {}/s ({name}); the paper 11 to 12 M/s on 8 servers.",
            rate(highest)
        ))
    }

    pub(super) fn crossover(&self) -> Option<String> {
        let found = match crossover(self.0)? {
            Crossover::At(at) => format!("below {} of the events", share(at)),
            Crossover::Below(least) => {
                format!("at no share measured (the least is {})", share(least))
            }
            Crossover::Above(most) => {
                format!("at every share measured (the largest is {})", share(most))
            }
        };
        Some(format!(
            "The index is faster than the scan {found}; the paper recommends it below about 1 %."
        ))
    }

    pub(super) fn threshold(&self) -> Option<String> {
        let measured = self.of("calibration", "calibrate.threshold")?;
        Some(format!(
            "The threshold that the planner measures for itself: {}.",
            share(measured)
        ))
    }

    pub(super) fn best_speedup(&self, metric: &str, what: &str) -> Option<String> {
        let (name, highest) = self.highest(metric)?;
        Some(format!(
            "{what}: the highest speed-up is {} with {name}.",
            times(highest)
        ))
    }

    pub(super) fn lookups(&self) -> Option<String> {
        let (two, four) = (
            self.of("2 clients", "lookup.speedup")?,
            self.of("4 clients", "lookup.speedup"),
        );
        let step = self.of("1 client", "index.seconds")? / self.of("1 client", "lookup.seconds")?;
        let four = four.map_or_else(String::new, |four| format!(", 4 clients {}", times(four)));
        Some(format!(
            "2 clients are {} as fast as one{four}; the paper: slower than one. The index step alone takes {} of the time; \
             the paper 1 to 2 %.",
            times(two),
            share(step)
        ))
    }

    pub(super) fn windows(&self, frequency: &str) -> Option<String> {
        let path = if frequency == "rare" { "index" } else { "scan" };
        let of = |how: &str, metric: &str| self.of(&format!("{frequency}, {path}, {how}"), metric);
        let first = |how: &str| of(how, "planned.first_seconds");
        let all = |how: &str| of(how, "planned.seconds");
        let seconds = |value: f64| Unit::Seconds.show(value);
        Some(format!(
            "A {frequency} value by {path}: the first result after {} in windows and {} at once, all after {} and {}.",
            seconds(first("in windows")?),
            seconds(first("at once")?),
            seconds(all("in windows")?),
            seconds(all("at once")?)
        ))
    }

    pub(super) fn paths(&self) -> Option<String> {
        let mut found = Vec::new();
        for frequency in ["frequent", "medium", "rare"] {
            let of = |path: &str| {
                self.of(
                    &format!("{frequency}, {path}, in windows"),
                    "planned.seconds",
                )
            };
            let factor = of("scan")? / of("index")?;
            found.push(format!("{frequency} {}", times(factor)));
        }
        Some(format!(
            "All results by index, as a multiple of the speed by scan: {}.",
            found.join(", ")
        ))
    }
}
