//! Windows of time, newest first, whose length follows from how long the last ones took and how many events they had.

use std::time::Duration;

use super::PlannerSettings;
use super::densities::Totals;

/// A window with at most this many events, of which it may return none, does not take its time for them: shorter ones would
/// take as long.
const FEW: f64 = 100.0;

/// Cuts a time into windows, and leaves out bins without events.
pub(super) struct Windows<'a> {
    totals: &'a Totals,
    /// The first bin that may still have events.
    at: usize,
    bin: i64,
    from: i64,
    /// Where the next window ends.
    to: i64,
    span: i64,
    /// About how many events the last window held, found or not.
    held: f64,
    settings: PlannerSettings,
}

impl<'a> Windows<'a> {
    /// Windows from `from` to before `to`. The first should hold `events` events.
    pub(super) fn new(
        totals: &'a Totals,
        bin: i64,
        (from, to): (i64, i64),
        events: u64,
        settings: PlannerSettings,
    ) -> Self {
        let mut windows = Self {
            totals,
            at: 0,
            bin,
            from,
            to,
            span: bin,
            held: 0.0,
            settings,
        };
        let newest = totals.bins.first().map_or(0, |(bin, _)| *bin);
        let mut so_far = 0_u64;
        for &(start, count) in &totals.bins {
            if so_far + count > events {
                if so_far == 0 {
                    let share = events.max(1) as f64 / count.max(1) as f64;
                    windows.span = ((bin as f64 * share) as i64).max(1);
                }
                break;
            }
            so_far += count;
            windows.span = newest.saturating_sub(start).saturating_add(bin);
        }
        windows
    }

    /// The next window.
    pub(super) fn next(&mut self) -> Option<(i64, i64)> {
        while let Some(&(start, count)) = self.totals.bins.get(self.at) {
            let end = start.saturating_add(self.bin);
            if count == 0 || start >= self.to {
                self.at += 1;
                continue;
            }
            let to = self.to.min(end);
            if to <= self.from {
                return None;
            }
            let from = to.saturating_sub(self.span).max(self.from);
            self.to = from;
            self.held = self.events_within(from, to);
            return Some((from, to));
        }
        None
    }

    /// About how many events there are in a time whose end is in the current bin.
    fn events_within(&self, from: i64, to: i64) -> f64 {
        let bins = self.totals.bins.get(self.at..).unwrap_or_default();
        let bins = bins
            .iter()
            .take_while(|(start, _)| start.saturating_add(self.bin) > from);
        bins.map(|&(start, count)| {
            let end = start.saturating_add(self.bin).min(to);
            let share = end.saturating_sub(start.max(from)) as f64 / self.bin as f64;
            count as f64 * share
        })
        .sum()
    }

    /// Takes the window back, to be read in shorter ones; `false` if it cannot be shorter.
    pub(super) fn shorten(&mut self, (from, to): (i64, i64)) -> bool {
        let span = to.saturating_sub(from);
        if span <= 1 {
            return false;
        }
        self.to = to;
        // Bins that the window had passed are looked at again.
        self.at = 0;
        self.span = (span / 8).max(1);
        true
    }

    /// Steers the length of the next window by the time that the last one took, and by the events that it returned.
    pub(super) fn took(&mut self, elapsed: Duration, events: u64) {
        let (growth, most) = (self.settings.growth.max(2), self.settings.window_events);
        let has_few = self.held <= FEW;
        if elapsed > self.settings.long && !has_few || events > most {
            self.span = (self.span / growth).max(1);
        } else if (elapsed < self.settings.short || has_few)
            && events.saturating_mul(growth.unsigned_abs()) <= most
        {
            self.span = self.span.saturating_mul(growth);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(bins: &[(i64, u64)]) -> Totals {
        Totals {
            bins: bins.to_vec(),
        }
    }

    fn all(totals: &Totals, bounds: (i64, i64), events: u64) -> Vec<(i64, i64)> {
        let mut windows = Windows::new(totals, 10, bounds, events, PlannerSettings::default());
        std::iter::from_fn(|| windows.next()).collect()
    }

    #[test]
    fn windows_cover_every_bin_with_events_once_and_newest_first() {
        let sample = totals(&[(90, 5), (50, 5), (40, 0), (0, 5)]);
        assert_eq!(
            all(&sample, (i64::MIN, i64::MAX), 5),
            [(90, 100), (50, 60), (0, 10)]
        );
        assert_eq!(all(&sample, (3, 95), 5), [(85, 95), (50, 60), (3, 10)]);
        assert_eq!(all(&sample, (i64::MIN, i64::MAX), 100), [(0, 100)]);
        assert!(all(&sample, (95, 95), 5).is_empty());
        assert!(all(&totals(&[]), (i64::MIN, i64::MAX), 5).is_empty());
    }

    #[test]
    fn a_window_of_many_events_begins_short() {
        let sample = totals(&[(90, 50)]);
        let windows = all(&sample, (i64::MIN, i64::MAX), 10);
        assert_eq!(windows, [(98, 100), (96, 98), (94, 96), (92, 94), (90, 92)]);
    }

    #[test]
    fn windows_follow_the_time_they_take_and_can_be_taken_back() {
        let sample = totals(&[(90, 5000), (80, 5000)]);
        let mut windows = Windows::new(
            &sample,
            10,
            (i64::MIN, i64::MAX),
            1000,
            PlannerSettings::default(),
        );
        assert_eq!(windows.next(), Some((98, 100)));
        windows.took(Duration::from_millis(1), 0);
        assert_eq!(windows.next(), Some((90, 98)));
        assert!(windows.shorten((90, 98)));
        assert_eq!(windows.next(), Some((97, 98)));
        assert!(!windows.shorten((97, 98)));
        windows.took(Duration::from_secs(9), 0);
        assert_eq!(windows.next(), Some((96, 97)));
    }

    /// If each window takes longer than it should, however short it is, windows must not become shorter and shorter.
    #[test]
    fn windows_with_few_events_do_not_shrink() {
        for bins in [vec![(0, 360)], vec![(3_600_000_000, 1), (0, 1_000_000)]] {
            let sample = totals(&bins);
            let settings = PlannerSettings::default();
            let bin = 3_600_000_000;
            let mut windows = Windows::new(&sample, bin, (i64::MIN, i64::MAX), 1, settings);
            let mut count = 0_u64;
            while windows.next().is_some() {
                windows.took(Duration::from_secs(9), 0);
                count += 1;
            }
            let events: u64 = bins.iter().map(|(_, events)| events).sum();
            assert!(count <= 10 + events / 10, "{count} windows");
        }
    }

    #[test]
    fn windows_follow_the_events_that_they_have() {
        let sample = totals(&[(0, 1_000_000)]);
        let settings = PlannerSettings {
            window_events: 100,
            ..PlannerSettings::default()
        };
        let mut windows = Windows::new(&sample, 1_000_000, (0, 1_000_000), 1000, settings);
        let spans = [0, 25, 26, 100, 101, 25].map(|events| {
            let (from, to) = windows.next().expect("there is more time");
            windows.took(Duration::ZERO, events);
            to - from
        });
        // Four times as many would be within 100 events after 0 and 25, and not after 26.
        assert_eq!(spans, [1000, 4000, 16_000, 16_000, 16_000, 4000]);
        assert_eq!(windows.next().map(|(from, to)| to - from), Some(16_000));
    }
}
