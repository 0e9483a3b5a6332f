//! Records of the catalog: any bytes are a record or an error, and what is a record encodes to the
//! same bytes again.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use ostrakon_store::catalog::format;
use ostrakon_store::codec::Checksum;

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    key: &'a [u8],
    fields: &'a [u8],
}

fuzz_target!(|input: Input<'_>| {
    let key = input.key;
    let _ = format::decode_table(key, input.fields);
    let _ = format::decode_tablet(key, input.fields);
    let _ = format::decode_file(key, input.fields);
    let _ = format::decode_name(key, input.fields);
    let _ = format::decode_store(input.fields);
    let _ = format::decode_format(input.fields);
    let _ = format::decode_commit(input.fields);
    let _ = format::decode_log(input.fields);
    let _ = format::decode_reference_key(key);
    let _ = format::decode_namespace(key, input.fields);
    let _ = format::decode_system_properties(input.fields);
    let _ = format::decode_user(key, input.fields);
    let _ = format::decode_module(key, input.fields);
    let _ = format::decode_problem(key, input.fields);
    if let Ok((scope, user)) = format::decode_grant_key(key) {
        assert_eq!(format::grant_key(&scope, &user), key);
    }
    if let Ok((table, end)) = format::decode_tablet_key(key) {
        assert_eq!(format::tablet_key(table, end), key);
    }

    // The same fields under a right checksum, which no random bytes would have.
    let sealed = seal(key, input.fields);
    if let Ok(table) = format::decode_table(key, &sealed) {
        let again = format::decode_table(key, &format::encode_table(&table));
        assert_eq!(again.ok(), Some(table));
    }
    if let Ok(files) = format::decode_tablet(key, &sealed) {
        assert_eq!(format::encode_tablet(key, &files), sealed);
    }
    if let Ok(file) = format::decode_file(key, &sealed) {
        // Files and tables are written in a newer version.
        let again = format::decode_file(key, &format::encode_file(&file));
        assert_eq!(again.ok(), Some(file));
    }
    if let Ok(namespace) = format::decode_namespace(key, &sealed) {
        let again = format::decode_namespace(key, &format::encode_namespace(&namespace));
        assert_eq!(again.ok(), Some(namespace));
    }
    if let Ok(user) = format::decode_user(key, &sealed) {
        let again = format::decode_user(key, &format::encode_user(&user));
        assert_eq!(again.ok(), Some(user));
    }
    if let Ok(module) = format::decode_module(key, &sealed) {
        assert_eq!(format::encode_module(&module), sealed);
    }
    if let Ok(problem) = format::decode_problem(key, &sealed) {
        assert_eq!(format::encode_problem(&problem), sealed);
    }
    if let Ok(table) = format::decode_name(key, &sealed) {
        assert_eq!(format::encode_name(key, table), sealed);
    }
    let sealed = seal(format::STORE_KEY, input.fields);
    if let Ok(store) = format::decode_store(&sealed) {
        assert_eq!(format::encode_store(&store), sealed);
    }
    let sealed = seal(format::PROPERTIES_KEY, input.fields);
    if let Ok(own) = format::decode_system_properties(&sealed) {
        let again = format::decode_system_properties(&format::encode_system_properties(&own));
        assert_eq!(again.ok(), Some(own));
    }
    let sealed = seal(format::COMMIT_KEY, input.fields);
    if let Ok(commits) = format::decode_commit(&sealed) {
        assert_eq!(format::encode_commit(commits), sealed);
    }
    let sealed = seal(format::LOG_KEY, input.fields);
    if let Ok(end) = format::decode_log(&sealed) {
        assert_eq!(format::encode_log(end), sealed);
    }
});

fn seal(key: &[u8], fields: &[u8]) -> Vec<u8> {
    let mut sum = Checksum::new();
    let value = [&[1], fields].concat();
    sum.update(key);
    sum.update(&value);
    [&value[..], &sum.value().to_le_bytes()].concat()
}
