//! The messages of a file, one after another.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::buffer::{Buffer, MutableBuffer};
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::convert::fb_to_schema;
use datafusion::arrow::ipc::{
    Block, MetadataVersion, Schema as IpcSchema, root_as_footer, root_as_message,
};
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use ostrakon_cell::{Error, ErrorKind};

use super::message::damaged;
use crate::files::naming::shown;

/// What a file of the file format begins and ends with.
const MAGIC: &[u8; 6] = b"ARROW1";
/// What a file of Feather's first version begins with, which has a format of its own.
const FEATHER_1: &[u8; 4] = b"FEA1";
/// Behind the footer: its length and the magic.
const TAIL_BYTES: u64 = 10;
/// What a message begins with, before the length of its metadata. Old writers leave it out.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// A message as it is in the file: metadata with what stands before them, and a body.
pub(super) struct Frame {
    pub(super) bytes: Buffer,
    /// Bytes before the metadata, and up to their end.
    prefix: usize,
    metadata: usize,
}

impl Frame {
    /// As the library names its lengths.
    ///
    /// # Errors
    /// Metadata of more than 2 GiB.
    pub(super) fn block(&self) -> Result<Block, ArrowError> {
        let too_long = |_| damaged("a message is too long");
        let metadata = i32::try_from(self.metadata).map_err(too_long)?;
        let body = i64::try_from(self.bytes.len() - self.metadata).map_err(too_long)?;
        Ok(Block::new(0, metadata, body))
    }

    pub(super) fn metadata(&self) -> &[u8] {
        self.bytes
            .get(self.prefix..self.metadata)
            .unwrap_or_default()
    }

    pub(super) fn body(&self) -> &[u8] {
        self.bytes.get(self.metadata..).unwrap_or_default()
    }
}

/// A schema, if its values are in this machine's order of bytes: the library takes them as they are.
fn readable(schema: IpcSchema<'_>) -> Result<SchemaRef> {
    match schema.endianness().equals_to_target_endianness() {
        true => Ok(Arc::new(fb_to_schema(schema))),
        false => Err(damaged(
            "the values are in the byte order of another kind of processor, which is not supported; write the file on \
             such a machine as this one",
        )
        .into()),
    }
}

/// Where the messages are.
enum Places {
    /// The last one first.
    Listed(Vec<Block>),
    /// One after the other.
    Next,
}

/// The messages of a file that follow its schema: dictionaries and rows.
pub(super) struct Frames {
    path: PathBuf,
    file: File,
    bytes: u64,
    /// The most bytes of a message.
    limit: u64,
    places: Places,
    pub(super) schema: SchemaRef,
    pub(super) version: MetadataVersion,
}

impl Frames {
    /// Opens a file.
    ///
    /// # Errors
    /// It cannot be read, or is not of Arrow.
    pub(super) fn open(path: &Path, limit: u64) -> Result<Self> {
        let mut file = File::open(path)?;
        let bytes = file.metadata()?.len();
        let mut start = Vec::new();
        (&mut file)
            .take(MAGIC.len() as u64)
            .read_to_end(&mut start)?;
        if start.starts_with(FEATHER_1) {
            return Err(damaged(
                "the file has version 1 of the format Feather; write it with version 2",
            )
            .into());
        }
        let is_listed = start == MAGIC;
        file.seek(SeekFrom::Start(0))?;
        let frames = Self {
            path: path.to_path_buf(),
            file,
            bytes,
            limit,
            places: Places::Next,
            schema: Arc::new(Schema::empty()),
            version: MetadataVersion::V5,
        };
        match is_listed {
            true => frames.with_footer(),
            false => frames.with_schema(),
        }
    }

    /// The file format: its footer lists the messages.
    fn with_footer(mut self) -> Result<Self> {
        let cut = || damaged("the file has no footer: it is incomplete");
        let tail_at = self.bytes.checked_sub(TAIL_BYTES).ok_or_else(cut)?;
        self.file.seek(SeekFrom::Start(tail_at))?;
        let mut tail = [0; TAIL_BYTES as usize];
        self.file.read_exact(&mut tail)?;
        let (length, magic) = tail.split_at(4);
        if magic != MAGIC {
            return Err(cut().into());
        }
        let length = <[u8; 4]>::try_from(length).map(i32::from_le_bytes);
        let length = length.ok().and_then(|length| u64::try_from(length).ok());
        let footer_at = length
            .filter(|length| *length <= self.limit)
            .and_then(|length| tail_at.checked_sub(length))
            .ok_or_else(|| damaged("the footer has an impossible length"))?;
        self.file.seek(SeekFrom::Start(footer_at))?;
        let mut footer = Vec::new();
        (&mut self.file)
            .take(tail_at - footer_at)
            .read_to_end(&mut footer)?;
        let footer = root_as_footer(&footer)
            .map_err(|error| damaged(&format!("the footer is damaged: {error}")))?;
        let schema = footer
            .schema()
            .ok_or_else(|| damaged("the footer has no schema"))?;
        self.schema = readable(schema)?;
        self.version = footer.version();
        let dictionaries = footer.dictionaries().into_iter().flatten();
        let rows = footer.recordBatches().into_iter().flatten();
        let mut blocks: Vec<Block> = dictionaries.chain(rows).copied().collect();
        blocks.reverse();
        self.places = Places::Listed(blocks);
        Ok(self)
    }

    /// The stream format: the schema is the first message.
    fn with_schema(mut self) -> Result<Self> {
        let no_schema = || damaged("the file is not of Arrow: it does not begin with a schema");
        let frame = self.next_in_order()?.ok_or_else(no_schema)?;
        let message = root_as_message(frame.metadata()).map_err(|_| no_schema())?;
        let schema = message.header_as_schema().ok_or_else(no_schema)?;
        self.schema = readable(schema)?;
        self.version = message.version();
        Ok(self)
    }

    /// The next message; `None` after the last one.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub(super) fn next(&mut self) -> Result<Option<Frame>> {
        match &mut self.places {
            Places::Next => self.next_in_order(),
            Places::Listed(blocks) => match blocks.pop() {
                Some(block) => self.at(&block).map(Some),
                None => Ok(None),
            },
        }
    }

    fn at(&mut self, block: &Block) -> Result<Frame> {
        let outside = || damaged("the footer names a part outside of the file");
        let start = u64::try_from(block.offset()).map_err(|_| outside())?;
        let metadata = u64::try_from(block.metaDataLength()).map_err(|_| outside())?;
        let body = u64::try_from(block.bodyLength()).map_err(|_| outside())?;
        let length = metadata.checked_add(body).ok_or_else(outside)?;
        if start.checked_add(length).is_none_or(|end| end > self.bytes) {
            return Err(outside().into());
        }
        self.file.seek(SeekFrom::Start(start))?;
        let bytes = self.read(length)?;
        let prefix = match bytes.starts_with(&CONTINUATION) {
            true => 8,
            false => 4,
        };
        let metadata = usize::try_from(metadata).map_err(|_| outside())?;
        match metadata >= prefix {
            true => Ok(Frame {
                bytes,
                prefix,
                metadata,
            }),
            false => Err(damaged("a message without metadata").into()),
        }
    }

    fn next_in_order(&mut self) -> Result<Option<Frame>> {
        let start = self.file.stream_position()?;
        let left = self.bytes.saturating_sub(start);
        // The mark of the end may be left out.
        if left == 0 {
            return Ok(None);
        }
        let cut = || damaged("the file ends in the middle of a message: it is incomplete");
        let mut head = Vec::new();
        (&mut self.file).take(8).read_to_end(&mut head)?;
        let (prefix, length) = match head.strip_prefix(&CONTINUATION) {
            Some(length) => (8, length),
            None => (4, head.get(..4).unwrap_or_default()),
        };
        let length = <[u8; 4]>::try_from(length).map_err(|_| cut())?;
        let length = match u64::from(u32::from_le_bytes(length)) {
            0 => return Ok(None),
            length => length,
        };
        let metadata = prefix + length;
        if metadata > left {
            return Err(cut().into());
        }
        self.file.seek(SeekFrom::Start(start + prefix))?;
        let read = self.read(length)?;
        let message = root_as_message(&read)
            .map_err(|error| damaged(&format!("a message is damaged: {error}")))?;
        let body = u64::try_from(message.bodyLength())
            .map_err(|_| damaged("a message has an impossible length"))?;
        let whole = metadata.checked_add(body).filter(|whole| *whole <= left);
        let whole = whole.ok_or_else(cut)?;
        self.file.seek(SeekFrom::Start(start))?;
        let bytes = self.read(whole)?;
        let place = |place: u64| usize::try_from(place).map_err(|_| cut());
        Ok(Some(Frame {
            bytes,
            prefix: place(prefix)?,
            metadata: place(metadata)?,
        }))
    }

    /// Reads so many bytes, which the file has.
    fn read(&mut self, length: u64) -> Result<Buffer> {
        let length = usize::try_from(length)
            .ok()
            .filter(|_| length <= self.limit)
            .ok_or_else(|| self.too_large())?;
        let mut bytes = MutableBuffer::from_len_zeroed(length);
        self.file.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }

    /// The error for a part of the file that does not fit into memory.
    pub(super) fn too_large(&self) -> DataFusionError {
        let error = Error::new(
            ErrorKind::InvalidArgument,
            "a batch of the file has more bytes than the memory of the query allows: give it more memory, or write the \
             file with fewer rows in a batch",
        );
        let error = error.with("file", shown(&self.path));
        DataFusionError::External(Box::new(
            error.with("limit", self.limit).with("data", "a file"),
        ))
    }
}
