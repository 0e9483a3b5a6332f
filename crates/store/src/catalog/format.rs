//! The bytes of catalog records. Page: `docs/format/catalog.md`.
//!
//! redb keeps the records in tables that map bytes to bytes; this module defines the bytes.
//!
//! ```text
//! value      := version:u8, fields, checksum:u32         (`format` has no version byte)
//! version    := 1; of a file or a table 2
//! checksum   := CRC-32C over the key, then the value up to here
//! text, row  := len:varint bytes
//!
//! meta       "format"         -> format:u32
//! meta       "store"          -> instance:text created_millis:i64 next_table:u32 next_file:u64
//!                                wal_low_water:u64
//! meta       "commit"         -> commits:u64             (absent before the first commit)
//! meta       "log"            -> segment:u64 [bytes:u64] (absent before the first closing; bytes not 0)
//! meta       "properties"     -> properties              (of the whole store; absent before the first)
//! tables     table            -> name:text time_type:u8 state:u8 flushed_sequence:u64
//!                                flushed_time:i64 created_millis:i64 namespace:u32 properties
//!                                (version 1: without namespace, and without the version of properties)
//! namespaces namespace        -> name:text created_millis:i64 properties
//! names      name             -> table:u32
//! tablets    table end        -> count:varint { file:u64 bytes:varint entries:varint flags:u8
//!                                [after:row] [through:row] }
//! files      file             -> bytes:u64 entries:u64 deletes:u64 oldest:u64 newest:u64
//!                                created_millis:i64 generation:u32 identity:u64 first:row last:row
//!                                (version 1: one number in place of oldest and newest, which are equal, and no
//!                                identity: it is 0)
//! references file table end   -> nothing at all
//! users      name             -> secret:text created_millis:i64 permissions:u64
//!                                count:varint { authorization:text }
//! grants     scope:u8 id:u32 name -> permissions:u64     (id big-endian; scope 1 namespace, 2 table)
//! modules    name             -> kind:u8 bytes:u64 sum:u64 created_millis:i64 description:text
//! problems   table activity:u8 end -> kind:text message:text times:u64 since_millis:i64
//! counters   name             -> value:u64
//!
//! properties := version:u64 count:varint { name:text value:text }
//! table      := u32, big-endian                          (in keys, so that they order as numbers)
//! namespace  := u32, big-endian                          (0 the default one, 0xffffffff `accumulo`)
//! file       := u64, big-endian
//! end        := 0:u8 last row of the tablet | 1:u8       (the last tablet of a table)
//! flags      := 1 after is there, 2 through is there
//! ```
//!
//! The checksum covers the key, so that a value moved to another key is detected as well as an
//! altered one.

#![deny(clippy::indexing_slicing)]

use std::collections::BTreeSet;

use ostrakon_cell::{Properties, TimeType};

use super::age::AgeRange;
use super::fence::Fence;
use super::records::{
    FileId, FileRecord, FileReference, GrantScope, ModuleRecord, NamespaceId, NamespaceRecord,
    ProblemRecord, PropertiesRecord, TableId, TableRecord, TableState, UserRecord,
};
use crate::codec::{ByteReader, Checksum, put_length_prefixed, varint};
use crate::error::{Error, ErrorKind, StoreResult};

/// The format this software writes. Raise it for any change that an older version would misread.
pub const CATALOG_FORMAT: u32 = 3;
/// The oldest format this software reads.
pub const CATALOG_FORMAT_OLDEST: u32 = 1;

/// The version byte of every record, except of files and tables.
const RECORD_VERSION: u8 = 1;
/// The version byte of a table's record.
const TABLE_RECORD_VERSION: u8 = 2;
/// The version byte of a file's record.
const FILE_RECORD_VERSION: u8 = 2;

/// Key of the format number in the table `meta`. The encoding of its value never changes: four
/// bytes, then the checksum.
pub const FORMAT_KEY: &[u8] = b"format";
/// Key of the store's own record in the table `meta`.
pub const STORE_KEY: &[u8] = b"store";
/// Key of the number of commits in the table `meta`: shows which of two copies is newer.
pub const COMMIT_KEY: &[u8] = b"commit";
/// Key of the properties of the whole store in the table `meta`.
pub const PROPERTIES_KEY: &[u8] = b"properties";
/// Key of the last segment of the log when the store was last closed, in the table `meta`.
pub const LOG_KEY: &[u8] = b"log";

/// The store-wide record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreRecord {
    /// The instance id: 36 characters, as a UUID is written.
    pub instance: String,
    /// When the store was created, milliseconds since 1970.
    pub created_millis: i64,
    /// The next table gets this id.
    pub next_table: u32,
    /// Every file has an id below this.
    pub next_file: u64,
    /// No segment of the log may be missing from this number on, up to the last existing one;
    /// segments with lower numbers may be deleted if they are not needed. 0: unknown, as in format
    /// 1.
    pub wal_low_water: u64,
}

/// The end of the log when the store was last closed cleanly. There may be later segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogEnd {
    /// The last segment with a record; 0 if the store was never closed.
    pub segment: u64,
    /// Bytes of it that were on the disk; 0 if unknown.
    pub bytes: u64,
}

fn corrupt(what: &str, problem: &str) -> Error {
    Error::new(
        ErrorKind::Corruption,
        format!("{what} in the catalog {problem}"),
    )
}

/// Appends to a value the checksum over its key and itself.
fn seal(key: &[u8], mut value: Vec<u8>) -> Vec<u8> {
    let sum = sum_of(key, &value);
    value.extend_from_slice(&sum.to_le_bytes());
    value
}

fn sum_of(key: &[u8], value: &[u8]) -> u32 {
    let mut sum = Checksum::new();
    sum.update(key);
    sum.update(value);
    sum.value()
}

/// The fields of a sealed value, after its checksum and version were checked.
fn unseal<'a>(what: &str, key: &[u8], value: &'a [u8]) -> StoreResult<ByteReader<'a>> {
    match unseal_versioned(what, key, value)? {
        (RECORD_VERSION, fields) => Ok(fields),
        _ => Err(corrupt(what, "has an unknown version")),
    }
}

/// The version and the fields of a sealed value, after its checksum was checked.
fn unseal_versioned<'a>(
    what: &str,
    key: &[u8],
    value: &'a [u8],
) -> StoreResult<(u8, ByteReader<'a>)> {
    let (body, sum) = value
        .split_last_chunk::<4>()
        .ok_or_else(|| corrupt(what, "is too short"))?;
    if sum_of(key, body) != u32::from_le_bytes(*sum) {
        return Err(corrupt(what, "fails its checksum"));
    }
    let mut fields = ByteReader::new(body);
    let version = fields.u8().ok_or_else(|| corrupt(what, "is too short"))?;
    Ok((version, fields))
}

/// Turns the `None` of fields that are incomplete, or of leftover bytes, into an error.
fn finish<T>(what: &str, fields: ByteReader<'_>, value: Option<T>) -> StoreResult<T> {
    match value {
        Some(value) if fields.is_empty() => Ok(value),
        Some(_) => Err(corrupt(what, "is too long")),
        None => Err(corrupt(what, "is malformed")),
    }
}

/// The value under [`FORMAT_KEY`].
pub fn encode_format(format: u32) -> Vec<u8> {
    seal(FORMAT_KEY, format.to_le_bytes().to_vec())
}

/// The format number of the catalog.
pub fn decode_format(value: &[u8]) -> StoreResult<u32> {
    let what = "the format number";
    let (body, sum) = value
        .split_last_chunk::<4>()
        .ok_or_else(|| corrupt(what, "is too short"))?;
    if sum_of(FORMAT_KEY, body) != u32::from_le_bytes(*sum) {
        return Err(corrupt(what, "fails its checksum"));
    }
    let mut fields = ByteReader::new(body);
    let format = fields.u32();
    finish(what, fields, format)
}

/// The value under [`STORE_KEY`].
pub fn encode_store(store: &StoreRecord) -> Vec<u8> {
    let mut out = vec![RECORD_VERSION];
    put_length_prefixed(&mut out, store.instance.as_bytes());
    out.extend_from_slice(&store.created_millis.to_le_bytes());
    out.extend_from_slice(&store.next_table.to_le_bytes());
    out.extend_from_slice(&store.next_file.to_le_bytes());
    out.extend_from_slice(&store.wal_low_water.to_le_bytes());
    seal(STORE_KEY, out)
}

/// The store's own record.
pub fn decode_store(value: &[u8]) -> StoreResult<StoreRecord> {
    let what = "the store's record";
    let mut fields = unseal(what, STORE_KEY, value)?;
    let mut read = || {
        Some(StoreRecord {
            instance: text(fields.length_prefixed()?)?,
            created_millis: fields.i64()?,
            next_table: fields.u32()?,
            next_file: fields.u64()?,
            wal_low_water: fields.u64()?,
        })
    };
    let store = read();
    finish(what, fields, store)
}

/// The value under [`COMMIT_KEY`].
pub fn encode_commit(commits: u64) -> Vec<u8> {
    encode_number(COMMIT_KEY, commits)
}

/// The number of commits to the catalog.
pub fn decode_commit(value: &[u8]) -> StoreResult<u64> {
    decode_number("the number of commits", COMMIT_KEY, value)
}

/// The value under [`LOG_KEY`].
pub fn encode_log(end: LogEnd) -> Vec<u8> {
    let mut out = vec![RECORD_VERSION];
    out.extend_from_slice(&end.segment.to_le_bytes());
    if end.bytes > 0 {
        out.extend_from_slice(&end.bytes.to_le_bytes());
    }
    seal(LOG_KEY, out)
}

/// The end of the log when the store was closed.
pub fn decode_log(value: &[u8]) -> StoreResult<LogEnd> {
    let what = "the end of the log";
    let mut fields = unseal(what, LOG_KEY, value)?;
    let mut read = || {
        let segment = fields.u64()?;
        let bytes = match fields.is_empty() {
            true => 0,
            false => fields.u64().filter(|bytes| *bytes > 0)?,
        };
        Some(LogEnd { segment, bytes })
    };
    let end = read();
    finish(what, fields, end)
}

fn encode_number(key: &[u8], number: u64) -> Vec<u8> {
    let mut out = vec![RECORD_VERSION];
    out.extend_from_slice(&number.to_le_bytes());
    seal(key, out)
}

fn decode_number(what: &str, key: &[u8], value: &[u8]) -> StoreResult<u64> {
    let mut fields = unseal(what, key, value)?;
    let number = fields.u64();
    finish(what, fields, number)
}

/// Key of a table in `tables`.
pub fn table_key(id: TableId) -> [u8; 4] {
    id.0.to_be_bytes()
}

/// The value of a table in `tables`.
pub fn encode_table(table: &TableRecord) -> Vec<u8> {
    let mut out = vec![TABLE_RECORD_VERSION];
    put_length_prefixed(&mut out, table.name.as_bytes());
    out.push(match table.time_type {
        TimeType::Millis => 0,
        TimeType::Logical => 1,
    });
    out.push(match table.state {
        TableState::Online => 0,
        TableState::Offline => 1,
    });
    out.extend_from_slice(&table.flushed_sequence.to_le_bytes());
    out.extend_from_slice(&table.flushed_time.to_le_bytes());
    out.extend_from_slice(&table.created_millis.to_le_bytes());
    out.extend_from_slice(&table.namespace.0.to_le_bytes());
    put_properties(&mut out, &table.own);
    seal(&table_key(table.id), out)
}

/// A table from its key and value.
pub fn decode_table(key: &[u8], value: &[u8]) -> StoreResult<TableRecord> {
    let what = "a table";
    let (version, mut fields) = unseal_versioned(what, key, value)?;
    if !(RECORD_VERSION..=TABLE_RECORD_VERSION).contains(&version) {
        return Err(corrupt(what, "has an unknown version"));
    }
    let mut read = || {
        let id = TableId(u32::from_be_bytes(key.try_into().ok()?));
        let name = text(fields.length_prefixed()?)?;
        let time_type = match fields.u8()? {
            0 => TimeType::Millis,
            1 => TimeType::Logical,
            _ => return None,
        };
        let state = match fields.u8()? {
            0 => TableState::Online,
            1 => TableState::Offline,
            _ => return None,
        };
        let flushed_sequence = fields.u64()?;
        let flushed_time = fields.i64()?;
        let created_millis = fields.i64()?;
        let (namespace, own) = match version {
            RECORD_VERSION => {
                let own = PropertiesRecord {
                    version: 0,
                    properties: read_properties(&mut fields)?,
                };
                (NamespaceId::DEFAULT, own)
            }
            _ => (
                NamespaceId(fields.u32()?),
                read_versioned_properties(&mut fields)?,
            ),
        };
        Some(TableRecord {
            id,
            name,
            time_type,
            state,
            namespace,
            own,
            flushed_sequence,
            flushed_time,
            created_millis,
        })
    };
    let table = read();
    finish(what, fields, table)
}

fn put_properties(out: &mut Vec<u8>, own: &PropertiesRecord) {
    out.extend_from_slice(&own.version.to_le_bytes());
    varint::put_u64(out, own.properties.len() as u64);
    for (name, value) in &own.properties {
        put_length_prefixed(out, name.as_bytes());
        put_length_prefixed(out, value.as_bytes());
    }
}

fn read_versioned_properties(fields: &mut ByteReader<'_>) -> Option<PropertiesRecord> {
    Some(PropertiesRecord {
        version: fields.u64()?,
        properties: read_properties(fields)?,
    })
}

fn read_properties(fields: &mut ByteReader<'_>) -> Option<Properties> {
    let mut properties = Properties::new();
    for _ in 0..fields.varint_u64()? {
        let name = text(fields.length_prefixed()?)?;
        properties.insert(name, text(fields.length_prefixed()?)?);
    }
    Some(properties)
}

/// The value under [`PROPERTIES_KEY`].
pub fn encode_system_properties(own: &PropertiesRecord) -> Vec<u8> {
    let mut out = vec![RECORD_VERSION];
    put_properties(&mut out, own);
    seal(PROPERTIES_KEY, out)
}

/// The properties of the whole store.
pub fn decode_system_properties(value: &[u8]) -> StoreResult<PropertiesRecord> {
    let what = "the record of the store's properties";
    let mut fields = unseal(what, PROPERTIES_KEY, value)?;
    let own = read_versioned_properties(&mut fields);
    finish(what, fields, own)
}

/// Key of a namespace in `namespaces`.
pub fn namespace_key(id: NamespaceId) -> [u8; 4] {
    id.0.to_be_bytes()
}

/// The value of a namespace in `namespaces`.
pub fn encode_namespace(namespace: &NamespaceRecord) -> Vec<u8> {
    let mut out = vec![RECORD_VERSION];
    put_length_prefixed(&mut out, namespace.name.as_bytes());
    out.extend_from_slice(&namespace.created_millis.to_le_bytes());
    put_properties(&mut out, &namespace.own);
    seal(&namespace_key(namespace.id), out)
}

/// A namespace from its key and value.
pub fn decode_namespace(key: &[u8], value: &[u8]) -> StoreResult<NamespaceRecord> {
    let what = "a namespace";
    let mut fields = unseal(what, key, value)?;
    let mut read = || {
        Some(NamespaceRecord {
            id: NamespaceId(u32::from_be_bytes(key.try_into().ok()?)),
            name: text(fields.length_prefixed()?)?,
            created_millis: fields.i64()?,
            own: read_versioned_properties(&mut fields)?,
        })
    };
    let namespace = read();
    finish(what, fields, namespace)
}

/// The value of a user in `users`, whose key is the name.
pub fn encode_user(user: &UserRecord) -> Vec<u8> {
    let mut out = vec![RECORD_VERSION];
    put_length_prefixed(&mut out, user.secret.as_bytes());
    out.extend_from_slice(&user.created_millis.to_le_bytes());
    out.extend_from_slice(&user.permissions.to_le_bytes());
    varint::put_u64(&mut out, user.authorizations.len() as u64);
    for authorization in &user.authorizations {
        put_length_prefixed(&mut out, authorization);
    }
    seal(user.name.as_bytes(), out)
}

/// A user from its key and value.
pub fn decode_user(key: &[u8], value: &[u8]) -> StoreResult<UserRecord> {
    let what = "a user";
    let mut fields = unseal(what, key, value)?;
    let mut read = || {
        let mut user = UserRecord {
            name: text(key)?,
            secret: text(fields.length_prefixed()?)?,
            created_millis: fields.i64()?,
            permissions: fields.u64()?,
            authorizations: BTreeSet::new(),
        };
        for _ in 0..fields.varint_u64()? {
            user.authorizations
                .insert(fields.length_prefixed()?.to_vec());
        }
        Some(user)
    };
    let user = read();
    finish(what, fields, user)
}

/// Key of a grant in `grants`: its scope, then the user.
pub fn grant_key(scope: &GrantScope, user: &str) -> Vec<u8> {
    let (kind, id) = match scope {
        GrantScope::Namespace(id) => (1, id.0),
        GrantScope::Table(id) => (2, id.0),
    };
    let mut key = vec![kind];
    key.extend_from_slice(&id.to_be_bytes());
    key.extend_from_slice(user.as_bytes());
    key
}

/// The scope of a grant, and the user.
pub fn decode_grant_key(key: &[u8]) -> StoreResult<(GrantScope, String)> {
    let read = || {
        let (kind, rest) = key.split_first()?;
        let (id, user) = rest.split_first_chunk::<4>()?;
        let id = u32::from_be_bytes(*id);
        let scope = match kind {
            1 => GrantScope::Namespace(NamespaceId(id)),
            2 => GrantScope::Table(TableId(id)),
            _ => return None,
        };
        Some((scope, text(user)?))
    };
    read().ok_or_else(|| corrupt("the key of a grant", "is malformed"))
}

/// A number under a key: permissions in `grants`, or the value of a counter.
pub fn encode_numbered(key: &[u8], number: u64) -> Vec<u8> {
    encode_number(key, number)
}

/// The permissions of a grant, or the value of a counter.
pub fn decode_numbered(what: &str, key: &[u8], value: &[u8]) -> StoreResult<u64> {
    decode_number(what, key, value)
}

/// The value of a module in `modules`, whose key is the name.
pub fn encode_module(module: &ModuleRecord) -> Vec<u8> {
    let mut out = vec![RECORD_VERSION, module.kind];
    out.extend_from_slice(&module.bytes.to_le_bytes());
    out.extend_from_slice(&module.sum.to_le_bytes());
    out.extend_from_slice(&module.created_millis.to_le_bytes());
    put_length_prefixed(&mut out, module.description.as_bytes());
    seal(module.name.as_bytes(), out)
}

/// A module from its key and value.
pub fn decode_module(key: &[u8], value: &[u8]) -> StoreResult<ModuleRecord> {
    let what = "a module";
    let mut fields = unseal(what, key, value)?;
    let mut read = || {
        Some(ModuleRecord {
            name: text(key)?,
            kind: fields.u8()?,
            bytes: fields.u64()?,
            sum: fields.u64()?,
            created_millis: fields.i64()?,
            description: text(fields.length_prefixed()?)?,
        })
    };
    let module = read();
    finish(what, fields, module)
}

/// Key of a problem in `problems`: the table, what failed, the tablet as in [`tablet_key`].
pub fn problem_key(table: TableId, activity: u8, end: Option<&[u8]>) -> Vec<u8> {
    let mut key = tablet_key(table, end);
    key.insert(4, activity);
    key
}

/// The value of a problem in `problems`.
pub fn encode_problem(problem: &ProblemRecord) -> Vec<u8> {
    let mut out = vec![RECORD_VERSION];
    put_length_prefixed(&mut out, problem.kind.as_bytes());
    put_length_prefixed(&mut out, problem.message.as_bytes());
    out.extend_from_slice(&problem.times.to_le_bytes());
    out.extend_from_slice(&problem.since_millis.to_le_bytes());
    let key = problem_key(problem.table, problem.activity, problem.end.as_deref());
    seal(&key, out)
}

/// A problem from its key and value.
pub fn decode_problem(key: &[u8], value: &[u8]) -> StoreResult<ProblemRecord> {
    let what = "a problem";
    let mut fields = unseal(what, key, value)?;
    let place = || {
        let (table, rest) = key.split_first_chunk::<4>()?;
        let (activity, rest) = rest.split_first()?;
        let end = match rest.split_first()? {
            (0, row) => Some(row.to_vec()),
            (1, []) => None,
            _ => return None,
        };
        Some((TableId(u32::from_be_bytes(*table)), *activity, end))
    };
    let mut read = || {
        let (table, activity, end) = place()?;
        Some(ProblemRecord {
            table,
            activity,
            end,
            kind: text(fields.length_prefixed()?)?,
            message: text(fields.length_prefixed()?)?,
            times: fields.u64()?,
            since_millis: fields.i64()?,
        })
    };
    let problem = read();
    finish(what, fields, problem)
}

/// The value of a name in `names`, whose key is the name.
pub fn encode_name(name: &[u8], id: TableId) -> Vec<u8> {
    let mut out = vec![RECORD_VERSION];
    out.extend_from_slice(&id.0.to_le_bytes());
    seal(name, out)
}

/// The table that has a name.
pub fn decode_name(name: &[u8], value: &[u8]) -> StoreResult<TableId> {
    let what = "a table name";
    let mut fields = unseal(what, name, value)?;
    let id = fields.u32().map(TableId);
    finish(what, fields, id)
}

/// Key of a tablet in `tablets`: its table, then its end row. The last tablet of a table, which has
/// no end row, comes after all others.
pub fn tablet_key(table: TableId, end_row: Option<&[u8]>) -> Vec<u8> {
    let mut key = Vec::with_capacity(5 + end_row.map_or(0, <[u8]>::len));
    key.extend_from_slice(&table_key(table));
    match end_row {
        Some(row) => {
            key.push(0);
            key.extend_from_slice(row);
        }
        None => key.push(1),
    }
    key
}

/// The table and last row of a tablet's key.
pub fn decode_tablet_key(key: &[u8]) -> StoreResult<(TableId, Option<&[u8]>)> {
    let read = || {
        let (table, end) = key.split_first_chunk::<4>()?;
        let table = TableId(u32::from_be_bytes(*table));
        match end.split_first()? {
            (0, row) => Some((table, Some(row))),
            (1, []) => Some((table, None)),
            _ => None,
        }
    };
    read().ok_or_else(|| corrupt("the key of a tablet", "is malformed"))
}

const HAS_AFTER: u8 = 1;
const HAS_THROUGH: u8 = 2;

/// The value of a tablet in `tablets`.
pub fn encode_tablet(key: &[u8], files: &[FileReference]) -> Vec<u8> {
    let mut out = vec![RECORD_VERSION];
    varint::put_u64(&mut out, files.len() as u64);
    for reference in files {
        out.extend_from_slice(&reference.file.0.to_le_bytes());
        varint::put_u64(&mut out, reference.bytes);
        varint::put_u64(&mut out, reference.entries);
        let Fence { after, through } = &reference.fence;
        let has_after = if after.is_some() { HAS_AFTER } else { 0 };
        out.push(has_after | if through.is_some() { HAS_THROUGH } else { 0 });
        for row in [after, through].into_iter().flatten() {
            put_length_prefixed(&mut out, row);
        }
    }
    seal(key, out)
}

/// The files of a tablet, from its key and value.
pub fn decode_tablet(key: &[u8], value: &[u8]) -> StoreResult<Vec<FileReference>> {
    let what = "a tablet";
    let mut fields = unseal(what, key, value)?;
    let mut read = || {
        let count = fields.varint_u64()?;
        // A reference takes at least eleven bytes; a wrong count must not reserve more memory than
        // the bytes can fill.
        let mut files =
            Vec::with_capacity(usize::try_from(count).ok()?.min(fields.remaining() / 11));
        for _ in 0..count {
            let file = FileId(fields.u64()?);
            let bytes = fields.varint_u64()?;
            let entries = fields.varint_u64()?;
            let flags = fields.u8()?;
            if flags & !(HAS_AFTER | HAS_THROUGH) != 0 {
                return None;
            }
            let mut row = |flag| match flags & flag {
                0 => Some(None),
                _ => fields.length_prefixed().map(|row| Some(row.to_vec())),
            };
            let fence = Fence::new(row(HAS_AFTER)?, row(HAS_THROUGH)?);
            files.push(FileReference {
                file,
                fence,
                bytes,
                entries,
            });
        }
        Some(files)
    };
    let files = read();
    finish(what, fields, files)
}

/// Key of a file in `files`.
pub fn file_key(id: FileId) -> [u8; 8] {
    id.0.to_be_bytes()
}

/// The value of a file in `files`.
pub fn encode_file(file: &FileRecord) -> Vec<u8> {
    let mut out = vec![FILE_RECORD_VERSION];
    out.extend_from_slice(&file.bytes.to_le_bytes());
    out.extend_from_slice(&file.entries.to_le_bytes());
    out.extend_from_slice(&file.deletes.to_le_bytes());
    out.extend_from_slice(&file.ages.oldest.to_le_bytes());
    out.extend_from_slice(&file.ages.newest.to_le_bytes());
    out.extend_from_slice(&file.created_millis.to_le_bytes());
    out.extend_from_slice(&file.generation.to_le_bytes());
    out.extend_from_slice(&file.identity.to_le_bytes());
    put_length_prefixed(&mut out, &file.first_row);
    put_length_prefixed(&mut out, &file.last_row);
    seal(&file_key(file.id), out)
}

/// A file from its key and value.
pub fn decode_file(key: &[u8], value: &[u8]) -> StoreResult<FileRecord> {
    let what = "a file";
    let (version, mut fields) = unseal_versioned(what, key, value)?;
    if !(RECORD_VERSION..=FILE_RECORD_VERSION).contains(&version) {
        return Err(corrupt(what, "has an unknown version"));
    }
    let mut read = || {
        Some(FileRecord {
            id: FileId(u64::from_be_bytes(key.try_into().ok()?)),
            bytes: fields.u64()?,
            entries: fields.u64()?,
            deletes: fields.u64()?,
            ages: match version {
                RECORD_VERSION => AgeRange::at(fields.u64()?),
                _ => AgeRange {
                    oldest: fields.u64()?,
                    newest: fields.u64()?,
                },
            },
            created_millis: fields.i64()?,
            generation: fields.u32()?,
            identity: match version {
                RECORD_VERSION => 0,
                _ => fields.u64()?,
            },
            first_row: fields.length_prefixed()?.to_vec(),
            last_row: fields.length_prefixed()?.to_vec(),
        })
    };
    let file = read();
    finish(what, fields, file)
}

/// Key in `references`, which has no values: the file, then the tablet that refers to it.
pub fn reference_key(file: FileId, tablet_key: &[u8]) -> Vec<u8> {
    [&file_key(file)[..], tablet_key].concat()
}

/// The file and the tablet's key of a key in `references`.
pub fn decode_reference_key(key: &[u8]) -> StoreResult<(FileId, &[u8])> {
    match key.split_first_chunk::<8>() {
        Some((file, tablet)) => Ok((FileId(u64::from_be_bytes(*file)), tablet)),
        None => Err(corrupt("a reference to a file", "is malformed")),
    }
}

fn text(bytes: &[u8]) -> Option<String> {
    Some(std::str::from_utf8(bytes).ok()?.to_owned())
}

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;
