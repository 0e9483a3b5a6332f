//! The core workload of YCSB: which operation comes next, on which record, with which values.

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};

use ostrakon_cell::{Error, Result};

use super::database::{FieldValues, Fields};
use super::generators::{
    Discrete, InsertSequence, KeyChooser, KeySpace, LengthGenerator, Uniform, Zipfian, hotspot,
    read_histogram,
};
use super::naming::{KeyNames, deterministic_value, hash_map_order};
use super::properties::WorkloadProperties;
use super::random::JavaRandom;

/// The number of records where none is given: the largest `int` of Java.
const RECORDS_UNLIMITED: i64 = i32::MAX as i64;
/// The most fields of a record.
const FIELDS_MAX: i64 = 1_000_000;
/// The longest value, as in the store.
const VALUE_BYTES_MAX: i64 = 256 << 20;
/// The most digits that Rust writes.
const DIGITS_MAX: i64 = 65_535;

/// One kind of operation of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Reads a record.
    Read,
    /// Writes one field of a record, or all.
    Update,
    /// Writes a new record.
    Insert,
    /// Reads records from one on.
    Scan,
    /// Reads a record, then writes fields of it.
    ReadModifyWrite,
}

/// The core workload, shared by the client threads.
#[derive(Debug)]
pub struct CoreWorkload {
    table: String,
    field_names: Vec<String>,
    /// The order in which a binding of YCSB takes the values of a whole record.
    value_order: Vec<usize>,
    names: KeyNames,
    read_all: bool,
    read_all_by_name: bool,
    write_all: bool,
    data_integrity: bool,
    records: KeySpace,
    next_load: AtomicI64,
    inserts: InsertSequence,
    prototype: Generators,
}

/// What draws, one copy for each thread.
#[derive(Debug, Clone)]
struct Generators {
    lengths: LengthGenerator,
    operations: Discrete<Operation>,
    keys: KeyChooser,
    fields: Uniform,
    scan_lengths: LengthGenerator,
}

/// The workload of one client thread.
#[derive(Debug)]
pub struct Session<'a> {
    workload: &'a CoreWorkload,
    generators: Generators,
    random: JavaRandom,
}

impl CoreWorkload {
    /// The workload that the properties describe. Draws what YCSB draws when it is made.
    ///
    /// # Errors
    /// A malformed property, or properties that contradict one another.
    pub fn new(properties: &WorkloadProperties, random: &mut JavaRandom) -> Result<Self> {
        let field_count = properties.count_to("fieldcount", 10, FIELDS_MAX)?;
        let prefix = properties.get("fieldnameprefix").unwrap_or("field");
        let field_names: Vec<String> = (0..field_count)
            .map(|number| format!("{prefix}{number}"))
            .collect();
        if field_names.is_empty() {
            return Err(
                Error::invalid("a record has one field or more").with("property", "fieldcount")
            );
        }
        let lengths = field_lengths(properties, random)?;
        let digits = properties.count_to("zeropadding", 1, DIGITS_MAX)?;
        let record_count = match properties.count("recordcount", 0)? {
            0 => RECORDS_UNLIMITED,
            count => count,
        };
        let first = properties.count("insertstart", 0)?;
        let count = properties.count("insertcount", (record_count - first).max(0))?;
        if record_count < first + count || count == 0 {
            return Err(Error::invalid(
                "insertstart and insertcount must select one record or more, and lie within recordcount",
            )
            .with("recordcount", record_count)
            .with("insertstart", first)
            .with("insertcount", count));
        }
        let records = KeySpace { first, count };
        let data_integrity = properties.flag("dataintegrity");
        if data_integrity && !matches!(lengths, LengthGenerator::Constant(_)) {
            return Err(Error::invalid(
                "dataintegrity needs fields of constant length: set fieldlengthdistribution=constant",
            ));
        }
        let operations = operations(properties)?;
        let inserts = InsertSequence::new(record_count);
        let keys = key_chooser(properties, records, record_count, &inserts, random)?;
        let scan_lengths = scan_lengths(properties, random)?;
        Ok(Self {
            table: properties.get("table").unwrap_or("usertable").to_owned(),
            value_order: hash_map_order(&field_names),
            names: KeyNames {
                ordered: properties.get("insertorder").unwrap_or("hashed") != "hashed",
                digits: usize::try_from(digits).unwrap_or(1),
            },
            read_all: properties.get("readallfields").is_none() || properties.flag("readallfields"),
            read_all_by_name: properties.flag("readallfieldsbyname"),
            write_all: properties.flag("writeallfields"),
            data_integrity,
            records,
            next_load: AtomicI64::new(first),
            inserts,
            prototype: Generators {
                lengths,
                operations,
                keys,
                fields: Uniform::new(0, field_names.len() as i64 - 1),
                scan_lengths,
            },
            field_names,
        })
    }

    /// The table's name.
    #[must_use]
    pub fn table(&self) -> &str {
        &self.table
    }

    /// How many records a load writes.
    #[must_use]
    pub fn load_count(&self) -> u64 {
        self.records.count.unsigned_abs()
    }

    /// Whether values are verified.
    #[must_use]
    pub fn data_integrity(&self) -> bool {
        self.data_integrity
    }

    /// The workload of one thread.
    #[must_use]
    pub fn session(&self, random: JavaRandom) -> Session<'_> {
        Session {
            workload: self,
            generators: self.prototype.clone(),
            random,
        }
    }

    /// An insert of a run has ended; see [`Session::next_insert`].
    ///
    /// # Errors
    /// More than a million later inserts have ended.
    pub fn acknowledge(&self, record: i64) -> Result<()> {
        self.inserts.acknowledge(record)
    }
}

impl<'a> Session<'a> {
    /// The next operation of a run.
    #[inline]
    pub fn next_operation(&mut self) -> Operation {
        let drawn = self.generators.operations.next(&mut self.random);
        drawn.unwrap_or(Operation::Read)
    }

    /// The key of the next record of a load.
    pub fn next_load(&mut self, key: &mut Vec<u8>) {
        let record = self.workload.next_load.fetch_add(1, Ordering::Relaxed);
        self.workload.names.write(record, key);
    }

    /// The key of the next record that a run inserts, and its number, which is to be
    /// [acknowledged](CoreWorkload::acknowledge).
    pub fn next_insert(&mut self, key: &mut Vec<u8>) -> i64 {
        let record = self.workload.inserts.take();
        self.workload.names.write(record, key);
        record
    }

    /// The key of the record that the next request asks for.
    #[inline]
    pub fn next_key(&mut self, key: &mut Vec<u8>) {
        let keys = &mut self.generators.keys;
        let record = keys.next(&self.workload.inserts, &mut self.random);
        self.workload.names.write(record, key);
    }

    /// The number of records of the next scan.
    pub fn next_scan_length(&mut self) -> usize {
        let length = self.generators.scan_lengths.next(&mut self.random);
        usize::try_from(length).unwrap_or(0)
    }

    /// The fields that the next operation reads. A field is drawn if not all are read.
    #[inline]
    pub fn next_fields(&mut self, operation: Operation) -> Fields<'a> {
        let workload = self.workload;
        if !workload.read_all {
            let field = self.next_field();
            return Fields::Named(workload.field_names.get(field..=field).unwrap_or_default());
        }
        let by_name = workload.data_integrity || workload.read_all_by_name;
        if by_name && operation == Operation::Read {
            return Fields::Named(&workload.field_names);
        }
        Fields::All
    }

    fn next_field(&mut self) -> usize {
        let field = self.generators.fields.next(&mut self.random);
        usize::try_from(field).unwrap_or(0)
    }

    /// The values of a whole record.
    pub fn next_record(&mut self, key: &[u8], values: &mut FieldValues) {
        let workload = self.workload;
        let order = workload.value_order.iter().copied();
        if workload.data_integrity {
            values.clear();
            for at in order {
                self.deterministic(key, at, values);
            }
            return;
        }
        values.clear();
        // YCSB makes all values first, and draws their bytes when the binding takes them, in the map's order.
        if let LengthGenerator::Constant(length) = self.generators.lengths {
            for _ in 0..workload.field_names.len() {
                self.random.next_int();
            }
            for at in order {
                self.random_value(at, length, values);
            }
            return;
        }
        let lengths: Vec<i64> = (0..workload.field_names.len())
            .map(|_| self.next_length())
            .collect();
        for at in order {
            let length = lengths.get(at).copied().unwrap_or(0);
            self.random_value(at, length, values);
        }
    }

    /// The values that an update writes: one random field, or all.
    #[inline]
    pub fn next_update(&mut self, key: &[u8], values: &mut FieldValues) {
        if self.workload.write_all {
            return self.next_record(key, values);
        }
        values.clear();
        let field = self.next_field();
        if self.workload.data_integrity {
            self.deterministic(key, field, values);
        } else {
            let length = self.next_length();
            self.random_value(field, length, values);
        }
    }

    /// The length of a random value. Its first six bytes are drawn with it, and not used by bindings.
    fn next_length(&mut self) -> i64 {
        let length = self.generators.lengths.next(&mut self.random);
        self.random.next_int();
        length
    }

    fn deterministic(&mut self, key: &[u8], field: usize, values: &mut FieldValues) {
        let length = self.generators.lengths.next(&mut self.random);
        let length = usize::try_from(length).unwrap_or(0);
        if let Some(name) = self.workload.field_names.get(field) {
            let mut made = Vec::with_capacity(length);
            deterministic_value(key, name, length, &mut made);
            values.push(name, |bytes| bytes.extend_from_slice(&made));
        }
    }

    fn random_value(&mut self, field: usize, length: i64, values: &mut FieldValues) {
        let length = usize::try_from(length).unwrap_or(0);
        if let Some(name) = self.workload.field_names.get(field) {
            let random = &mut self.random;
            values.push(name, |bytes| random_bytes(random, length, bytes));
        }
    }

    /// Whether a record that was read is what `dataintegrity` wrote.
    pub fn verify<'b>(
        &mut self,
        key: &[u8],
        fields: impl Iterator<Item = (&'b [u8], &'b [u8])>,
    ) -> bool {
        let mut expected = Vec::new();
        for (name, value) in fields {
            let length = self.generators.lengths.next(&mut self.random);
            let length = usize::try_from(length).unwrap_or(0);
            deterministic_value(key, &String::from_utf8_lossy(name), length, &mut expected);
            if value != expected {
                return false;
            }
        }
        true
    }
}

/// Appends random printable bytes, six from each number drawn.
#[inline]
fn random_bytes(random: &mut JavaRandom, length: usize, bytes: &mut Vec<u8>) {
    let end = bytes.len() + length;
    bytes.reserve(length + 6);
    while bytes.len() < end {
        let drawn = random.next_int();
        let part = |shift: u32, mask: i32| ((drawn >> shift) & mask) as u8 + b' ';
        bytes.extend_from_slice(&[
            part(0, 31),
            part(5, 63),
            part(10, 95),
            part(15, 31),
            part(20, 63),
            part(25, 95),
        ]);
    }
    bytes.truncate(end);
}

fn field_lengths(
    properties: &WorkloadProperties,
    random: &mut JavaRandom,
) -> Result<LengthGenerator> {
    let length = properties.count_to("fieldlength", 100, VALUE_BYTES_MAX)?;
    let least = properties.count("minfieldlength", 1)?;
    match properties
        .get("fieldlengthdistribution")
        .unwrap_or("constant")
    {
        "constant" => Ok(LengthGenerator::Constant(length)),
        "histogram" => {
            let file = properties.get("fieldlengthhistogram").unwrap_or("hist.txt");
            read_histogram(Path::new(file))
        }
        other => ranged(
            ("fieldlengthdistribution", other),
            [("minfieldlength", least), ("fieldlength", length)],
            random,
        ),
    }
}

fn scan_lengths(
    properties: &WorkloadProperties,
    random: &mut JavaRandom,
) -> Result<LengthGenerator> {
    let name = "scanlengthdistribution";
    let least = properties.count("minscanlength", 1)?;
    let most = properties.count("maxscanlength", 1000)?;
    let distribution = properties.get(name).unwrap_or("uniform");
    ranged(
        (name, distribution),
        [("minscanlength", least), ("maxscanlength", most)],
        random,
    )
}

/// A uniform or zipfian distribution of lengths, from the value of one property to that of another.
fn ranged(
    (property, distribution): (&str, &str),
    [(least_name, least), (most_name, most)]: [(&'static str, i64); 2],
    random: &mut JavaRandom,
) -> Result<LengthGenerator> {
    if least > most {
        return Err(Error::invalid(format!("{least_name} is above {most_name}"))
            .with(least_name, least)
            .with(most_name, most));
    }
    match distribution {
        "uniform" => Ok(LengthGenerator::Uniform(Uniform::new(least, most))),
        "zipfian" => {
            let zipfian = Zipfian::new(least, most, random);
            Ok(LengthGenerator::Zipfian(Box::new(zipfian)))
        }
        other => Err(
            Error::invalid("this distribution of lengths does not exist")
                .with("property", property)
                .with("value", other),
        ),
    }
}

fn operations(properties: &WorkloadProperties) -> Result<Discrete<Operation>> {
    let weights = [
        ("readproportion", 0.95, Operation::Read),
        ("updateproportion", 0.05, Operation::Update),
        ("insertproportion", 0.0, Operation::Insert),
        ("scanproportion", 0.0, Operation::Scan),
        ("readmodifywriteproportion", 0.0, Operation::ReadModifyWrite),
    ];
    let mut values = Vec::new();
    for (name, default, operation) in weights {
        values.push((properties.amount(name, default)?, operation));
    }
    Discrete::new(&values).ok_or_else(|| {
        Error::invalid("no operation has a proportion above 0: set readproportion, for example")
    })
}

fn key_chooser(
    properties: &WorkloadProperties,
    records: KeySpace,
    record_count: i64,
    inserts: &InsertSequence,
    random: &mut JavaRandom,
) -> Result<KeyChooser> {
    Ok(
        match properties.get("requestdistribution").unwrap_or("uniform") {
            "uniform" => KeyChooser::uniform(records),
            "sequential" => KeyChooser::sequential(records),
            "latest" => KeyChooser::latest(inserts, random),
            "zipfian" => {
                let share: f64 = properties.parse("insertproportion", 0.0)?;
                let operations = properties.count("operationcount", 0)?;
                let more = (operations as f64 * share * 2.0) as i64;
                KeyChooser::scrambled(records, more, random)
            }
            "hotspot" => hotspot(
                records,
                properties.share("hotspotdatafraction", 0.2)?,
                properties.share("hotspotopnfraction", 0.8)?,
            )?,
            "exponential" => {
                let percentile: f64 = properties.parse("exponential.percentile", 95.0)?;
                let share: f64 = properties.parse("exponential.frac", 0.857_142_857_1)?;
                if !(percentile > 0.0 && percentile < 100.0 && share > 0.0) {
                    return Err(Error::invalid(
                    "exponential.percentile lies between 0 and 100, and exponential.frac above 0",
                )
                .with("exponential.percentile", percentile)
                .with("exponential.frac", share));
                }
                KeyChooser::exponential(percentile, record_count as f64 * share)
            }
            other => {
                return Err(Error::invalid(
                "this request distribution does not exist; there are uniform, zipfian, latest, hotspot, \
                 sequential and exponential",
            )
            .with("requestdistribution", other));
            }
        },
    )
}
