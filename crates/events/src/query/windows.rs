//! Windows of time, newest first, whose length follows from how long the last ones took and how many events they had.

use std::time::Duration;

use super::PlannerSettings;
use super::densities::Totals;

/// A window with at most this many events, of which it may return none, does not take its time for them: shorter ones would
/// take as long.
const FEW: f64 = 100.0;

/// Whether all of the time is one window, whatever the totals say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whole {
    No,
    /// The next window is.
    Next,
    /// The last window was.
    Given,
    /// It was taken back.
    TooLong,
}

/// Cuts a time into windows, and leaves out bins without events.
pub(super) struct Windows {
    totals: Totals,
    whole: Whole,
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

impl Windows {
    /// Windows from `from` to before `to`. The first should hold `events` events; `totals` must hold more, or be complete.
    pub(super) fn new(
        totals: Totals,
        bin: i64,
        (from, to): (i64, i64),
        events: u64,
        settings: PlannerSettings,
    ) -> Self {
        let newest = totals.bins.first().map_or(0, |(bin, _)| *bin);
        let (mut span, mut so_far) = (bin, 0_u64);
        for &(start, count) in &totals.bins {
            if so_far + count > events {
                if so_far == 0 {
                    let share = events.max(1) as f64 / count.max(1) as f64;
                    span = ((bin as f64 * share) as i64).max(1);
                }
                break;
            }
            so_far += count;
            span = newest.saturating_sub(start).saturating_add(bin);
        }
        Self {
            totals,
            whole: Whole::No,
            at: 0,
            bin,
            from,
            to,
            span,
            held: 0.0,
            settings,
        }
    }

    /// One window from `from` to before `to`, for an answer that is estimated to be short. No totals are needed unless it
    /// is [shortened](Self::shorten).
    pub(super) fn whole(
        totals: Totals,
        bin: i64,
        (from, to): (i64, i64),
        settings: PlannerSettings,
    ) -> Self {
        Self {
            totals,
            whole: if from < to { Whole::Next } else { Whole::No },
            at: 0,
            bin,
            from,
            to,
            span: to.saturating_sub(from),
            held: 0.0,
            settings,
        }
    }

    /// The totals, if older ones have to be read before the next window is known.
    pub(super) fn incomplete(&mut self) -> Option<&mut Totals> {
        let unread = self.totals.unread?;
        if self.whole == Whole::Next || self.to <= self.from {
            return None;
        }
        let bins = self.totals.bins.get(self.at..).unwrap_or_default();
        let next = bins
            .iter()
            .find(|&&(start, count)| count > 0 && start < self.to);
        let is_known = next.is_some_and(|&(start, _)| {
            let to = self.to.min(start.saturating_add(self.bin));
            to.saturating_sub(self.span) >= unread
        });
        (!is_known).then_some(&mut self.totals)
    }

    /// The next window.
    pub(super) fn next(&mut self) -> Option<(i64, i64)> {
        if self.whole == Whole::Next {
            self.whole = Whole::Given;
            return Some((self.from, std::mem::replace(&mut self.to, self.from)));
        }
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
            if self.whole == Whole::TooLong
                && let Some((oldest, _)) = self.totals.bins.last()
            {
                // An eighth of the time that has events.
                self.span = (to.saturating_sub(*oldest) / 8).max(1);
                self.whole = Whole::No;
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
        if self.whole == Whole::Given {
            // `next` finds out how long the time with events is.
            (self.whole, self.span) = (Whole::TooLong, span);
        } else {
            self.span = (span / 8).max(1);
        }
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
            unread: None,
        }
    }

    fn all(totals: &Totals, bounds: (i64, i64), events: u64) -> Vec<(i64, i64)> {
        let mut windows = Windows::new(
            totals.clone(),
            10,
            bounds,
            events,
            PlannerSettings::default(),
        );
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
            sample,
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

    /// Windows are the same, whether bins are read before they are needed or all at first.
    #[test]
    fn older_bins_are_read_when_a_window_reaches_them() {
        let bins: Vec<(i64, u64)> = (0..200)
            .rev()
            .map(|at| (at * 10, 1 + at as u64 % 7))
            .collect();
        for (from, to) in [(i64::MIN, i64::MAX), (995, 1504), (0, 2000)] {
            let whole = totals(&bins);
            let expected = all(&whole, (from, to), 3);
            let newest: Vec<_> = bins
                .iter()
                .copied()
                .filter(|(start, _)| *start < to)
                .collect();
            let (mut read, mut most) = (5, 0);
            let partial = Totals {
                bins: newest.iter().copied().take(read).collect(),
                unread: newest.get(read - 1).map(|(start, _)| *start),
            };
            let settings = PlannerSettings::default();
            let mut windows = Windows::new(partial, 10, (from, to), 3, settings);
            let mut seen = Vec::new();
            loop {
                while let Some(totals) = windows.incomplete() {
                    read = (read * 2).min(newest.len());
                    totals.bins = newest.iter().copied().take(read).collect();
                    let last = newest.get(read - 1).map(|(start, _)| *start);
                    totals.unread = last.filter(|_| read < newest.len());
                }
                most = most.max(read);
                match windows.next() {
                    Some(window) => seen.push(window),
                    None => break,
                }
                if seen.len() == 3 {
                    assert!(
                        most < newest.len() / 2,
                        "{most} bins are read for three windows"
                    );
                }
            }
            assert_eq!(seen, expected, "from {from} to {to}");
        }
    }

    #[test]
    fn a_whole_window_is_cut_where_there_are_events_if_it_holds_too_many() {
        let bins: Vec<(i64, u64)> = (0..64).rev().map(|at| (at * 10, 1)).collect();
        let unread = Totals {
            bins: Vec::new(),
            unread: Some(i64::MAX),
        };
        let bounds = (i64::MIN, i64::MAX);
        let mut windows = Windows::whole(unread, 10, bounds, PlannerSettings::default());
        assert!(windows.incomplete().is_none());
        let whole = windows.next().expect("all of the time");
        assert_eq!(whole, bounds);
        assert!(windows.incomplete().is_none() && windows.shorten(whole));
        *windows.incomplete().expect("totals are needed now") = totals(&bins);
        // All events are within 640 microseconds.
        let first = windows.next().expect("the events");
        assert_eq!(first, (560, 640));
        assert!(windows.shorten(first));
        let seen: Vec<_> = std::iter::from_fn(|| windows.next()).collect();
        assert_eq!((seen.len(), seen[0], seen[63]), (64, (630, 640), (0, 10)));
    }

    /// If each window takes longer than it should, however short it is, windows must not become shorter and shorter.
    #[test]
    fn windows_with_few_events_do_not_shrink() {
        for bins in [vec![(0, 360)], vec![(3_600_000_000, 1), (0, 1_000_000)]] {
            let sample = totals(&bins);
            let settings = PlannerSettings::default();
            let bin = 3_600_000_000;
            let mut windows = Windows::new(sample, bin, (i64::MIN, i64::MAX), 1, settings);
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
        let mut windows = Windows::new(sample, 1_000_000, (0, 1_000_000), 1000, settings);
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
