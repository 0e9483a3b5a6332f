//! Small codecs shared by everything that reaches the disk: checksums, integers, common prefixes, block compression.
//!
//! Decoders here never panic on any bytes: they answer `None` or an error.

pub mod bytes;
pub mod checksum;
pub mod compression;
pub mod lanes;
pub mod prefix;
pub mod varint;

pub use bytes::ByteReader;
pub use checksum::{Checksum, checksum};
pub use compression::{BlockCodec, Compression, Compressor, Decompressor, RAW_BYTES_MAX};
pub use lanes::{LaneWidth, Lanes};
pub use prefix::common_prefix_len;
