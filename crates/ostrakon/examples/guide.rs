//! The code of docs/guide/rust.md, as one program.
//!
//! ```text
//! a@b.c
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]
#![allow(
    clippy::items_after_statements,
    reason = "each part of the guide names what it uses"
)]

#[rustfmt::skip] // As the guide prints it.
pub(crate) fn main() -> ostrakon::Result<()> {
    use ostrakon::Store;

    let store = Store::open("people.db")?; // a directory, made if it is not there
    let people = store.open_or_create_table("people")?;
    people.put("alice", ("contact", "mail"), "a@b.c").label("hr|self").commit()?;

    for entry in people.scan().row("alice").auths(["hr"]) {
        println!("{}", entry?.value_str()?);
    }
    assert!(people.scan().row("alice").first()?.is_none()); // without `hr` the entry is not there

    people
        .update("alice")
        .put(("contact", "city"), "Berlin")
        .put(("contact", "mail"), "a@b.c").label("hr|self")
        .delete(("contact", "fax"))
        .commit()?;

    let edges = store.create_table("edges")?;
    let mut writer = edges.batch_writer();
    for n in 0..10_000_u64 {
        writer.put(format!("{n:08}"), ("next", ""), (n + 1).to_be_bytes())?;
    }
    writer.close()?;

    use ostrakon::Condition;

    let jobs = store.create_table("jobs")?;
    let holder = ("lock", "holder");
    let taken = jobs.put("nightly", holder, "worker-7").only_if(Condition::absent(holder)).commit()?;
    assert!(taken);

    let log = store.create_table("log")?;
    log.put("2026-01-31", ("event", "login"), "alice").put(("event", "logout"), "bob").commit()?;

    let january = log.scan().row_prefix("2026-01").family("event");
    assert_eq!(january.clone().count()?, 2);
    let of_bob = january.filter(|entry| entry.value == b"bob").first()?;
    assert_eq!(of_bob.expect("found").qualifier_str()?, "logout");

    let mut entries = edges.scan().start()?;
    let mut batch = ostrakon::Batch::new();
    let mut bytes = 0;
    while entries.next_batch(&mut batch)? {
        bytes += batch.iter().map(|entry| entry.value.len()).sum::<usize>();
    }
    assert_eq!(bytes, 80_000);

    use ostrakon::{IteratorScope, IteratorSetting};

    let filtering = Store::builder()
        .filter_class("NoTests", |entry| !entry.key.row.starts_with(b"test-"))
        .in_memory()?;
    let events = filtering.create_table("events")?;
    let setting = IteratorSetting::new(30, "no-tests", "NoTests");
    events.attach_iterator(&setting, &IteratorScope::ALL)?;

    events.put("test-1", ("f", "q"), "dropped").commit()?;
    assert_eq!(events.scan().count()?, 0);

    let saved = serde_json::to_string(&log.scan().collect()?).expect("JSON");
    let loaded: Vec<ostrakon::Entry> = serde_json::from_str(&saved).expect("entries");
    assert_eq!(loaded, log.scan().collect()?);

    use futures_util::TryStreamExt as _;

    let found = async {
        log.put("2026-02-01", ("event", "login"), "carol").commit_async().await?;
        let mut entries = log.scan().row_prefix("2026-02").stream();
        let entry = entries.try_next().await?;
        Ok::<_, ostrakon::Error>(entry.expect("found"))
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    assert_eq!(runtime.block_on(found)?.value_str()?, "carol");

    use ostrakon::Authorizations;
    use ostrakon::cell::{ReaderSource, Scanner, Source as _};

    let held = Authorizations::new(["hr"])?;
    let reader = ReaderSource::new(store.source()?, held.clone());
    let seen = Scanner::new(reader.table("people")?).authorizations(held).entries()?;
    assert_eq!(seen.len(), 2);
    let more = Authorizations::new(["admin"])?;
    assert!(Scanner::new(reader.table("people")?).authorizations(more).entries().is_err());
    Ok(())
}
