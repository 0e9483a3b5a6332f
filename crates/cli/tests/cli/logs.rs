//! What `-v` and `OSTRAKON_LOG` print.

use crate::run::{Folder, finish};

#[test]
fn verbose_commands_say_what_the_store_does() {
    let folder = Folder::with_table();
    folder.import_csv("a,1,\nb,2,\n");
    let ran = folder.run(&["-v", "table", "flush", "t"]);
    for said in [
        "opened the store",
        "recovered 2 entries from the log",
        "1 flush: wrote 2 entries",
        "closed the store",
    ] {
        assert!(ran.err.contains(said), "{said}: {}", ran.err);
    }
    assert!(!ran.err.contains("DEBUG"), "{}", ran.err);
    folder.import_csv("c,3,\n");
    folder.ok(&["table", "flush", "t"]);
    let ran = folder.run(&["-vv", "table", "compact", "t"]);
    let said = "1 compaction: read 3 entries";
    assert!(ran.err.contains(said), "{said}: {}", ran.err);
    let mut command = folder.command(&["put", "t", "d", "f", "q", "v"]);
    command.env("OSTRAKON_LOG", "ostrakon=debug");
    let ran = finish(command, b"");
    assert!(ran.err.contains("wrote 1 entry in 1 batch"), "{}", ran.err);
    // A reader's command has nothing that counts hidden entries.
    let ran = folder.run(&["-vv", "scan", "t"]);
    assert!(ran.err.contains("opened the store") && !ran.err.contains("recovered"));
}
