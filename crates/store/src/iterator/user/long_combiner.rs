//! `SummingCombiner`, `MinCombiner`, `MaxCombiner`: combiners of whole numbers.

use std::marker::PhantomData;

use ostrakon_cell::{
    BoxedIterator, EntryRef, Error, Escaped, IteratorClass, IteratorEnvironment, IteratorOptions,
    IteratorScope,
};

use super::column_set::decode_columns;
use super::combiner::{Combined, Combiner, Reduce};
use super::number::NumberEncoding;
use super::options;
use crate::error::StoreResult;

/// Combines numbers two at a time.
#[derive(Debug, Clone)]
pub struct LongReduce {
    operation: fn(i64, i64) -> i64,
    start: i64,
    encoding: NumberEncoding,
    lossy: bool,
    /// Whether an error may name the position of the entry.
    names_place: bool,
    so_far: i64,
}

impl Reduce for LongReduce {
    fn begin(&mut self) {
        self.so_far = self.start;
    }

    fn add(&mut self, entry: EntryRef<'_>) -> StoreResult<()> {
        match self.encoding.decode(entry.value) {
            Some(number) => self.so_far = (self.operation)(self.so_far, number),
            None if self.lossy => {}
            None => {
                let error = Error::invalid(
                    "a value is not a number of the type the combiner was given: set its options so \
                     that it leaves that column out, or lossy=true to skip such values",
                )
                .with("data", "a value")
                .with("type", format!("{:?}", self.encoding));
                return Err(if self.names_place {
                    error
                        .with("row", Escaped(entry.key.row))
                        .with("family", Escaped(entry.key.family))
                        .with("qualifier", Escaped(entry.key.qualifier))
                } else {
                    error.with("where", "a scan with the same iterator names the entry")
                });
            }
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        self.encoding.encode(self.so_far, out);
    }

    #[inline]
    fn keeps(&self, value: &[u8]) -> bool {
        // No operation changes the only number of a column.
        self.encoding.is_as_encoded(value)
    }
}

/// The differences between the classes.
pub(super) trait Operation: 'static {
    const NAMES: &'static [&'static str];
    const DESCRIPTION: &'static str;
    /// The result for no numbers.
    const START: i64;
    fn apply(so_far: i64, next: i64) -> i64;
}

macro_rules! description {
    ($does:literal) => {
        concat!(
            $does,
            " Options: type (required): the encoding of the numbers, VARLEN, FIXEDLEN or STRING; \
             columns: comma-separated FAMILY or FAMILY:QUALIFIER, with %xx for bytes other than \
             letters, digits, _ and -; all (false): every column (columns or all is required); \
             lossy (false): skip values that are not numbers, instead of failing; \
             reduceOnFullCompactionOnly (false): in compactions, combine only if all files of the \
             tablet take part."
        )
    };
}

pub(super) struct Sum;
pub(super) struct Min;
pub(super) struct Max;

impl Operation for Sum {
    const NAMES: &'static [&'static str] =
        &["org.apache.accumulo.core.iterators.user.SummingCombiner"];
    const DESCRIPTION: &'static str = description!(
        "Adds up the versions of each cell. A sum that does not fit in 64 bits becomes the \
         largest or smallest 64-bit integer."
    );
    const START: i64 = 0;
    fn apply(so_far: i64, next: i64) -> i64 {
        so_far.saturating_add(next)
    }
}

impl Operation for Min {
    const NAMES: &'static [&'static str] = &["org.apache.accumulo.core.iterators.user.MinCombiner"];
    const DESCRIPTION: &'static str =
        description!("Keeps the smallest number in the versions of each cell.");
    const START: i64 = i64::MAX;
    fn apply(so_far: i64, next: i64) -> i64 {
        so_far.min(next)
    }
}

impl Operation for Max {
    const NAMES: &'static [&'static str] = &["org.apache.accumulo.core.iterators.user.MaxCombiner"];
    const DESCRIPTION: &'static str =
        description!("Keeps the largest number in the versions of each cell.");
    const START: i64 = i64::MIN;
    fn apply(so_far: i64, next: i64) -> i64 {
        so_far.max(next)
    }
}

/// The iterator class of an operation.
pub(super) struct LongCombiner<O>(PhantomData<fn() -> O>);

impl<O: Operation> LongCombiner<O> {
    pub(super) fn new() -> Self {
        Self(PhantomData)
    }

    fn read(
        options: &IteratorOptions,
        environment: Option<&IteratorEnvironment>,
    ) -> StoreResult<(LongReduce, Combined)> {
        options::only(
            options,
            &[
                "type",
                "columns",
                "all",
                "lossy",
                "reduceOnFullCompactionOnly",
            ],
        )?;
        let encoding = options::required(options, "type")?.parse()?;
        let combined = if options::flag(options, "all", false)? {
            Combined::All
        } else {
            let columns = options::text(options, "columns").ok_or_else(|| {
                Error::invalid("say which columns to combine by the option columns, or all=true")
            })?;
            Combined::Columns(decode_columns(columns).map_err(|e| e.with("option", "columns"))?)
        };
        let wait_for_full = options::flag(options, "reduceOnFullCompactionOnly", false)?;
        let partial = environment.is_some_and(|environment| {
            environment.scope == IteratorScope::Majc && !environment.full_major_compaction
        });
        let reduce = LongReduce {
            operation: O::apply,
            start: O::START,
            encoding,
            lossy: options::flag(options, "lossy", false)?,
            // A scan's reader may see what the iterator sees. Errors of flushes and compactions
            // have other readers.
            names_place: environment
                .is_some_and(|environment| environment.scope == IteratorScope::Scan),
            so_far: O::START,
        };
        let combined = if partial && wait_for_full {
            Combined::None
        } else {
            combined
        };
        Ok((reduce, combined))
    }
}

impl<O: Operation> IteratorClass for LongCombiner<O> {
    fn names(&self) -> &[&str] {
        O::NAMES
    }

    fn describe(&self) -> &str {
        O::DESCRIPTION
    }

    fn validate(&self, options: &IteratorOptions) -> StoreResult<()> {
        Self::read(options, None).map(|_| ())
    }

    fn init(
        &self,
        source: BoxedIterator,
        options: &IteratorOptions,
        environment: &IteratorEnvironment,
    ) -> StoreResult<BoxedIterator> {
        let (reduce, combined) = Self::read(options, Some(environment))?;
        Ok(Box::new(Combiner::new(source, reduce, combined)))
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_cell::{ColumnSelection, Entry, Key, Range};

    use super::*;
    use crate::iterator::testing::{
        MemorySource, delete, entry, init, init_in, put, read, read_all, show,
    };

    const STRINGS: (&str, &str) = ("type", "STRING");

    fn sample() -> Vec<Entry> {
        vec![
            put("a", 5, "1"),
            put("a", 4, "20"),
            put("a", 3, "300"),
            entry("a", "q", "A", 2, "7"),
            put("b", 9, "9223372036854775807"),
            put("b", 8, "5"),
            entry("b", "r", "", 2, "x"),
            entry("b", "r", "", 1, "y"),
        ]
    }

    fn combined(class: &str, options: &[(&str, &str)], step: usize) -> Vec<String> {
        let source = MemorySource::boxed(sample(), step);
        read_all(&mut *init(class, options, source).expect("sound options"))
    }

    #[test]
    fn versions_of_a_column_are_combined_under_the_newest_key() {
        for step in 1..=8 {
            assert_eq!(
                combined("SummingCombiner", &[STRINGS, ("columns", "f:q")], step),
                [
                    "a@5=321",
                    "a@2=7",
                    "b@9=9223372036854775807",
                    "b@2=x",
                    "b@1=y"
                ]
            );
            assert_eq!(
                combined("MinCombiner", &[STRINGS, ("columns", "f:q")], step)[..3],
                ["a@5=1", "a@2=7", "b@9=5"]
            );
            assert_eq!(
                combined(
                    "MaxCombiner",
                    &[STRINGS, ("all", "true"), ("lossy", "true")],
                    step
                ),
                [
                    "a@5=300",
                    "a@2=7",
                    "b@9=9223372036854775807",
                    "b@2=-9223372036854775808"
                ]
            );
        }
    }

    #[test]
    fn a_value_that_is_not_a_number_fails_with_its_key() {
        let source = MemorySource::boxed(sample(), 3);
        let mut sum = init("SummingCombiner", &[STRINGS, ("all", "true")], source).expect("sound");
        let error = read(&mut *sum, &Range::all(), &ColumnSelection::all(), 3).expect_err("x");
        assert!(
            error
                .to_string()
                .contains("row: b, family: f, qualifier: r"),
            "{error}"
        );
    }

    #[test]
    fn a_flush_or_compaction_does_not_name_places() {
        for (scope, label) in [
            (IteratorScope::Majc, "A"),
            (IteratorScope::Majc, ""),
            (IteratorScope::Minc, ""),
        ] {
            let entries = vec![entry("secret", "q", label, 2, "x")];
            let environment = IteratorEnvironment::new(scope);
            let options = [STRINGS, ("all", "true")];
            let source = MemorySource::boxed(entries, 3);
            let mut sum =
                init_in("SummingCombiner", &options, source, &environment).expect("sound");
            let error = read(&mut *sum, &Range::all(), &ColumnSelection::all(), 3).expect_err("x");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn ranges_that_cut_a_column_never_cut_a_sum() {
        let options = [STRINGS, ("columns", "f:q")];
        let mut sum = init(
            "SummingCombiner",
            &options,
            MemorySource::boxed(sample(), 2),
        )
        .expect("sound");
        let at = |timestamp| Key {
            timestamp,
            ..Key::new("a", "f", "q")
        };
        let mut between = |from: Option<Key>, to: Option<Key>| {
            let range = Range::keys(from, true, to, true).expect("sound");
            show(&read(&mut *sum, &range, &ColumnSelection::all(), 2).expect("reads"))
        };
        let end = Some(Key::first_of_row("b"));
        assert_eq!(between(Some(at(5)), end.clone()), ["a@5=321", "a@2=7"]);
        assert_eq!(between(Some(at(4)), end), ["a@2=7"]);
        assert_eq!(between(None, Some(at(4))), ["a@5=321"]);
        assert!(between(None, Some(at(6))).is_empty());
    }

    #[test]
    fn markers_pass_and_divide_and_partial_compactions_can_be_left_alone() {
        let entries = vec![
            put("a", 9, "1"),
            put("a", 8, "2"),
            delete("a", 7),
            put("a", 6, "4"),
        ];
        let options = [
            STRINGS,
            ("all", "true"),
            ("reduceOnFullCompactionOnly", "true"),
        ];
        let left = |scope, full| {
            let environment = IteratorEnvironment {
                full_major_compaction: full,
                ..IteratorEnvironment::new(scope)
            };
            let source = MemorySource::boxed(entries.clone(), 2);
            read_all(
                &mut *init_in("SummingCombiner", &options, source, &environment).expect("sound"),
            )
        };
        let reduced = ["a@9=3", "a@7-", "a@6=4"];
        assert_eq!(left(IteratorScope::Minc, false), reduced);
        assert_eq!(left(IteratorScope::Majc, true), reduced);
        assert_eq!(
            left(IteratorScope::Majc, false),
            ["a@9=1", "a@8=2", "a@7-", "a@6=4"]
        );
    }

    #[test]
    fn options_are_checked_when_they_are_set() {
        for options in [
            &[STRINGS][..],
            &[("columns", "f")],
            &[STRINGS, ("columns", "")],
            &[STRINGS, ("columns", "a b")],
            &[("type", "class:java.Encoder"), ("all", "true")],
            &[STRINGS, ("all", "perhaps")],
            &[STRINGS, ("all", "true"), ("column", "f")],
        ] {
            let source = MemorySource::boxed(vec![], 1);
            assert!(
                init("SummingCombiner", options, source).is_err(),
                "{options:?}"
            );
        }
    }
}
