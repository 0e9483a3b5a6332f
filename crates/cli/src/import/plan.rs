//! How a record becomes a mutation: which fields make up the row, the entries, the label and the
//! timestamp.

use std::collections::HashSet;

use ostrakon_cell::VisibilityExpression;
use ostrakon_cell::visibility::validate;
use ostrakon_cell::{ColumnUpdate, Mutation};

use super::entry_parts::{ENTRY_PARTS, Part, REQUIRED_PARTS, entry_parts, is_export, part_bytes};
use super::fields::Fields;
use super::record::{Field, Presence, Record};
use super::timestamp::TimestampFormat;
use super::types;
use crate::args::{FieldType, ImportArgs, ImportFormat};
use crate::failure::{Failure, Result};

/// Maximum number of labels remembered as valid; every record may have its own.
const KNOWN_LABELS: usize = 4096;
/// A field that the user named.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Field(u32),
    /// The line's number.
    Line,
    /// The file's name.
    File,
    /// A name that has not appeared in a record yet.
    Unseen(String),
}

/// The column a field goes to.
#[derive(Debug, Clone)]
struct Target {
    family: Vec<u8>,
    qualifier: Vec<u8>,
}

#[derive(Debug)]
enum Shape {
    /// One entry for each field that has a target.
    Columns {
        targets: Vec<Option<Target>>,
        explode: bool,
    },
    /// One entry per record.
    One {
        family: Option<Place>,
        qualifier: Vec<Place>,
        value: Option<Place>,
        both_ways: bool,
    },
    /// The fields are the parts of an entry, by the order of [`ENTRY_PARTS`].
    Entry([Part; 6]),
}

/// How fields map to mutations; rebuilt whenever the reader finds new fields.
#[derive(Debug)]
struct Compiled {
    row: Vec<Place>,
    shape: Shape,
    label: Option<Place>,
    timestamp: Option<Place>,
    types: Vec<(Place, FieldType)>,
}

/// Turns records into mutations.
pub(super) struct Plan<'a> {
    args: &'a ImportArgs,
    file: String,
    /// Whether the format holds bytes exactly, without the escapes of `export` to CSV.
    exact: bool,
    family: Vec<u8>,
    time: Option<TimestampFormat>,
    missing: Vec<Vec<u8>>,
    compiled: Option<(u64, Compiled)>,
    known_labels: HashSet<Vec<u8>>,
    row: Vec<u8>,
    qualifier: Vec<u8>,
    /// The mutation of the last record.
    pub(super) mutation: Mutation,
    /// The same edge in the other direction, if requested.
    pub(super) mirror: Option<Mutation>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(args: &'a ImportArgs, format: ImportFormat, file: String) -> Result<Self> {
        let edges = format == ImportFormat::Edges;
        let time = match (&args.timestamp_format, format) {
            (Some(name), _) => Some(TimestampFormat::parse(name)?),
            (None, ImportFormat::Zeek) => Some(TimestampFormat::Seconds),
            (None, ImportFormat::Parquet) => Some(TimestampFormat::Rfc3339),
            (None, ImportFormat::Weblog) => {
                Some(TimestampFormat::Pattern("%d/%b/%Y:%H:%M:%S %z".into()))
            }
            (None, _) => None,
        };
        if time.is_none() && args.timestamp_field.is_some() {
            return Err(Failure::usage("--timestamp-field needs --timestamp-format").next(
                "use seconds, millis, micros, rfc3339, or a pattern such as '%Y-%m-%d %H:%M:%S'",
            ));
        }
        if time.is_none()
            && args
                .types
                .iter()
                .any(|typing| typing.kind == FieldType::Time)
        {
            return Err(Failure::usage("the type `time` needs --timestamp-format").next(
                "use seconds, millis, micros, rfc3339, or a pattern such as '%Y-%m-%d %H:%M:%S'",
            ));
        }
        if args.row.is_empty() && !args.entries && !edges {
            return Err(Failure::usage("no fields are given for the row").next(
                "give --row FIELD, or --row FIELD,FIELD; @line numbers the lines; --entries takes \
                 what `ostrakon export` wrote",
            ));
        }
        for (option, name) in [
            ("--visibility-field", &args.visibility_field),
            ("--timestamp-field", &args.timestamp_field),
            ("--family-field", &args.family_field),
            ("--value-field", &args.value_field),
        ] {
            if let Some(name @ ("@line" | "@file")) = name.as_deref() {
                return Err(Failure::usage(format!(
                    "{option} takes a field; {name} works only with --row and --qualifier-field"
                ))
                .next(format!("name a field of the file after {option}")));
            }
        }
        let one_entry = edges || !args.qualifier_field.is_empty();
        if !one_entry
            && (args.both_ways || args.family_field.is_some() || args.value_field.is_some())
        {
            return Err(Failure::usage(
                "--both-ways, --family-field and --value-field work only with --qualifier-field or edge \
                 lists",
            )
            .next("add --qualifier-field FIELD, or import an edge list with --format edges"));
        }
        Ok(Self {
            file,
            exact: matches!(format, ImportFormat::Jsonl | ImportFormat::Parquet),
            family: match &args.family {
                Some(family) => family.0.clone(),
                None if edges => b"edge".to_vec(),
                None => Vec::new(),
            },
            time,
            missing: if args.missing.is_empty() {
                vec![b"\\N".to_vec()]
            } else {
                args.missing
                    .iter()
                    .map(|text| text.as_bytes().to_vec())
                    .collect()
            },
            compiled: None,
            known_labels: HashSet::new(),
            row: Vec::new(),
            qualifier: Vec::new(),
            mutation: Mutation::default(),
            mirror: None,
            args,
        })
    }

    /// Makes the record's mutation. The outer error ends the import (the plan does not fit the
    /// file); the inner error says why this record is rejected.
    pub(super) fn apply(&mut self, record: &Record, fields: &Fields) -> Result<Result<(), String>> {
        let generation = fields.generation();
        let compiled = match self.compiled.take() {
            Some((of, compiled)) if of == generation => compiled,
            before => self.compile(fields, before.map(|(_, compiled)| compiled))?,
        };
        let outcome = self.make(record, fields, &compiled);
        self.compiled = Some((generation, compiled));
        Ok(outcome)
    }

    /// Checks that a file without records has the fields that the plan names.
    ///
    /// # Errors
    /// A name is not in the header row.
    pub(super) fn check(&self, fields: &Fields) -> Result<()> {
        if self.compiled.is_none() && fields.is_complete() && fields.len() > 0 {
            self.compile(fields, None)?;
        }
        Ok(())
    }

    /// `before` is the plan for fewer fields. If names were only added, its result for the known names
    /// is kept, so that a file with a new name per line does not take quadratic time.
    fn compile(&self, fields: &Fields, before: Option<Compiled>) -> Result<Compiled> {
        let args = self.args;
        if !args.entries && args.visibility_field.is_none() && is_export(fields) {
            return Err(Failure::usage(
                "the file has the fields of `ostrakon export`: its labels would become values, and what they protect public",
            )
            .next("add --entries, or name the field with the labels with --visibility-field"));
        }
        let place = |name: &String| place(name, fields);
        let places = |names: &[String]| names.iter().map(place).collect::<Result<Vec<_>>>();
        let option = |name: &Option<String>| name.as_ref().map(place).transpose();
        let row = if args.row.is_empty() && !args.entries {
            places(&["from".to_owned()]).or_else(|_| places(&["1".to_owned()]))?
        } else {
            places(&args.row)?
        };
        let label = option(&args.visibility_field)?;
        let timestamp = option(&args.timestamp_field)?;
        let is_edges = args.row.is_empty() || !args.qualifier_field.is_empty();
        let shape = if args.entries {
            Shape::Entry(entry_parts(fields, self.exact)?)
        } else if is_edges {
            let edge_list = args.qualifier_field.is_empty();
            Shape::One {
                family: option(&args.family_field)?,
                qualifier: if edge_list {
                    places(&["2".to_owned()])?
                } else {
                    places(&args.qualifier_field)?
                },
                value: match option(&args.value_field)? {
                    None if edge_list && fields.len() > 2 => Some(Place::Field(2)),
                    value => value,
                },
                both_ways: args.both_ways,
            }
        } else {
            let known = match before.map(|before| before.shape) {
                Some(Shape::Columns { targets, .. }) if !fields.is_complete() => targets,
                _ => Vec::new(),
            };
            self.targets(fields, known, &row, label.as_ref())?
        };
        let mut checked = Vec::new();
        // Only a file that names all its fields at the beginning declares types.
        let declared = if fields.is_complete() {
            fields.len()
        } else {
            0
        };
        for id in 0..declared as u32 {
            if let Some(kind) = fields.declared_type(id) {
                checked.push((Place::Field(id), kind));
            }
        }
        for typing in &args.types {
            checked.push((place(&typing.field)?, typing.kind));
        }
        Ok(Compiled {
            row,
            shape,
            label,
            timestamp,
            types: checked,
        })
    }

    /// The columns of a record's fields: those known before, and those of the fields since.
    fn targets(
        &self,
        fields: &Fields,
        mut targets: Vec<Option<Target>>,
        row: &[Place],
        label: Option<&Place>,
    ) -> Result<Shape> {
        let args = self.args;
        let first_new = targets.len() as u32;
        let ids = |names: &[String]| -> Result<Vec<Place>> {
            names.iter().map(|name| place(name, fields)).collect()
        };
        let (only, skip) = (ids(&args.only)?, ids(&args.skip)?);
        targets.extend((first_new..fields.len() as u32).map(|id| {
            let here = Place::Field(id);
            let wanted = if args.only.is_empty() {
                !row.contains(&here) && label != Some(&here) && !skip.contains(&here)
            } else {
                only.contains(&here)
            };
            wanted.then(|| Target {
                family: self.family.clone(),
                qualifier: fields.name(id).as_bytes().to_vec(),
            })
        }));
        for map in &args.map {
            if let Place::Field(id) = place(&map.field, fields)?
                && let Some(target) = targets.get_mut(id as usize)
            {
                let name = || fields.name(id).as_bytes().to_vec();
                *target = Some(Target {
                    family: map.column.family.clone(),
                    qualifier: map.column.qualifier.clone().unwrap_or_else(name),
                });
            }
        }
        Ok(Shape::Columns {
            targets,
            explode: args.explode,
        })
    }

    fn make(&mut self, record: &Record, fields: &Fields, plan: &Compiled) -> Result<(), String> {
        for (place, kind) in &plan.types {
            if let Place::Field(id) = place
                && let Some(text) = self.text(record, *id)
            {
                types::check(*kind, text, self.time.as_ref())
                    .map_err(|reason| format!("field `{}`: {reason}", fields.name(*id)))?;
            }
        }
        if let Shape::Entry(parts) = &plan.shape {
            return self.make_entry(record, parts);
        }
        let mut row = std::mem::take(&mut self.row);
        let built = self.join(record, fields, &plan.row, "row", &mut row);
        let outcome = built.and_then(|()| self.make_columns(record, fields, plan, &row));
        self.row = row;
        outcome
    }

    fn make_columns(
        &mut self,
        record: &Record,
        fields: &Fields,
        plan: &Compiled,
        row: &[u8],
    ) -> Result<(), String> {
        let given = self
            .args
            .visibility
            .as_ref()
            .map(VisibilityExpression::as_bytes);
        let label = match &plan.label {
            None => given.unwrap_or_default(),
            Some(place) => {
                let (found, name) = match place {
                    Place::Field(id) => (self.text(record, *id), fields.name(*id)),
                    Place::Unseen(name) => (None, name.as_str()),
                    // `new` rejects the other names.
                    Place::Line | Place::File => (None, "@"),
                };
                // A missing label must not make an entry readable by every user.
                let label = found.filter(|text| !text.is_empty()).or(given);
                let label = label.ok_or_else(|| {
                    format!(
                        "field `{name}` of the label is missing or empty; --visibility gives a label \
                         to such records"
                    )
                })?;
                check_label(&mut self.known_labels, label)
                    .map_err(|reason| format!("field `{name}`: {reason}"))?;
                label
            }
        };
        let timestamp = match &plan.timestamp {
            Some(Place::Field(id)) => {
                let name = fields.name(*id);
                let text = self
                    .text(record, *id)
                    .ok_or_else(|| format!("field `{name}` of the timestamp is missing"))?;
                let time = self.time.as_ref().ok_or("no timestamp format")?;
                let millis = time.millis(text);
                Some(millis.map_err(|reason| format!("field `{name}`: {reason}"))?)
            }
            Some(Place::Unseen(name)) => {
                return Err(format!("field `{name}` of the timestamp is missing"));
            }
            // `new` rejects the other names.
            _ => None,
        };
        let update = ColumnUpdate {
            visibility: label,
            timestamp,
            ..ColumnUpdate::default()
        };
        self.mutation.reset(row);
        self.mirror = None;
        match &plan.shape {
            Shape::Columns { targets, explode } => {
                let mut qualifier = std::mem::take(&mut self.qualifier);
                for field in record.fields() {
                    let target = targets.get(field.id as usize).and_then(Option::as_ref);
                    let (Some(target), Some(text)) =
                        (target, present(&self.missing, record, field))
                    else {
                        continue;
                    };
                    let mut update = ColumnUpdate {
                        family: &target.family,
                        qualifier: &target.qualifier,
                        value: Some(text),
                        ..update
                    };
                    if *explode {
                        qualifier.clear();
                        qualifier.extend_from_slice(&target.qualifier);
                        qualifier.extend_from_slice(&self.args.joiner.0);
                        qualifier.extend_from_slice(text);
                        update.qualifier = &qualifier;
                        update.value = Some(&self.args.value.0);
                    }
                    put(&mut self.mutation, update)?;
                }
                self.qualifier = qualifier;
            }
            Shape::One {
                family,
                qualifier,
                value,
                both_ways,
            } => {
                let mut joined = std::mem::take(&mut self.qualifier);
                self.join(record, fields, qualifier, "qualifier", &mut joined)?;
                let family = match family {
                    None => self.family.as_slice(),
                    Some(Place::Field(id)) => self.text(record, *id).ok_or_else(|| {
                        format!("field `{}` of the family is missing", fields.name(*id))
                    })?,
                    Some(Place::Unseen(name)) => {
                        return Err(format!("field `{name}` of the family is missing"));
                    }
                    // `new` rejects the other names.
                    Some(_) => b"",
                };
                let value = match value {
                    Some(Place::Field(id)) => self.text(record, *id),
                    _ => None,
                };
                let update = ColumnUpdate {
                    family,
                    qualifier: &joined,
                    value: Some(value.unwrap_or(&self.args.value.0)),
                    ..update
                };
                if *both_ways && joined != row {
                    let mut mirror = Mutation::new(joined.as_slice());
                    put(
                        &mut mirror,
                        ColumnUpdate {
                            qualifier: row,
                            ..update
                        },
                    )?;
                    self.mirror = Some(mirror);
                }
                put(&mut self.mutation, update)?;
                self.qualifier = joined;
            }
            Shape::Entry(_) => {}
        }
        if self.mutation.is_empty() {
            return Err("the record has no field that makes an entry".into());
        }
        Ok(())
    }

    fn make_entry(&mut self, record: &Record, parts: &[Part; 6]) -> Result<(), String> {
        let mut decoded = Vec::with_capacity(parts.len());
        for (part, name) in parts.iter().zip(ENTRY_PARTS) {
            let found = part_bytes(record, *part, self.exact);
            let found = found.map_err(|error| format!("{name}: {error}"))?;
            if self.exact && found.is_none() && REQUIRED_PARTS.contains(&name) {
                return Err(format!("the entry has no `{name}`"));
            }
            decoded.push(found.unwrap_or_default());
        }
        let [row, family, qualifier, visibility, timestamp, value] = decoded.as_slice() else {
            return Err("an entry has six parts".into());
        };
        check_label(&mut self.known_labels, visibility)?;
        let timestamp = match timestamp.as_ref() {
            b"" => None,
            text => Some(
                TimestampFormat::Millis
                    .millis(text)
                    .map_err(|reason| format!("timestamp: {reason}"))?,
            ),
        };
        self.mutation.reset(row);
        self.mirror = None;
        let update = ColumnUpdate {
            family,
            qualifier,
            visibility,
            timestamp,
            value: Some(value),
        };
        put(&mut self.mutation, update)
    }

    /// Joins the texts of several fields.
    fn join(
        &self,
        record: &Record,
        fields: &Fields,
        places: &[Place],
        what: &str,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        out.clear();
        for (at, place) in places.iter().enumerate() {
            if at > 0 {
                out.extend_from_slice(&self.args.joiner.0);
            }
            match place {
                Place::Line => out.extend_from_slice(format!("{:010}", record.line()).as_bytes()),
                Place::File => out.extend_from_slice(self.file.as_bytes()),
                Place::Unseen(name) => {
                    return Err(format!("field `{name}` of the {what} is missing"));
                }
                Place::Field(id) => match self.text(record, *id) {
                    Some(text) => out.extend_from_slice(text),
                    None => {
                        let name = fields.name(*id);
                        return Err(format!("field `{name}` of the {what} is missing"));
                    }
                },
            }
        }
        Ok(())
    }

    fn text<'r>(&self, record: &'r Record, id: u32) -> Option<&'r [u8]> {
        present(&self.missing, record, record.field(id)?)
    }
}

/// The field's text unless it is missing.
fn present<'r>(missing: &[Vec<u8>], record: &'r Record, field: &Field) -> Option<&'r [u8]> {
    let text = record.bytes(field);
    let there = match field.presence {
        Presence::There => true,
        Presence::Missing => false,
        Presence::ByText => !text.is_empty() && !missing.iter().any(|one| one == text),
    };
    there.then_some(text)
}

fn put(mutation: &mut Mutation, update: ColumnUpdate<'_>) -> Result<(), String> {
    match mutation.update(update) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.message().to_owned()),
    }
}

fn check_label(known: &mut HashSet<Vec<u8>>, label: &[u8]) -> Result<(), String> {
    if label.is_empty() || known.contains(label) {
        return Ok(());
    }
    validate(label).map_err(|error| format!("invalid label: {error}"))?;
    if known.len() >= KNOWN_LABELS {
        known.clear();
    }
    known.insert(label.to_vec());
    Ok(())
}

fn place(name: &str, fields: &Fields) -> Result<Place> {
    Ok(match name {
        "@line" => Place::Line,
        "@file" => Place::File,
        _ => match fields.resolve(name)? {
            Some(id) => Place::Field(id),
            None => Place::Unseen(name.to_owned()),
        },
    })
}
