//! `ostrakon events`: the guide as printed, output for programs, and a killed ingest.

use std::process::Command;

use super::run::Folder;

const CONN: &str = "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n\
#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tservice\tduration\torig_bytes\n\
#types\ttime\tstring\taddr\tport\taddr\tport\tenum\tstring\tinterval\tcount\n";

fn json(folder: &Folder, arguments: &[&str]) -> Vec<serde_json::Value> {
    let text = folder.ok(arguments);
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn log(lines: &[&str]) -> String {
    let lines: Vec<String> = lines
        .iter()
        .map(|line| line.replace(' ', "\t") + "\n")
        .collect();
    CONN.to_owned() + &lines.concat()
}

/// The folder of logs that the guide describes.
fn logs(folder: &Folder) {
    std::fs::create_dir(folder.path("logs")).unwrap();
    folder.write(
        "logs/conn.log",
        log(&[
            "1379288667.706265 CoyZrY 192.168.33.10 1032 54.245.228.191 80 tcp http 0.447460 601",
            "1379288668.093470 CaJxA8 192.168.33.10 1039 54.245.228.191 80 tcp http 0.116953 311",
            "1379288669.359003 CcPje8 192.168.33.10 1082 4.2.2.3 53 udp dns 0.017286 48",
        ]),
    );
    folder.write(
        "logs/conn.2.log",
        log(&[
            "1379296800.153861 CBKqil 192.168.33.12 1122 54.245.228.191 443 tcp ssl 0.056384 370",
            "1379296801.977052 C7z7TO 192.168.33.11 1125 108.59.9.32 80 tcp http 0.449916 375",
        ]),
    );
}

/// Runs the console blocks of a page in a shell, and compares what they print.
#[test]
fn the_guide_prints_what_it_says() {
    let folder = Folder::new();
    logs(&folder);
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/events.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut commands = 0;
    for block in page.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        for part in block.split("$ ").skip(1) {
            let (command, expected) = part.split_once('\n').unwrap();
            let program = std::path::Path::new(env!("CARGO_BIN_EXE_ostrakon"));
            let path = std::env::join_paths(
                std::iter::once(program.parent().unwrap().to_owned())
                    .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
            )
            .unwrap();
            let ran = Command::new("sh")
                .args(["-c", command])
                .current_dir(folder.path(""))
                .env("PATH", path)
                .env("OSTRAKON_DATA", folder.path("store"))
                .output()
                .unwrap();
            let printed = String::from_utf8_lossy(&ran.stdout);
            assert_eq!(
                printed,
                expected,
                "{command}\n{}",
                String::from_utf8_lossy(&ran.stderr)
            );
            commands += 1;
        }
    }
    assert!(commands >= 5);
}

#[test]
fn programs_get_stable_objects() {
    let folder = Folder::new();
    logs(&folder);
    let first = folder.text("logs/conn.log");
    folder.ok(&["events", "create", "conn", "--from", &first]);
    let ingested = json(&folder, &["events", "ingest", "conn", &first, "--json"]);
    assert_eq!(
        (
            ingested[0]["events"].as_u64(),
            ingested[0]["duplicates"].as_u64()
        ),
        (Some(3), Some(0))
    );
    assert!(ingested[0]["entries"].as_u64() > Some(30) && ingested[0]["seconds"].is_number());
    let again = json(&folder, &["events", "ingest", "conn", &first, "--json"]);
    assert_eq!(
        (again[0]["events"].as_u64(), again[0]["duplicates"].as_u64()),
        (Some(0), Some(3))
    );
    let seen = json(
        &folder,
        &["events", "query", "conn", "service == 'dns'", "--json"],
    );
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0]["time"], "2013-09-15T23:44:29.359003Z");
    assert_eq!(seen[0]["fields"]["id.resp_h"], "4.2.2.3");
    let page = json(
        &folder,
        &["events", "query", "conn", "--limit", "2", "--json"],
    );
    let token = page[2]["token"].as_str().unwrap();
    let rest = json(
        &folder,
        &["events", "query", "conn", "--resume", token, "--json"],
    );
    assert_eq!((page.len(), rest.len()), (3, 1));
    let bins = json(
        &folder,
        &["events", "histogram", "conn", "--by", "1h", "--json"],
    );
    assert_eq!(bins[0]["bins"][0]["events"], 3);
    let plan = json(
        &folder,
        &[
            "events",
            "explain",
            "conn",
            "uid == 'CcPje8'",
            "--analyze",
            "--json",
        ],
    );
    assert_eq!(plan[0]["actual"]["events"], 1);
    let check = json(&folder, &["events", "check", "conn", "--json"]);
    assert_eq!(check[0]["disagreements"], serde_json::json!([]));
    let wrong = folder.run(&["events", "query", "conn", "servise == 'dns'"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("no such field"), "{}", wrong.err);
    assert_eq!(
        folder.run(&["events", "query", "conn", "service =="]).code,
        2
    );
}

#[test]
fn rejected_lines_are_kept_with_their_reasons() {
    let folder = Folder::new();
    logs(&folder);
    let first = folder.text("logs/conn.log");
    folder.ok(&["events", "create", "conn", "--from", &first]);
    let broken = folder.write(
        "broken.log",
        log(&["never x y", "1 C 10.0.0.1 port 10.0.0.2 80 tcp http 1 2"]),
    );
    let rejects = folder.text("rejects");
    let ran = folder.run(&["events", "ingest", "conn", &broken, "--rejects", &rejects]);
    assert_eq!(ran.code, 1);
    let kept = std::fs::read_to_string(&rejects).unwrap();
    assert!(
        kept.contains("broken.log:8: the line has 7 fields less"),
        "{kept}"
    );
    assert!(
        kept.contains("`id.orig_p` is not of type u64: port"),
        "{kept}"
    );
    // A file of the input is not overwritten, under whatever name.
    let before = folder.read("broken.log");
    let other = folder.text("logs/../broken.log");
    let err = folder.fails(
        2,
        &["events", "ingest", "conn", &broken, "--rejects", &other],
    );
    assert!(err.contains("one of the files to read"), "{err}");
    assert_eq!(folder.read("broken.log"), before);
}

#[test]
fn logs_of_json_and_of_labels() {
    let folder = Folder::new();
    let lines = "{\"ts\":1.5,\"host\":\"a\",\"who\":\"soc\"}\n{\"ts\":2.5,\"host\":\"b\",\"who\":\"noc\"}\n";
    let file = folder.write("web.json", lines);
    folder.ok(&[
        "events",
        "create",
        "web",
        "--from",
        &file,
        "--visibility-field",
        "who",
    ]);
    folder.ok(&["events", "ingest", "web", &file]);
    assert_eq!(
        folder.ok(&["events", "query", "web", "--auths", "noc"]),
        "1970-01-01T00:00:02.5Z [noc] host=b ts=2.5 who=noc\n"
    );
    assert_eq!(
        folder.ok(&["events", "query", "web", "--count"]),
        "0 events\n"
    );
    assert_eq!(
        folder.ok(&["events", "query", "web", "--count", "--auths", "soc,noc"]),
        "2 events\n"
    );
    folder.ok(&[
        "events",
        "delete",
        "web",
        "host == 'a'",
        "--yes",
        "--auths",
        "soc",
    ]);
    assert_eq!(
        folder.ok(&["events", "query", "web", "--count", "--auths", "soc,noc"]),
        "1 event\n"
    );
    folder.ok(&["events", "check", "web", "--auths", "soc,noc"]);
}

/// Kills the program at several moments of an ingest; what is visible then agrees, and the rest can be added.
#[test]
fn a_killed_ingest_leaves_tables_that_agree() {
    let folder = Folder::new();
    let mut text = "ts,host,number\n".to_owned();
    for number in 0..4000 {
        text.push_str(&format!(
            "{},h{},{number}\n",
            1_400_000_000 + number * 7,
            number % 13
        ));
    }
    let file = folder.write("web.csv", &text);
    folder.ok(&["events", "create", "web", "--from", &file]);
    for wait in [30, 80, 150] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ostrakon"))
            .args(["events", "ingest", "web", &file, "--batch-events", "100"])
            .env("OSTRAKON_DATA", folder.path("store"))
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
        let check = json(&folder, &["events", "check", "web", "--json"]);
        assert_eq!(check[0]["disagreements"], serde_json::json!([]));
        let seen = check[0]["events"].as_u64().unwrap();
        assert_eq!(seen % 100, 0, "batches are visible as a whole");
        let count = json(&folder, &["events", "query", "web", "--count", "--json"]);
        assert_eq!(count[0]["events"].as_u64(), Some(seen));
    }
    folder.ok(&["events", "ingest", "web", &file]);
    assert_eq!(
        folder.ok(&["events", "query", "web", "--count"]),
        "4,000 events\n"
    );
    folder.ok(&["events", "check", "web"]);
}
