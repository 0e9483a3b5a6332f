//! Checks the lengths in a message before the library uses them.

use std::io::{self, Read};

use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::{CompressionType, Message, RecordBatch};

/// The most rows of a batch, and values of a column in it: so many that no product with a width overflows.
const ROWS_MAX: i64 = u32::MAX as i64;
/// What a compressed buffer begins with: its length after decompression, or this if it is not compressed.
const LENGTH_BYTES: usize = 8;
const NOT_COMPRESSED: i64 = -1;

pub(super) fn damaged(what: &str) -> ArrowError {
    ArrowError::IpcError(what.to_owned())
}

/// A message whose lengths were checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checked {
    /// A dictionary: its id, whether it extends the one before, and its bytes in memory.
    Dictionary(i64, bool, u64),
    /// Rows, with their bytes in memory.
    Rows(u64),
    /// Something without a body that counts.
    Other,
}

/// Checks a message and its body.
///
/// # Errors
/// A length that the body does not have.
pub(super) fn check(message: &Message<'_>, body: &[u8]) -> Result<Checked, ArrowError> {
    if let Some(dictionary) = message.header_as_dictionary_batch() {
        let batch = dictionary
            .data()
            .ok_or_else(|| damaged("a dictionary without values"))?;
        let bytes = check_batch(&batch, body)?;
        return Ok(Checked::Dictionary(
            dictionary.id(),
            dictionary.isDelta(),
            bytes,
        ));
    }
    match message.header_as_record_batch() {
        Some(batch) => Ok(Checked::Rows(check_batch(&batch, body)?)),
        None => Ok(Checked::Other),
    }
}

/// The bytes that a batch has in memory.
fn check_batch(batch: &RecordBatch<'_>, body: &[u8]) -> Result<u64, ArrowError> {
    let is_count = |count: i64| (0..=ROWS_MAX).contains(&count);
    if !is_count(batch.length()) {
        return Err(damaged("a batch with an impossible number of rows"));
    }
    for node in batch.nodes().iter().flatten() {
        if !is_count(node.length()) || !(0..=node.length()).contains(&node.null_count()) {
            return Err(damaged("a column with an impossible number of values"));
        }
    }
    let mut bytes = 0_u64;
    let mut buffers = 0_i64;
    for buffer in batch.buffers().iter().flatten() {
        let part = usize::try_from(buffer.offset())
            .ok()
            .zip(usize::try_from(buffer.length()).ok())
            .and_then(|(start, length)| body.get(start..start.checked_add(length)?))
            .ok_or_else(|| damaged("a buffer outside of its message"))?;
        let length = match batch.compression() {
            Some(codec) if !part.is_empty() => decompressed(part, codec.codec())?,
            _ => part.len() as u64,
        };
        bytes = bytes.saturating_add(length);
        buffers += 1;
    }
    for count in batch.variadicBufferCounts().iter().flatten() {
        if !(0..=buffers).contains(&count) {
            return Err(damaged("a column with an impossible number of buffers"));
        }
    }
    Ok(bytes)
}

/// The bytes of a buffer after decompression.
fn decompressed(buffer: &[u8], codec: CompressionType) -> Result<u64, ArrowError> {
    let too_short = || damaged("a compressed buffer without its length");
    let (length, rest) = buffer
        .split_first_chunk::<LENGTH_BYTES>()
        .ok_or_else(too_short)?;
    let length = i64::from_le_bytes(*length);
    if length == NOT_COMPRESSED {
        return Ok(rest.len() as u64);
    }
    let wrong = || damaged("a compressed buffer with a wrong length");
    let length = u64::try_from(length).map_err(|_| wrong())?;
    // Of LZ4 the library takes as much as there is, whatever the length says.
    if codec == CompressionType::LZ4_FRAME && length > 0 {
        let content = lz4_flex::frame::FrameDecoder::new(rest);
        let found = io::copy(&mut content.take(length.saturating_add(1)), &mut io::sink());
        if found.map_err(|_| wrong())? != length {
            return Err(wrong());
        }
    }
    Ok(length)
}
