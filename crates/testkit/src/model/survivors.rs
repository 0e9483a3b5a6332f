//! What must have survived, and what may have.
//!
//! Every acknowledged change is kept since the last moment at which all was certain. After a crash
//! the changes of each table that may be lost are tried: of those in the log a prefix survived, at
//! least up to the last one that was promised; of those outside the log a prefix that was flushed;
//! and one that failed is there whole or not at all. The choice that explains what is found becomes
//! the model's new state; if none does, a promise was broken.

use ostrakon_cell::Durability;

use super::apply::{apply_to_model, stamp_only};
use super::operation::Operation;
use crate::disk::Crash;
use crate::reference_model::{MapSnapshot, MapSource};

/// How sure a change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// Not in the log.
    None,
    Log,
    Flush,
    Sync,
    /// Survives whatever happens.
    Certain,
}

impl Level {
    pub(super) fn of(durability: Durability) -> Self {
        match durability {
            Durability::None => Self::None,
            Durability::Log => Self::Log,
            Durability::Flush => Self::Flush,
            Durability::Sync => Self::Sync,
        }
    }
}

/// One change that was made, or may have been.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// Which table, whatever its name was.
    pub(super) ident: u64,
    pub(super) operation: Operation,
    pub(super) millis: i64,
    /// The times that the source gave to its batches; `None` when they could not be read.
    pub(super) times: Option<Vec<i64>>,
    pub(super) level: Level,
    /// It failed: nobody knows how far it came.
    pub(super) odd: bool,
    /// It was there after the disk had failed and the source was reopened without a power loss. The
    /// sync that failed may have taken the chance to make it durable away for good, so a later power
    /// loss may take it, whatever came after it.
    pub(super) loose: bool,
    /// How many crashes there were before it.
    pub(super) crashes: u64,
    /// A crash took it. It was stamped all the same, and later batches were stamped after it.
    pub(super) lost: bool,
}

pub(super) struct Survivors {
    base: MapSnapshot,
    items: Vec<Item>,
    crashes: u64,
}

impl Survivors {
    pub(super) fn new(base: MapSnapshot) -> Self {
        Self {
            base,
            items: Vec::new(),
            crashes: 0,
        }
    }

    pub(super) fn push(&mut self, item: Item) {
        self.items.push(Item {
            crashes: self.crashes,
            ..item
        });
    }

    pub(super) fn odd_count(&self) -> usize {
        self.items
            .iter()
            .filter(|item| item.odd && !item.lost)
            .count()
    }

    /// Asks for the times of batches that are not known yet.
    pub(super) fn learn_times(&mut self, read: &dyn Fn(u64, &Operation) -> Option<i64>) {
        for item in self.items.iter_mut().filter(|item| item.times.is_none()) {
            item.times = read(item.ident, &item.operation).map(|time| vec![time]);
        }
    }

    /// What a table has in memory went to files.
    pub(super) fn settle(&mut self, ident: u64) {
        for item in &mut self.items {
            if item.ident == ident && !item.odd {
                item.level = Level::Certain;
                item.loose = false;
            }
        }
    }

    /// The source was closed in order: nothing can be lost any more, but what a failed sync took.
    pub(super) fn closed(&mut self, model: &MapSource) {
        for item in self.items.iter_mut().filter(|item| !item.loose) {
            item.level = Level::Certain;
        }
        self.advance(model);
    }

    /// Forgets what can no longer be lost, if that is everything.
    pub(super) fn advance(&mut self, model: &MapSource) {
        if self
            .items
            .iter()
            .all(|item| item.lost || (item.level >= Level::Sync && !item.odd && !item.loose))
        {
            *self = Self::new(model.snapshot());
        }
    }

    fn replay(&self, chosen: &[bool]) -> MapSource {
        let model = MapSource::new();
        model.restore(&self.base);
        let mut crashes = 0;
        for (item, chosen) in self.items.iter().zip(chosen) {
            if crashes < item.crashes {
                crashes = item.crashes;
                model.reopen_times();
            }
            model.set_millis(item.millis);
            model.give_times(item.times.iter().flatten().copied());
            if !chosen {
                // What is lost was stamped, and later batches were stamped after it.
                stamp_only(&model, &item.operation);
                continue;
            }
            // What was refused then is refused now.
            let _ = apply_to_model(&model, &item.operation);
        }
        model
    }

    /// The model as it must be after a crash; `agrees` compares one table.
    pub(super) fn find(
        &mut self,
        crash: Crash,
        after_trouble: bool,
        agrees: &dyn Fn(u64, &MapSource) -> Result<(), String>,
    ) -> Result<MapSource, String> {
        let promised = match crash {
            // Whatever is in the log at all was handed to the operating system.
            Crash::Process => Level::Log,
            _ => Level::Sync,
        };
        let mut chosen: Vec<bool> = self.items.iter().map(|item| !item.lost).collect();
        let mut idents: Vec<u64> = self.items.iter().map(|item| item.ident).collect();
        idents.sort_unstable();
        idents.dedup();
        for ident in idents {
            self.choose(ident, promised, &mut chosen, agrees)?;
        }
        let model = self.replay(&chosen);
        model.reopen_times();
        self.crashes += 1;
        for (item, chosen) in self.items.iter_mut().zip(&chosen) {
            item.lost = !chosen;
        }
        self.items
            .retain(|item| !item.lost || matches!(item.operation, Operation::Write { .. }));
        for item in &mut self.items {
            let failed = std::mem::take(&mut item.odd);
            if crash != Crash::Process {
                // It was on the disk.
                item.level = Level::Certain;
                item.loose = false;
            } else if failed || (after_trouble && item.level < Level::Sync) {
                item.loose = true;
            }
        }
        self.advance(&model);
        Ok(model)
    }

    /// Finds which changes of one table are there.
    fn choose(
        &self,
        ident: u64,
        promised: Level,
        chosen: &mut [bool],
        agrees: &dyn Fn(u64, &MapSource) -> Result<(), String>,
    ) -> Result<(), String> {
        let of_table = |choose: &dyn Fn(&Item) -> bool| -> Vec<usize> {
            (0..self.items.len())
                .filter(|at| {
                    let item = &self.items[*at];
                    item.ident == ident && !item.lost && choose(item)
                })
                .collect()
        };
        let odd = of_table(&|item| item.odd);
        let loose = of_table(&|item| item.loose && item.level < Level::Certain);
        let firm = |item: &Item| !item.odd && !item.loose && item.level < Level::Certain;
        let unlogged = of_table(&|item| firm(item) && item.level == Level::None);
        let logged = of_table(&|item| firm(item) && item.level > Level::None);
        let least = logged
            .iter()
            .rposition(|at| self.items[*at].level >= promised)
            .map_or(0, |at| at + 1);
        // How much of each kind is tried; everything first.
        let mut sizes = Vec::new();
        for of_logged in (least..=logged.len()).rev() {
            for of_unlogged in (0..=unlogged.len()).rev() {
                for of_loose in (0..=loose.len()).rev() {
                    sizes.push((of_logged, of_unlogged, of_loose));
                }
            }
        }
        let mut first_reason = None;
        for (of_logged, of_unlogged, of_loose) in sizes {
            for mask in 0..1_u32 << odd.len() {
                let mut set = |places: &[usize], there: &dyn Fn(usize) -> bool| {
                    for (number, at) in places.iter().enumerate() {
                        chosen[*at] = there(number);
                    }
                };
                set(&logged, &|number| number < of_logged);
                set(&unlogged, &|number| number < of_unlogged);
                set(&loose, &|number| number < of_loose);
                set(&odd, &|number| mask & 1 << number == 0);
                match agrees(ident, &self.replay(chosen)) {
                    Ok(()) => return Ok(()),
                    Err(reason) => first_reason = first_reason.or(Some(reason)),
                }
            }
        }
        Err(format!(
            "no choice of survivors explains what is there ({} logged changes of which {least} were \
             promised, {} unlogged, {} failed, {} from before trouble); with all of them: {}",
            logged.len(),
            unlogged.len(),
            odd.len(),
            loose.len(),
            first_reason.unwrap_or_default()
        ))
    }
}
