//! Files that are not what a command expects: other encodings, damaged compression, directories, logs of another kind.

use std::io::Write as _;

use crate::run::Folder;

fn utf16(text: &str, is_big: bool) -> Vec<u8> {
    let units = "\u{feff}".encode_utf16().chain(text.encode_utf16());
    units
        .flat_map(|unit| match is_big {
            true => unit.to_be_bytes(),
            false => unit.to_le_bytes(),
        })
        .collect()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text).unwrap();
    packed.finish().unwrap()
}

/// Lines of a log, which do not compress well.
fn lines(count: u64) -> String {
    let line = |n: u64| {
        let odd = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("{},h{odd:x}\n", 1_400_000_000 + n)
    };
    "ts,host\n".to_owned() + &(0..count).map(line).collect::<String>()
}

/// A store with a type `web` and a table `t`.
fn web() -> Folder {
    let folder = Folder::with_table();
    let log = folder.write("web.csv", lines(1));
    folder.ok(&["events", "create", "web", "--from", &log]);
    folder
}

#[test]
fn text_of_two_bytes_per_character_is_told() {
    let folder = web();
    std::fs::create_dir(folder.path("logs")).unwrap();
    for (name, content) in [
        ("little.csv", utf16(&lines(2), false)),
        ("big.csv", utf16(&lines(2), true)),
        ("packed.csv.gz", gzip(&utf16(&lines(2), false))),
    ] {
        let file = folder.write(name, &content);
        for command in [
            &["events", "create", "other", "--from", &file][..],
            &["events", "ingest", "web", &file],
            &["events", "ingest", "web", &file, "--format", "csv"],
            &["import", "t", &file, "--row", "ts"],
        ] {
            let err = folder.fails(2, command);
            for part in [
                "the file is UTF-16 text, not UTF-8",
                name,
                "iconv -f UTF-16 -t UTF-8",
            ] {
                assert!(err.contains(part), "{command:?}: {err}");
            }
        }
        std::fs::rename(&file, folder.path("logs").join(name)).unwrap();
    }
    let follow = [
        "events",
        "ingest",
        "web",
        "--follow",
        "logs",
        "--until-idle",
        "0",
    ];
    let err = folder.fails(1, &follow);
    assert_eq!(err.matches("UTF-16 text").count(), 3, "{err}");
    // Of stdin, which has no name.
    let import = ["import", "t", "-", "--format", "csv", "--row", "ts"];
    let ran = folder.run_with(&import, &utf16(&lines(2), false));
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("| iconv -f UTF-16"), "{}", ran.err);
    assert_eq!(folder.ok(&["scan", "t"]), "");
}

#[test]
fn a_file_that_is_not_compressed_as_its_name_says_is_told() {
    let folder = web();
    std::fs::create_dir(folder.path("logs")).unwrap();
    let packed = gzip(lines(2000).as_bytes());
    let zstd = zstd::encode_all(lines(2000).as_bytes(), 1).unwrap();
    for (name, kind, content) in [
        ("x.csv.gz", "gzip", &packed[10..]),
        ("x.csv.zst", "zstd", &zstd[10..]),
    ] {
        let file = folder.write(name, content);
        for command in [
            &["events", "create", "other", "--from", &file][..],
            &["events", "ingest", "web", &file],
            &["import", "t", &file, "--row", "ts"],
        ] {
            let err = folder.fails(1, command);
            let part = format!("the file is not {kind} data");
            assert!(err.contains(&part) && err.contains(name), "{err}");
        }
        std::fs::rename(&file, folder.path("logs").join(name)).unwrap();
    }
    let follow = [
        "events",
        "ingest",
        "web",
        "--follow",
        "logs",
        "--until-idle",
        "0",
    ];
    let err = folder.fails(1, &follow);
    for kind in ["gzip", "zstd"] {
        let part = format!("the file is not {kind} data");
        assert!(err.contains(&part), "{err}");
    }
    // Text is read, whatever the name says, if it is understood.
    let plain = folder.write("plain.csv.gz", lines(3));
    folder.ok(&["events", "ingest", "web", &plain]);
    folder.ok(&["import", "t", &plain, "--row", "ts"]);
    let other = folder.write("other.gz", "something else\n");
    for command in [
        &["events", "ingest", "web", &other][..],
        &["import", "t", &other, "--row", "1"],
    ] {
        let err = folder.fails(2, command);
        let part = "compression: none: it is not gzip data";
        assert!(
            err.contains(part) && err.contains("the format is not clear"),
            "{err}"
        );
    }
}

#[test]
fn a_compressed_file_that_is_cut_off_tells_what_was_taken() {
    let folder = web();
    std::fs::create_dir(folder.path("logs")).unwrap();
    let text = lines(200_000);
    let packed = gzip(text.as_bytes());
    let zstd = zstd::encode_all(text.as_bytes(), 1).unwrap();
    for (name, kind, content) in [
        ("cut.csv.gz", "gzip", &packed[..packed.len() / 2]),
        ("cut.csv.zst", "zstd", &zstd[..zstd.len() / 2]),
    ] {
        let is_cut = format!("the {kind} data is cut off: its end is missing");
        let file = folder.write(&format!("logs/{name}"), content);
        let follow = [
            "events",
            "ingest",
            "web",
            "--follow",
            "logs",
            "--name",
            name,
            "--until-idle",
            "0",
        ];
        let err = folder.fails(1, &follow);
        assert!(err.contains(&is_cut), "{err}");
        assert!(err.contains("events read before this place"), "{err}");
        assert!(err.contains("not read to its end: "), "{err}");
        let err = folder.fails(1, &["events", "ingest", "web", &file]);
        assert!(err.contains(&is_cut), "{err}");
        assert!(
            err.contains("stored: 0 events read before this place; "),
            "{err}"
        );
    }
    let count = folder.ok(&["events", "query", "web", "--count"]);
    let digits: String = count.chars().filter(char::is_ascii_digit).collect();
    let stored: u64 = digits.parse().unwrap();
    assert!((1000..200_000).contains(&stored), "{count}");
}

#[test]
fn directories_in_place_of_files_and_the_reverse_lead_to_what_works() {
    let folder = web();
    std::fs::create_dir(folder.path("logs")).unwrap();
    let log = folder.write("logs/web[1].csv", lines(2));
    let err = folder.fails(1, &["events", "ingest", "web", &log, "logs"]);
    for part in ["file: logs\n", "logs/*", "--follow logs"] {
        assert!(err.contains(part), "{part}: {err}");
    }
    let count = ["events", "query", "web", "--count"];
    assert_eq!(folder.ok(&count), "0 events\n");
    for command in [
        &["events", "create", "other", "--from", "logs"][..],
        &["import", "t", "logs", "--row", "ts"],
    ] {
        let err = folder.fails(1, command);
        assert!(err.contains("such as logs/*"), "{err}");
    }
    let follow = |what| {
        [
            "events",
            "ingest",
            "web",
            "--follow",
            what,
            "--until-idle",
            "0",
        ]
    };
    let err = folder.fails(2, &follow("logs/web[1].csv"));
    for part in [
        "--follow takes a directory",
        "--follow logs --name 'web[[]1[]].csv'",
        "`ostrakon events ingest web logs/web[1].csv`",
    ] {
        assert!(err.contains(part), "{part}: {err}");
    }
    let advised = [&follow("logs")[..], &["--name", "web[[]1[]].csv"]].concat();
    folder.ok(&advised);
    assert_eq!(folder.ok(&count), "2 events\n");
    let err = folder.fails(1, &follow("absent"));
    assert!(err.contains("check the name of the directory"), "{err}");
}

const NGINX: &str =
    "10.0.0.1 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"x\"\n";

#[test]
fn a_log_without_the_time_of_the_type_is_refused_once() {
    let folder = Folder::new();
    let zeek = folder.write(
        "conn.log",
        "#fields\tts\thost\n#types\ttime\tstring\n1400000000\ta\n",
    );
    folder.ok(&["events", "create", "conn", "--from", &zeek]);
    std::fs::create_dir(folder.path("logs")).unwrap();
    let nginx = folder.write("logs/access.log", NGINX.repeat(3000));
    let json = folder.write(
        "logs/a.jsonl",
        "{\"at\":1400000000,\"host\":\"a\"}\n".repeat(9),
    );
    for (file, fields) in [(&nginx, "agent, bytes, client"), (&json, "at, host")] {
        let ingest = [
            "events",
            "ingest",
            "conn",
            &zeek,
            file,
            "--rejects",
            "rejects",
        ];
        let err = folder.fails(1, &ingest);
        for part in [
            "the file has no field `ts`, which is the time of the type's events",
            &format!("file: {file}"),
            "type: conn",
            &format!("fields of the file: {fields}"),
            "events create NAME --from FILE",
            "--map FIELD=ts",
        ] {
            assert!(err.contains(part), "{part}: {err}");
        }
        assert!(!err.contains("events delete"), "{err}");
    }
    assert!(folder.read("rejects").lines().count() < 20);
    let follow = [
        "events",
        "ingest",
        "conn",
        "--follow",
        "logs",
        "--until-idle",
        "0",
    ];
    let follow = [&follow[..], &["--name", "*.log", "--interval", "1ms"]].concat();
    let err = folder.fails(1, &follow);
    assert_eq!(err.matches("has no field `ts`").count(), 1, "{err}");
    assert!(!err.contains("rejected"), "{err}");
    // As the message says.
    folder.ok(&["events", "ingest", "conn", &json, "--map", "at=ts"]);
    // In JSON, later records may have it.
    let late = folder.write(
        "late.jsonl",
        "{\"message\":\"begin\"}\n{\"ts\":1500000000,\"host\":\"a\"}\n",
    );
    let err = folder.fails(1, &["events", "ingest", "conn", &late]);
    assert!(
        err.contains("1 line was rejected; all others are stored"),
        "{err}"
    );
    // A wrong format.
    let err = folder.fails(1, &["events", "ingest", "conn", &nginx, "--format", "zeek"]);
    assert!(
        err.contains("no event was stored") && err.contains("--format"),
        "{err}"
    );
}
