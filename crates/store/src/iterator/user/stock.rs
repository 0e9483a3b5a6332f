//! All stock iterators in one registry.

use std::sync::Arc;

use ostrakon_cell::IteratorRegistry;

use super::age_off::AgeOffFilter;
use super::filter::ClassOf;
use super::grep::GrepIterator;
use super::labelled::ReqVisFilter;
use super::long_combiner::{LongCombiner, Max, Min, Sum};
use super::regex_filter::RegExFilter;
use super::versioning::Versioning;
use super::whole_row::WholeRow;

/// The classes every store knows; register your own on top.
#[must_use]
pub fn stock_iterators() -> IteratorRegistry {
    let mut registry = IteratorRegistry::new();
    registry.register(Arc::new(Versioning));
    registry.register(Arc::new(WholeRow));
    registry.register(Arc::new(LongCombiner::<Sum>::new()));
    registry.register(Arc::new(LongCombiner::<Min>::new()));
    registry.register(Arc::new(LongCombiner::<Max>::new()));
    registry.register(Arc::new(ClassOf::<AgeOffFilter>::new()));
    registry.register(Arc::new(ClassOf::<RegExFilter>::new()));
    registry.register(Arc::new(ClassOf::<GrepIterator>::new()));
    registry.register(Arc::new(ClassOf::<ReqVisFilter>::new()));
    registry
}
