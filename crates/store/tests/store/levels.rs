//! Namespaces and properties by level: what stays after a restart, and what keeps a table whole.

use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::{
    Activity, BatchWriter, BatchWriterConfig, CloneOptions, ErrorKind, Mutation, PropertyEffect,
    PropertyLevel, PropertyOwner, Source, Table, TableOptions,
};
use ostrakon_store::vfs::MemoryVfs;
use ostrakon_store::{Components, Store, StoreOptions};

fn components() -> Components {
    Components {
        vfs: MemoryVfs::shared(),
        ..Components::default()
    }
}

fn open_as(components: &Components, read_only: bool) -> Arc<Store> {
    let options = StoreOptions {
        background: false,
        read_only,
        ..StoreOptions::default()
    };
    Store::open_with(components.clone(), Path::new("/store"), options).unwrap()
}

fn open(components: &Components) -> Arc<Store> {
    open_as(components, false)
}

fn set(name: &str, value: &str) -> Vec<(String, Option<String>)> {
    vec![(name.to_owned(), Some(value.to_owned()))]
}

fn put(table: &Arc<dyn Table>, family: &str) {
    let mut writer = BatchWriter::new(table.clone(), BatchWriterConfig::default());
    let mut mutation = Mutation::new("r");
    mutation.put(family, "q", "v").unwrap();
    writer.add(&mutation).unwrap();
    writer.close().unwrap();
}

#[test]
fn levels_and_namespaces_are_there_after_a_restart() {
    let components = components();
    let of_people = PropertyOwner::Namespace("people");
    {
        let store = open(&components);
        store.create_namespace("people").unwrap();
        store
            .create_table("people.a", &TableOptions::default())
            .unwrap();
        let system = set("table.file.max", "5");
        store
            .change_properties(PropertyOwner::System, None, &system)
            .unwrap();
        let servers = set("tserver.wal.max.size", "2G");
        store
            .change_properties(PropertyOwner::System, None, &servers)
            .unwrap();
        let durability = set("table.durability", "log");
        store
            .change_properties(of_people, None, &durability)
            .unwrap();
        store
            .table("people.a")
            .unwrap()
            .change_properties(Some(0), &set("table.bloom.enabled", "true"))
            .unwrap();
        store.rename_namespace("people", "authors").unwrap();
    }
    for read_only in [false, true] {
        let store = open_as(&components, read_only);
        let names: Vec<String> = store
            .namespaces()
            .unwrap()
            .into_iter()
            .map(|one| one.name)
            .collect();
        assert_eq!(names, ["", "accumulo", "authors"]);
        let table = store.table("authors.a").unwrap();
        let all = table.describe_properties().unwrap();
        let of = |name: &str| (all[name].value.as_str(), all[name].level);
        assert_eq!(of("table.file.max"), ("5", PropertyLevel::System));
        assert_eq!(of("table.durability"), ("log", PropertyLevel::Namespace));
        assert_eq!(of("table.bloom.enabled"), ("true", PropertyLevel::Table));
        assert_eq!(of("table.split.threshold"), ("1G", PropertyLevel::Default));
        assert_eq!(table.own_properties().unwrap().version, 1);
        let system = store.own_properties(PropertyOwner::System).unwrap();
        assert_eq!(system.version, 2);
        assert_eq!(system.properties["tserver.wal.max.size"], "2G");
        let authors = PropertyOwner::Namespace("authors");
        assert_eq!(store.own_properties(authors).unwrap().version, 1);
        let error = store.own_properties(of_people).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NamespaceNotFound);
        assert!(store.check(&mut |_, _| true).unwrap().problems.is_empty());
    }
}

#[test]
fn a_change_of_a_level_that_breaks_a_table_is_refused_and_names_it() {
    let store = open(&components());
    store.create_table("t", &TableOptions::default()).unwrap();
    let table = store.table("t").unwrap();
    // An option alone does nothing, and is wrong for the iterator of the table's own.
    let name = "table.iterator.scan.vers.opt.maxVersions";
    table.modify_properties(&[(name.to_owned(), None)]).unwrap();
    let error = store
        .change_properties(PropertyOwner::System, None, &set(name, "none"))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("table: t"), "{error}");
    let system = store.own_properties(PropertyOwner::System).unwrap();
    assert_eq!((system.version, system.properties.len()), (0, 0));
    store
        .change_properties(PropertyOwner::System, None, &set(name, "3"))
        .unwrap();
    assert_eq!(table.properties().unwrap()[name], "3");
}

/// A clone inherits from the namespace it is made in.
#[test]
fn a_clone_goes_to_another_namespace() {
    let store = open(&components());
    for name in ["from", "to"] {
        store.create_namespace(name).unwrap();
        store
            .change_properties(
                PropertyOwner::Namespace(name),
                None,
                &set("table.custom.of", name),
            )
            .unwrap();
    }
    store
        .create_table("from.t", &TableOptions::default())
        .unwrap();
    store
        .clone_table("from.t", "to.t", &CloneOptions::default())
        .unwrap();
    let of =
        |name: &str| store.table(name).unwrap().properties().unwrap()["table.custom.of"].clone();
    assert_eq!((of("from.t").as_str(), of("to.t").as_str()), ("from", "to"));
    let error = store.rename_table("from.t", "to.u").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let error = store
        .clone_table("from.t", "nowhere.t", &CloneOptions::default())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NamespaceNotFound);
}

#[test]
fn unfinished_locality_groups_are_reported_and_not_in_force() {
    let store = open(&components());
    store.create_table("t", &TableOptions::default()).unwrap();
    let table = store.table("t").unwrap();
    table
        .modify_properties(&set("table.groups.enabled", "g1,g2"))
        .unwrap();
    put(&table, "a");
    table.flush(true).unwrap();
    let problems = table.problems().unwrap();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].activity, Activity::Properties);
    table
        .modify_properties(&set("table.group.g1", "a"))
        .unwrap();
    table
        .modify_properties(&set("table.group.g2", "b"))
        .unwrap();
    assert!(table.problems().unwrap().is_empty());
    // All at once is one call, and may be refused.
    let options = TableOptions {
        properties: [("table.groups.enabled".to_owned(), "g".to_owned())].into(),
        ..TableOptions::default()
    };
    let error = store.create_table("u", &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn a_codec_of_accumulo_is_kept_and_another_used() {
    let store = open(&components());
    store.create_table("t", &TableOptions::default()).unwrap();
    let table = store.table("t").unwrap();
    let codec = "table.file.compress.type";
    table.modify_properties(&set(codec, "gz")).unwrap();
    put(&table, "f");
    table.flush(true).unwrap();
    table
        .compact(&ostrakon_cell::CompactOptions::default())
        .unwrap();
    let info = table.describe_properties().unwrap().remove(codec).unwrap();
    assert_eq!(info.value, "gz");
    assert_eq!(info.effect, PropertyEffect::Instead("zstd".to_owned()));
    assert!(store.check(&mut |_, _| true).unwrap().problems.is_empty());
}

/// Changes of levels, of tables and of the set of tables from many threads: nothing waits for ever, and in the end
/// every table has what its levels say.
#[test]
fn changes_of_all_levels_run_beside_each_other() {
    let store = open(&components());
    store.create_namespace("n").unwrap();
    store.create_table("n.t", &TableOptions::default()).unwrap();
    let rounds = 20;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..rounds {
                let change = set("table.custom.system", &round.to_string());
                store
                    .change_properties(PropertyOwner::System, None, &change)
                    .unwrap();
                let of_n = PropertyOwner::Namespace("n");
                let change = set("table.custom.namespace", &round.to_string());
                store.change_properties(of_n, None, &change).unwrap();
            }
        });
        scope.spawn(|| {
            for round in 0..rounds {
                let change = set("table.custom.own", &round.to_string());
                let table = store.table("n.t").unwrap();
                table.change_properties(None, &change).unwrap();
            }
        });
        scope.spawn(|| {
            for _ in 0..rounds {
                store
                    .clone_table("n.t", "n.c", &CloneOptions::default())
                    .unwrap();
                store.delete_table("n.c").unwrap();
            }
        });
    });
    store
        .clone_table("n.t", "n.c", &CloneOptions::default())
        .unwrap();
    let last = (rounds - 1).to_string();
    for name in ["n.t", "n.c"] {
        let all = store.table(name).unwrap().properties().unwrap();
        for level in ["system", "namespace", "own"] {
            assert_eq!(
                all[&format!("table.custom.{level}")],
                last,
                "{name} {level}"
            );
        }
    }
}
