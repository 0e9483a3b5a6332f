//! Data blocks: sequences of sorted entries stored column by column.
//!
//! The columns are lanes: arrays of equal width, so that the position of any entry can be computed.
//! A block is searched and decoded without unpacking it first.

mod builder;
mod cached_blocks;
mod choose;
mod decode;
mod decode_picks;
mod format;
mod front;
mod lane;
mod search;

pub(super) use builder::BlockBuilder;
pub(super) use cached_blocks::{CachedBlockIndex, Home};
pub(super) use choose::{ChoiceScratch, Chosen};
pub(super) use decode::{DecodeError, DecodeScratch};
pub(crate) use format::Block;
pub(super) use lane::{IntLane, put_ints_u64};
