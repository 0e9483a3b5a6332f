//! Decides when a tablet is rewritten as a whole although it has few files: because much of it is
//! garbage, or because it is idle. A pure function of facts about its files.
//!
//! Every rule terminates, without a record of earlier attempts:
//!
//! * Unread bytes and surplus files are gone after a rewrite.
//! * Delete markers count where compactions may drop them, except those in the tablet's oldest file if a compaction
//!   wrote it: markers in such a file were kept or made by the table's iterators.
//! * An entry counts as aged off only if it was younger than the time to live when a compaction wrote its file. So a
//!   file is rewritten when half of the span of its timestamps has passed since, and at most once per halving.

/// Facts about a file that a tablet reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileFacts {
    /// Bytes of it that the tablet reads.
    pub bytes: u64,
    /// Bytes of it that no tablet of the table reads, as far as they are attributed to this tablet.
    pub unread: u64,
    /// Entries in the file.
    pub entries: u64,
    /// Delete markers in the file.
    pub deletes: u64,
    /// Whether no other tablet reads it.
    pub is_own: bool,
    /// Whether a compaction wrote it, not a flush or an import.
    pub is_compacted: bool,
    /// When it was written, milliseconds since 1970.
    pub created_millis: i64,
    /// Oldest and newest timestamp; `None` if they are unknown.
    pub times: Option<(i64, i64)>,
}

/// The rules of the table's properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RewriteRules {
    /// A tablet without writes for this time is compacted fully.
    pub idle_millis: i64,
    /// Compactions drop entries that are older than this, if they do.
    pub ttl_millis: Option<i64>,
    /// Whether compactions keep delete markers.
    pub keeps_markers: bool,
}

/// Why a tablet is rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewriteCause {
    /// At least half of its bytes are garbage.
    Garbage,
    /// It had no writes for long, and is not one compacted file yet.
    Idle,
}

/// When to rewrite a tablet with these files, and why; `None` if not before its files change.
#[must_use]
pub fn next_rewrite(
    files: &[FileFacts],
    rules: RewriteRules,
    now_millis: i64,
) -> Option<(i64, RewriteCause)> {
    if is_half_garbage(files, rules, now_millis) {
        return Some((now_millis, RewriteCause::Garbage));
    }
    let garbage = half_garbage_from(files, rules, now_millis);
    let garbage = garbage.map(|at| (at, RewriteCause::Garbage));
    let idle = idle_from(files, rules).map(|at| (at, RewriteCause::Idle));
    [garbage, idle]
        .into_iter()
        .flatten()
        .min_by_key(|(at, _)| *at)
}

/// Markers that a compaction of all files, newest first, may drop. Those that a compaction left in
/// the oldest file are likely to stay: if they counted, the tablet would be rewritten after every
/// flush.
fn droppable_markers(files: &[FileFacts]) -> u64 {
    let newer = match files.split_last() {
        Some((oldest, newer)) if oldest.is_compacted => newer,
        _ => files,
    };
    newer.iter().map(|file| file.deletes).sum()
}

/// Whether the tablet's files are the output of a compaction of all of them.
fn is_complete(files: &[FileFacts]) -> bool {
    matches!(files, [only] if only.is_compacted)
}

fn is_half_garbage(files: &[FileFacts], rules: RewriteRules, now_millis: i64) -> bool {
    let sum = |part: fn(&FileFacts) -> u64| files.iter().map(part).sum::<u64>() as f64;
    let (bytes, unread) = (sum(|file| file.bytes), sum(|file| file.unread));
    if bytes + unread <= 0.0 {
        return false;
    }
    let aged: f64 = files
        .iter()
        .map(|file| file.bytes as f64 * aged_share(file, rules, now_millis))
        .sum();
    // A marker is garbage, and so is the entry it hides.
    let deleted = if rules.keeps_markers {
        0.0
    } else {
        let share = 2.0 * droppable_markers(files) as f64 / sum(|file| file.entries).max(1.0);
        bytes * share.min(1.0)
    };
    2.0 * (unread + (aged + deleted).min(bytes)) >= bytes + unread
}

/// The oldest timestamp whose age no compaction has checked.
fn oldest_not_judged(file: &FileFacts, ttl_millis: i64) -> Option<i64> {
    let (oldest, newest) = file.times?;
    let judged_up_to = match file.is_compacted {
        true => file.created_millis.saturating_sub(ttl_millis),
        false => i64::MIN,
    };
    Some(oldest.max(judged_up_to)).filter(|oldest| *oldest <= newest)
}

/// The fraction of a file that has aged off since it was written, assuming evenly distributed
/// timestamps.
fn aged_share(file: &FileFacts, rules: RewriteRules, now_millis: i64) -> f64 {
    let Some(ttl) = rules.ttl_millis else {
        return 0.0;
    };
    let (Some(oldest), Some((_, newest))) = (oldest_not_judged(file, ttl), file.times) else {
        return 0.0;
    };
    // Lower timestamps are older than the time to live.
    let limit = now_millis.saturating_sub(ttl);
    let aged = i128::from(limit) - i128::from(oldest);
    let span = i128::from(newest) - i128::from(oldest) + 1;
    (aged as f64 / span as f64).clamp(0.0, 1.0)
}

/// The first moment after `now_millis` at which time alone makes half of the tablet garbage.
fn half_garbage_from(files: &[FileFacts], rules: RewriteRules, now_millis: i64) -> Option<i64> {
    let ttl = rules.ttl_millis?;
    let newest = files
        .iter()
        .filter_map(|file| file.times)
        .map(|(_, newest)| newest);
    // All entries have aged off by then.
    let mut late = newest.max()?.saturating_add(ttl).saturating_add(1);
    if late <= now_millis || !is_half_garbage(files, rules, late) {
        return None;
    }
    let mut early = now_millis;
    while early.saturating_add(1) < late {
        let middle = early.midpoint(late);
        if is_half_garbage(files, rules, middle) {
            late = middle;
        } else {
            early = middle;
        }
    }
    Some(late)
}

/// The time from which on the tablet is compacted fully if nothing is written to it.
fn idle_from(files: &[FileFacts], rules: RewriteRules) -> Option<i64> {
    let newest = files.iter().map(|file| file.created_millis).max()?;
    let idle = newest.saturating_add(rules.idle_millis);
    // A part of a small file shared by neighbours would become a separate file, with no gain.
    let is_part = matches!(files, [only] if !only.is_own);
    if !is_complete(files) && !is_part {
        return Some(idle);
    }
    // The remaining entries that age off, less than half if some timestamps lie far ahead: once per
    // time to live.
    let ttl = rules.ttl_millis?;
    let first = files
        .iter()
        .filter_map(|file| oldest_not_judged(file, ttl))
        .min()?;
    let aged = first.saturating_add(ttl).saturating_add(1);
    let again = newest.saturating_add(ttl.max(rules.idle_millis));
    (aged < i64::MAX).then_some(aged.max(again))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;
    const NOW: i64 = 1_000 * HOUR;

    const RULES: RewriteRules = RewriteRules {
        idle_millis: HOUR,
        ttl_millis: None,
        keeps_markers: false,
    };

    fn aging(ttl_millis: i64) -> RewriteRules {
        RewriteRules {
            ttl_millis: Some(ttl_millis),
            ..RULES
        }
    }

    fn flushed() -> FileFacts {
        FileFacts {
            bytes: 1_000,
            entries: 100,
            is_own: true,
            created_millis: NOW,
            times: Some((NOW - 10 * HOUR, NOW)),
            ..FileFacts::default()
        }
    }

    fn compacted() -> FileFacts {
        FileFacts {
            is_compacted: true,
            ..flushed()
        }
    }

    const GARBAGE_NOW: Option<(i64, RewriteCause)> = Some((NOW, RewriteCause::Garbage));

    #[test]
    fn markers_and_what_they_hide_count() {
        let with = |deletes| FileFacts {
            deletes,
            ..flushed()
        };
        assert_eq!(next_rewrite(&[with(25)], RULES, NOW), GARBAGE_NOW);
        let later = Some((NOW + HOUR, RewriteCause::Idle));
        assert_eq!(next_rewrite(&[with(24)], RULES, NOW), later);
        // Of all files together.
        let old = FileFacts {
            is_compacted: true,
            ..with(0)
        };
        assert_eq!(next_rewrite(&[with(49), old], RULES, NOW), later);
        assert_eq!(next_rewrite(&[with(50), old], RULES, NOW), GARBAGE_NOW);
        // Markers made by iterators stay.
        let only = FileFacts {
            is_compacted: true,
            ..with(100)
        };
        assert_eq!(next_rewrite(&[only], RULES, NOW + 100 * HOUR), None);
        // Also when something small was flushed since.
        let small = FileFacts {
            bytes: 10,
            entries: 1,
            ..flushed()
        };
        assert_eq!(next_rewrite(&[small, only], RULES, NOW), later);
        let keeping = RewriteRules {
            keeps_markers: true,
            ..RULES
        };
        assert_eq!(next_rewrite(&[with(100)], keeping, NOW), later);
    }

    #[test]
    fn unread_bytes_count_as_garbage() {
        let with = |unread| FileFacts {
            unread,
            ..compacted()
        };
        assert_eq!(next_rewrite(&[with(999)], RULES, NOW), None);
        assert_eq!(next_rewrite(&[with(1_000)], RULES, NOW), GARBAGE_NOW);
        let unread = FileFacts {
            bytes: 0,
            ..with(10)
        };
        assert_eq!(next_rewrite(&[unread], RULES, NOW), GARBAGE_NOW);
    }

    #[test]
    fn idle_tablets_end_with_one_compacted_file() {
        let idle = Some((NOW + HOUR, RewriteCause::Idle));
        assert_eq!(next_rewrite(&[flushed()], RULES, NOW), idle);
        assert_eq!(next_rewrite(&[compacted(), flushed()], RULES, NOW), idle);
        let long_after = NOW + 100 * HOUR;
        assert_eq!(next_rewrite(&[flushed()], RULES, long_after), idle);
        assert_eq!(next_rewrite(&[compacted()], RULES, long_after), None);
        assert_eq!(next_rewrite(&[], RULES, long_after), None);
        let shared = FileFacts {
            is_own: false,
            ..flushed()
        };
        assert_eq!(next_rewrite(&[shared], RULES, long_after), None);
        assert_eq!(next_rewrite(&[shared, shared], RULES, NOW), idle);
    }

    /// Rewrites a file as often as the rules say, each time dropping aged-off entries; returns
    /// when.
    fn rewrites(mut file: FileFacts, rules: RewriteRules, drops: bool, until: i64) -> Vec<i64> {
        let (mut now, mut moments) = (NOW, Vec::new());
        while let Some((at, _)) = next_rewrite(&[file], rules, now) {
            now = at.max(now);
            if now > until {
                break;
            }
            moments.push((now - NOW) / HOUR);
            let limit = now - rules.ttl_millis.unwrap_or(i64::MAX);
            let (oldest, newest) = file.times.unwrap_or_default();
            if drops && newest < limit {
                break;
            }
            file.is_compacted = true;
            file.created_millis = now;
            if drops {
                file.times = Some((oldest.max(limit), newest));
            }
            assert!(moments.len() < 100, "{moments:?}");
        }
        moments
    }

    #[test]
    fn a_rewrite_waits_for_half_of_the_entries_to_age_off() {
        // Timestamps of ten hours, up to now.
        let rules = RewriteRules {
            idle_millis: 1_000 * HOUR,
            ..aging(20 * HOUR)
        };
        let until = NOW + 100_000 * HOUR;
        let moments = rewrites(flushed(), rules, true, until);
        assert_eq!(moments[..3], [15, 17, 18]);
        assert!(moments.len() <= 27, "one per halving: {moments:?}");
        // An iterator that drops nothing.
        let moments = rewrites(flushed(), rules, false, until);
        assert!(moments.len() <= 28, "{moments:?}");
    }

    #[test]
    fn entries_of_the_future_do_not_keep_others() {
        let file = FileFacts {
            times: Some((NOW - 10 * HOUR, i64::MAX)),
            ..compacted()
        };
        let until = NOW + 100_000 * HOUR;
        let moments = rewrites(file, aging(20 * HOUR), true, NOW + 100 * HOUR);
        assert_eq!(moments, [20, 40, 60, 80, 100]);
        let only_future = FileFacts {
            times: Some((i64::MAX - 5, i64::MAX)),
            ..file
        };
        assert!(rewrites(only_future, aging(HOUR), true, until).is_empty());
    }

    #[test]
    fn moments_are_found_at_extreme_times() {
        for times in [
            (i64::MIN, i64::MAX),
            (i64::MIN, i64::MIN),
            (i64::MAX, i64::MAX),
        ] {
            let file = FileFacts {
                times: Some(times),
                ..flushed()
            };
            for ttl in [0, i64::MAX] {
                for now in [i64::MIN, 0, i64::MAX] {
                    let _ = next_rewrite(&[file], aging(ttl), now);
                }
            }
        }
    }
}
