//! Zstandard, from a C library that the feature `zstd` links.
//!
//! Without it blocks in zstd cannot be read, and none are written.

use crate::error::StoreResult;

#[cfg(feature = "zstd")]
pub(super) use linked::{ZstdCompressor, ZstdDecompressor};
#[cfg(not(feature = "zstd"))]
pub(super) use missing::{ZstdCompressor, ZstdDecompressor};

#[cfg(feature = "zstd")]
mod linked {
    use super::StoreResult;
    use crate::codec::compression::corrupt;
    use crate::error::{Error, ErrorKind};

    /// Compresses one block after another.
    pub(crate) struct ZstdCompressor(zstd::bulk::Compressor<'static>);

    impl ZstdCompressor {
        /// `InvalidArgument` for a level outside the library's range. `None` in builds without the
        /// library.
        pub(crate) fn new(level: i32) -> StoreResult<Option<Self>> {
            let range = zstd::compression_level_range();
            if !range.contains(&level) {
                return Err(Error::invalid(format!(
                    "zstd level {level} is outside {} to {}",
                    range.start(),
                    range.end()
                )));
            }
            let context = zstd::bulk::Compressor::new(level)
                .map_err(|e| internal("cannot set up zstd").with_source(e))?;
            Ok(Some(Self(context)))
        }

        /// Upper bound of the compressed size of `raw_len` bytes.
        pub(crate) fn bound(raw_len: usize) -> usize {
            zstd::zstd_safe::compress_bound(raw_len)
        }

        pub(crate) fn compress(&mut self, raw: &[u8], out: &mut [u8]) -> StoreResult<usize> {
            let written = self.0.compress_to_buffer(raw, out);
            written.map_err(|e| internal("zstd failed").with_source(e))
        }
    }

    /// Decompresses one block after another.
    pub(crate) struct ZstdDecompressor(zstd::bulk::Decompressor<'static>);

    impl ZstdDecompressor {
        pub(crate) fn new() -> StoreResult<Self> {
            let context = zstd::bulk::Decompressor::new();
            let context = context.map_err(|e| internal("cannot set up zstd").with_source(e))?;
            Ok(Self(context))
        }

        pub(crate) fn decompress(&mut self, stored: &[u8], out: &mut [u8]) -> StoreResult<usize> {
            let written = self.0.decompress_to_buffer(stored, out);
            written.map_err(|e| corrupt("a zstd block does not decompress").with_source(e))
        }
    }

    fn internal(message: &'static str) -> Error {
        Error::new(ErrorKind::Internal, message)
    }
}

#[cfg(not(feature = "zstd"))]
mod missing {
    use super::StoreResult;
    use crate::error::{Error, ErrorKind};

    /// There is none.
    pub(crate) enum ZstdCompressor {}

    impl ZstdCompressor {
        #[expect(clippy::unnecessary_wraps, reason = "as in builds with zstd")]
        pub(crate) fn new(_: i32) -> StoreResult<Option<Self>> {
            Ok(None)
        }

        pub(crate) fn bound(_: usize) -> usize {
            0
        }

        pub(crate) fn compress(&mut self, _: &[u8], _: &mut [u8]) -> StoreResult<usize> {
            match *self {}
        }
    }

    /// There is none.
    pub(crate) enum ZstdDecompressor {}

    impl ZstdDecompressor {
        pub(crate) fn new() -> StoreResult<Self> {
            Err(Error::new(
                ErrorKind::Unsupported,
                "a block is compressed with zstd, and this program was built without it: build it with the feature `zstd`",
            ))
        }

        pub(crate) fn decompress(&mut self, _: &[u8], _: &mut [u8]) -> StoreResult<usize> {
            match *self {}
        }
    }
}
