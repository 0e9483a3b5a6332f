//! Files whose fields are not those of a type: they may be logs of another kind.

use super::EventType;
use crate::condition::{as_name, parse_condition};

/// The most tests in a condition.
const TESTS_MAX: usize = 6;

/// How the fields of a file differ from those of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnlikeFields {
    /// The fields of the file that the type does not have, sorted. They are kept as text.
    pub unknown: Vec<String>,
    /// The number of the fields of the file.
    pub fields: usize,
    /// A condition that all events of the file fulfil, and events of the type only if they lack several of its fields.
    /// `None` if the file has all fields of the type.
    pub condition: Option<String>,
}

impl EventType {
    /// Compares the fields of a file with those of the type. `None` unless most of them are not fields of the type.
    pub fn unlike_fields<'a>(&self, fields: impl Iterator<Item = &'a str>) -> Option<UnlikeFields> {
        let (known, mut unknown): (Vec<&str>, Vec<&str>) =
            fields.partition(|field| self.field(field).is_some());
        if unknown.len() <= known.len() {
            return None;
        }
        unknown.sort_unstable();
        // The events have none of these. That of the label is not shown to all readers alike.
        let missing = self.fields.iter().map(|field| field.name.as_str());
        let missing = missing.filter(|name| {
            *name != self.time
                && Some(*name) != self.visibility_field.as_deref()
                && !known.contains(name)
        });
        let tests: Vec<String> = missing
            .take(TESTS_MAX)
            .map(|name| format!("not {} exists", as_name(name)))
            .collect();
        let condition = Some(tests.join(" and ")).filter(|text| !text.is_empty());
        Some(UnlikeFields {
            fields: known.len() + unknown.len(),
            unknown: unknown.into_iter().map(str::to_owned).collect(),
            condition: condition.filter(|text| parse_condition(text, 0).is_ok()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_condition_names_fields_that_the_file_lacks() {
        let web = EventType::from_toml(
            "name = 'web'\ntime = 'ts'\nvisibility_field = 'label'\n[[shards]]\ncount = 2\n\
             [[fields]]\nname = 'label'\ntype = 'text'\n\
             [[fields]]\nname = 'ts'\ntype = 'time'\n\
             [[fields]]\nname = 'host'\ntype = 'text'\n\
             [[fields]]\nname = 'and'\ntype = 'text'\n\
             [[fields]]\nname = 'id.port'\ntype = 'u64'\n",
        )
        .expect("valid");
        let unlike = |fields: &[&str]| web.unlike_fields(fields.iter().copied());
        assert_eq!(unlike(&["ts", "host", "b", "a"]), None);
        let found = unlike(&["ts", "c", "b"]).expect("most are others");
        assert_eq!(
            (found.unknown, found.fields),
            (vec!["b".into(), "c".into()], 3)
        );
        let condition = "not host exists and not `and` exists and not id.port exists";
        assert_eq!(found.condition.as_deref(), Some(condition));
        let found = unlike(&["host", "id.port", "b", "c", "d"]).expect("most are others");
        assert_eq!(found.condition.as_deref(), Some("not `and` exists"));
        let all = unlike(&["host", "id.port", "and", "b", "c", "d", "e"]).expect("most are others");
        assert_eq!(all.condition, None);
    }
}
