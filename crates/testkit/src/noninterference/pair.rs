//! Two stores that differ in hidden cells alone.

use std::sync::Arc;

use ostrakon_cell::{
    Authorizations, BatchWriter, BatchWriterConfig, ColumnUpdate, CompactOptions, IteratorRegistry,
    IteratorSetting, Result, Source, Table, TableOptions,
};
use ostrakon_store::clock::Random;
use ostrakon_store::vfs::MemoryVfs;
use ostrakon_store::{Components, Store, StoreOptions};

/// The table that is filled.
pub const TABLE: &str = "t";

/// A word that stands in every hidden row, family, qualifier, value and label, and in nothing visible.
pub const HIDDEN: &str = "hidden";

/// What the reader holds.
#[must_use]
pub fn held() -> Authorizations {
    Authorizations::new(["A", "B"]).unwrap_or_default()
}

const VISIBLE: [&str; 6] = ["", "", "A", "A&B", "A|C", "(A&B)|C"];
const SECRET: [&str; 4] = ["hidden", "A&hidden", "hidden|C", "C&(hidden|A)"];

/// The two stores, and what they were made from.
pub struct Pair {
    /// Visible cells alone.
    pub plain: Arc<Store>,
    /// The same and hidden ones.
    pub mixed: Arc<Store>,
}

/// One change of one column.
struct Write {
    row: String,
    family: String,
    qualifier: String,
    label: &'static str,
    timestamp: i64,
    value: Option<Vec<u8>>,
}

impl Pair {
    /// The pair of a seed. `register` adds iterator classes.
    ///
    /// # Errors
    /// Those of the stores.
    pub fn make(seed: u64, register: &dyn Fn(&mut IteratorRegistry)) -> Result<Self> {
        let mut random = Random::from_seed(seed);
        let properties = properties(&mut random);
        let visible = visible(&mut random);
        let hidden = hidden(&mut random, &visible);
        let make = |hidden: &[Write], random: &mut Random| -> Result<Arc<Store>> {
            let mut components = Components {
                vfs: MemoryVfs::shared(),
                ..Components::default()
            };
            register(&mut components.iterators);
            let options = StoreOptions {
                background: false,
                ..StoreOptions::default()
            };
            let store = Store::open_with(components, "/store", options)?;
            let options = TableOptions {
                properties: properties.clone(),
                ..TableOptions::default()
            };
            store.create_table(TABLE, &options)?;
            fill(&store.table(TABLE)?, &visible, hidden, random)?;
            Ok(store)
        };
        // Each is flushed, split and compacted in its own way.
        Ok(Self {
            plain: make(&[], &mut random)?,
            mixed: make(&hidden, &mut random)?,
        })
    }
}

/// Properties that reach both tables.
fn properties(random: &mut Random) -> ostrakon_cell::Properties {
    let mut properties = ostrakon_cell::Properties::new();
    let mut set = |name: &str, value: &str| properties.insert(name.to_owned(), value.to_owned());
    if random.one_in(2) {
        set("table.file.compress.blocksize", "1K");
    }
    if random.one_in(3) {
        set("table.bloom.enabled", "true");
    }
    if random.one_in(3) {
        set("table.group.g", "f1,hiddenf");
        set("table.groups.enabled", "g");
    }
    if random.one_in(4) {
        set("table.delete.behavior", "fail");
    }
    if random.one_in(4) {
        set("table.security.scan.visibility.default", "A");
    }
    if random.one_in(3) {
        let sum = IteratorSetting::new(
            10,
            "sum",
            "org.apache.accumulo.core.iterators.user.SummingCombiner",
        );
        let sum = sum
            .with("type", "STRING")
            .with("columns", "f2")
            .with("lossy", "true");
        properties.extend(sum.to_properties(&ostrakon_cell::IteratorScope::ALL));
    }
    properties
}

fn visible(random: &mut Random) -> Vec<Write> {
    let writes = 50 + random.below(400);
    // Large ones bring the borders of batches into play.
    let large = random.one_in(2);
    (0..writes)
        .map(|at| {
            let number = random.below(100).to_string();
            let value = match random.below(20) {
                0 => None,
                1 => Some(b"no number".to_vec()),
                2..6 if large => {
                    let len = 1000 + random.below(60_000) as usize;
                    Some(vec![b'v'; len])
                }
                _ => Some(number.into_bytes()),
            };
            Write {
                row: format!("row{:02}", random.below(40)),
                family: format!("f{}", random.below(3)),
                qualifier: format!("q{}", random.below(5)),
                label: VISIBLE[random.below(VISIBLE.len() as u64) as usize],
                // Rising: what a marker hides does not depend on when it is compacted away.
                timestamp: 1000 + 10 * at as i64,
                value,
            }
        })
        .collect()
}

fn hidden(random: &mut Random, visible: &[Write]) -> Vec<Write> {
    let writes = 1 + random.below(600);
    (0..writes)
        .map(|at| {
            let near = &visible[random.below(visible.len() as u64) as usize];
            let mut write = Write {
                row: near.row.clone(),
                family: near.family.clone(),
                qualifier: near.qualifier.clone(),
                label: SECRET[random.below(SECRET.len() as u64) as usize],
                timestamp: near.timestamp + random.below(30) as i64 - 15,
                value: Some(format!("{HIDDEN} {at}").into_bytes()),
            };
            match random.below(8) {
                0 => write.row = format!("{}{HIDDEN}{}", near.row, random.below(9)),
                1 => write.row = format!("{HIDDEN}{at}"),
                2 => write.family = format!("{HIDDEN}f"),
                3 => write.qualifier = format!("{HIDDEN}{at}"),
                4 => write.value = None,
                5 => write.value = Some(HIDDEN.repeat(1 + random.below(8000) as usize).into()),
                // Not a number for a combiner, or one that would change a sum.
                6 => write.value = Some(b"1000000".to_vec()),
                _ => {}
            }
            write
        })
        .collect()
}

fn fill(
    table: &Arc<dyn Table>,
    visible: &[Write],
    hidden: &[Write],
    random: &mut Random,
) -> Result<()> {
    let mut writer = BatchWriter::new(table.clone(), BatchWriterConfig::default());
    let mut hidden = hidden.iter();
    for (at, write) in visible.iter().enumerate() {
        put(&mut writer, write)?;
        // In between, so that they share batches, blocks and files.
        let left = hidden.len() / (visible.len() - at);
        for write in hidden.by_ref().take(left) {
            put(&mut writer, write)?;
        }
        match random.below(120) {
            0 | 1 => {
                writer.flush()?;
                table.flush(true)?;
            }
            2 => {
                writer.flush()?;
                table.compact(&CompactOptions::default())?;
            }
            3 => table.add_splits(&[write.row.clone().into_bytes()])?,
            _ => {}
        }
    }
    for write in hidden {
        put(&mut writer, write)?;
    }
    writer.close()
}

fn put(writer: &mut BatchWriter, write: &Write) -> Result<()> {
    writer.put(
        write.row.as_bytes(),
        ColumnUpdate {
            family: write.family.as_bytes(),
            qualifier: write.qualifier.as_bytes(),
            visibility: write.label.as_bytes(),
            timestamp: Some(write.timestamp),
            value: write.value.as_deref(),
        },
    )
}
