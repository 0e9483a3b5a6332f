//! The names of a disk: as programs see them, and as they lie on the platter.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use ostrakon_store::clock::Random;

use super::faults::Crash;

/// What a name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Directory,
    File(u64),
}

type Map = BTreeMap<PathBuf, Node>;

#[derive(Clone, Debug)]
enum Change {
    Put {
        path: PathBuf,
        node: Node,
    },
    Remove {
        path: PathBuf,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
        node: Node,
    },
}

impl Change {
    /// A sync of this directory makes the change durable.
    fn belongs_to(&self, dir: &Path) -> bool {
        let path = match self {
            Self::Put { path, .. } | Self::Remove { path } => path,
            Self::Rename { to, .. } => to,
        };
        path.parent() == Some(dir)
    }
}

/// All names.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    live: Map,
    durable: Map,
    pending: Vec<Change>,
}

/// The root and the current directory always exist.
pub(super) fn is_root(path: &Path) -> bool {
    path.as_os_str().is_empty() || path.parent().is_none()
}

impl Names {
    pub(super) fn get(&self, path: &Path) -> Option<Node> {
        if is_root(path) {
            return Some(Node::Directory);
        }
        self.live.get(path).copied()
    }

    pub(super) fn below(&self, dir: &Path) -> impl Iterator<Item = (&PathBuf, Node)> {
        below(&self.live, dir)
    }

    /// The files that some name leads to, now or after a crash.
    pub(super) fn files(&self) -> impl Iterator<Item = u64> {
        let pending = self.pending.iter().filter_map(|change| match change {
            Change::Put { node, .. } | Change::Rename { node, .. } => Some(node),
            Change::Remove { .. } => None,
        });
        let nodes = self
            .live
            .values()
            .chain(self.durable.values())
            .chain(pending);
        nodes.filter_map(|node| match node {
            Node::File(id) => Some(*id),
            Node::Directory => None,
        })
    }

    /// The files that some name leads to now.
    pub(super) fn live_files(&self) -> impl Iterator<Item = u64> {
        self.live.values().filter_map(|node| match node {
            Node::File(id) => Some(*id),
            Node::Directory => None,
        })
    }

    pub(super) fn put(&mut self, path: &Path, node: Node) {
        self.change(Change::Put {
            path: path.to_owned(),
            node,
        });
    }

    pub(super) fn remove(&mut self, path: &Path) {
        self.change(Change::Remove {
            path: path.to_owned(),
        });
    }

    /// Removes a name for programs and on the platter alike.
    pub(super) fn take_away(&mut self, path: &Path) {
        self.live.remove(path);
        self.durable.remove(path);
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) {
        if let Some(node) = self.get(from) {
            self.change(Change::Rename {
                from: from.to_owned(),
                to: to.to_owned(),
                node,
            });
        }
    }

    fn change(&mut self, change: Change) {
        apply(&mut self.live, &change);
        self.pending.push(change);
    }

    /// The names in one directory reach the platter.
    pub(super) fn sync(&mut self, dir: &Path) {
        for change in std::mem::take(&mut self.pending) {
            if change.belongs_to(dir) {
                apply(&mut self.durable, &change);
            } else {
                self.pending.push(change);
            }
        }
    }

    /// A sync of a directory fails: its changes will never reach the platter.
    pub(super) fn lose(&mut self, dir: &Path) {
        self.pending.retain(|change| !change.belongs_to(dir));
    }

    pub(super) fn crash(&mut self, crash: Crash, random: &mut Random) {
        match crash {
            Crash::Process => return,
            Crash::PowerLost => {}
            Crash::PowerLostTorn | Crash::PowerLostScattered => {
                // File systems journal changes of names in order.
                let kept = random.below(self.pending.len() as u64 + 1) as usize;
                for change in self.pending.iter().take(kept) {
                    apply(&mut self.durable, change);
                }
            }
        }
        self.pending.clear();
        // What lies in a directory that was lost is lost with it.
        let lost: Vec<PathBuf> = self
            .durable
            .keys()
            .filter(|path| {
                let mut above = path.ancestors().skip(1);
                above.any(|dir| !is_root(dir) && self.durable.get(dir) != Some(&Node::Directory))
            })
            .cloned()
            .collect();
        for path in lost {
            self.durable.remove(&path);
        }
        self.live.clone_from(&self.durable);
    }
}

fn below<'a>(map: &'a Map, dir: &Path) -> impl Iterator<Item = (&'a PathBuf, Node)> + use<'a> {
    // Paths order by component, so everything inside a directory follows it directly.
    let dir = dir.to_owned();
    map.range::<Path, _>((Bound::Excluded(dir.as_path()), Bound::Unbounded))
        .take_while(move |(path, _)| path.starts_with(&dir))
        .map(|(path, node)| (path, *node))
}

fn apply(map: &mut Map, change: &Change) {
    match change {
        Change::Put { path, node } => {
            map.insert(path.clone(), *node);
        }
        Change::Remove { path } => {
            map.remove(path);
        }
        Change::Rename { from, to, node } => {
            let moved: Vec<(PathBuf, Node)> = below(map, from)
                .map(|(path, node)| (path.clone(), node))
                .collect();
            for (path, node) in moved {
                map.remove(&path);
                if let Ok(rest) = path.strip_prefix(from) {
                    map.insert(to.join(rest), node);
                }
            }
            // The old name may be unknown on the platter, if its own directory was not synced.
            map.remove(from);
            map.insert(to.clone(), *node);
        }
    }
}
