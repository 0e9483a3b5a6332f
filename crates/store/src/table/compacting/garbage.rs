//! Rewrites tablets that hold much garbage, and tablets that had no writes for long.
//!
//! A plan is made from one version of the table in one pass over its tablets, and contains the time
//! at which the next one may be due. Until the version changes or that time comes, a check costs
//! one comparison.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use ostrakon_cell::{Activity, IteratorScope};

use super::job::Job;
use super::with_memory::in_memory;
use crate::catalog::{Fence, FileId};
use crate::compaction::{FileFacts, RewriteCause, RewriteRules, next_rewrite};
use crate::error::StoreResult;
use crate::iterator::time_to_live;
use crate::properties::TableConfig;
use crate::table::core::TableCore;
use crate::version::{TableVersion, TabletFile, TabletView};

/// When a tablet that is due but cannot be rewritten now is checked again.
const AGAIN_MILLIS: i64 = 60_000;

/// Which tablets to rewrite, and when to plan again.
#[derive(Default)]
pub(in crate::table) struct RewritePlan {
    /// The version and properties of the plan.
    of: Option<(Weak<TableVersion>, Weak<TableConfig>)>,
    due: Vec<(Weak<TabletView>, RewriteCause)>,
    next_millis: i64,
}

impl RewritePlan {
    fn is_of(&self, version: &Arc<TableVersion>, config: &Arc<TableConfig>) -> bool {
        self.of.as_ref().is_some_and(|(own_version, own_config)| {
            own_version.as_ptr() == Arc::as_ptr(version)
                && own_config.as_ptr() == Arc::as_ptr(config)
        })
    }
}

impl TableCore {
    /// Rewrites one tablet because of its garbage, or because it is idle. Returns whether it did.
    pub(crate) fn rewrite_one(&self) -> StoreResult<bool> {
        // Another thread that holds the plan does the work too.
        while let Some((tablet, cause)) = self.next_to_rewrite() {
            if cause == RewriteCause::Idle && self.is_written_to(&tablet.extent)? {
                continue;
            }
            let files = tablet.files.clone();
            if self.run_chosen(Job::of_background(tablet, files)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn next_to_rewrite(&self) -> Option<(Arc<TabletView>, RewriteCause)> {
        let mut plan = self.rewrites.try_lock()?;
        let (config, version) = (self.config(), self.version());
        let now = self.context.clock.now_millis();
        if plan.due.is_empty() && !(plan.is_of(&version, &config) && now < plan.next_millis) {
            *plan = self.plan_rewrites(&version, &config, now);
        }
        while let Some((tablet, cause)) = plan.due.pop() {
            // A tablet that changed meanwhile is decided by its next plan.
            let same = |tablet: &Arc<TabletView>| {
                let there = version.with_end_of(&tablet.extent);
                there.is_some_and(|there| Arc::ptr_eq(there, tablet))
            };
            let Some(tablet) = tablet.upgrade().filter(same) else {
                continue;
            };
            if self.is_left_alone(&tablet.extent) {
                plan.next_millis = plan.next_millis.min(now.saturating_add(AGAIN_MILLIS));
                continue;
            }
            // For the case that it fails, is written to, or is taken. Success changes the version,
            // which makes a new plan.
            plan.next_millis = plan.next_millis.min(now.saturating_add(AGAIN_MILLIS));
            return Some((tablet, cause));
        }
        None
    }

    /// Whether background work must avoid a tablet: its last compaction failed and is not due for a
    /// retry, a file of it cannot be read, or a user's compaction has it.
    fn is_left_alone(&self, extent: &Fence) -> bool {
        let clock = &*self.context.clock;
        if !self
            .failures
            .is_due(Activity::Compaction, Some(extent), clock)
            || self.failures.has(Activity::Read, extent)
        {
            return true;
        }
        let busy = self.busy.lock();
        busy.tablets.contains(&extent.through) || busy.is_wanted(extent)
    }

    /// Whether entries of these rows are in memory.
    fn is_written_to(&self, extent: &Fence) -> StoreResult<bool> {
        let memtables = self.snapshot().memtables;
        Ok(in_memory(&memtables, extent)?.0 > 0)
    }

    fn plan_rewrites(
        &self,
        version: &Arc<TableVersion>,
        config: &Arc<TableConfig>,
        now_millis: i64,
    ) -> RewritePlan {
        let mut plan = RewritePlan {
            of: Some((Arc::downgrade(version), Arc::downgrade(config))),
            due: Vec::new(),
            next_millis: i64::MAX,
        };
        // If the iterators are invalid nothing is compacted.
        let Ok(iterators) = config.iterators(IteratorScope::Majc) else {
            return plan;
        };
        let rules = RewriteRules {
            idle_millis: config.idle_millis,
            ttl_millis: time_to_live(iterators),
            keeps_markers: config.deletes_fail,
        };
        let shared = SharedFiles::of(version);
        let mut facts = Vec::new();
        for tablet in version.tablets().iter() {
            facts.clear();
            let files = tablet.files.iter();
            facts.extend(files.map(|file| {
                let mut facts = shared.facts(file, &tablet.extent);
                if rules.ttl_millis.is_some() {
                    facts.times = file.file.times();
                }
                facts
            }));
            match next_rewrite(&facts, rules, now_millis) {
                Some((at, cause)) if at <= now_millis => {
                    plan.due.push((Arc::downgrade(tablet), cause));
                }
                Some((at, _)) => plan.next_millis = plan.next_millis.min(at),
                None => {}
            }
        }
        // Garbage first, from the first row on: the last of the list is taken first.
        plan.due
            .sort_by_key(|(_, cause)| *cause == RewriteCause::Garbage);
        plan
    }
}

/// Bytes read of the files that are fenced or shared by several tablets.
struct SharedFiles(HashMap<FileId, Share>);

#[derive(Default)]
struct Share {
    bytes: u64,
    readers: u32,
}

impl SharedFiles {
    fn of(version: &TableVersion) -> Self {
        let mut shares: HashMap<FileId, Share> = HashMap::new();
        for tablet in version.tablets().iter() {
            for file in tablet.files.iter().filter(|file| !is_whole(file)) {
                let share = shares.entry(file.reference.file).or_default();
                share.bytes += bytes_read(file, &tablet.extent);
                share.readers += 1;
            }
        }
        Self(shares)
    }

    fn facts(&self, file: &TabletFile, extent: &Fence) -> FileFacts {
        let record = file.file.record();
        let facts = FileFacts {
            bytes: file.reference.bytes,
            unread: 0,
            entries: record.entries,
            deletes: record.deletes,
            is_own: true,
            is_compacted: record.generation > 0,
            created_millis: record.created_millis,
            times: None,
        };
        let Some(share) = self.0.get(&record.id) else {
            return facts;
        };
        let bytes = bytes_read(file, extent);
        // Bytes that no tablet reads are attributed to the readers in proportion, as are entries
        // and markers.
        let part = |whole: u64| match share.bytes {
            0 => whole / u64::from(share.readers.max(1)),
            all => (u128::from(whole) * u128::from(bytes) / u128::from(all)) as u64,
        };
        FileFacts {
            bytes,
            unread: part(record.bytes.saturating_sub(share.bytes)),
            entries: part(record.entries),
            deletes: part(record.deletes),
            is_own: share.readers == 1,
            ..facts
        }
    }
}

/// Whether a tablet reads all of the file, according to its reference.
fn is_whole(file: &TabletFile) -> bool {
    let reference = &file.reference;
    reference.fence == Fence::ALL && reference.bytes >= file.file.record().bytes
}

/// Bytes of the file that the tablet reads, from the file's index if the reference has a fence.
fn bytes_read(file: &TabletFile, extent: &Fence) -> u64 {
    let reference = &file.reference;
    if reference.fence == Fence::ALL {
        return reference.bytes;
    }
    let fence = reference.fence.intersection(extent);
    let estimate = fence.map(|fence| file.file.reader().estimate(&fence));
    match estimate {
        None => 0,
        Some(Ok((bytes, _))) => bytes,
        // An unreadable file is reported by its readers.
        Some(Err(_)) => reference.bytes,
    }
}
