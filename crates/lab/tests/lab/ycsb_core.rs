//! Keys, values and operations against those of YCSB core: the same seed, the same draws. Without Java and Maven this
//! fails and says what to install; `OSTRAKON_SKIP_YCSB=1` leaves it out.
//!
//! `peers/ycsb` sets the state of Java's `ThreadLocalRandom` and prints what the workload of YCSB, with its classes as they
//! are published, asks of a database. Compared is one thread, in which every draw follows the last one.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use ostrakon_lab::ycsb::{
    CoreWorkload, FieldValues, Fields, JavaRandom, Operation, Session, WorkloadProperties,
};

/// What the peer is asked: `load` or `run`, a number of operations, and properties.
const CASES: &[&str] = &[
    "load 300 recordcount=1000",
    "load 200 recordcount=1000 insertorder=ordered zeropadding=12 fieldcount=3 fieldlength=13",
    "load 100 recordcount=9000000 insertstart=4000000 insertcount=100 fieldcount=30 fieldlength=5",
    "load 100 recordcount=100 fieldlengthdistribution=uniform fieldlength=40 minfieldlength=3",
    "load 100 recordcount=100 fieldlengthdistribution=zipfian fieldlength=40 fieldnameprefix=né",
    "load 100 recordcount=100 dataintegrity=true fieldlength=90",
    "run 3000 recordcount=1000 operationcount=3000 readproportion=0.5 updateproportion=0.5 requestdistribution=zipfian",
    "run 3000 recordcount=500000 operationcount=3000 readproportion=1 updateproportion=0 requestdistribution=zipfian",
    "run 3000 recordcount=1000 operationcount=3000 readproportion=0.95 updateproportion=0 insertproportion=0.05 requestdistribution=latest",
    "run 3000 recordcount=1000 operationcount=3000 readproportion=0 updateproportion=0 scanproportion=0.95 insertproportion=0.05 requestdistribution=zipfian maxscanlength=100 fieldlength=7",
    "run 500 recordcount=1000 operationcount=500 readproportion=0 updateproportion=0 scanproportion=1 scanlengthdistribution=zipfian readallfields=false",
    "run 2000 recordcount=1000 operationcount=2000 readproportion=0.5 updateproportion=0 readmodifywriteproportion=0.5 requestdistribution=zipfian",
    "run 500 recordcount=1000 operationcount=500 writeallfields=true updateproportion=1 fieldlengthdistribution=uniform fieldcount=4",
    "run 2000 recordcount=1000 operationcount=2000 readallfields=false requestdistribution=hotspot",
    "run 2000 recordcount=1000 operationcount=2000 requestdistribution=exponential",
    "run 2000 recordcount=50 insertstart=10 insertcount=40 operationcount=2000 requestdistribution=sequential",
    "run 2000 recordcount=1000 operationcount=2000 insertproportion=0.2 fieldlength=1",
    "run 500 recordcount=1000 operationcount=500 dataintegrity=true updateproportion=0.5 fieldlength=33",
];
const SEEDS: [i64; 2] = [7, -8_421_504_905_504_301_201];

#[test]
fn keys_values_and_operations_are_those_of_ycsb_core() {
    // Where there is no Java for the one peer, there is none for the other.
    for name in ["OSTRAKON_SKIP_YCSB", "OSTRAKON_SKIP_ACCUMULO"] {
        if std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0") {
            eprintln!("skipped: {name} is set; nothing was compared with YCSB core");
            return;
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let histogram = folder.path().join("hist.txt");
    fs::write(&histogram, "BlockSize\t10\n0\t5\n1\t0\n2\t7\n3\t11\n").unwrap();
    let mut cases: Vec<String> = CASES.iter().map(|case| (*case).to_owned()).collect();
    cases.push(format!(
        "load 200 recordcount=200 fieldlengthdistribution=histogram fieldlengthhistogram={}",
        histogram.display()
    ));
    let mut asked = vec![(String::from("draws 500"), SEEDS[0])];
    for case in cases {
        asked.extend(SEEDS.map(|seed| (case.clone(), seed)));
    }
    let answers = ask(&asked);
    assert_eq!(answers.len(), asked.len());
    for ((case, seed), theirs) in asked.iter().zip(answers) {
        let ours = answer(case, *seed);
        for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            assert_eq!(ours, theirs, "{case}, seed {seed}, line {at}");
        }
        assert_eq!(ours.len(), theirs.len(), "{case}, seed {seed}");
    }
}

fn answer(case: &str, seed: i64) -> Vec<String> {
    let words: Vec<&str> = case.split(' ').collect();
    let count: i32 = words[1].parse().unwrap();
    let mut random = JavaRandom::new(seed as u64);
    if words[0] == "draws" {
        let draw = |at| {
            let (long, int) = (random.next_long(), random.next_int());
            let (below, double) = (random.next_below(at + 1), random.next_double());
            format!("{long} {int} {below} {:x}", double.to_bits())
        };
        return (0..count).map(draw).collect();
    }
    let mut properties = WorkloadProperties::default();
    for word in &words[2..] {
        let (name, value) = word.split_once('=').unwrap();
        properties.set(name, value);
    }
    let workload = CoreWorkload::new(&properties, &mut random).unwrap();
    let mut session = workload.session(random);
    (0..count)
        .flat_map(|_| match words[0] {
            "load" => load(&mut session),
            _ => transaction(&workload, &mut session),
        })
        .collect()
}

fn load(session: &mut Session<'_>) -> Vec<String> {
    let (mut key, mut values) = (Vec::new(), FieldValues::default());
    session.next_load(&mut key);
    session.next_record(&key, &mut values);
    vec![write("insert", &key, &values)]
}

/// The calls in the order in which a client makes them.
fn transaction(workload: &CoreWorkload, session: &mut Session<'_>) -> Vec<String> {
    let (mut key, mut values) = (Vec::new(), FieldValues::default());
    let operation = session.next_operation();
    if operation == Operation::Insert {
        let record = session.next_insert(&mut key);
        session.next_record(&key, &mut values);
        workload.acknowledge(record).unwrap();
        return vec![write("insert", &key, &values)];
    }
    session.next_key(&mut key);
    let shown = String::from_utf8_lossy(&key).into_owned();
    match operation {
        Operation::Read => {
            let fields = session.next_fields(operation);
            vec![format!("read {shown} {}", names(fields))]
        }
        Operation::Scan => {
            let count = session.next_scan_length();
            let fields = session.next_fields(operation);
            vec![format!("scan {shown} {count} {}", names(fields))]
        }
        Operation::Update => {
            session.next_update(&key, &mut values);
            vec![write("update", &key, &values)]
        }
        _ => {
            let fields = session.next_fields(operation);
            session.next_update(&key, &mut values);
            vec![
                format!("read {shown} {}", names(fields)),
                write("update", &key, &values),
            ]
        }
    }
}

fn names(fields: Fields<'_>) -> String {
    match fields {
        Fields::All => "*".to_owned(),
        Fields::Named(names) => {
            let mut names = names.to_vec();
            names.sort();
            names.join(",")
        }
    }
}

fn write(what: &str, key: &[u8], values: &FieldValues) -> String {
    let mut line = format!("{what} {}", String::from_utf8_lossy(key));
    for (name, value) in values.iter() {
        let hex: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
        line.push_str(&format!(" {}={hex}", String::from_utf8_lossy(name)));
    }
    line
}

/// The peer's answer to each case.
fn ask(asked: &[(String, i64)]) -> Vec<Vec<String>> {
    let built = build();
    let path = format!("{0}/ycsb-peer-1.jar:{0}/lib/*", built.display());
    let mut child = Command::new("java")
        .args(["-XX:+UseSerialGC", "-Xmx192m", "-Dfile.encoding=UTF-8"])
        .args(["--add-opens", "java.base/java.lang=ALL-UNNAMED"])
        .args(["-cp", &path, "ostrakon.ycsb.Main"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("java does not start: {error}. {ADVICE}"));
    let mut input = child.stdin.take().unwrap();
    let lines: String = asked
        .iter()
        .map(|(case, seed)| {
            let (what, rest) = case.split_once(' ').unwrap();
            format!("{what} {seed} {rest}\n")
        })
        .collect();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(
        output.status.success(),
        "the peer failed: {}",
        output.status
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let mut answers = vec![Vec::new()];
    for line in text.lines() {
        match line {
            "end" => answers.push(Vec::new()),
            // YCSB prints this for each workload with dataintegrity.
            "Data integrity is enabled." => {}
            line => answers.last_mut().unwrap().push(line.to_owned()),
        }
    }
    assert_eq!(
        answers.pop(),
        Some(Vec::new()),
        "the answer ends with `end`"
    );
    answers
}

const ADVICE: &str = "The comparison with YCSB core needs a JDK, 17 or newer, and Maven 3.6 or newer (scripts/setup \
     java installs them), and once Maven's repository. OSTRAKON_SKIP_YCSB=1 leaves it out.";

/// Builds the peer if it changed; returns the folder it is in.
fn build() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let project = root.join("peers/ycsb");
    let built = root.join("target/peers/ycsb");
    let sources = project.join("src/main/java/ostrakon/ycsb");
    let changed = |path: PathBuf| {
        let metadata = fs::metadata(path).and_then(|metadata| metadata.modified());
        metadata.unwrap_or(SystemTime::UNIX_EPOCH)
    };
    let newest = ["Main.java", "Recorder.java"]
        .map(|name| changed(sources.join(name)))
        .into_iter()
        .fold(changed(project.join("pom.xml")), SystemTime::max);
    if changed(built.join("ycsb-peer-1.jar")) > newest && built.join("lib").is_dir() {
        return built;
    }
    let mut said = String::new();
    // Without the network when everything was downloaded before.
    for offline in [&["-o"][..], &[]] {
        let output = Command::new("mvn")
            .args(["-B", "-q", "-ntp", "package"])
            .args(offline)
            .current_dir(&project)
            .output()
            .unwrap_or_else(|error| panic!("mvn does not start: {error}. {ADVICE}"));
        if output.status.success() {
            return built;
        }
        said = String::from_utf8_lossy(&output.stdout).into_owned();
    }
    panic!(
        "Maven could not build {}:\n{said}\n{ADVICE}",
        project.display()
    );
}
