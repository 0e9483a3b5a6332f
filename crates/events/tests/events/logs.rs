//! From the text of a log to answers.

use ostrakon_events::{
    CountPath, EventStore, IngestOptions, LogFormat, Query, Record, Step, infer, open_log,
    parse_condition, unpack,
};

use super::support::{HOUR, open};

const CONN: &str = "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n\
#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tservice\tduration\torig_bytes\n\
#types\ttime\tstring\taddr\tport\taddr\tport\tenum\tstring\tinterval\tcount\n\
1379288667.706265\tCoyZ\t192.168.33.10\t1032\t54.245.228.191\t80\ttcp\thttp\t0.447460\t601\n\
1379288668.093470\tCaJx\t192.168.33.10\t1039\t54.245.228.191\t80\ttcp\thttp\t0.116953\t311\n\
1379292269.359003\tCcPj\t192.168.33.10\t1082\t4.2.2.3\t53\tudp\tdns\t0.017286\t48\n\
1379292275.153861\tCBKq\t192.168.33.11\t1122\t23.73.241.224\t80\ttcp\t-\t0.056384\t370\n";

fn ingest_text(store: &EventStore, format: LogFormat, text: &str) -> (u64, Vec<String>) {
    let input = unpack(Box::new(std::io::Cursor::new(text.as_bytes().to_vec()))).expect("opens");
    let mut source = open_log(format, input, 0);
    let mut ingest = store
        .ingest("conn", IngestOptions::default())
        .expect("a type");
    let (mut record, mut rejected) = (Record::default(), Vec::new());
    loop {
        match source.next(&mut record).expect("read") {
            Step::End => break,
            Step::Rejected(reason) => rejected.push(reason),
            Step::Record => rejected.extend(ingest.add(source.names(), &record).expect("written")),
        }
    }
    (ingest.finish().expect("committed").events, rejected)
}

#[test]
fn a_zeek_log_becomes_a_type_and_answers() {
    let (_, store) = open();
    let input = unpack(Box::new(CONN.as_bytes())).expect("opens");
    let mut source = open_log(LogFormat::Zeek, input, 0);
    let (mut record, mut records) = (Record::default(), Vec::new());
    while source.next(&mut record).expect("read") == Step::Record {
        records.push(record.clone());
    }
    let conn = infer("conn", source.names(), source.kinds(), &records, None).expect("inferred");
    assert_eq!(conn.time, "ts");
    assert_eq!(
        conn.field("id.resp_h")
            .map(|field| (field.kind.as_str(), field.indexed)),
        Some(("ip", true))
    );
    store.create(&conn).expect("created");
    assert!(
        store
            .create(&conn)
            .expect_err("taken")
            .to_string()
            .contains("exists already")
    );
    assert_eq!(ingest_text(&store, LogFormat::Zeek, CONN), (4, Vec::new()));
    let damaged = CONN
        .replace("1032", "port")
        .replace("54.245.228.191", "54.245.228.192");
    let (events, rejected) = ingest_text(&store, LogFormat::Zeek, &damaged);
    assert_eq!((events, rejected.len()), (1, 1));
    assert!(
        rejected[0].contains("`id.orig_p` is not of type u64: port"),
        "{}",
        rejected[0]
    );
    let query = Query {
        event_type: "conn".into(),
        condition: parse_condition("id.resp_h == '54.245.228.191' and time < '2013-09-16'", 0)
            .expect("valid"),
        ..Query::default()
    };
    assert_eq!(store.count(&query, CountPath::Auto).expect("counted"), 2);
    let query = Query {
        event_type: "conn".into(),
        ..Query::default()
    };
    let hours: Vec<u64> = store
        .histogram(&query, HOUR, CountPath::Aggregates)
        .expect("counted")
        .into_values()
        .collect();
    assert_eq!(hours, [3, 2]);
    let top = store
        .top(&query, "id.orig_h", 1, CountPath::Aggregates)
        .expect("counted");
    assert_eq!(
        (top.values, top.distinct),
        (vec![(b"192.168.33.10".to_vec(), 4)], 2)
    );
    store.drop_type("conn").expect("deleted");
    assert!(store.types().expect("listed").is_empty());
    store.create(&conn).expect("created again");
    assert_eq!(store.count(&query, CountPath::Auto).expect("counted"), 0);
}

#[test]
fn a_lookup_table_without_rows_or_with_a_key_twice_is_refused() {
    for (text, reason) in [
        ("", "no row with a key"),
        ("address,owner\n", "no row with a key"),
        ("address,owner\n,ann\n", "no row with a key"),
        (
            "address,owner\n10.0.0.1,ann\n10.0.0.1,bob\n",
            "occurs twice",
        ),
        ("address,owner\n10.0.0.1\n", "the line has 1 fields"),
    ] {
        let input = Box::new(std::io::Cursor::new(text.to_owned()));
        let mut source = open_log(LogFormat::Csv, input, 0);
        let read = ostrakon_events::LookupTable::read("from", &mut *source);
        let error = read.err().expect("refused").to_string();
        assert!(error.contains(reason), "{text} {error}");
    }
}
