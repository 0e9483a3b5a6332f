//! A log that several threads read gives what it gives line by line.

use std::io::{BufRead, BufReader, Read};

use ostrakon_events::{
    BEGINNING_BYTES, EventStore, EventType, IngestOptions, LogFormat, LogRest, LogText, Query,
    Record, RejectedLine, Step,
};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::support::{fields_of, open};

const LOG: &str = "
name = 'log'
time = 'ts'
[[shards]]
count = 2
[[fields]]
name = 'ts'
type = 'time'
[[fields]]
name = 'n'
type = 'u64'
";

/// Parts have a mebibyte: so much text has several.
const TEXT_BYTES: usize = 5 << 20;

/// The time and the fields of an event.
type Stored = (i64, Vec<(String, Vec<u8>)>);

struct Got {
    events: Vec<Stored>,
    rejected: Vec<RejectedLine>,
}

fn store_of_logs() -> EventStore {
    let (_, store) = open();
    let log = EventType::from_toml(LOG).expect("valid");
    store.create(&log).expect("created");
    store
}

fn options(threads: usize) -> IngestOptions {
    IngestOptions {
        batch_events: 3000,
        threads,
        ..IngestOptions::default()
    }
}

fn got(store: &EventStore, rejected: Vec<RejectedLine>) -> Got {
    let query = Query {
        event_type: "log".into(),
        ..Query::default()
    };
    let events = store.events(&query).expect("read");
    Got {
        events: events
            .into_iter()
            .map(|event| (event.time, fields_of(&event)))
            .collect(),
        rejected,
    }
}

fn log(format: LogFormat) -> LogText {
    LogText {
        format,
        reference: 0,
        renamed: vec![("first".into(), "n".into())],
        tables: Vec::new(),
        rest: None,
        grows: false,
    }
}

fn by_lines(format: LogFormat, text: &[u8]) -> Got {
    let store = store_of_logs();
    let mut ingest = store.ingest("log", options(1)).expect("a type");
    let mut source = log(format).open(Box::new(std::io::Cursor::new(text.to_vec())));
    let (mut record, mut rejected) = (Record::default(), Vec::new());
    loop {
        let reason = match source.next(&mut record).expect("memory") {
            Step::End => break,
            Step::Record => ingest.add(source.names(), &record).expect("held"),
            Step::Rejected(reason) => Some(reason),
        };
        if let Some(reason) = reason {
            let text = source.text();
            let further = text.iter().filter(|byte| **byte == b'\n').count() as u64;
            rejected.push(RejectedLine {
                line: source.line() - further,
                text: text.to_vec(),
                reason,
            });
        }
    }
    ingest.finish().expect("committed");
    got(&store, rejected)
}

fn by_parts(format: LogFormat, text: &[u8]) -> (Got, usize) {
    let store = store_of_logs();
    let mut ingest = store.ingest("log", options(3)).expect("a type");
    // A reader that gives odd numbers of bytes.
    let input = BufReader::with_capacity(70_001, std::io::Cursor::new(text.to_vec()));
    let mut reader = ingest.read_log(&log(format), Box::new(input));
    let (mut rejected, mut parts, mut position) = (Vec::new(), 0, 0);
    while let Some(mut part) = reader.next_part().expect("memory") {
        assert!(part.position >= position, "{} {position}", part.position);
        position = part.position;
        rejected.append(&mut part.rejected);
        ingest.add_part(part).expect("held");
        parts += 1;
    }
    assert_eq!(position, text.len() as u64);
    ingest.finish().expect("committed");
    (got(&store, rejected), parts)
}

fn assert_same(format: LogFormat, text: &[u8]) -> Got {
    let one = by_lines(format, text);
    let (other, parts) = by_parts(format, text);
    assert!(parts > 3, "{parts}");
    assert_eq!(one.events.len(), other.events.len());
    for (one, other) in one.events.iter().zip(&other.events) {
        assert_eq!(one, other);
    }
    let line = |line: &RejectedLine| (line.line, line.reason.clone(), line.text.len());
    for (one, other) in one.rejected.iter().zip(&other.rejected) {
        assert_eq!(line(one), line(other));
    }
    assert!(one.rejected == other.rejected, "other bytes were rejected");
    other
}

/// Lines that `line` makes of a number, until there is enough text.
fn text_of(seed: u64, head: &str, mut line: impl FnMut(&mut StdRng, u64) -> String) -> Vec<u8> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut text = head.as_bytes().to_vec();
    for number in 0_u64.. {
        if text.len() > TEXT_BYTES {
            break;
        }
        text.extend_from_slice(line(&mut random, number).as_bytes());
    }
    text
}

fn filling(random: &mut StdRng) -> String {
    "x".repeat(random.random_range(500..4000))
}

#[test]
fn csv_with_records_over_several_lines_and_quotes_that_are_not_closed() {
    for (seed, ends) in [(1, "\n"), (2, "\r\n")] {
        let head = format!("\u{feff}ts,\"a\nb\",first{ends}");
        let text = text_of(seed, &head, |random, number| {
            let filling = filling(random);
            let line = match random.random_range(0..12) {
                0 => format!("{number},\"{filling}{ends}{ends}{filling}\",1"),
                1 => format!("{number},\"{filling}{ends}{filling}\n\"\"\",{number}"),
                2 => format!("{number},\"{filling},1"),
                3 => format!("{number},{filling}"),
                4 => format!("never,{filling},2"),
                5 => format!("{number},{filling},two"),
                6 => String::new(),
                7 => format!("{number},\u{feff}{filling},2"),
                _ => format!("{number},{filling},{number}"),
            };
            line + ends
        });
        let got = assert_same(LogFormat::Csv, &text);
        assert!(got.events.len() > 1000 && got.rejected.len() > 100);
    }
}

/// Every way to end a line within quotes is data, wherever a part of the text ends.
#[test]
fn line_ends_within_quotes_are_stored_as_they_are() {
    let value = |number: u64| {
        let end = ["\r\n", "\n", "\r\n\r\n"][number as usize % 3];
        format!("{}{end}{}", "a".repeat(900), "b".repeat(700))
    };
    let text = text_of(6, "ts,a,first\r\n", |_, number| {
        format!("{number},\"{}\",3\r\n", value(number))
    });
    let got = assert_same(LogFormat::Csv, &text);
    assert!(got.events.len() > 1000 && got.rejected.is_empty());
    for (time, fields) in &got.events {
        let stored = fields.iter().find(|(name, _)| name == "a");
        let stored = stored.map(|(_, value)| value.as_slice());
        let number = time.unsigned_abs() / 1_000_000;
        assert_eq!(stored, Some(value(number).as_bytes()));
    }
}

#[test]
fn csv_whose_quotes_span_parts() {
    // One quote is open over more than a part; it is within the limits of a record.
    let text = text_of(3, "ts,a,first\n", |_, number| {
        let long = format!("{}\n", "y".repeat(9000)).repeat(280);
        format!("{number},\"{long}\",3\n{number},b,4\n{number},c,\"")
    });
    assert_same(LogFormat::Csv, &text);
}

#[test]
fn zeek_whose_columns_change() {
    let head = "#separator \\x09\n#fields\tts\ta\tfirst\n#types\ttime\tstring\tcount\n";
    let text = text_of(4, head, |random, number| {
        let filling = filling(random);
        match random.random_range(0..200) {
            0 => "#fields\tfirst\ta\tts\n".into(),
            1 => "#separator \\x7c\n#fields|first|ts|b\n".into(),
            2 => "#separator \\x09\n#fields\tts\ta\tfirst\n".into(),
            3 => "#separator nothing\n".into(),
            4 => format!("{number}\t{filling}\n"),
            _ => format!("{number}\t{filling}\t{number}\n"),
        }
    });
    let got = assert_same(LogFormat::Zeek, &text);
    assert!(got.events.len() > 100 && got.rejected.len() > 10);
}

/// Zeek's comments and lines that later ones replace are not kept, in a log that has nothing else.
#[test]
fn zeek_with_more_comments_than_records() {
    let head = "#fields\tts\ta\tfirst\n";
    let mut comments = 0;
    let text = text_of(6, head, |random, number| {
        comments += 1;
        match random.random_range(0..2000) {
            0 => format!("#fields\tts\tb{number}\tfirst\n#unset_field\t{number}\n"),
            1 => format!("{number}\tx\t{number}\n"),
            _ => format!("# {number}\n#open\t{number}\n"),
        }
    });
    let got = assert_same(LogFormat::Zeek, &text);
    assert!(got.events.len() > 50 && comments > 100_000);
}

#[test]
fn zeek_with_too_long_a_line_of_fields_is_an_error() {
    let store = store_of_logs();
    let ingest = store.ingest("log", options(2)).expect("a type");
    let names: Vec<String> = (0..20_000).map(|number| format!("name{number}")).collect();
    let text = format!("#fields\tts\n1\n#fields\tts\t{}\n", names.join("\t"));
    let text = text + &"\n".repeat(TEXT_BYTES);
    let input = std::io::Cursor::new(text.into_bytes());
    let mut reader = ingest.read_log(&log(LogFormat::Zeek), Box::new(input));
    let mut parts = 0;
    let error = loop {
        match reader.next_part() {
            Ok(Some(_)) => parts += 1,
            Ok(None) => panic!("the text was read"),
            Err(error) => break error,
        }
    };
    assert_eq!(parts, 1);
    assert!(error.to_string().contains("most: 65536"), "{error}");
}

/// A field without a value takes memory, too: a batch of short lines would take many times its limit.
#[test]
fn fields_without_a_value_fill_a_batch() {
    let fields: Vec<String> = (0..300)
        .map(|number| format!(",\"f{number}\":\"\""))
        .collect();
    let lines = (0..1000).map(|time| format!("{{\"ts\":{time}{}}}\n", fields.concat()));
    let text: String = lines.collect();
    let options = IngestOptions {
        batch_events: 100_000,
        batch_bytes: 256 << 10,
        threads: 2,
    };
    let batches = |by_parts: bool| {
        let store = store_of_logs();
        let mut ingest = store.ingest("log", options.clone()).expect("a type");
        let input = Box::new(std::io::Cursor::new(text.clone().into_bytes()));
        if by_parts {
            let mut reader = ingest.read_log(&log(LogFormat::Json), input);
            while let Some(part) = reader.next_part().expect("read") {
                ingest.add_part(part).expect("held");
            }
        } else {
            let mut source = log(LogFormat::Json).open(input);
            let mut record = Record::default();
            while let Step::Record = source.next(&mut record).expect("memory") {
                assert_eq!(ingest.add(source.names(), &record).expect("held"), None);
            }
        }
        let report = ingest.finish().expect("committed");
        assert_eq!(report.events, 1000);
        report.batches
    };
    // 3.6 MB for fields.
    assert!(batches(false) >= 13, "{}", batches(false));
    assert!(batches(true) >= 13, "{}", batches(true));
}

#[test]
fn json_whose_names_cannot_be_told_apart() {
    let text = text_of(5, "", |random, number| {
        let filling = filling(random);
        let name = match random.random_range(0..40) {
            0 => "user name",
            1 => "user_name",
            2 => "user/name",
            _ => "user",
        };
        match random.random_range(0..20) {
            0 => format!("{{\"ts\":{number},\"{name}\":\"{filling}\"\n"),
            1 => format!("{{\"ts\":{number},\"{name}\":{{\"{number}\":\"a\\n{filling}\"}}}}\n"),
            _ => format!("{{\"ts\":{number},\"{name}\":\"{filling}\",\"first\":1}}\n"),
        }
    });
    let got = assert_same(LogFormat::Json, &text);
    let same = |line: &&RejectedLine| line.reason.contains("would both be");
    assert!(got.rejected.iter().filter(same).count() > 10);
}

#[test]
fn lines_that_are_longer_than_a_part_or_than_a_line_may_be() {
    let long = "z".repeat(3 << 20);
    let too_long = "z".repeat(17 << 20);
    for end in ["", "\n"] {
        let text = format!(
            "ts,a,first\n1,{long},1\n2,{too_long},2\n3,{long},3\n4,b,4\n{}5,{too_long},5{end}",
            "\n".repeat(2 << 20)
        );
        let got = assert_same(LogFormat::Csv, text.as_bytes());
        assert_eq!((got.events.len(), got.rejected.len()), (3, 2));
        assert_eq!(got.rejected[1].line, 6 + (2 << 20));
    }
}

/// What was read before a failure is not lost.
#[test]
fn lines_before_a_failure_of_the_input_are_returned() {
    struct Failing(usize);

    impl Read for Failing {
        fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
            match self.0 {
                0 => Err(std::io::Error::other("gone")),
                _ => {
                    self.0 -= 1;
                    let line = b"1.5,a,1\n2.5,b";
                    bytes[..line.len()].copy_from_slice(line);
                    Ok(line.len())
                }
            }
        }
    }

    let store = store_of_logs();
    let mut ingest = store.ingest("log", options(2)).expect("a type");
    for lines in [1, 200_000] {
        let head = std::io::Cursor::new(b"ts,a,first\n".to_vec());
        let input: Box<dyn BufRead + Send> = Box::new(BufReader::new(head.chain(Failing(lines))));
        let mut reader = ingest.read_log(&log(LogFormat::Csv), input);
        let mut rejected = 0;
        let error = loop {
            match reader.next_part() {
                Ok(Some(mut part)) => {
                    rejected += part.rejected.len();
                    part.rejected.clear();
                    ingest.add_part(part).expect("held");
                }
                Ok(None) => panic!("the input has not ended"),
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains("cannot be read"), "{error}");
        // All complete lines but the first have four fields.
        assert_eq!(rejected, lines - 1);
    }
    assert_eq!(ingest.finish().expect("committed").events, 1);
}

/// Equal lines, each of them an event: read in parts, by several threads, at once or from several positions.
#[test]
fn equal_lines_have_the_same_places_however_they_are_read() {
    let line = format!("5,\"y\n{}\",1\r\n\n", "z".repeat(100));
    let text = format!("ts,a,first\n1,b,1\n{}5,x,1", line.repeat(30_000));
    let (events, head) = (30_002, "ts,a,first\n".len());
    let definition = || {
        let (_, store) = open();
        let keeping = LOG.replace("time = 'ts'", "time = 'ts'\nequal_records = 'keep'");
        let definition = EventType::from_toml(&keeping).expect("valid");
        store.create(&definition).expect("created");
        store
    };
    let read = |store: &EventStore, text: &[u8], rest: Option<LogRest>, capacity: usize| {
        let mut ingest = store.ingest("log", options(3)).expect("a type");
        let log = LogText {
            rest,
            ..log(LogFormat::Csv)
        };
        let input = BufReader::with_capacity(capacity, std::io::Cursor::new(text.to_vec()));
        let mut reader = ingest.read_log(&log, Box::new(input));
        while let Some(part) = reader.next_part().expect("memory") {
            assert_eq!(part.rejected.first(), None);
            ingest.add_part(part).expect("held");
        }
        let report = ingest.finish().expect("committed");
        (report.events, report.duplicates)
    };
    let store = definition();
    assert_eq!(read(&store, text.as_bytes(), None, 70_001), (events, 0));
    assert_eq!(read(&store, text.as_bytes(), None, 8192), (0, events));
    // The last line gets its end, and another one follows.
    let longer = format!("{text}\n5,x,1\n");
    assert_eq!(read(&store, longer.as_bytes(), None, 1 << 18), (1, events));
    // From a position on, with the header before it.
    for lines in [0, 1, 20_000] {
        let start = head + "1,b,1\n".len() + lines * line.len();
        let rest = LogRest {
            beginning: longer.as_bytes()[..BEGINNING_BYTES].to_vec(),
            start: start as u64,
            head: head as u64,
        };
        let bytes = longer.as_bytes();
        let part = [&bytes[..head], &bytes[start..]].concat();
        let left = events - lines as u64;
        assert_eq!(read(&store, &part, Some(rest), 8192), (0, left));
    }
    // Another file with the same lines.
    let other = longer.replacen("1,b,1", "1,c,1", 1);
    assert_eq!(read(&store, other.as_bytes(), None, 8192), (events + 1, 0));
}

/// A file that grows ends within a record: that is left for later.
#[test]
fn a_record_whose_end_is_missing_waits_in_a_text_that_grows() {
    let store = store_of_logs();
    let mut ingest = store.ingest("log", options(2)).expect("a type");
    let log = LogText {
        grows: true,
        ..log(LogFormat::Csv)
    };
    let begun = "2,\"c\nd";
    for filling in [1, 1 << 20, (1 << 20) - 15] {
        let text = format!("ts,a,first\n1,{},1\n", "x".repeat(filling));
        let whole = text.len() as u64;
        let input = std::io::Cursor::new((text + begun).into_bytes());
        let mut reader = ingest.read_log(&log, Box::new(input));
        while let Some(part) = reader.next_part().expect("memory") {
            assert_eq!((part.position, part.rejected.len()), (whole, 0));
            ingest.add_part(part).expect("held");
        }
        assert_eq!(reader.unfinished(), Some(whole));
    }
    assert_eq!(ingest.finish().expect("committed").events, 3);
}
