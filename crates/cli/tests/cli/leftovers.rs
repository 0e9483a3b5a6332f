//! A command that fails leaves nothing behind: neither a store nor a table.

use crate::run::Folder;

#[test]
fn a_table_that_cannot_be_created_makes_no_store() {
    let folder = Folder::new();
    for arguments in [
        &["table", "create", "bad name"][..],
        &["table", "create", "namespace.t"],
        &["table", "create", "t", "--property", "table.nonsense=1"],
        &["table", "create", "t", "--splits-file", "absent"],
        &["namespace", "create", "bad name"],
        &["import", "t", "absent.csv", "--row", "1", "--create"],
        &["import", "t", "data.csv", "--row", "nme", "--create"],
        &[
            "import", "t", "data.csv", "--row", "n", "--type", "n=int", "--create",
        ],
        &["import", "bad name", "data.csv", "--row", "n", "--create"],
        &["events", "create", "e", "--from", "absent.csv"],
        &["events", "create", "e", "--from", "data.csv"],
        &["events", "create", "E", "--from", "times.csv"],
        &[
            "events",
            "create",
            "e",
            "--from",
            "times.csv",
            "--keep",
            "x",
        ],
        &["events", "ingest", "e", "times.csv"],
    ] {
        folder.write("data.csv", "n,v\nx,y\n");
        folder.write("times.csv", "ts,time\n1,noon\n");
        let ran = folder.run(arguments);
        assert_ne!(ran.code, 0, "{arguments:?}");
        assert!(!folder.path("store").exists(), "{arguments:?}: {}", ran.err);
    }
}

#[test]
fn a_failed_import_leaves_no_empty_table() {
    let folder = Folder::with_table();
    folder.write("data.csv", "n,v\nx,y\n");
    folder.write("empty.csv", "n,v\n");
    folder.fails(2, &["import", "u", "data.csv", "--row", "nme", "--create"]);
    let typed = [
        "import", "u", "data.csv", "--row", "n", "--type", "n=int", "--create",
    ];
    folder.fails(1, &typed);
    assert_eq!(folder.ok(&["table", "list"]), "t\n");
    let absent = [
        "import",
        "u",
        "data.csv",
        "absent.csv",
        "--row",
        "n",
        "--create",
    ];
    folder.fails(1, &absent);
    assert_eq!(folder.ok(&["table", "list"]), "t\n");
    // Lines before a failure are kept, and so is their table.
    folder.write("wrong.csv", "m,v\nx,y\n");
    let wrong = [
        "import",
        "u",
        "data.csv",
        "wrong.csv",
        "--row",
        "n",
        "--create",
    ];
    folder.fails(2, &wrong);
    assert_eq!(folder.ok(&["scan", "u"]), "x :v []\ty\n");
    // A file without records is not a failure, and makes no table.
    let told = folder.ok(&["import", "v", "empty.csv", "--row", "n", "--create"]);
    assert!(told.contains("no table was created"), "{told}");
    assert_eq!(folder.ok(&["table", "list"]), "t\nu\n");
    let err = folder.fails(1, &["import", "v", "empty.csv", "--row", "n"]);
    assert!(err.contains("no such table"), "{err}");
}

#[test]
fn an_import_without_records_makes_no_store() {
    let folder = Folder::new();
    folder.write("empty.csv", "n,v\n");
    let create = ["import", "t", "empty.csv", "--row", "n", "--create"];
    let told = folder.ok(&create);
    assert!(told.contains("no table was created"), "{told}");
    let from_pipe = [
        "import", "t", "-", "--format", "csv", "--row", "n", "--create",
    ];
    folder.ok(&from_pipe);
    assert!(!folder.path("store").exists());
}

#[test]
fn a_dry_run_works_without_a_store_and_leaves_none() {
    let folder = Folder::new();
    folder.write("data.csv", "n,v\nx,y\n");
    let dry = [
        "import",
        "t",
        "data.csv",
        "--row",
        "n",
        "--create",
        "--dry-run",
    ];
    assert!(folder.ok(&dry).starts_with("checked 1 record"));
    assert!(!folder.path("store").exists());
    let dry = [
        "import",
        "bad name",
        "data.csv",
        "--row",
        "n",
        "--create",
        "--dry-run",
    ];
    folder.fails(2, &dry);
}
