//! Types are created, changed and dropped while other programs write or die.

use std::sync::Arc;

use ostrakon_cell::{
    BatchWriter, BatchWriterConfig, CallContext, Capabilities, CloneOptions, ConditionalMutation,
    Error, ErrorKind, Mutation, MutationBatch, PropertyOwner, ReaderSource, Result, Source, Table,
    TableInfo, TableOptions, VersionedProperties,
};
use ostrakon_events::{
    CountPath, EventStore, EventType, IngestOptions, check_entries_not_of_events,
    check_inherited_by_events, check_namespace_not_of_events, check_not_of_events,
    reserved_to_events,
};

use super::support::{TYPE, everything, held, ingest, make, open, open_web, read, records};

fn create(store: &EventStore) -> Result<EventType> {
    store.create(&EventType::from_toml(TYPE).expect("valid"))
}

#[test]
fn a_new_type_never_takes_over_the_events_of_an_old_one() {
    let (source, store) = open_web();
    ingest(&store, &make(31, 20), 100);
    // The registry has lost the type, and the tables are still there.
    let mut writer = BatchWriter::new(
        source.table("events.types").expect("there"),
        BatchWriterConfig::default(),
    );
    let mut mutation = Mutation::new("web");
    for qualifier in ["toml", "state"] {
        mutation.delete("type", qualifier).expect("valid");
    }
    writer.add(&mutation).expect("held");
    writer.close().expect("written");
    let error = create(&store).expect_err("tables are left over");
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert!(error.to_string().contains("drop the type"), "{error}");
    store.drop_type("web").expect("deletes the tables");
    assert!(
        store
            .drop_type("web")
            .expect_err("gone")
            .kind()
            .is_not_found()
    );
    create(&store).expect("created");
    assert_eq!(read(&store, &everything()), []);
}

#[test]
fn a_deletion_that_stopped_between_the_tables_can_be_repeated() {
    let (source, store) = open_web();
    ingest(&store, &make(32, 20), 100);
    source.delete_table("events.web").expect("deleted");
    // The type is still there, so that its name is not free.
    assert_eq!(
        create(&store).expect_err("exists").kind(),
        ErrorKind::AlreadyExists
    );
    store.drop_type("web").expect("deletes the rest");
    assert!(source.table("events.web_index").is_err());
    create(&store).expect("created");
    ingest(&store, &make(33, 10), 100);
    assert_eq!(read(&store, &everything()).len(), 10);
}

#[test]
fn a_type_that_lacks_a_table_says_so_and_is_dropped() {
    for table in EventStore::table_names("web") {
        let (source, store) = open_web();
        ingest(&store, &make(37, 20), 100);
        source.delete_table(&table).expect("deleted");
        let web = store.get("web").expect("registered");
        let options = IngestOptions::default();
        let query = everything();
        for (call, outcome) in [
            ("query", store.events(&query).map(drop)),
            ("explain", store.explain(&query).map(drop)),
            ("ingest", store.ingest("web", options).map(drop)),
            ("check", store.check(&query).map(drop)),
            ("delete", store.delete(&query).map(drop)),
            ("edit", store.change(&web).map(drop)),
            ("create", create(&store).map(drop)),
        ] {
            let error = outcome.expect_err(call);
            let kind = match call {
                "create" => ErrorKind::AlreadyExists,
                _ => ErrorKind::NotFound,
            };
            assert_eq!(error.kind(), kind, "{call}: {error}");
            let text = error.to_string();
            for part in ["only partly there", "events drop", &table] {
                assert!(text.contains(part), "{call}: {text}");
            }
        }
        assert!(source.table(&table).is_err(), "nothing made it again");
        store.drop_type("web").expect("dropped");
        create(&store).expect("the name is free");
    }
}

/// Cannot create a table that ends with `fails`; cannot delete any if `keeps`.
struct Failing {
    source: Arc<dyn Source>,
    fails: &'static str,
    keeps: bool,
}

impl Source for Failing {
    fn capabilities(&self) -> Capabilities {
        self.source.capabilities()
    }

    fn tables(&self) -> Result<Vec<TableInfo>> {
        self.source.tables()
    }

    fn create_table(&self, name: &str, options: &TableOptions) -> Result<()> {
        match name.ends_with(self.fails) {
            true => Err(Error::new(ErrorKind::OutOfSpace, "the disk is full")),
            false => self.source.create_table(name, options),
        }
    }

    fn delete_table(&self, name: &str) -> Result<()> {
        match self.keeps {
            true => Err(Error::new(ErrorKind::OutOfSpace, "the disk is full")),
            false => self.source.delete_table(name),
        }
    }

    fn rename_table(&self, from: &str, to: &str) -> Result<()> {
        self.source.rename_table(from, to)
    }

    fn clone_table(&self, from: &str, to: &str, options: &CloneOptions) -> Result<()> {
        self.source.clone_table(from, to, options)
    }

    fn create_namespace(&self, name: &str) -> Result<()> {
        self.source.create_namespace(name)
    }

    fn own_properties(&self, owner: PropertyOwner<'_>) -> Result<VersionedProperties> {
        self.source.own_properties(owner)
    }

    fn table(&self, name: &str) -> Result<Arc<dyn Table>> {
        self.source.table(name)
    }

    fn set_online(&self, name: &str, online: bool) -> Result<()> {
        self.source.set_online(name, online)
    }
}

#[test]
fn a_creation_that_fails_deletes_its_tables_or_names_them() {
    let (source, _) = open();
    let tables = || {
        let tables = source.tables().expect("listed").into_iter();
        let tables = tables.map(|table| table.name);
        let mut names: Vec<String> = tables.filter(|name| name.contains("web")).collect();
        names.sort();
        names
    };
    let failing = |fails, keeps| {
        EventStore::new(Arc::new(Failing {
            source: source.clone(),
            fails,
            keeps,
        }))
    };
    for fails in ["web", "_index", "_aggregate"] {
        let error = create(&failing(fails, false)).expect_err("the disk is full");
        assert_eq!(error.kind(), ErrorKind::OutOfSpace, "{error}");
        assert!(!error.to_string().contains("left behind"), "{error}");
        assert_eq!(tables(), [""; 0], "{fails}");
    }
    let error = create(&failing("_aggregate", true)).expect_err("the disk is full");
    assert_eq!(tables(), ["events.web", "events.web_index"]);
    let text = error.to_string();
    for part in [
        "left behind: events.web, events.web_index",
        "events drop web",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Tables that were there before stay: another creation may have made them.
    let error = create(&failing("_aggregate", false)).expect_err("the disk is full");
    assert_eq!(error.kind(), ErrorKind::OutOfSpace, "{error}");
    assert_eq!(tables().len(), 2);
    let store = EventStore::new(source.clone());
    create(&store).expect("completes the creation");
    ingest(&store, &make(38, 20), 100);
    assert_eq!(read(&store, &everything()).len(), 20);
}

#[test]
fn an_open_ingest_fails_once_its_type_has_changed() {
    let made = make(34, 40);
    let (names, all) = records(&made);
    for has_begun in [true, false] {
        let (_, store) = open_web();
        let start = || {
            store
                .ingest("web", IngestOptions::default())
                .expect("a type")
        };
        let mut open = start();
        open.add(&names, &all[0]).expect("held");
        if has_begun {
            open.commit().expect("committed");
        }
        let mut web = store.get("web").expect("a type");
        web.visibility = Some("a".into());
        store.change(&web).expect("changed");
        open.add(&names, &all[1]).expect("held");
        for _ in 0..2 {
            let error = open.commit().expect_err("the definition is old");
            assert_eq!(error.kind(), ErrorKind::ConcurrentModification, "{error}");
        }
        assert_eq!(
            read(&store, &everything()).len(),
            usize::from(has_begun),
            "{has_begun}"
        );
        ingest(&store, &made, 7);
        let found = read(&store, &everything());
        assert!(
            found.iter().filter(|made| made.label.is_empty()).count() <= usize::from(has_begun)
        );
        assert_eq!(
            store
                .count(&everything(), CountPath::Aggregates)
                .expect("counted"),
            found.len() as u64
        );
        assert_eq!(
            store.check(&everything()).expect("checked").disagreements,
            []
        );
    }
}

#[test]
fn changes_of_a_type_without_events_leave_it_without_events() {
    let (_, store) = open_web();
    let mut web = store.get("web").expect("a type");
    for bin in ["1d", "2h"] {
        web.bin = bin.into();
        web = store.change(&web).expect("nothing is stored");
    }
}

/// In conditions, `time` is the time of the event; a field of that name would hide it.
#[test]
fn a_field_called_time_is_the_time_field() {
    let (_, store) = open_web();
    let field = |name: &str, kind| ostrakon_events::Field {
        name: name.into(),
        kind,
        indexed: false,
        id: None,
    };
    let mut web = store.get("web").expect("a type");
    web.fields
        .push(field("time", ostrakon_events::FieldType::Text));
    let error = store.change(&web).expect_err("refused").to_string();
    assert!(error.contains("--map time=NAME"), "{error}");
    web.name = "other".into();
    let error = store.create(&web).expect_err("refused").to_string();
    assert!(error.contains("--map time=NAME"), "{error}");
    let records = {
        let mut record = ostrakon_events::Record::default();
        record.push(0, b"1.5");
        record.push(1, b"noon");
        [record]
    };
    let names = ["ts", "time"].map(String::from);
    let error = ostrakon_events::infer("other", &names, &[], &records, None)
        .expect_err("two times to choose");
    assert!(error.to_string().contains("--map time=NAME"), "{error}");
    let named = ["ts", "when"].map(String::from);
    ostrakon_events::infer("other", &named, &[], &records, None).expect("inferred");
}

/// A lookup of one type reads its definition alone: another one that is damaged does not matter.
#[test]
fn a_thousand_types_are_looked_up_one_by_one() {
    let (source, store) = open_web();
    let mut definition = EventType::from_toml(
        "name = 'web'\ntime = 'ts'\n[[shards]]\ncount = 1\n[[fields]]\nname = 'ts'\ntype = 'time'\n",
    )
    .expect("valid");
    for number in 0..1000 {
        definition.name = format!("type_{number}");
        store.create(&definition).expect("created");
    }
    assert_eq!(store.types().expect("listed").len(), 1001);
    let mut writer = BatchWriter::new(
        source.table("events.types").expect("there"),
        BatchWriterConfig::default(),
    );
    let mut damage = Mutation::new("type_500");
    damage.put("type", "toml", "name = ").expect("valid");
    writer.add(&damage).expect("held");
    writer.close().expect("written");
    assert_eq!(store.get("type_999").expect("found").name, "type_999");
    ingest(&store, &make(35, 20), 100);
    assert_eq!(read(&store, &everything()).len(), 20);
    let error = store.get("type_500").expect_err("damaged").to_string();
    assert!(error.contains("TOML") || error.contains("toml"), "{error}");
}

#[test]
fn a_source_restricted_to_a_reader_does_not_drop_or_change_types() {
    let (source, store) = open_web();
    ingest(&store, &make(36, 20), 100);
    let reader = ReaderSource::new(source, held(&["a", "b"]));
    let restricted = EventStore::new(Arc::new(reader));
    assert_eq!(read(&restricted, &everything()).len(), 20);
    let error = restricted.drop_type("web").expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    let error = restricted
        .age_off("web", 0, Some(i64::MAX / 2))
        .expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    let before = store.get("web").expect("a type");
    let mut public = before.clone();
    public.visibility_field = None;
    public.keep = Some("1d".into());
    let error = restricted.change(&public).expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    let error = restricted.calibrate(&everything()).expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert_eq!(store.get("web").expect("a type"), before);
    assert_eq!(read(&store, &everything()).len(), 20);
    store.drop_type("web").expect("deleted");
}

#[test]
fn tables_of_events_are_neither_deleted_nor_changed_alone() {
    for check in [check_not_of_events, check_entries_not_of_events] {
        let (source, store) = open_web();
        are_reserved(&*source, &store, &|table| check(&*source, table));
    }
}

fn are_reserved(source: &dyn Source, store: &EventStore, check: &dyn Fn(&str) -> Result<()>) {
    for name in EventStore::table_names("web") {
        let error = check(&name).expect_err("a table of a type");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("event type"), "{error}");
    }
    let error = check("events.types").expect_err("the registry");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    for name in ["web", "events.other", "events.other_index", "events.Web"] {
        check(name).expect("not of a type");
    }
    check_namespace_not_of_events(source, "events").expect_err("the namespace");
    check_namespace_not_of_events(source, "other").expect("another namespace");
    store.drop_type("web").expect("deleted");
    check("events.types").expect("no type is left");
    check_namespace_not_of_events(source, "events").expect("no type is left");
}

#[test]
fn a_reader_does_not_write_to_tables_of_events() {
    let (source, store) = open_web();
    ingest(&store, &make(36, 20), 100);
    let reader = ReaderSource::new(source, held(&["a", "b"])).reserving(reserved_to_events);
    let denied = |error: Error| {
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    };
    denied(reader.table("events.types").err().expect("closed"));
    for name in EventStore::table_names("web") {
        let table = reader.table(&name).expect("readable");
        let written = || {
            let mut mutation = Mutation::new("row");
            mutation.put("type", "state", "garbage").expect("short");
            let mut batch = MutationBatch::new();
            batch.push(&mutation).expect("short");
            (batch, mutation)
        };
        denied(table.submit(written().0, None).err().expect("reserved"));
        denied(table.bulk_writer().err().expect("reserved"));
        denied(table.advance_time().expect_err("reserved"));
        let conditional = vec![ConditionalMutation {
            mutation: written().1,
            conditions: Vec::new(),
        }];
        denied(
            table
                .write_conditionally(conditional, &held(&["a"]), None)
                .expect_err("reserved"),
        );
        // A handle for the time of a call is restricted in the same way.
        let within = table
            .within(&CallContext::default())
            .expect("the same reader");
        denied(within.submit(written().0, None).err().expect("reserved"));
        denied(reader.delete_table(&name).expect_err("reserved"));
        denied(reader.rename_table(&name, "other").expect_err("reserved"));
    }
    denied(
        reader
            .create_table("events.more", &TableOptions::default())
            .expect_err("reserved"),
    );
    reader
        .create_table("mine", &TableOptions::default())
        .expect("not reserved");
    denied(
        reader
            .rename_table("mine", "events.more")
            .expect_err("reserved"),
    );
    assert_eq!(read(&store, &everything()).len(), 20);
}

const DEFAULT_LABEL: &str = "table.security.scan.visibility.default";

/// The version of the registry's own properties, and its label of entries without one.
fn registry_label(source: &dyn Source) -> (u64, Option<String>) {
    let registry = source.table("events.types").expect("there");
    let own = registry.own_properties().expect("own");
    (own.version, own.properties.get(DEFAULT_LABEL).cloned())
}

/// A type in a registry as earlier builds made it. A label of the whole store hid the type.
#[test]
fn a_registry_of_an_earlier_build_gets_its_label_once_when_it_is_written() {
    type Write = fn(&EventStore) -> Result<()>;
    let writes: [(&str, Write); 7] = [
        ("create", |store| {
            let text = TYPE.replace("'web'", "'other'");
            store.create(&EventType::from_toml(&text)?).map(drop)
        }),
        ("change", |store| {
            store.change(&EventType::from_toml(TYPE)?).map(drop)
        }),
        ("ingest", |store| {
            store
                .ingest("web", IngestOptions::default())?
                .finish()
                .map(drop)
        }),
        ("delete", |store| store.delete(&everything()).map(drop)),
        ("settle", |store| store.settle("web")),
        ("threshold", |store| store.set_threshold("web", 0.5)),
        ("age off", |store| {
            store.age_off("web", 0, Some(0)).map(drop)
        }),
    ];
    for (name, write) in writes {
        let (source, store) = open_web();
        let registry = source.table("events.types").expect("there");
        let removed = [(DEFAULT_LABEL.to_owned(), None)];
        registry.change_properties(None, &removed).expect("removed");
        let labelled = [(DEFAULT_LABEL.to_owned(), Some("secret".to_owned()))];
        source
            .change_properties(PropertyOwner::System, None, &labelled)
            .expect("set");
        assert!(store.get("web").is_err(), "{name}: hidden");
        write(&store).unwrap_or_else(|error| panic!("{name}: {error}"));
        store
            .get("web")
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let (version, label) = registry_label(&*source);
        assert_eq!(label.as_deref(), Some(""), "{name}");
        store.set_threshold("web", 0.5).expect("written");
        assert_eq!(registry_label(&*source).0, version, "{name}: once");
    }
}

/// After the change, the guards of the tables would not find the type.
#[test]
fn a_registry_of_an_earlier_build_gets_its_label_before_the_whole_store_has_one() {
    let (source, store) = open_web();
    let registry = source.table("events.types").expect("there");
    let removed = [(DEFAULT_LABEL.to_owned(), None)];
    registry.change_properties(None, &removed).expect("removed");
    check_inherited_by_events(&*source, None, &removed).expect("allowed");
    assert_eq!(registry_label(&*source).1, None);
    let labelled = [(DEFAULT_LABEL.to_owned(), Some("secret".to_owned()))];
    check_inherited_by_events(&*source, None, &labelled).expect("allowed");
    source
        .change_properties(PropertyOwner::System, None, &labelled)
        .expect("set");
    store.get("web").expect("visible");
    check_not_of_events(&*source, "events.web").expect_err("of a type");
}

/// A type that is listed has its tables, and one that is not has none.
#[test]
fn types_are_created_and_dropped_by_several_threads() {
    let (source, store) = open();
    let definition = EventType::from_toml(TYPE).expect("valid");
    for _ in 0..40 {
        let start = std::sync::Barrier::new(4);
        let created: Vec<bool> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|place| {
                    let (store, start, definition) = (&store, &start, &definition);
                    scope.spawn(move || {
                        start.wait();
                        match place {
                            0 => store.drop_type("web").is_ok(),
                            1 => store.change(definition).is_ok(),
                            _ => store.create(definition).is_ok(),
                        }
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("no panic"))
                .collect()
        });
        let is_listed = store.get("web").is_ok();
        for table in EventStore::table_names("web") {
            assert_eq!(
                source.table(&table).is_ok(),
                is_listed,
                "{table} {created:?}"
            );
        }
        if is_listed {
            store.drop_type("web").expect("dropped");
        }
    }
}
