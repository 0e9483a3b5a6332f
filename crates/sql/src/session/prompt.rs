//! What an interactive prompt asks a session: whether a statement is complete, and which names there are.

use datafusion::common::TableReference;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use ostrakon_cell::Result;
use ostrakon_events::EventStore;

use super::SqlSession;
use crate::error::of_query;

/// Whether a text ends a statement: its last token is `;`. A text that ends inside quotes or a comment does not.
#[must_use]
pub fn ends_statement(text: &str) -> bool {
    let tokens = match Tokenizer::new(&GenericDialect {}, text).tokenize() {
        Ok(tokens) => tokens,
        // An open quote or comment may go on. Anything else is an error of the statement, which is to be shown.
        Err(error) => {
            let is_open = ["Unterminated", "EOF"]
                .iter()
                .any(|word| error.message.contains(word));
            return !is_open && text.trim_end().ends_with(';');
        }
    };
    let mut tokens = tokens.iter().rev();
    let last = tokens.find(|token| !matches!(token, Token::Whitespace(_)));
    last == Some(&Token::SemiColon)
}

impl SqlSession {
    /// The names of relations as a statement writes them: tables, then event types as `events.TYPE`.
    ///
    /// # Errors
    /// Those of the source.
    pub fn relations(&self) -> Result<Vec<String>> {
        let types = EventStore::new(self.source.clone()).types()?.into_iter();
        let types: Vec<String> = types
            .map(|found| format!("events.{}", found.name))
            .collect();
        let mut names = self.tables()?;
        // The tables that keep the events of a type are not what a query names.
        names.retain(|name| !name.starts_with("events."));
        names.extend(types);
        Ok(names)
    }

    /// The columns of a relation; none if there is no such relation.
    ///
    /// # Errors
    /// Those of the source.
    pub fn columns(&self, relation: &str) -> Result<Vec<String>> {
        let lease = self.workers.lease()?;
        let reference = TableReference::parse_str(relation);
        if !self
            .context
            .table_exist(reference.clone())
            .map_err(of_query)?
        {
            return Ok(Vec::new());
        }
        let provider = lease.block_on(self.context.table_provider(reference));
        let schema = provider.map_err(of_query)?.schema();
        Ok(schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect())
    }

    /// The names of functions, sorted.
    #[must_use]
    pub fn functions(&self) -> Vec<String> {
        let state = self.context.state();
        let mut names: Vec<String> = state
            .scalar_functions()
            .keys()
            .chain(state.aggregate_functions().keys())
            .chain(state.window_functions().keys())
            .cloned()
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::ends_statement;

    #[test]
    fn a_semicolon_ends_a_statement_unless_it_is_quoted() {
        for (text, ends) in [
            ("SELECT 1;", true),
            ("SELECT 1; \n", true),
            ("SELECT 1; -- why", true),
            ("SELECT 1; /* why */", true),
            ("SELECT 1; SELECT 2;", true),
            (";", true),
            ("SELECT 1", false),
            ("SELECT 1 -- ;", false),
            ("SELECT ';'", false),
            ("SELECT ';", false),
            ("SELECT \"a;", false),
            ("SELECT 1 /* ;", false),
            ("SELECT 1; SELECT", false),
            ("SELECT U&'\\zzzz';", true),
            ("SELECT 'it''s", false),
            ("", false),
        ] {
            assert_eq!(ends_statement(text), ends, "{text}");
        }
    }
}
