//! Iterator settings: the class of an iterator, its place in the stack, and its options.

use std::collections::BTreeMap;

use crate::{Error, Result};

/// Options of one iterator, by name.
pub type IteratorOptions = BTreeMap<String, String>;

/// Where an iterator runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IteratorScope {
    /// While a scan reads.
    Scan,
    /// While a memtable is written to files (minor compaction, flush).
    Minc,
    /// While files are merged (major compaction).
    Majc,
}

impl IteratorScope {
    /// All scopes.
    pub const ALL: [Self; 3] = [Self::Scan, Self::Minc, Self::Majc];

    /// The scope's name in `table.iterator.<scope>.…`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scan => "scan",
            Self::Minc => "minc",
            Self::Majc => "majc",
        }
    }
}

impl std::str::FromStr for IteratorScope {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|scope| scope.as_str() == text)
            .ok_or_else(|| Error::invalid("a scope is one of scan, minc, majc").with("given", text))
    }
}

/// One iterator of a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IteratorSetting {
    /// Position in the stack: lower runs nearer to the data. At least 1.
    pub priority: u32,
    /// A name unique in its stack.
    pub name: String,
    /// The class: Accumulo's full class name or its last part.
    pub class: String,
    /// The class's options.
    pub options: IteratorOptions,
}

impl IteratorSetting {
    /// A setting without options.
    #[must_use]
    pub fn new(priority: u32, name: impl Into<String>, class: impl Into<String>) -> Self {
        Self {
            priority,
            name: name.into(),
            class: class.into(),
            options: IteratorOptions::new(),
        }
    }

    /// Adds an option.
    #[must_use]
    pub fn with(mut self, option: impl Into<String>, value: impl Into<String>) -> Self {
        self.options.insert(option.into(), value.into());
        self
    }

    /// Checks the iterators of one scan or condition, as Accumulo does: names and priorities must
    /// be unique among them. They may equal those of the table.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) with the duplicate name or priority.
    pub fn check_distinct(settings: &[Self]) -> Result<()> {
        for (at, setting) in settings.iter().enumerate() {
            for other in settings.iter().take(at) {
                if other.priority == setting.priority {
                    return Err(Error::invalid(
                        "two iterators have the same priority; give each its own, since it is their order",
                    )
                    .with("priority", setting.priority));
                }
                if other.name == setting.name {
                    let twice =
                        Error::invalid("two iterators have the same name; give each its own");
                    return Err(twice.with("name", &setting.name));
                }
            }
        }
        Ok(())
    }

    /// The properties that encode this setting in the given scopes:
    /// `table.iterator.<scope>.<name>` = `<priority>,<class>` and `….opt.<option>`.
    #[must_use]
    pub fn to_properties(&self, scopes: &[IteratorScope]) -> BTreeMap<String, String> {
        let mut properties = BTreeMap::new();
        for scope in scopes {
            let base = format!("table.iterator.{}.{}", scope.as_str(), self.name);
            for (option, value) in &self.options {
                properties.insert(format!("{base}.opt.{option}"), value.clone());
            }
            properties.insert(base, format!("{},{}", self.priority, self.class));
        }
        properties
    }

    /// The stack of `scope` in table properties, [in order](Self::order).
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) when a property is malformed.
    pub fn from_properties(
        properties: &BTreeMap<String, String>,
        scope: IteratorScope,
    ) -> Result<Vec<Self>> {
        let prefix = format!("table.iterator.{}.", scope.as_str());
        let mut settings: BTreeMap<String, Self> = BTreeMap::new();
        let mut options = Vec::new();
        let of_scope = properties
            .range(prefix.clone()..)
            .map_while(|(name, value)| Some((name, name.strip_prefix(&prefix)?, value)));
        for (property, rest, value) in of_scope {
            match rest.split_once('.') {
                None => {
                    let parsed = value.split_once(',').and_then(|(priority, class)| {
                        Some((priority.trim().parse::<u32>().ok()?, class.trim()))
                    });
                    let Some((priority, class)) = parsed.filter(|(priority, _)| *priority > 0)
                    else {
                        return Err(Error::invalid(
                            "an iterator is written as <priority>,<class> with a priority of 1 or \
                             more",
                        )
                        .with("property", property)
                        .with("given", value));
                    };
                    settings.insert(rest.to_owned(), Self::new(priority, rest, class));
                }
                Some((name, option)) => match option.strip_prefix("opt.") {
                    Some(option) => options.push((name, option, value)),
                    None => {
                        return Err(Error::invalid(
                            "an iterator's option is written table.iterator.<scope>.<name>.opt.<option>",
                        )
                        .with("property", property));
                    }
                },
            }
        }
        for (name, option, value) in options {
            // Options may be set before their iterator; then they have no effect until it is set.
            if let Some(setting) = settings.get_mut(name) {
                setting.options.insert(option.to_owned(), value.clone());
            }
        }
        let mut stack: Vec<Self> = settings.into_values().collect();
        Self::order(&mut stack);
        Ok(stack)
    }

    /// Sorts a stack into the order in which it runs: by priority, and by name for equal
    /// priorities.
    pub fn order(stack: &mut [Self]) {
        stack.sort_by(|a, b| (a.priority, &a.name).cmp(&(b.priority, &b.name)));
    }

    /// The names of two iterators of an ordered stack that share a priority, if there are any. Only
    /// their names decide which runs first, so that the user should be warned.
    #[must_use]
    pub fn equal_priorities(stack: &[Self]) -> Option<(&str, &str)> {
        stack.windows(2).find_map(|pair| match pair {
            [a, b] if a.priority == b.priority => Some((a.name.as_str(), b.name.as_str())),
            _ => None,
        })
    }

    /// Merges the stack of a table with the iterators of one scan or compaction. Options go by
    /// name: every iterator of a name has the options of all settings of that name, overridden by
    /// `options`. Names without an iterator are ignored, as in Accumulo.
    #[must_use]
    pub fn merged(
        table: &[Self],
        brought: &[Self],
        options: &BTreeMap<String, IteratorOptions>,
    ) -> Vec<Self> {
        let mut stack: Vec<Self> = table.iter().chain(brought).cloned().collect();
        let mut by_name: BTreeMap<String, IteratorOptions> = BTreeMap::new();
        for setting in &stack {
            let of_name = by_name.entry(setting.name.clone()).or_default();
            of_name.extend(setting.options.clone());
        }
        for (name, more) in options {
            by_name
                .entry(name.clone())
                .or_default()
                .extend(more.clone());
        }
        for setting in &mut stack {
            if let Some(of_name) = by_name.get(&setting.name) {
                setting.options.clone_from(of_name);
            }
        }
        Self::order(&mut stack);
        stack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_round_trip_through_properties() {
        let versions =
            IteratorSetting::new(20, "vers", "VersioningIterator").with("maxVersions", "3");
        let grep = IteratorSetting::new(5, "grep", "GrepIterator").with("term", "x.y");
        let mut properties = versions.to_properties(&IteratorScope::ALL);
        properties.extend(grep.to_properties(&[IteratorScope::Scan]));
        let scan = IteratorSetting::from_properties(&properties, IteratorScope::Scan);
        assert_eq!(scan.expect("valid"), vec![grep, versions.clone()]);
        let majc = IteratorSetting::from_properties(&properties, IteratorScope::Majc);
        assert_eq!(majc.expect("valid"), vec![versions]);
    }

    #[test]
    fn equal_priorities_run_by_name() {
        let of = |priority, name: &str| IteratorSetting::new(priority, name, "X");
        let mut stack = [of(7, "b"), of(7, "a"), of(3, "c")];
        IteratorSetting::order(&mut stack);
        assert_eq!(stack, [of(3, "c"), of(7, "a"), of(7, "b")]);
        assert_eq!(IteratorSetting::equal_priorities(&stack), Some(("a", "b")));
        assert_eq!(IteratorSetting::equal_priorities(&stack[..2]), None);
    }

    #[test]
    fn options_are_merged_by_name() {
        let table = [IteratorSetting::new(20, "vers", "V")
            .with("max", "1")
            .with("a", "t")];
        let brought = [
            IteratorSetting::new(30, "vers", "V").with("max", "2"),
            IteratorSetting::new(5, "grep", "G"),
        ];
        let more = [("vers".to_owned(), [("b".to_owned(), "s".to_owned())].into())];
        let merged = IteratorSetting::merged(&table, &brought, &more.into());
        let names: Vec<_> = merged
            .iter()
            .map(|one| (one.priority, one.name.as_str()))
            .collect();
        assert_eq!(names, [(5, "grep"), (20, "vers"), (30, "vers")]);
        let all = [("a", "t"), ("b", "s"), ("max", "2")].map(|(a, b)| (a.into(), b.into()));
        assert_eq!(merged[1].options, all.clone().into());
        assert_eq!(merged[2].options, all.into());
        assert!(merged[0].options.is_empty());
    }

    #[test]
    fn malformed_settings_are_rejected() {
        let bad = |pairs: &[(&str, &str)]| {
            let properties = pairs
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into()))
                .collect();
            IteratorSetting::from_properties(&properties, IteratorScope::Scan).is_err()
        };
        assert!(bad(&[("table.iterator.scan.a", "VersioningIterator")]));
        assert!(bad(&[("table.iterator.scan.a", "0,X")]));
        assert!(bad(&[
            ("table.iterator.scan.a", "1,X"),
            ("table.iterator.scan.a.option.b", "1")
        ]));
        assert!(!bad(&[
            ("table.iterator.scan.a", "1,X"),
            ("table.iterator.scan.b", "1,Y")
        ]));
        assert!(!bad(&[
            ("table.iterator.majc.a", "1,X"),
            ("table.iterator.scan.b", "1,Y")
        ]));
    }

    #[test]
    fn duplicate_names_and_priorities_are_rejected() {
        let setting = |priority, name: &str| IteratorSetting::new(priority, name, "Class");
        let check = |other| IteratorSetting::check_distinct(&[setting(1, "a"), other]);
        assert!(check(setting(2, "b")).is_ok());
        for (other, says) in [(setting(1, "b"), "priority"), (setting(2, "a"), "name")] {
            let error = check(other).expect_err("duplicate");
            assert!(error.to_string().contains(says), "{error}");
        }
    }
}
