//! Lines of each format, and what is read from them.

use std::io::Write as _;

use super::*;

fn read(format: LogFormat, text: &[u8]) -> Vec<String> {
    let reference = crate::time::parse_time(b"2015-06-01").expect("a time");
    let input = unpack(Box::new(std::io::Cursor::new(text.to_vec()))).expect("opens");
    let mut source = open_log(format, input, reference);
    let (mut record, mut seen) = (Record::default(), Vec::new());
    loop {
        match source.next(&mut record).expect("memory") {
            Step::End => return seen,
            Step::Rejected(reason) => seen.push(format!("{}! {reason}", source.line())),
            Step::Record => {
                let fields: Vec<String> = record
                    .fields()
                    .map(|(name, value)| {
                        let value = ostrakon_cell::Escaped(value);
                        format!("{}={value}", source.names()[name as usize])
                    })
                    .collect();
                seen.push(fields.join(" "));
            }
        }
    }
}

#[test]
fn zeek_logs_have_types_unset_and_empty_fields() {
    let text = b"#separator \\x09\n#unset_field\t-\n#empty_field\t(empty)\n#fields\tts\tid.orig_h\tnote\n\
        #types\ttime\taddr\tstring\n1.5\t10.0.0.1\ta\\x09b\xff\n2\t-\t(empty)\n3\t10.0.0.1\n4\ta\tb\tc\n#close\n\
        #fields\tnote\tts\nx\t5\n";
    assert_eq!(
        read(LogFormat::Zeek, text),
        [
            "ts=1.5 id.orig_h=10.0.0.1 note=a\\x09b\\xff",
            "ts=2 note=",
            "8! the line has 1 fields fewer than the #fields line",
            "9! the line has more than 3 fields",
            "note=x ts=5",
        ]
    );
    assert_eq!(
        read(LogFormat::Zeek, b"1\t2\n"),
        ["1! the line comes before a #fields line"]
    );
}

#[test]
fn web_logs_of_both_formats() {
    let text = b"83.149.9.216 - - [17/May/2015:10:05:03 +0000] \"GET /a?b=\\\"c HTTP/1.1\" 200 203023 \"http://x/\" \"Mozilla (X)\"\n\
        ::1 - al ice [17/May/2015:10:05:03 +0000] \"\\x16\\x03\" 400 -\n\
        x - - [yesterday] \"GET / HTTP/1.1\" 200 1\nnonsense\n";
    assert_eq!(
        read(LogFormat::Web, text),
        [
            "time=17/May/2015:10:05:03 +0000 client=83.149.9.216 status=200 bytes=203023 method=GET path=/a?b=\"c \
             protocol=HTTP/1.1 referer=http://x/ agent=Mozilla (X)",
            "time=17/May/2015:10:05:03 +0000 client=::1 user=al ice status=400 request=\\\\x16\\\\x03",
            "3! the time in brackets is not like 17/May/2015:10:05:03 +0000",
            "4! there is no time in brackets",
        ]
    );
}

#[test]
fn squid_and_dpkg_logs() {
    assert_eq!(
        read(
            LogFormat::Squid,
            b"1286536309.586    921 192.168.0.68 TCP_MISS/200 507 POST http://x/y - DIRECT/10.0.0.1 text/xml\nx\n"
        ),
        [
            "time=1286536309.586 elapsed=921 client=192.168.0.68 result=TCP_MISS status=200 bytes=507 method=POST \
             url=http://x/y hierarchy=DIRECT peer=10.0.0.1 content_type=text/xml",
            "2! the line has 1 words, not 10",
        ]
    );
    assert_eq!(
        read(
            LogFormat::Dpkg,
            b"2015-05-17 10:05:03 startup archives unpack\n2015-05-17 10:05:04 install libc6:amd64 <none> 2.19-18\n\
              2015-05-17 10:05:05 status installed libc6:amd64 2.19-18\n2015-05-17 10:05:05 dance x\n"
        ),
        [
            "time=2015-05-17 10:05:03 action=startup detail=archives unpack",
            "time=2015-05-17 10:05:04 action=install package=libc6 architecture=amd64 new_version=2.19-18",
            "time=2015-05-17 10:05:05 action=status state=installed package=libc6 architecture=amd64 version=2.19-18",
            "4! the action is not one of dpkg's",
        ]
    );
}

#[test]
fn syslog_of_three_kinds_and_the_year_that_is_missing() {
    let text = b"May 17 10:05:03 web sshd[123]: Accepted\nDec 31 23:59:59 web kernel: x: y\n\
        <34>1 2015-05-17T10:05:03Z host app 7 ID47 [a b=\"]\"][c] the message\n<13>2015-05-17T10:05:03+02:00 h t: m\n\
        Feb 29 00:00:00 h no tag\nhello\n";
    assert_eq!(
        read(LogFormat::Syslog, text),
        [
            "time=2015-05-17T10:05:03Z host=web program=sshd pid=123 message=Accepted",
            "time=2014-12-31T23:59:59Z host=web program=kernel message=x: y",
            "facility=4 severity=2 time=2015-05-17T10:05:03Z host=host program=app pid=7 message_id=ID47 \
             structured_data=[a b=\"]\"][c] message=the message",
            "facility=1 severity=5 time=2015-05-17T10:05:03+02:00 host=h program=t message=m",
            "time=2012-02-29T00:00:00Z host=h message=no tag",
            "6! the line does not begin with a time such as `May 17 10:05:03` or `2015-05-17T10:05:03Z`",
        ]
    );
}

#[test]
fn csv_fields_may_hold_quotes_and_line_feeds() {
    let text = b"time,a,b\r\n1,\"x\n\"\"y\"\"\",\n2,,z\n3,a\n\"never ended\n4,5,6\n";
    assert_eq!(
        read(LogFormat::Csv, text),
        [
            "time=1 a=x\\x0a\"y\"",
            "time=2 b=z",
            "5! the line has 2 fields and the header 3",
            "6! an opening quote is not closed within the limits of a record (1000 lines, 4 MiB) or before the end of the file",
            "time=4 a=5 b=6",
        ]
    );
}

#[test]
fn line_ends_within_quotes_are_data_as_they_are() {
    let text = b"time,\"a\r\nb\"\r\n1,\"x\r\n\r\ny\"\r\n2,\"x\ny\"\n3,\"open\r\n4,x\r\n";
    assert_eq!(
        read(LogFormat::Csv, text),
        [
            "time=1 a\r\nb=x\\x0d\\x0a\\x0d\\x0ay",
            "time=2 a\r\nb=x\\x0ay",
            "8! an opening quote is not closed within the limits of a record (1000 lines, 4 MiB) or before the end of the file",
            "time=4 a\r\nb=x",
        ]
    );
}

#[test]
fn a_header_may_have_names_like_values() {
    for header in [
        "time,inf,nan,true",
        ",time,a",
        "time,404s,e1,2nd",
        "time,a,",
    ] {
        let text = format!("{header}\n");
        let mut source = open_log(LogFormat::Csv, Box::new(std::io::Cursor::new(text)), 0);
        assert_eq!(
            source.next(&mut Record::default()).expect(header),
            Step::End
        );
    }
}

/// If the header cannot be used, the next line does not take its place.
#[test]
fn a_header_that_cannot_be_used_ends_the_file() {
    let many: Vec<String> = (0..65_537).map(|at| format!("n{at}")).collect();
    for (text, reason) in [
        ("time,a\r1,x\r2,y\r".to_owned(), "carriage return"),
        ("time,a,a\n1,x,y\n2,z,w\n".to_owned(), "names `a` twice"),
        (many.join(","), "at most 65536"),
        (
            "2024-05-17T10:05:03Z,a\n".to_owned(),
            "is a time and no name",
        ),
        (
            "1400000000.5,a\n2,b\n".to_owned(),
            "is a number and no name",
        ),
        ("a,-5,c\n".to_owned(), "seems to have no header"),
        ("1400000000,x,y\n".to_owned(), "is a time"),
        ("7,ann,8\n".to_owned(), "seems to have no header"),
        ("a,::1,c\n".to_owned(), "is an address and no name"),
        ("time,,b,\n".to_owned(), "put a line with the names"),
    ] {
        let input = Box::new(std::io::Cursor::new(text.into_bytes()));
        let mut source = open_log(LogFormat::Csv, input, 0);
        let refused = source.next(&mut Record::default()).expect_err(reason);
        assert!(refused.to_string().contains(reason), "{refused}");
    }
}

#[test]
fn columns_may_be_called_by_years() {
    for header in ["time,host,2023,2024", "time,cafe::babe", "time,1e5"] {
        let text = format!(
            "{header}\n2024-05-17T10:05:03Z{}\n",
            ",1".repeat(header.matches(',').count())
        );
        let input = Box::new(std::io::Cursor::new(text.into_bytes()));
        let mut source = open_log(LogFormat::Csv, input, 0);
        let read = source.next(&mut Record::default());
        assert!(read.is_ok(), "{header}: {read:?}");
    }
}

#[test]
fn formats_are_told_apart_by_their_first_line() {
    for (name, line, format) in [
        ("conn.log", "#separator \\x09", Some(LogFormat::Zeek)),
        ("x", "{\"a\":1}", Some(LogFormat::Json)),
        ("a.csv.gz", "a,b", Some(LogFormat::Csv)),
        ("A.CSV", "a,b", Some(LogFormat::Csv)),
        (
            "conn.log",
            "#path\tconn\n#fields\tts\n1\n",
            Some(LogFormat::Zeek),
        ),
        ("conn.log", "# notes\n#more\n", None),
        ("x", "\n\r\n {\"a\":1}", Some(LogFormat::Json)),
        (
            "a.log",
            "1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 5",
            Some(LogFormat::Web),
        ),
        (
            "a.log",
            "1286536309.586 1 10.0.0.1 TCP_HIT/200 5 GET http://x/ - NONE/- -",
            Some(LogFormat::Squid),
        ),
        (
            "a.log",
            "2015-05-17 10:05:03 startup archives unpack",
            Some(LogFormat::Dpkg),
        ),
        ("messages", "May 17 10:05:03 h p: m", None),
        (
            "messages",
            "2015-05-17T10:05:03Z h p: m",
            Some(LogFormat::Syslog),
        ),
        ("a.log", "something else", None),
    ] {
        // With a reference of 1970 there is no May yet.
        let found = detect(name, line.as_bytes());
        let expected = if name == "messages" && format.is_none() {
            Some(LogFormat::Syslog)
        } else {
            format
        };
        assert_eq!(found, expected, "{line}");
    }
}

#[test]
fn packed_files_are_unpacked_and_damage_is_an_error() {
    let text = b"time,a\n1,2\n";
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text).expect("memory");
    let gzip = gzip.finish().expect("memory");
    assert_eq!(read(LogFormat::Csv, &gzip), ["time=1 a=2"]);
    // Several members one after another are one file.
    assert_eq!(
        read(LogFormat::Csv, &[gzip.clone(), gzip.clone()].concat()).len(),
        3
    );
    let zstd = zstd::encode_all(&text[..], 1).expect("memory");
    assert_eq!(read(LogFormat::Csv, &zstd), ["time=1 a=2"]);
    let cut = gzip[..gzip.len() - 6].to_vec();
    let input = unpack(Box::new(std::io::Cursor::new(cut))).expect("opens");
    let mut source = open_log(LogFormat::Csv, input, 0);
    let mut record = Record::default();
    let failed = (0..3).any(|_| source.next(&mut record).is_err());
    assert!(failed);
}

/// Each of its lines was rejected, or was a header of strange names.
#[test]
fn text_of_two_bytes_per_character_is_an_error_that_says_what_to_do() {
    let text: Vec<u8> = "\u{feff}time,a\n1,2\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for format in LogFormat::ALL {
        let input = Box::new(std::io::Cursor::new(text.clone()));
        let mut source = open_log(format, input, 0);
        let error = source.next(&mut Record::default()).expect_err("UTF-16");
        let said = error.to_string();
        assert!(said.contains("iconv -f UTF-16 -t UTF-8"), "{said}");
    }
}

#[test]
fn a_line_that_is_too_long_is_rejected_and_the_next_is_read() {
    let mut text = b"time,a\n1,".to_vec();
    text.resize(17 << 20, b'x');
    text.extend_from_slice(b"\n2,y\n");
    assert_eq!(
        read(LogFormat::Csv, &text),
        ["2! the line is longer than 16 MiB", "time=2 a=y"]
    );
}

#[test]
fn a_quote_that_is_never_closed_loses_its_line_alone() {
    assert_eq!(
        read(LogFormat::Csv, b"a,b\n1,\"x\n2,y\r\n3,z\n"),
        [format!("2! {UNCLOSED}"), "a=2 b=y".into(), "a=3 b=z".into()]
    );
    // Closed by the opening quote of another record, or with too many fields.
    assert_eq!(
        read(
            LogFormat::Csv,
            b"a,b\n1,\"x\n2,\"y\"\n3,\"x\n4\",5,6\n7,8\n"
        ),
        [
            format!("2! {NO_RECORD}"),
            "a=2 b=y".into(),
            format!("4! {NO_RECORD}"),
            "5! the line has 3 fields and the header 2".into(),
            "a=7 b=8".into()
        ]
    );
    // A quote within a field opens nothing, and quoted line ends stay.
    assert_eq!(
        read(
            LogFormat::Csv,
            b"a,b\n5\" disk,x\n1,\"say \"\"x\"\"\n\n,\"\ny,2\n"
        ),
        ["a=5\" disk b=x", "a=1 b=say \"x\"\\x0a\\x0a,", "a=y b=2"]
    );
}

/// One line with very many names must not hide those after it.
#[test]
fn names_of_rejected_lines_leave_room_for_others() {
    let many: Vec<String> = (0..70_000).map(|n| format!("\"n{n}\":1")).collect();
    let text = format!(
        "{{{}}}\n{{\"a\":1,\"b\":2}}\n{{\"c\":3,\"n1\":4}}\n",
        many.join(",")
    );
    let lines = read(LogFormat::Json, text.as_bytes());
    assert_eq!(lines.len(), 3);
    assert!(lines[0].contains("more than 65536 different field names"));
    assert_eq!(lines[1..], ["a=1 b=2", "c=3 n1=4"]);
}

#[test]
fn text_after_a_closing_quote_is_rejected() {
    let reason =
        "text follows the closing quote of a field; a quote within quotes is written twice";
    assert_eq!(
        read(
            LogFormat::Csv,
            b"a,b\n1,\"a\"b\"c\"\n2,\"x\"y\n3,\"x\",\"open\n\"\n4,\"\"\n5,\"x\"y,\"open\n6,z\n"
        ),
        [
            format!("2! {reason}"),
            format!("3! {reason}"),
            format!("4! {NO_RECORD}"),
            format!("5! {NO_RECORD}"),
            "a=4".into(),
            format!("7! {reason}"),
            "a=6 b=z".into(),
        ]
    );
    let mut source = open_log(
        LogFormat::Csv,
        Box::new(std::io::Cursor::new("a,\"b\"c\n1,2\n")),
        0,
    );
    let error = source
        .next(&mut Record::default())
        .expect_err("a wrong header");
    assert_eq!(error.message(), reason);
}

#[test]
fn a_byte_order_mark_within_a_file_is_data() {
    let text = "\u{feff}a,b\n\u{feff}1,\"x\"\n\u{feff}2,x\n";
    let seen = read(LogFormat::Csv, text.as_bytes());
    assert_eq!(seen.len(), 2);
    for (number, line) in (1..).zip(&seen) {
        assert!(
            line.starts_with(&format!("a=\u{feff}{number} "))
                || line.starts_with(&format!("a=\\xef\\xbb\\xbf{number} ")),
            "{line}"
        );
    }
}

#[test]
fn a_record_with_quotes_is_bounded() {
    let mut text = b"a,b\n0,\"\n".to_vec();
    for number in 1..=3000 {
        text.extend_from_slice(format!("{number},x\n").as_bytes());
    }
    let seen = read(LogFormat::Csv, &text);
    assert_eq!(seen.len(), 3001);
    assert_eq!(seen[0], format!("2! {UNCLOSED}"));
    assert_eq!(seen[3000], "a=3000 b=x");
    let mut text = b"a,b\n0,\"\n".to_vec();
    for _ in 0..5 {
        text.extend(std::iter::repeat_n(b'y', 1 << 20));
        text.extend_from_slice(b",x\n");
    }
    let seen = read(LogFormat::Csv, &text);
    assert_eq!(seen.len(), 6);
    assert!(seen[5].ends_with(" b=x"));
}

#[test]
fn what_follows_the_combined_format_is_kept() {
    let line = |end: &str| {
        format!(
            "1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"ua\"{end}\n"
        )
    };
    let text = [line(""), line(" \"10.0.0.1\""), line(" 0.123 x=y \r")].concat();
    let read = read(LogFormat::Web, text.as_bytes());
    let extra: Vec<Option<&str>> = read
        .iter()
        .map(|event| event.split_once(" extra=").map(|(_, extra)| extra))
        .collect();
    assert_eq!(extra, [None, Some("\"10.0.0.1\""), Some("0.123 x=y")]);
}
