//! Exit codes and error objects, which scripts depend on.

use crate::run::{Folder, Ran, finish, program};

/// 2: the command is wrong on any store. 1: it is valid, but failed or found something.
#[test]
fn exit_codes_tell_a_wrong_command_from_one_that_failed() {
    let folder = Folder::with_table();
    folder.ok(&["put", "t", "a", "f", "q", "v"]);
    folder.write("data.csv", "id,n\n1,x\n");
    folder.write("data.what", "id,n\n");
    folder.write("half.zeek", "#separator \\x09\n1\t2\n");
    folder.write("rows", "\\q\n");
    folder.write("there", "");
    let mut wrong = Vec::new();
    for (code, line) in [
        (0, "scan t"),
        (0, "scan t --row nobody"),
        (0, "scan t --limit 0"),
        (0, "table list"),
        (0, "help table config set"),
        (0, "check"),
        (0, "import t data.csv --row id"),
        (
            0,
            "import t data.csv --row id --type n=int --accept-rejects",
        ),
        // The command line is valid.
        (1, "scan tt"),
        (1, "table create t"),
        (1, "table rename tt u"),
        (1, "table delete tt --yes"),
        (1, "export t there"),
        (1, "import t absent.csv --row id"),
        (1, "import tt data.csv --row id"),
        (1, "import t data.csv --row id --type n=int"),
        (1, "table add-splits t --splits-file absent"),
        (1, "checkpoint ."),
        (1, "checkpoint /dev/null"),
        (1, "--read-only put t a f q v"),
        (1, "--data nowhere scan t"),
        (1, "lab report nowhere"),
        // The directory has other files.
        (1, "--data . scan t"),
        (1, "--data . table create u"),
        // The command line is wrong.
        (2, ""),
        (2, "scna t"),
        (2, "scan"),
        (2, "scan t --limt 3"),
        (2, "scan t --limit few"),
        (2, "scan t --row a\\q"),
        (2, "scan t --begin b --end a"),
        (2, "scan t --iterator RegExFilter"),
        (2, "scan t --iterator 30,RegexFilter"),
        (2, "scan t --iterator 30,RegExFilter,rowRegex=("),
        (2, "scan t --iterator 30,RegExFilter,row=x"),
        (2, "scan t --count --timestamps"),
        (2, "put t a f q v --visibility a&b|c"),
        (2, "put t a f q v --durability always"),
        (2, "table create no/name"),
        (2, "table create u --property table.split.treshold=1M"),
        (2, "table config set t table.durabilty=none"),
        (2, "table config set t table.durability=always"),
        (
            2,
            "table config set t table.iterator.scan.x=30,NoSuchIterator",
        ),
        (2, "table config set t table.iterator.scan.vers=20"),
        (2, "table config set t table.constraint.1=NoSuchConstraint"),
        (0, "table config delete t table.durability"),
        (0, "config delete table.durability"),
        (2, "table config delete t table.durabilty"),
        (2, "config delete table.durabilty"),
        (2, "table config delete t table.nonsense"),
        (2, "config delete table.nonsense"),
        (2, "config set table.nonsense=1"),
        // As in Accumulo: any name that begins like a server property.
        (0, "config set tserver.nonsense=1"),
        (0, "config delete tserver.nonsense"),
        (2, "table config set t tserver.nonsense=1"),
        (0, "iterators"),
        (0, "iterators --constraints"),
        (0, "iterators RegExFilter"),
        (2, "iterators RegexFilter"),
        (0, "table locate t a"),
        (1, "table locate tt a"),
        (2, "table locate t"),
        (0, "table flush t --timeout 60"),
        (1, "table flush t --timeout 1e-9"),
        (1, "table compact t --timeout 1e-9"),
        (1, "put t a f q v --timeout 1e-9"),
        (2, "table flush t --timeout 1 --no-wait"),
        (2, "table compact t --timeout soon"),
        (2, "table compact t --iterator 30,NoSuchIterator"),
        (2, "table clone t u --property table.durabilty=none"),
        (2, "table merge t --begin b --end a"),
        (2, "table delete t"),
        (2, "table add-splits t"),
        (2, "table add-splits t --splits-file rows"),
        (2, "delete-rows t --yes"),
        (2, "import t data.csv"),
        (2, "import t data.csv --row nobody"),
        (2, "import t data.what --row id"),
        (2, "import t data.csv --row id --visibility-field @line"),
        (2, "import t half.zeek --row 1"),
        (2, "export t --format xml"),
        (2, "lab run sen2013-tabel-1"),
        (2, "lab run sen2013-table-1 --repeat 0"),
        (2, "completions tcsh"),
        (2, "--memory lots table list"),
    ] {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        let ran = folder.run(&arguments);
        if ran.code != code {
            wrong.push(format!("{line}: {}, not {code}: {}", ran.code, ran.err));
            continue;
        }
        let ran = folder.run(&[&["--json"], &arguments[..]].concat());
        assert_eq!(ran.code, code, "--json {line}: {} {}", ran.out, ran.err);
        if code > 0 {
            let message = &object(&ran)["message"];
            assert!(message.as_str().unwrap().len() > 5, "{line}: {message}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The only error object that a run prints to stderr.
fn object(ran: &Ran) -> serde_json::Value {
    let object: serde_json::Value =
        serde_json::from_str(&ran.err).unwrap_or_else(|error| panic!("{error}: {}", ran.err));
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    object["error"].clone()
}

#[test]
fn a_command_line_that_cannot_be_read_is_an_object_too() {
    let run = |arguments: &[&str]| {
        let mut command = program();
        command.args(arguments);
        let ran = finish(command, b"");
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}");
        object(&ran)
    };
    let unknown = run(&["scan", "t", "--json", "--limt", "3"]);
    assert_eq!(unknown["kind"], "usage");
    assert_eq!(
        unknown["message"], "unexpected argument '--limt' found",
        "no colours, no line ends"
    );
    assert_eq!(unknown["next"], "a similar argument exists: '--limit'");
    let usage = unknown["context"]["usage"].as_str().unwrap();
    assert!(usage.starts_with("ostrakon scan"), "{usage}");
    let missing = run(&["--json", "put", "t", "a"]);
    let message = missing["message"].as_str().unwrap();
    assert!(
        message.ends_with("<FAMILY> <QUALIFIER> <VALUE>"),
        "{message}"
    );
    let message = run(&["table", "--json"])["message"].to_string();
    assert!(message.contains("requires a subcommand"), "{message}");
    let value = run(&["put", "t", "a\\q", "f", "q", "v", "--json"]);
    assert!(value["message"].as_str().unwrap().contains("position 2"));
    // Without it, errors are text.
    let mut command = program();
    command.args(["scan", "t", "--limt", "3"]);
    assert!(finish(command, b"").err.starts_with("error: unexpected"));
}

#[test]
fn an_unknown_class_is_reported_with_the_nearest_name_and_all_names() {
    let folder = Folder::with_table();
    for class in [
        "RegexFilter",
        "regexfilter",
        "org.apache.accumulo.core.iterators.user.RegExFiltr",
    ] {
        let iterator = format!("30,{class}");
        let err = folder.fails(2, &["scan", "t", "--iterator", &iterator]);
        assert!(err.contains("did you mean `RegExFilter`?"), "{err}");
        assert!(err.contains("WholeRowIterator"), "{err}");
    }
    let property = "table.iterator.scan.x=30,SumingCombiner";
    let err = folder.fails(2, &["table", "config", "set", "t", property]);
    assert!(err.contains("did you mean `SummingCombiner`?"), "{err}");
    let property = "table.constraint.1=NoDeletesConstraint";
    let err = folder.fails(2, &["table", "config", "set", "t", property]);
    assert!(err.contains("did you mean `NoDeleteConstraint`?"), "{err}");
    let err = folder.fails(2, &["scan", "t", "--iterator", "30,Zebra"]);
    assert!(!err.contains("did you mean"), "{err}");
}
