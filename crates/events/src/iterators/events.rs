//! `EventScan`: an event becomes one entry if a condition holds for it.

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, Error, IteratorClass, IteratorEnvironment,
    IteratorOptions, IteratorSetting, Key, KeyRef, LabelMap, Range, Result, Slot,
    SortedKeyValueIterator,
};

use super::options::{self, only};
use super::rows::{Found, Rows};
use super::snapshot::Snapshot;
use crate::condition::{Condition, Filter, parse_condition};
use crate::layout::{DELETED, event_time};
use crate::value::FieldType;

const CLASS: &[&str] = &["ostrakon.events.EventScan"];
const OPTIONS: [&str; 9] = [
    "committed",
    "aborted",
    "since",
    "from",
    "to",
    "condition",
    "types",
    "fields",
    "report",
];

/// The family of the entry that reports how many entries were handled.
pub(crate) const EVENT_REPORT: &[u8] = &[0xff];

/// What a scan of the event table does.
pub(crate) struct EventScan<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) condition: &'a Condition,
    /// The types of the fields that the condition tests; `Time` with the name `time` is the event's time.
    pub(crate) types: Vec<(String, Option<FieldType>)>,
    /// The fields to return; `None` for all.
    pub(crate) fields: Option<Vec<String>>,
    pub(crate) from: i64,
    pub(crate) to: i64,
    /// Whether a last entry tells how many entries were handled.
    pub(crate) report: bool,
}

/// The setting for a scan. It returns one entry per event: empty column, the label of the event, and as value its
/// fields.
pub(crate) fn event_scan(scan: &EventScan<'_>) -> IteratorSetting {
    let types: Vec<String> = scan
        .types
        .iter()
        .map(|(name, kind)| format!("{name}={}", kind.map_or("event", FieldType::as_str)))
        .collect();
    let mut setting = scan
        .snapshot
        .add_to(IteratorSetting::new(30, "events", CLASS[0]))
        .with("from", scan.from.to_string())
        .with("to", scan.to.to_string());
    if *scan.condition != Condition::All {
        setting = setting
            .with("condition", scan.condition.to_string())
            .with("types", types.join(","));
    }
    if let Some(fields) = &scan.fields {
        setting = setting.with("fields", fields.join(","));
    }
    if scan.report {
        setting = setting.with("report", "true");
    }
    setting
}

#[derive(Clone)]
struct Plan {
    snapshot: Snapshot,
    from: i64,
    to: i64,
    filter: Filter,
    /// Sorted; `None` for all.
    fields: Option<Vec<Vec<u8>>>,
    report: bool,
}

pub(super) struct EventScanClass;

impl EventScanClass {
    fn read(options: &IteratorOptions) -> Result<Plan> {
        only(options, &OPTIONS)?;
        let snapshot = Snapshot::from_options(options)?;
        let mut types = Vec::new();
        for pair in options.get("types").map_or("", String::as_str).split(',') {
            if let Some((name, kind)) = pair.split_once('=') {
                types.push((name, kind));
            }
        }
        let kind_of = |name: &str| {
            types
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, kind)| *kind)
        };
        let condition = parse_condition(options.get("condition").map_or("", String::as_str), 0)?;
        let filter = Filter::new(
            &condition,
            &|name| kind_of(name) == Some("event"),
            &|name| {
                kind_of(name).and_then(FieldType::named).ok_or_else(|| {
                    Error::invalid("the option gives no type for a field of the condition")
                        .with("option", "types")
                        .with("field", name)
                })
            },
        )?;
        let fields = options.get("fields").map(|fields| {
            let mut fields: Vec<Vec<u8>> = fields
                .split(',')
                .filter(|name| !name.is_empty())
                .map(Vec::from)
                .collect();
            fields.sort();
            fields
        });
        Ok(Plan {
            from: options::moment(options, "from", i64::MIN)?.max(snapshot.since),
            to: options::moment(options, "to", i64::MAX)?,
            snapshot,
            filter,
            fields,
            report: options.get("report").is_some_and(|report| report == "true"),
        })
    }
}

impl IteratorClass for EventScanClass {
    fn names(&self) -> &[&str] {
        CLASS
    }

    fn describe(&self) -> &str {
        "Internal to the event store: returns one entry for each event that satisfies a condition. Options: committed \
         (required): the last committed batch; since (required): the time from which events are kept; aborted (none): \
         comma-separated batches that were not committed, as FIRST-LAST; from, to (unbounded): the time range; \
         condition (all events): an expression; types (none): the types of its fields, as comma-separated NAME=TYPE; \
         fields (all): comma-separated fields to return; report (false): add an entry with the number of entries read. \
         Times are microseconds since 1970."
    }

    fn validate(&self, options: &IteratorOptions) -> Result<()> {
        Self::read(options).map(|_| ())
    }

    fn scans_only(&self) -> bool {
        true
    }

    fn init(
        &self,
        source: BoxedIterator,
        options: &IteratorOptions,
        _: &IteratorEnvironment,
    ) -> Result<BoxedIterator> {
        Ok(Box::new(EventScanIterator::new(
            Rows::new(source),
            Self::read(options)?,
        )))
    }
}

struct EventScanIterator {
    rows: Rows,
    plan: Plan,
    wanted: Range,
    handled: u64,
    /// The last row that was handled, for the report.
    last: Vec<u8>,
    done: bool,
    value: Vec<u8>,
    scratch: Vec<u8>,
    /// From labels of the source's batch to those of the batch that is filled.
    labels: LabelMap,
}

impl EventScanIterator {
    fn new(rows: Rows, plan: Plan) -> Self {
        Self {
            rows,
            plan,
            wanted: Range::all(),
            handled: 0,
            last: Vec::new(),
            done: true,
            value: Vec::new(),
            scratch: Vec::new(),
            labels: LabelMap::default(),
        }
    }

    /// Puts the event of a row into `out` if it is wanted.
    fn handle(&mut self, start: usize, end: usize, out: &mut Batch) -> Result<()> {
        let (plan, batch) = (&self.plan, &self.rows.batch);
        let Some(slots) = batch.slots().get(start..end) else {
            return Ok(());
        };
        self.handled += slots.len() as u64;
        let Some(first) = slots.first() else {
            return Ok(());
        };
        let row = batch.bytes(first.row);
        if plan.report {
            self.last.clear();
            self.last.extend_from_slice(row);
        }
        let Some(time) = event_time(row).filter(|time| *time >= plan.from && *time < plan.to)
        else {
            return Ok(());
        };
        // The marker comes first, its newest version before the others.
        let mut markers = slots
            .iter()
            .take_while(|slot| slot.qualifier.len == 0 && slot.family.len == 0);
        let marker = markers.find(|slot| !slot.deleted && plan.snapshot.sees(slot.timestamp));
        let Some(marker) = marker.filter(|marker| batch.bytes(marker.value) != DELETED) else {
            return Ok(());
        };
        if !plan.filter.is_all() {
            let names = plan.filter.names();
            let mut few = [None; 8];
            let mut many = Vec::new();
            let values: &mut [Option<&[u8]>] = match few.get_mut(..names.len()) {
                Some(values) => values,
                None => {
                    many.resize(names.len(), None);
                    &mut many
                }
            };
            let mut at = 0;
            for slot in slots {
                let qualifier = batch.bytes(slot.qualifier);
                while let Some(name) = names.get(at)
                    && name.as_slice() < qualifier
                {
                    at += 1;
                }
                let Some(name) = names.get(at) else {
                    break;
                };
                if name.as_slice() == qualifier
                    && plan.snapshot.sees(slot.timestamp)
                    && let Some(value @ None) = values.get_mut(at)
                {
                    *value = Some(batch.bytes(slot.value));
                }
            }
            if !plan.filter.holds(values, time, &mut self.scratch) {
                return Ok(());
            }
        }
        self.value.clear();
        let mut before: Option<&[u8]> = None;
        for slot in slots {
            let qualifier = batch.bytes(slot.qualifier);
            // Fields of one name with a number differ at the end: most of them are told apart without a comparison.
            let again = before
                .is_some_and(|before| before.last() == qualifier.last() && before == qualifier);
            if qualifier.is_empty()
                || slot.family.len > 0
                || again
                || !plan.snapshot.sees(slot.timestamp)
            {
                continue;
            }
            before = Some(qualifier);
            let wanted = plan.fields.as_ref().is_none_or(|fields| {
                fields
                    .binary_search_by(|field| field.as_slice().cmp(qualifier))
                    .is_ok()
            });
            if wanted {
                put_run(&mut self.value, qualifier);
                put_run(&mut self.value, batch.bytes(slot.value));
            }
        }
        let key = KeyRef {
            row,
            family: b"",
            qualifier: b"",
            visibility: batch.visibility(marker.visibility),
            timestamp: marker.timestamp,
            deleted: false,
        };
        if self.wanted.contains(key) {
            let slot = Slot {
                row: out.push_bytes(row)?,
                value: out.push_bytes(&self.value)?,
                visibility: out.visibility_from(batch, marker.visibility, &mut self.labels)?,
                timestamp: marker.timestamp,
                ..Slot::default()
            };
            out.push_slot(slot);
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Batch) -> Result<()> {
        self.done = true;
        let handled = std::mem::take(&mut self.handled);
        if !self.plan.report || handled == 0 {
            return Ok(());
        }
        let key = Key::new(self.last.as_slice(), EVENT_REPORT, "");
        if self.wanted.contains(key.as_ref()) {
            out.push(key.as_ref(), &handled.to_be_bytes())?;
        }
        Ok(())
    }
}

impl SortedKeyValueIterator for EventScanIterator {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        self.done = true;
        self.handled = 0;
        self.rows.seek(range, columns)?;
        self.wanted.clone_from(range);
        self.done = false;
        Ok(())
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool> {
        // The batch may be another one than last time.
        self.labels.clear();
        while !self.done && !out.is_full(limit) {
            match self.rows.next()? {
                Found::Row(start, end) => self.handle(start, end, out)?,
                Found::Later => return Ok(true),
                Found::End => self.finish(out)?,
            }
        }
        Ok(!self.done)
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self::new(self.rows.copy(), self.plan.clone()))
    }
}

/// Appends bytes after their number.
pub(crate) fn put_run(out: &mut Vec<u8>, bytes: &[u8]) {
    let mut length = bytes.len();
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(bytes);
}

/// The runs of a value that [`EventScanIterator`] made: names and values in turn.
pub(crate) fn runs(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (mut length, mut shift) = (0_usize, 0);
        loop {
            let (&byte, rest) = bytes.split_first()?;
            bytes = rest;
            length |= usize::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                break;
            }
            shift += 7;
        }
        let (run, rest) = bytes.split_at_checked(length)?;
        bytes = rest;
        Some(run)
    })
}
