//! Users and their grants, modules, recorded problems and counters: records that few stores have.

use redb::ReadableTable;

use super::backend::Failing;
use super::format;
use super::open::{COUNTERS, Definition, GRANTS, MODULES, PROBLEMS, USERS};
use super::records::{GrantScope, ModuleRecord, ProblemRecord, TableId, UserRecord};
use super::transaction::CatalogTransaction;
use super::view::{Bytes, CatalogView};
use crate::error::{Error, StoreResult};

impl CatalogView {
    /// All users, by name.
    pub fn users(&self) -> StoreResult<Vec<UserRecord>> {
        self.all_of(USERS, format::decode_user)
    }

    /// All grants: their scopes, users, and permissions as bits by Accumulo's numbers.
    pub fn grants(&self) -> StoreResult<Vec<(GrantScope, String, u64)>> {
        self.all_of(GRANTS, |key, value| {
            let (scope, user) = format::decode_grant_key(key)?;
            let permissions = format::decode_numbered("a grant", key, value)?;
            Ok((scope, user, permissions))
        })
    }

    /// All modules, by name.
    pub fn modules(&self) -> StoreResult<Vec<ModuleRecord>> {
        self.all_of(MODULES, format::decode_module)
    }

    /// All recorded problems, by table.
    pub fn problems(&self) -> StoreResult<Vec<ProblemRecord>> {
        self.all_of(PROBLEMS, format::decode_problem)
    }

    /// The value of a counter; 0 if it does not exist yet.
    pub fn counter(&self, name: &str) -> StoreResult<u64> {
        let opened = self.transaction.open_table(COUNTERS);
        counter(
            &opened.map_err(|e| self.failing.error(e))?,
            &self.failing,
            name,
        )
    }

    fn all_of<T>(
        &self,
        definition: Definition,
        decode: impl Fn(&[u8], &[u8]) -> StoreResult<T>,
    ) -> StoreResult<Vec<T>> {
        let opened = self.transaction.open_table(definition);
        let records = opened.map_err(|e| self.failing.error(e))?;
        let mut all = Vec::new();
        for record in records.iter().map_err(|e| self.failing.error(e))? {
            let (key, value) = record.map_err(|e| self.failing.error(e))?;
            all.push(decode(key.value(), value.value()).map_err(|e| self.failing.record(e))?);
        }
        Ok(all)
    }
}

impl CatalogTransaction<'_> {
    /// Writes a user, replacing one of the same name.
    pub fn put_user(&mut self, user: &UserRecord) -> StoreResult<()> {
        self.put(USERS, user.name.as_bytes(), &format::encode_user(user))
    }

    /// Removes a user and all its grants.
    pub fn remove_user(&mut self, name: &str) -> StoreResult<()> {
        self.remove(USERS, name.as_bytes())?;
        self.forget_grants(|_, user| user == name)
    }

    /// Writes the permissions of a user; an empty set removes the grant.
    pub fn put_grant(
        &mut self,
        scope: &GrantScope,
        user: &str,
        permissions: u64,
    ) -> StoreResult<()> {
        let key = format::grant_key(scope, user);
        if permissions == 0 {
            return self.remove(GRANTS, &key);
        }
        self.put(GRANTS, &key, &format::encode_numbered(&key, permissions))
    }

    /// Writes a module, replacing one of the same name.
    pub fn put_module(&mut self, module: &ModuleRecord) -> StoreResult<()> {
        self.put(
            MODULES,
            module.name.as_bytes(),
            &format::encode_module(module),
        )
    }

    /// Removes a module.
    pub fn remove_module(&mut self, name: &str) -> StoreResult<()> {
        self.remove(MODULES, name.as_bytes())
    }

    /// Records a problem, replacing one of the same table, activity and tablet.
    pub fn put_problem(&mut self, problem: &ProblemRecord) -> StoreResult<()> {
        let end = problem.end.as_deref();
        let key = format::problem_key(problem.table, problem.activity, end);
        self.put(PROBLEMS, &key, &format::encode_problem(problem))
    }

    /// Removes a problem.
    pub fn remove_problem(
        &mut self,
        table: TableId,
        activity: u8,
        end: Option<&[u8]>,
    ) -> StoreResult<()> {
        self.remove(PROBLEMS, &format::problem_key(table, activity, end))
    }

    /// Adds to a counter; returns its new value.
    pub fn count(&mut self, name: &str, by: u64) -> StoreResult<u64> {
        let opened = self.transaction.open_table(COUNTERS);
        let value = counter(
            &opened.map_err(|e| self.failing.error(e))?,
            self.failing,
            name,
        )?;
        let value = value
            .checked_add(by)
            .ok_or_else(|| Error::invalid("a counter is used up").with("counter", name))?;
        let key = name.as_bytes();
        self.put(COUNTERS, key, &format::encode_numbered(key, value))?;
        Ok(value)
    }

    /// Removes the grants for which `is_meant` returns `true`, by scope or user.
    pub(super) fn forget_grants(
        &mut self,
        is_meant: impl Fn(&GrantScope, &str) -> bool,
    ) -> StoreResult<()> {
        let mut meant = Vec::new();
        {
            let opened = self.transaction.open_table(GRANTS);
            let grants = opened.map_err(|e| self.failing.error(e))?;
            for record in grants.iter().map_err(|e| self.failing.error(e))? {
                let (key, _) = record.map_err(|e| self.failing.error(e))?;
                let (scope, user) =
                    format::decode_grant_key(key.value()).map_err(|e| self.failing.record(e))?;
                if is_meant(&scope, &user) {
                    meant.push(key.value().to_vec());
                }
            }
        }
        meant.iter().try_for_each(|key| self.remove(GRANTS, key))
    }

    /// Removes the problems of a table.
    pub(super) fn forget_problems(&mut self, table: TableId) -> StoreResult<()> {
        let mut of_table = Vec::new();
        {
            let opened = self.transaction.open_table(PROBLEMS);
            let problems = opened.map_err(|e| self.failing.error(e))?;
            let first = format::table_key(table);
            let found = problems.range(&first[..]..);
            for record in found.map_err(|e| self.failing.error(e))? {
                let (key, _) = record.map_err(|e| self.failing.error(e))?;
                if !key.value().starts_with(&first) {
                    break;
                }
                of_table.push(key.value().to_vec());
            }
        }
        of_table
            .iter()
            .try_for_each(|key| self.remove(PROBLEMS, key))
    }

    fn put(&self, definition: Definition, key: &[u8], value: &[u8]) -> StoreResult<()> {
        let opened = self.transaction.open_table(definition);
        let mut records = opened.map_err(|e| self.failing.error(e))?;
        let put = records.insert(key, value);
        put.map_err(|e| self.failing.error(e))?;
        Ok(())
    }

    fn remove(&self, definition: Definition, key: &[u8]) -> StoreResult<()> {
        let opened = self.transaction.open_table(definition);
        let mut records = opened.map_err(|e| self.failing.error(e))?;
        let removed = records.remove(key);
        removed.map_err(|e| self.failing.error(e))?;
        Ok(())
    }
}

fn counter(counters: &impl Bytes, failing: &Failing, name: &str) -> StoreResult<u64> {
    let key = name.as_bytes();
    match counters.get(key).map_err(|e| failing.error(e))? {
        None => Ok(0),
        Some(value) => {
            format::decode_numbered("a counter", key, value.value()).map_err(|e| failing.record(e))
        }
    }
}
