//! The examples of `--help` run as printed.

use std::collections::BTreeSet;
use std::sync::Mutex;

use crate::run::Folder;
use crate::shell::{script, shell, succeeds};

/// Files and a store that the examples speak of.
const PREPARE: &str = r#"
mkdir -p bin logs parts home/.local/share/bash-completion/completions home/.config/fish/completions home/.zfunc
printf 'id,label,age,name\np1,hr,34,Alice\np2,hr|it,41,Bob\n' > people.csv
printf 'LH,1,FRA,2,AER\nLH,1,FRA,2,KZN\n' > routes.csv
printf 'alice bob 3\n' > friends.edges
printf '{"user":{"id":"u7"},"at":1400000000}\n' | gzip > events.jsonl.gz
printf '66.249.73.135 - - [17/May/2015:10:05:03 +0000] "GET /admin HTTP/1.1" 404 9316 "-" "curl/8"\n' > access.log
printf '17 done today\n18 failed today\n' > jobs.log
printf 'not read as an image' > alice.jpg
printf 'alice\tx\nzoe\ty\n' > wanted.tsv
printf 'g\nn\n' > splits.txt
printf 'name,people\nbern,134000\n' > city.csv
printf 'SELECT row, value FROM people;\n' > report.sql
printf 'address,host\n192.168.33.10,desk\n' > hosts.csv
printf '<34>1 2026-03-01T12:00:00Z host app 1 - - started\n' | gzip > syslog.gz
zeek() { printf '#separator \\x09\n#path\t%s\n#fields\t%s\n#types\t%s\n' "$1" "$2" "$3"; }
zeek conn "ts	uid	id.orig_h	id.resp_h	id.resp_p	service" "time	string	addr	addr	port	string" > conn.log
printf '1379288667.7\tCoyZrY\t192.168.33.10\t10.0.0.1\t80\thttp\n' >> conn.log
printf '1379288668.7\tCaJxA8\t192.168.33.10\t10.0.0.2\t53\tdns\n' >> conn.log
zeek dns "ts	uid	id.orig_h	query" "time	string	addr	string" > dns.log
printf '1379288668.1\tCaJxA8\t192.168.33.10\texample.org\n' >> dns.log
gzip -c conn.log > logs/conn.1.log.gz
ostrakon table create people
ostrakon put people alice contact mail alice@example.org --visibility 'hr|self'
ostrakon put people alice contact city Berlin
ostrakon table flush people
ostrakon table create codes
ostrakon table create events
ostrakon table create graph
ostrakon namespace create staff
ostrakon events create conn --from conn.log
ostrakon events create dns --from dns.log
ostrakon events create web --from access.log
ostrakon events ingest conn conn.log
ostrakon events ingest dns dns.log
ostrakon events ingest web access.log
ostrakon events show conn > conn.toml
"#;

/// What else must be there, or must not, for the examples that begin so.
const BEFORE: &[(&str, &str)] = &[
    (
        "ostrakon table create people",
        "ostrakon table delete people --yes",
    ),
    (
        "ostrakon table create events",
        "ostrakon table delete events --yes",
    ),
    (
        "ostrakon import people",
        "ostrakon table delete people --yes",
    ),
    (
        "ostrakon import events",
        "ostrakon table delete events --yes",
    ),
    (
        "ostrakon import copy people.csv",
        "rm people.csv; ostrakon export people people.csv",
    ),
    ("ostrakon export people people.csv", "rm people.csv"),
    (
        "ostrakon events create conn --from",
        "ostrakon events drop conn --yes",
    ),
    (
        "ostrakon events create conn --schema",
        "ostrakon events drop conn --yes",
    ),
    (
        "zcat syslog.gz",
        "zcat syslog.gz > messages.log; ostrakon events create messages --from messages.log --format syslog",
    ),
    (
        "ostrakon events age-off conn --yes",
        "sed -i.old '/^keep/d' conn.toml; echo 'keep = \"90d\"' | cat - conn.toml > kept.toml
         ostrakon events edit conn --schema kept.toml",
    ),
    (
        "ostrakon events calibrate conn",
        r#"cp conn.log more.log
         for i in $(seq 10000 19999); do printf '13792%d.5\tC\t10.0.0.1\t10.0.0.2\t53\tdns\n' $i; done >> more.log
         ostrakon events ingest conn more.log"#,
    ),
    ("ostrakon checkpoint backups/monday", "mkdir backups"),
    (
        "ostrakon --data backups/monday",
        "mkdir backups; ostrakon checkpoint backups/monday",
    ),
    (
        "ostrakon table restore-file backups/monday",
        "mkdir backups; ostrakon checkpoint backups/monday
         for file in backups/monday/files/*.sorted; do break; done
         rm \"store/files/${file##*/}\"",
    ),
    (
        "ostrakon table drop-file",
        "mkdir backups; ostrakon checkpoint backups/monday
         for file in backups/monday/files/*.sorted; do break; done
         rm \"store/files/${file##*/}\"",
    ),
    (
        "ostrakon table import-directory",
        "mkdir backups; ostrakon checkpoint backups/monday; cp backups/monday/files/*.sorted parts",
    ),
    (
        "ostrakon table splits people",
        "ostrakon table add-splits people g; ostrakon --data other table create people",
    ),
    (
        "ostrakon config get --namespace people",
        "ostrakon namespace create people",
    ),
    (
        "ostrakon config set --namespace people",
        "ostrakon namespace create people",
    ),
    (
        "ostrakon namespace rename people",
        "ostrakon namespace create people",
    ),
    (
        "ostrakon table create people.papers",
        "ostrakon namespace create people",
    ),
    (
        "ostrakon sql -c \"INSERT",
        "ostrakon sql -c 'CREATE TABLE city (name VARCHAR, people BIGINT, PRIMARY KEY (name))'",
    ),
    (
        "ostrakon lab continuous walk",
        "ostrakon lab continuous ingest --entries 2000",
    ),
    (
        "ostrakon lab continuous verify",
        "ostrakon lab continuous ingest --entries 2000",
    ),
    (
        "ostrakon lab ycsb run",
        "ostrakon lab ycsb load -P workloada -p recordcount=1000",
    ),
    (
        "ostrakon lab report records",
        "ostrakon lab run sen2013-table-1 --scale 0.001 --repeat 1 --out records",
    ),
];

/// Sizes that are too large for a test, and what a test cannot have.
const INSTEAD: &[(&str, &str)] = &[
    ("--entries 10M", "--entries 2000"),
    ("--seconds 10", "--seconds 1"),
    ("--seconds 60", "--seconds 1"),
    ("--kills 50", "--kills 1 --life-max 1"),
    ("--kills 10", "--kills 1 --life-max 1"),
    ("--kills 5 ", "--kills 1 --life-max 1 "),
    ("count=1000000", "count=1000"),
    ("count=100000", "count=1000"),
    ("maxexecutiontime=10", "maxexecutiontime=1"),
    (
        "sen2013-table-1 --out",
        "sen2013-table-1 --scale 0.001 --repeat 1 --out",
    ),
    (
        "delete-many people --row alice",
        "delete-many people --yes --row alice",
    ),
    (
        "0000000000000012.sorted",
        "$(ls backups/monday/files | head -n 1)",
    ),
    ("drop-file files", "drop-file --yes files"),
    ("10:05 --auths soc", "10:05 --auths soc --yes"),
];

/// Examples that other tests run, or that take too long.
const ELSEWHERE: &[&str] = &[
    // In `follow`: it goes on until Ctrl-C.
    "ostrakon events ingest conn --follow /var/log/zeek --name 'conn*.log'",
    // In `lab`, one experiment at a time.
    "ostrakon lab run all --scale 0.1 --repeat 1 --out quick",
];

/// The help of a command and of those below it.
fn helps(folder: &Folder, command: &[String], found: &mut Vec<String>) {
    let mut words = vec!["help"];
    words.extend(command.iter().map(String::as_str));
    let help = folder.ok(&words);
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    for line in list.take_while(|line| !line.is_empty()) {
        // A name begins after two blanks, and the text after it in later lines after more.
        let name = line
            .strip_prefix("  ")
            .filter(|rest| !rest.starts_with(' '));
        let name = name.and_then(|rest| rest.split_whitespace().next());
        if let Some(name) = name.filter(|name| *name != "help") {
            helps(folder, &[command, &[name.to_owned()]].concat(), found);
        }
    }
    found.push(help);
}

/// The commands of a help text's examples, without what explains them.
fn examples(help: &str) -> Vec<String> {
    let mut examples: Vec<String> = Vec::new();
    let head = |line: &&str| ["Examples:", "A first table:"].contains(line);
    let lines = help.lines().skip_while(|line| !head(line)).skip(1);
    let mut continued = false;
    for line in lines.take_while(|line| line.is_empty() || line.starts_with(' ')) {
        // An explanation is set off by several blanks.
        let code = line.trim_start().split("  ").next().unwrap_or_default();
        let (code, goes_on) = match code.strip_suffix('\\') {
            Some(code) => (code, true),
            None => (code, false),
        };
        if continued {
            let last = examples.last_mut().unwrap();
            last.push(' ');
            last.push_str(code.trim());
        } else if code.contains("ostrakon ") && !code.ends_with(':') {
            examples.push(code.trim_end().to_owned());
        }
        continued = goes_on;
    }
    examples
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Runs one example on a copy of the prepared folder.
fn run(
    prepared: &Folder,
    example: &str,
    used: &Mutex<BTreeSet<&'static str>>,
    failed: &Mutex<Vec<String>>,
) {
    if let Some(one) = ELSEWHERE.iter().find(|one| **one == example) {
        used.lock().unwrap().insert(*one);
        return;
    }
    if !cfg!(feature = "sql") && example.contains("ostrakon sql") {
        return;
    }
    let mut code = example.to_owned();
    for (printed, instead) in INSTEAD {
        if code.contains(printed) {
            used.lock().unwrap().insert(printed);
            code = code.replace(printed, instead);
        }
    }
    let folder = Folder::new();
    copy(&prepared.path(""), &folder.path(""));
    // The longest of the prefixes, because one may be the beginning of another.
    let before = BEFORE
        .iter()
        .filter(|(prefix, _)| example.starts_with(prefix));
    if let Some((prefix, before)) = before.max_by_key(|(prefix, _)| prefix.len()) {
        used.lock().unwrap().insert(prefix);
        succeeds(&folder, before);
    }
    let ran = shell(&folder, &code);
    if !ran.status.success() {
        let err = String::from_utf8_lossy(&ran.stderr);
        failed.lock().unwrap().push(format!("{code}\n{err}"));
    }
}

#[test]
fn examples_of_the_help_run() {
    let prepared = Folder::new();
    succeeds(&prepared, PREPARE);
    // Programs that a machine may lack. What they do is not tested here.
    script(&prepared.path("bin/jq"), "#!/bin/sh\nexec cat\n");
    script(&prepared.path("bin/man"), "#!/bin/sh\nexit 0\n");
    let mut found = Vec::new();
    helps(&prepared, &[], &mut found);
    let all: Vec<String> = found.iter().flat_map(|help| examples(help)).collect();
    assert!(all.len() >= 90, "{}", all.len());
    let (used, failed) = (Mutex::new(BTreeSet::new()), Mutex::new(Vec::new()));
    let left = Mutex::new(all.iter());
    let worker = || {
        while let Some(example) = { left.lock().unwrap().next() } {
            run(&prepared, example, &used, &failed);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(worker);
        }
    });
    let (used, failed) = (used.into_inner().unwrap(), failed.into_inner().unwrap());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    let listed = BEFORE.iter().chain(INSTEAD).map(|(key, _)| *key);
    let unused: Vec<&str> = listed
        .chain(ELSEWHERE.iter().copied())
        .filter(|key| !used.contains(key) && (cfg!(feature = "sql") || !key.contains(" sql")))
        .collect();
    assert!(unused.is_empty(), "no example needs {unused:?}");
}

#[test]
fn examples_are_told_from_what_explains_them() {
    let help = "Text.\n\nExamples:\n  A file:\n    ostrakon import t \\\n      --row 1\n\n  ostrakon scan t    all of it\nMore.\n  ostrakon x\n";
    assert_eq!(
        examples(help),
        ["ostrakon import t --row 1", "ostrakon scan t"]
    );
}
