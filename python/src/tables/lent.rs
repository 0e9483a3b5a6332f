//! The store as SQL and queries of events use it.

use std::sync::Arc;

use ostrakon_cell::source::{Capabilities, TableInfo};
use ostrakon_cell::{
    CloneOptions, PropertyOwner, Result, Source, Table, TableOptions, VersionedProperties,
};

use super::gate::WeakGate;

/// A store that is neither kept open nor locked by this. What uses it may go on for a moment on threads of its own, and a
/// session or rows may lie around after the store was closed, which can nevertheless be opened again at once.
pub(super) struct LentSource {
    gate: WeakGate,
    capabilities: Capabilities,
}

impl LentSource {
    pub(super) fn new(gate: WeakGate) -> Result<Self> {
        let capabilities = gate.store()?.capabilities();
        Ok(Self { gate, capabilities })
    }
}

impl Source for LentSource {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn tables(&self) -> Result<Vec<TableInfo>> {
        self.gate.store()?.tables()
    }

    fn create_table(&self, name: &str, options: &TableOptions) -> Result<()> {
        self.gate.store()?.create_table(name, options)
    }

    fn delete_table(&self, name: &str) -> Result<()> {
        self.gate.store()?.delete_table(name)
    }

    fn rename_table(&self, from: &str, to: &str) -> Result<()> {
        self.gate.store()?.rename_table(from, to)
    }

    fn clone_table(&self, from: &str, to: &str, options: &CloneOptions) -> Result<()> {
        self.gate.store()?.clone_table(from, to, options)
    }

    fn table(&self, name: &str) -> Result<Arc<dyn Table>> {
        self.gate.store()?.table(name)
    }

    fn set_online(&self, name: &str, online: bool) -> Result<()> {
        self.gate.store()?.set_online(name, online)
    }

    fn create_namespace(&self, name: &str) -> Result<()> {
        self.gate.store()?.create_namespace(name)
    }

    fn own_properties(&self, owner: PropertyOwner<'_>) -> Result<VersionedProperties> {
        self.gate.store()?.own_properties(owner)
    }
}
