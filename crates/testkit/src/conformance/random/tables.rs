//! Random tables, their properties and iterators, and a namespace.

use std::collections::HashSet;

use super::generator::Generator;
use super::known::Table;

/// At most so many tables at a time.
const TABLES: usize = 3;

const USER: &str = "org.apache.accumulo.core.iterators.user";
const CONSTRAINTS: &str = "org.apache.accumulo.core.data.constraints";

impl Generator {
    /// A name that no table has, sometimes in the namespace.
    fn new_name(&mut self) -> String {
        let namespace = match &self.namespace {
            Some(namespace) if self.random.one_in(2) => namespace.clone(),
            _ => String::new(),
        };
        self.named += 1;
        format!("{namespace}t{}", self.named)
    }

    pub(super) fn create(&mut self) {
        if self.tables.len() >= TABLES {
            return;
        }
        let mut table = Table::named(self.new_name());
        table.logical = self.random.one_in(5);
        table.timed = !table.logical && self.random.one_in(2);
        if self.random.one_in(3) {
            table.numeric = Some(self.pick(&["STRING", "STRING", "FIXEDLEN", "VARLEN"]));
            table.lossy = self.random.one_in(4);
        }
        let mut line = format!("create {}", table.name);
        if table.logical {
            line += " time=logical";
        }
        let bare = table.numeric.is_some() || self.random.one_in(3);
        if bare {
            line += " bare=yes";
        }
        if self.random.one_in(12) {
            line += " offline=yes";
            table.offline = true;
        }
        let splits: HashSet<u64> = (0..self.below(3)).map(|_| self.below(12)).collect();
        let mut splits: Vec<u64> = splits.into_iter().collect();
        splits.sort_unstable();
        splits
            .iter()
            .for_each(|row| line += &format!(" split=r{row:02}"));
        self.line(line);
        self.first_iterators(&mut table, bare);
        self.tables.push(table);
    }

    fn first_iterators(&mut self, table: &mut Table, bare: bool) {
        table.all_versions = bare;
        if let Some(encoding) = table.numeric {
            let class = self.pick(&["SummingCombiner", "MinCombiner", "MaxCombiner"]);
            let scopes = self.scopes();
            let columns = self.pick(&["all=true", "all=true", "columns=f,g:q"]);
            let columns = columns.replace(',', "\\x2c");
            let mut options = format!("type={encoding} {columns}");
            if table.lossy {
                options += " lossy=true";
            }
            if self.explicit && self.random.one_in(4) {
                options += " reduceOnFullCompactionOnly=true";
            }
            table.no_deletes = !self.explicit && scopes != "scan";
            self.line(format!("  iterator combine 10 {class} {scopes} {options}"));
        } else if bare && self.random.one_in(2) {
            let (scopes, versions) = (self.scopes(), 1 + self.below(3));
            table.all_versions = scopes == "scan";
            // Accumulo drops delete markers among the versions it drops from files (docs/conformance.md,
            // `markers-are-no-versions`). Scans that read more versions than files keep show that.
            table.no_deletes |= !scopes.contains("scan");
            self.line(format!(
                "  iterator vers 20 VersioningIterator {scopes} maxVersions={versions}"
            ));
        }
        if self.random.one_in(5) {
            // Below the others and in the same scopes: what it drops does not depend on what they made of it.
            let scopes = if self.explicit {
                self.scopes()
            } else {
                "scan,minc,majc"
            };
            let filter = self.pick(&[
                "AgeOffFilter SCOPES ttl=60 currentTime=100",
                "ReqVisFilter SCOPES negate=true",
                "RegExFilter SCOPES colqRegex=[qr]",
                "GrepIterator SCOPES term=r0 matchValue=false",
            ]);
            let filter = filter.replace("SCOPES", scopes);
            self.line(format!("  iterator first 5 {filter}"));
        }
    }

    /// All scopes or scans alone, or any where nothing but the script flushes and compacts.
    fn scopes(&mut self) -> &'static str {
        if self.explicit && self.random.one_in(2) {
            self.pick(&["minc", "majc", "scan,minc", "minc,majc", "scan,majc"])
        } else {
            self.pick(&["scan,minc,majc", "scan,minc,majc", "scan"])
        }
    }

    /// The name is taken.
    pub(super) fn create_again(&mut self, at: usize) {
        let name = self.name(at);
        if at < self.tables.len() {
            self.line(format!("create {name}"));
        }
    }

    pub(super) fn clone_table(&mut self, at: usize) {
        let name = self.name(at);
        if self.tables.len() >= TABLES {
            return;
        }
        let to = self.new_name();
        let mut line = format!("clone {name} {to}");
        if self.explicit && self.random.one_in(3) {
            line += " flush=no";
        }
        let offline = self.random.one_in(10);
        if offline {
            line += " offline=yes";
        }
        self.line(line);
        if self.random.one_in(4) {
            self.line("  prop table.custom.x cloned");
            self.line("  prop table.file.compress.blocksize 2K");
        }
        if self.random.one_in(4) {
            self.line("  exclude table.custom.x");
        }
        self.settle(at);
        if let Some(table) = self.tables.get(at) {
            let mut copy = table.clone();
            copy.name.clone_from(&to);
            copy.offline = offline;
            self.tables.push(copy);
            self.line(format!("properties {to} table.custom."));
        }
    }

    pub(super) fn groups(&mut self, at: usize) {
        let name = self.name(at);
        let groups = self.pick(&[
            "",
            " group=one,f",
            " group=one,f group=two,g,h\\xff",
            " group=two,g",
        ]);
        self.line(format!("groups {name}{groups}"));
    }

    pub(super) fn property(&mut self, at: usize) {
        let name = self.name(at);
        let change = self.pick(&[
            "set NAME table.bloom.enabled true",
            "set NAME table.bloom.key.functor org.apache.accumulo.core.file.keyfunctor.RowFunctor",
            "set NAME table.bloom.key.functor org.apache.accumulo.core.file.keyfunctor.ColumnFamilyFunctor",
            "set NAME table.file.compress.blocksize 1K",
            "set NAME table.file.compress.type none",
            "set NAME table.cache.block.enable true",
            "set NAME table.security.scan.visibility.default b",
            "set NAME table.security.scan.visibility.default a&c",
            "unset NAME table.security.scan.visibility.default",
            "set NAME table.constraint.2 CONSTRAINTS.NoDeleteConstraint",
            "set NAME table.constraint.3 CONSTRAINTS.VisibilityConstraint",
            "unset NAME table.constraint.2",
            "properties NAME table.constraint.2",
            "properties NAME table.iterator.",
            "in-force NAME table.iterator.",
            "in-force NAME table.custom.",
            "in-force NAME table.security.",
            "set NAME table.custom.x y",
            "unset NAME table.custom.x",
            "properties NAME table.custom.",
        ]);
        let change = change.replace("CONSTRAINTS", CONSTRAINTS);
        self.line(change.replace("NAME", &name));
    }

    /// A filter above everything else, which comes and goes.
    pub(super) fn attach_or_detach(&mut self, at: usize) {
        let name = self.name(at);
        let (iterator, priority) = self.pick(&[("late", 26), ("later", 27)]);
        if self.random.one_in(3) {
            return self.line(format!("detach {name} {iterator}"));
        }
        let scopes = if self.explicit { self.scopes() } else { "scan" };
        let filter = self.pick(&[
            "GrepIterator SCOPES term=1",
            "ReqVisFilter SCOPES",
            "RegExFilter SCOPES rowRegex=r0[0-5]",
            "RegExFilter SCOPES valueRegex=.*[02468] colqRegex=q orFields=true",
            "AgeOffFilter SCOPES ttl=30 currentTime=100",
        ]);
        let filter = filter.replace("SCOPES", scopes);
        // Options of another one of this name would stay.
        self.line(format!("detach {name} {iterator}"));
        self.line(format!("attach {name} {iterator} {priority} {filter}"));
    }

    pub(super) fn rename(&mut self, at: usize) {
        let name = self.name(at);
        let to = match self.tables.get(at) {
            Some(table) => {
                let namespace = table.namespace().to_owned();
                self.named += 1;
                format!("{namespace}t{}", self.named)
            }
            None => self.new_name(),
        };
        self.line(format!("rename {name} {to}"));
        if let Some(table) = self.tables.get_mut(at) {
            table.name = to;
        }
    }

    pub(super) fn offline(&mut self, at: usize) {
        self.prepare(at, false);
        let name = self.name(at);
        self.line(format!("offline {name}"));
        if let Some(table) = self.tables.get_mut(at) {
            table.offline = true;
        }
    }

    pub(super) fn online(&mut self, at: usize) {
        let name = self.name(at);
        self.line(format!("online {name}"));
        if let Some(table) = self.tables.get_mut(at) {
            table.offline = false;
        }
    }

    pub(super) fn drop_table(&mut self, at: usize) {
        if self.tables.len() < 2 || at >= self.tables.len() {
            return;
        }
        let table = self.tables.remove(at);
        self.line(format!("drop {}", table.name));
    }

    pub(super) fn create_namespace(&mut self) {
        self.named += 1;
        let name = format!("n{}", self.named);
        self.line(format!("create-namespace {name}"));
        self.namespace = Some(name + ".");
    }

    pub(super) fn change_namespace(&mut self) {
        let Some(namespace) = self.namespace.clone() else {
            return;
        };
        let name = namespace.trim_end_matches('.');
        match self.below(12) {
            0 => self.rename_namespace(name),
            1 => self.drop_namespace(name),
            2 => self.line("namespaces"),
            3 => self.line(format!("create-namespace {name}")),
            _ => {
                let change = self.pick(&[
                    "set-namespace NAME table.custom.x z",
                    "set-namespace NAME table.custom.w z",
                    "unset-namespace NAME table.custom.x",
                    "set-namespace NAME table.bloom.enabled true",
                    "set-namespace NAME table.security.scan.visibility.default a",
                    "unset-namespace NAME table.security.scan.visibility.default",
                    "set-namespace NAME table.iterator.scan.ns 24\\x2cUSER.ReqVisFilter",
                    "unset-namespace NAME table.iterator.scan.ns",
                    "set-namespace NAME table.constraint.7 CONSTRAINTS.NoDeleteConstraint",
                    "unset-namespace NAME table.constraint.7",
                    "namespace-properties NAME table.",
                ]);
                let change = change
                    .replace("CONSTRAINTS", CONSTRAINTS)
                    .replace("USER", USER);
                self.line(change.replace("NAME", name));
            }
        }
    }

    fn rename_namespace(&mut self, name: &str) {
        self.named += 1;
        let to = format!("n{}", self.named);
        self.line(format!("rename-namespace {name} {to}"));
        for table in &mut self.tables {
            if let Some(rest) = table.name.strip_prefix(&format!("{name}.")) {
                table.name = format!("{to}.{rest}");
            }
        }
        self.namespace = Some(to + ".");
    }

    /// One with tables stays.
    fn drop_namespace(&mut self, name: &str) {
        self.line(format!("drop-namespace {name}"));
        let used = self
            .tables
            .iter()
            .any(|table| table.namespace().trim_end_matches('.') == name);
        if !used {
            self.namespace = None;
        }
    }
}
