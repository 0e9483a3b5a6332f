//! Walks through the syntax trees of statements.
//!
//! The parser's [`Visit`] and [`VisitMut`] are generic over the visitor: each visitor compiles the walk through all nodes
//! of the syntax once more, which is thousands of functions. The functions here pass every visitor as a trait object, so
//! the walk is compiled twice, for reading and for changing. Use them in place of the parser's
//! (docs/decisions/0083-one-walk-through-statements.md).

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, ObjectName, Query, Select, Statement, TableFactor, ValueWithSpan, Visit, VisitMut,
    Visitor, VisitorMut,
};

/// A visitor that keeps what it stops with, so that the walk does not depend on its type.
struct Kept<'a, V, B> {
    visitor: &'a mut V,
    stopped_with: Option<B>,
}

impl<'a, V, B> Kept<'a, V, B> {
    fn new(visitor: &'a mut V) -> Self {
        Self {
            visitor,
            stopped_with: None,
        }
    }

    fn outcome(self) -> ControlFlow<B> {
        match self.stopped_with {
            Some(with) => ControlFlow::Break(with),
            None => ControlFlow::Continue(()),
        }
    }
}

/// The two implementations of a visitor's trait: of what keeps the outcome, and of the trait object.
macro_rules! walked {
    ($visitor:ident, $object:ident, $($before:ident $after:ident $node:ty,)*) => {
        impl<V: $visitor> $visitor for Kept<'_, V, V::Break> {
            type Break = ();

            $(
                fn $before(&mut self, node: $node) -> ControlFlow<()> {
                    self.visitor.$before(node).map_break(|with| self.stopped_with = Some(with))
                }

                fn $after(&mut self, node: $node) -> ControlFlow<()> {
                    self.visitor.$after(node).map_break(|with| self.stopped_with = Some(with))
                }
            )*
        }

        struct $object<'a>(&'a mut dyn $visitor<Break = ()>);

        impl $visitor for $object<'_> {
            type Break = ();

            $(
                fn $before(&mut self, node: $node) -> ControlFlow<()> {
                    self.0.$before(node)
                }

                fn $after(&mut self, node: $node) -> ControlFlow<()> {
                    self.0.$after(node)
                }
            )*
        }
    };
}

// All methods of the traits: one that is missing here would never be called.
walked! {
    Visitor, Reading,
    pre_visit_query post_visit_query &Query,
    pre_visit_select post_visit_select &Select,
    pre_visit_relation post_visit_relation &ObjectName,
    pre_visit_table_factor post_visit_table_factor &TableFactor,
    pre_visit_expr post_visit_expr &Expr,
    pre_visit_statement post_visit_statement &Statement,
    pre_visit_value post_visit_value &ValueWithSpan,
}

walked! {
    VisitorMut, Changing,
    pre_visit_query post_visit_query &mut Query,
    pre_visit_select post_visit_select &mut Select,
    pre_visit_relation post_visit_relation &mut ObjectName,
    pre_visit_table_factor post_visit_table_factor &mut TableFactor,
    pre_visit_expr post_visit_expr &mut Expr,
    pre_visit_statement post_visit_statement &mut Statement,
    pre_visit_value post_visit_value &mut ValueWithSpan,
}

/// Shows a visitor all parts of a node; returns what it stopped with.
pub(crate) fn visit<V: Visitor>(node: &impl Visit, visitor: &mut V) -> ControlFlow<V::Break> {
    let mut kept = Kept::new(visitor);
    let _ = node.visit(&mut Reading(&mut kept));
    kept.outcome()
}

/// Lets a visitor change all parts of a node; returns what it stopped with.
pub(crate) fn visit_mut<V: VisitorMut>(
    node: &mut impl VisitMut,
    visitor: &mut V,
) -> ControlFlow<V::Break> {
    let mut kept = Kept::new(visitor);
    let _ = node.visit(&mut Changing(&mut kept));
    kept.outcome()
}

/// Calls `look` with each expression of a node, before the expressions in it.
pub(crate) fn visit_expressions<B>(
    node: &impl Visit,
    look: impl FnMut(&Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    struct Expressions<F>(F);
    impl<B, F: FnMut(&Expr) -> ControlFlow<B>> Visitor for Expressions<F> {
        type Break = B;

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<B> {
            (self.0)(expr)
        }
    }
    visit(node, &mut Expressions(look))
}

/// Calls `change` with each expression of a node, after the expressions in it.
pub(crate) fn visit_expressions_mut<B>(
    node: &mut impl VisitMut,
    change: impl FnMut(&mut Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    struct Expressions<F>(F);
    impl<B, F: FnMut(&mut Expr) -> ControlFlow<B>> VisitorMut for Expressions<F> {
        type Break = B;

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<B> {
            (self.0)(expr)
        }
    }
    visit_mut(node, &mut Expressions(change))
}

/// Calls `look` with the name of each relation of a node.
pub(crate) fn visit_relations<B>(
    node: &impl Visit,
    look: impl FnMut(&ObjectName) -> ControlFlow<B>,
) -> ControlFlow<B> {
    struct Relations<F>(F);
    impl<B, F: FnMut(&ObjectName) -> ControlFlow<B>> Visitor for Relations<F> {
        type Break = B;

        fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<B> {
            (self.0)(name)
        }
    }
    visit(node, &mut Relations(look))
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    /// Notes each call, and stops at a value of 3.
    #[derive(Default)]
    struct Notes(Vec<String>);

    macro_rules! noted {
        ($visitor:ident, $($method:ident $node:ty,)*) => {
            impl $visitor for Notes {
                type Break = usize;

                $(fn $method(&mut self, node: $node) -> ControlFlow<usize> {
                    self.0.push(format!("{} {node}", stringify!($method)));
                    if stringify!($method) == "post_visit_value" && node.to_string() == "3" {
                        return ControlFlow::Break(self.0.len());
                    }
                    ControlFlow::Continue(())
                })*
            }
        };
    }

    noted! {
        Visitor,
        pre_visit_query &Query, post_visit_query &Query,
        pre_visit_select &Select, post_visit_select &Select,
        pre_visit_relation &ObjectName, post_visit_relation &ObjectName,
        pre_visit_table_factor &TableFactor, post_visit_table_factor &TableFactor,
        pre_visit_expr &Expr, post_visit_expr &Expr,
        pre_visit_statement &Statement, post_visit_statement &Statement,
        pre_visit_value &ValueWithSpan, post_visit_value &ValueWithSpan,
    }

    noted! {
        VisitorMut,
        pre_visit_query &mut Query, post_visit_query &mut Query,
        pre_visit_select &mut Select, post_visit_select &mut Select,
        pre_visit_relation &mut ObjectName, post_visit_relation &mut ObjectName,
        pre_visit_table_factor &mut TableFactor, post_visit_table_factor &mut TableFactor,
        pre_visit_expr &mut Expr, post_visit_expr &mut Expr,
        pre_visit_statement &mut Statement, post_visit_statement &mut Statement,
        pre_visit_value &mut ValueWithSpan, post_visit_value &mut ValueWithSpan,
    }

    #[test]
    fn visitors_see_what_the_parser_shows_them() {
        for last in ["2", "3 + 1"] {
            let text =
                format!("SELECT a FROM (SELECT 1 AS a FROM t) AS s WHERE a IN (SELECT {last})");
            let mut statement = Parser::parse_sql(&GenericDialect {}, &text).unwrap();
            let (mut ours, mut theirs) = (Notes::default(), Notes::default());
            let stopped = visit(&statement, &mut ours);
            assert_eq!(stopped, Visit::visit(&statement, &mut theirs));
            assert_eq!(stopped.is_break(), last != "2");
            assert_eq!(ours.0, theirs.0);
            let methods = ours.0.iter().filter_map(|note| note.split(' ').next());
            let methods: std::collections::BTreeSet<&str> = methods.collect();
            assert_eq!(methods.len() == 14, last == "2");

            let (mut ours, mut theirs) = (Notes::default(), Notes::default());
            let stopped = visit_mut(&mut statement, &mut ours);
            assert_eq!(stopped, VisitMut::visit(&mut statement, &mut theirs));
            assert_eq!(ours.0, theirs.0);
        }
    }
}
