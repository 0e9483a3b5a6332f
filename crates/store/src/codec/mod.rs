//! Small codecs for everything that is stored: checksums, integers, common prefixes, block
//! compression.
//!
//! Decoders never panic on any bytes: they return `None` or an error.

mod bytes;
mod checksum;
mod compression;
pub mod lanes;
mod prefetch;
mod prefix;
pub mod varint;
mod zstandard;

pub use bytes::{ByteReader, put_length_prefixed};
pub use checksum::{Checksum, checksum};
pub use compression::{BlockCodec, Compression, Compressor, Decompressor, RAW_BYTES_MAX};
pub use lanes::{LaneWidth, Lanes};
pub(crate) use prefetch::{prefetch, prefetch_pointed, prefetch_value};
pub use prefix::{common_prefix_len, order_prefix};
