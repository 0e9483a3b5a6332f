//! Names after `*`: EXCLUDE, EXCEPT and REPLACE.

use std::collections::HashSet;

use datafusion::sql::sqlparser::ast::{
    ExcludeSelectItem, Ident, ObjectName, ObjectNamePart, Select, SelectItem,
    SelectItemQualifiedWildcardKind, WildcardAdditionalOptions,
};
use ostrakon_cell::{Error, Result};

use super::scope::normal;
use super::{Level, Speller, keep};

impl Speller<'_> {
    fn respell_star(
        &self,
        relation: Option<&str>,
        options: &mut WildcardAdditionalOptions,
    ) -> Result<()> {
        let mut names = Vec::new();
        match &mut options.opt_exclude {
            Some(ExcludeSelectItem::Single(name)) => names.extend(last(name)),
            Some(ExcludeSelectItem::Multiple(all)) => names.extend(all.iter_mut().filter_map(last)),
            None => {}
        }
        if let Some(except) = &mut options.opt_except {
            names.push(&mut except.first_element);
            names.extend(&mut except.additional_elements);
        }
        for name in names {
            self.respell(relation, name)?;
            keep(name);
        }
        let replaced = options
            .opt_replace
            .iter_mut()
            .flat_map(|all| &mut all.items);
        let mut seen = HashSet::new();
        for item in replaced {
            let name = &mut item.column_name;
            self.respell(relation, name)?;
            keep(name);
            if !seen.insert(name.value.clone()) {
                return Err(
                    Error::invalid("REPLACE names a column twice").with("column", &name.value)
                );
            }
            let Some(Level::Select(scope)) = self.levels.last() else {
                continue;
            };
            // The engine ignores a column that there is not.
            let reason = match scope.has(relation, &name.value) {
                Some(true) => continue,
                Some(false) => "REPLACE names a column that the relations do not have",
                None => {
                    "REPLACE is not supported here, because not all columns of the relations are known: give them names with \
                     AS, or name the columns instead of *"
                }
            };
            return Err(Error::invalid(reason).with("column", &name.value));
        }
        Ok(())
    }

    pub(super) fn respell_stars(&self, select: &mut Select) -> Result<()> {
        for item in &mut select.projection {
            match item {
                SelectItem::Wildcard(options) => self.respell_star(None, options)?,
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    options,
                ) => {
                    let relation = name.0.last().and_then(ObjectNamePart::as_ident).map(normal);
                    self.respell_star(relation.as_deref(), options)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn last(name: &mut ObjectName) -> Option<&mut Ident> {
    match name.0.last_mut() {
        Some(ObjectNamePart::Identifier(name)) => Some(name),
        _ => None,
    }
}
