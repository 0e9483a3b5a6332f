#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use proptest::prelude::*;

use super::*;

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..20)
}

fn references() -> impl Strategy<Value = FileReference> {
    let row = || proptest::option::of(bytes());
    (any::<u64>(), row(), row(), any::<u64>(), any::<u64>()).prop_map(
        |(file, after, through, bytes, entries)| FileReference {
            file: FileId(file),
            fence: Fence::new(after, through),
            bytes,
            entries,
        },
    )
}

fn tables() -> impl Strategy<Value = TableRecord> {
    let properties = proptest::collection::btree_map(".{0,8}", ".{0,8}", 0..4);
    (
        any::<((u32, u32, u64), bool, bool, u64, i64, i64)>(),
        ".{0,12}",
        properties,
    )
        .prop_map(
            |(
                (
                    (id, namespace, version),
                    logical,
                    offline,
                    flushed_sequence,
                    flushed_time,
                    created_millis,
                ),
                name,
                properties,
            )| {
                TableRecord {
                    id: TableId(id),
                    name,
                    time_type: if logical {
                        TimeType::Logical
                    } else {
                        TimeType::Millis
                    },
                    state: if offline {
                        TableState::Offline
                    } else {
                        TableState::Online
                    },
                    namespace: NamespaceId(namespace),
                    own: PropertiesRecord {
                        version,
                        properties,
                    },
                    flushed_sequence,
                    flushed_time,
                    created_millis,
                }
            },
        )
}

fn file(seed: u64) -> FileRecord {
    FileRecord {
        id: FileId(seed),
        bytes: seed ^ 1,
        entries: seed ^ 2,
        deletes: seed ^ 3,
        first_row: seed.to_le_bytes().to_vec(),
        last_row: vec![],
        generation: seed as u32 ^ 4,
        identity: seed ^ 8,
        ages: AgeRange {
            oldest: seed ^ 5,
            newest: seed ^ 7,
        },
        created_millis: seed as i64 ^ 6,
    }
}

fn store(seed: u64) -> StoreRecord {
    StoreRecord {
        instance: format!("{seed:x}"),
        created_millis: seed as i64 ^ 1,
        next_table: seed as u32 ^ 2,
        next_file: seed ^ 3,
        wal_low_water: seed ^ 4,
    }
}

/// Every single-bit change and every truncation of a value must be an error.
fn every_change_is_found<T>(value: &[u8], decode: impl Fn(&[u8]) -> StoreResult<T>) {
    assert!(decode(value).is_ok());
    for index in 0..value.len() {
        for bit in 0..8 {
            let mut changed = value.to_vec();
            changed[index] ^= 1 << bit;
            let found = decode(&changed).map(|_| ()).unwrap_err();
            assert_eq!(
                found.kind(),
                ErrorKind::Corruption,
                "byte {index} bit {bit}"
            );
        }
        assert!(decode(&value[..index]).is_err(), "cut at {index}");
    }
}

#[test]
fn the_bytes_of_format_1_are_frozen() {
    assert_eq!(encode_format(1), [1, 0, 0, 0, 0x33, 0x08, 0x89, 0x0b]);
    let key = tablet_key(TableId(0x0102), Some(b"row"));
    assert_eq!(key, [0, 0, 1, 2, 0, b'r', b'o', b'w']);
    assert_eq!(tablet_key(TableId(7), None), [0, 0, 0, 7, 1]);
    let reference = FileReference {
        file: FileId(5),
        fence: Fence::new(None, Some(b"m".to_vec())),
        bytes: 300,
        entries: 2,
    };
    let value = encode_tablet(&key, &[reference]);
    let fields = [1, 1, 5, 0, 0, 0, 0, 0, 0, 0, 0xac, 2, 2, 2, 1, b'm'];
    assert_eq!(value[..value.len() - 4], fields);
}

#[test]
fn changed_values_are_detected() {
    every_change_is_found(&encode_format(CATALOG_FORMAT), decode_format);
    every_change_is_found(&encode_store(&store(99)), decode_store);
    every_change_is_found(&encode_commit(99), decode_commit);
    let end = LogEnd {
        segment: 99,
        bytes: 100,
    };
    every_change_is_found(&encode_log(end), decode_log);
    every_change_is_found(&encode_log(LogEnd { bytes: 0, ..end }), decode_log);
    every_change_is_found(&encode_file(&file(99)), |value| {
        decode_file(&file_key(FileId(99)), value)
    });
    every_change_is_found(&encode_name(b"graph", TableId(3)), |value| {
        decode_name(b"graph", value)
    });
}

#[test]
fn a_value_under_another_key_is_detected() {
    let value = encode_file(&file(1));
    assert!(decode_file(&file_key(FileId(2)), &value).is_err());
    let value = encode_name(b"a", TableId(3));
    assert!(decode_name(b"b", &value).is_err());
}

#[test]
fn invalid_fields_with_a_valid_checksum_are_rejected() {
    // The checksum is valid, so these were written deliberately: still no panic and no large
    // allocation.
    let key = tablet_key(TableId(1), None);
    let huge_count = seal(&key, vec![1, 0xff, 0xff, 0xff, 0xff, 0x7f]);
    let unknown_version = seal(&key, vec![9, 0]);
    let unknown_flag = seal(&key, vec![1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4]);
    let trailing = seal(&key, vec![1, 0, 0]);
    for value in [huge_count, unknown_version, unknown_flag, trailing] {
        assert_eq!(
            decode_tablet(&key, &value).unwrap_err().kind(),
            ErrorKind::Corruption
        );
    }
}

proptest! {
    #[test]
    fn tablets_round_trip(
        table: u32,
        end in proptest::option::of(bytes()),
        files in proptest::collection::vec(references(), 0..6),
    ) {
        let key = tablet_key(TableId(table), end.as_deref());
        prop_assert_eq!(decode_tablet_key(&key).unwrap(), (TableId(table), end.as_deref()));
        let value = encode_tablet(&key, &files);
        prop_assert_eq!(decode_tablet(&key, &value).unwrap(), files);
        let file = FileId(u64::from(table) << 20);
        let reference = reference_key(file, &key);
        prop_assert_eq!(decode_reference_key(&reference).unwrap(), (file, &key[..]));
    }

    #[test]
    fn tables_round_trip(table in tables()) {
        let value = encode_table(&table);
        prop_assert_eq!(decode_table(&table_key(table.id), &value).unwrap(), table.clone());
        let namespace = NamespaceRecord {
            id: table.namespace,
            name: table.name,
            created_millis: table.created_millis,
            own: table.own.clone(),
        };
        let value = encode_namespace(&namespace);
        let key = namespace_key(namespace.id);
        prop_assert_eq!(decode_namespace(&key, &value).unwrap(), namespace);
        let value = encode_system_properties(&table.own);
        prop_assert_eq!(decode_system_properties(&value).unwrap(), table.own);
    }

    #[test]
    fn users_and_what_is_kept_for_them_round_trip(
        seed: u64,
        name in ".{0,8}",
        labels in proptest::collection::btree_set(bytes(), 0..4),
        end in proptest::option::of(bytes()),
    ) {
        let user = UserRecord {
            name: name.clone(),
            secret: format!("{seed:x}"),
            created_millis: seed as i64 ^ 1,
            permissions: seed ^ 2,
            authorizations: labels,
        };
        let value = encode_user(&user);
        prop_assert_eq!(decode_user(name.as_bytes(), &value).unwrap(), user);
        for scope in [
            GrantScope::Namespace(NamespaceId(seed as u32)),
            GrantScope::Table(TableId(seed as u32)),
        ] {
            let key = grant_key(&scope, &name);
            prop_assert_eq!(decode_grant_key(&key).unwrap(), (scope, name.clone()));
            let value = encode_numbered(&key, seed);
            prop_assert_eq!(decode_numbered("a grant", &key, &value).unwrap(), seed);
        }
        let module = ModuleRecord {
            name: name.clone(),
            kind: 1,
            bytes: seed ^ 3,
            sum: seed ^ 4,
            created_millis: seed as i64 ^ 5,
            description: format!("{seed}"),
        };
        let value = encode_module(&module);
        prop_assert_eq!(decode_module(name.as_bytes(), &value).unwrap(), module);
        let problem = ProblemRecord {
            table: TableId(seed as u32),
            activity: seed as u8,
            end,
            kind: name.clone(),
            message: name,
            times: seed ^ 6,
            since_millis: seed as i64 ^ 7,
        };
        let key = problem_key(problem.table, problem.activity, problem.end.as_deref());
        let value = encode_problem(&problem);
        prop_assert_eq!(decode_problem(&key, &value).unwrap(), problem);
    }

    #[test]
    fn other_records_round_trip(seed: u64) {
        let value = encode_file(&file(seed));
        prop_assert_eq!(decode_file(&file_key(FileId(seed)), &value).unwrap(), file(seed));
        prop_assert_eq!(decode_store(&encode_store(&store(seed))).unwrap(), store(seed));
        prop_assert_eq!(decode_format(&encode_format(seed as u32)).unwrap(), seed as u32);
        prop_assert_eq!(decode_commit(&encode_commit(seed)).unwrap(), seed);
        let end = LogEnd { segment: seed, bytes: seed ^ 1 };
        prop_assert_eq!(decode_log(&encode_log(end)).unwrap(), end);
        let unknown = LogEnd { segment: seed, bytes: 0 };
        prop_assert_eq!(decode_log(&encode_log(unknown)).unwrap(), unknown);
    }

    #[test]
    fn keys_order_as_their_records(
        a: u32,
        b: u32,
        x in proptest::option::of(bytes()),
        y in proptest::option::of(bytes()),
    ) {
        // A missing end row means infinity.
        let order = |id: u32, row: &Option<Vec<u8>>| (id, row.is_none(), row.clone());
        let key = |id, row: &Option<Vec<u8>>| tablet_key(TableId(id), row.as_deref());
        prop_assert_eq!(key(a, &x).cmp(&key(b, &y)), order(a, &x).cmp(&order(b, &y)));
    }

    #[test]
    fn any_bytes_are_an_error_or_a_value(key: Vec<u8>, value: Vec<u8>, sealed: bool) {
        let versioned = [vec![RECORD_VERSION], value.clone()].concat();
        let value = if sealed { seal(&key, versioned) } else { value };
        let _ = decode_table(&key, &value);
        let _ = decode_namespace(&key, &value);
        let _ = decode_user(&key, &value);
        let _ = decode_grant_key(&key);
        let _ = decode_module(&key, &value);
        let _ = decode_problem(&key, &value);
        let _ = decode_system_properties(&value);
        let _ = decode_tablet(&key, &value);
        let _ = decode_file(&key, &value);
        let _ = decode_name(&key, &value);
        let _ = decode_store(&value);
        let _ = decode_format(&value);
        let _ = decode_commit(&value);
        let _ = decode_log(&value);
        let _ = decode_tablet_key(&key);
        let _ = decode_reference_key(&key);
    }
}
