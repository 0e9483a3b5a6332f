"""Queries within conditions, which may name columns of the query around them."""

import re

from tables import COARSE, condition

# No more queries within queries.
DEEPEST = 3
# Numbers of rows, which are numbers also where there is no row.
COUNTS = [
    "count(*)",
    "count(*)",
    "count(*) + 3",
    "coalesce(count(*), 5)",
    "CASE WHEN count(*) IS NULL THEN 5 ELSE 2 END",
    "count(*) * 0 + 1",
]
OUTER = re.compile(r" (LEFT|RIGHT|FULL) JOIN ")


class Relation:
    """Something that FROM may name, with its fields and about the most rows.

    `unique` are columns that together are different in each row, if there are such.
    """

    def __init__(self, text, fields, rows, unique=()):
        self.text, self.fields, self.rows, self.unique = text, fields, rows, list(unique)
        self.compared = [(name, kind) for name, kind in fields if kind != "mean"]


class Inner:
    """Writes conditions with queries; part of `Queries`."""

    def inner(self, body):
        """A condition with a query that names columns of the outer one, or does not."""
        rng = self.rng
        inner = self.tables_of_one_name()
        fields = inner.fields
        pairs = [(a, b) for a, kind in body.compared for b, same in fields if kind == same]
        if not pairs:
            return f"EXISTS (SELECT 1 FROM {inner.text})"
        a, b = rng.choice(pairs)
        same_a, same_b = self.compared_as(a, b, dict(fields)[b])
        negated = rng.choice(["", "", "NOT "])
        also = f" AND {condition(rng, fields, 1)}" if rng.random() < 0.5 else ""
        if rng.random() < 0.3:
            also += " AND " + " = ".join(reversed(rng.choice(pairs)))
        found = f"FROM {inner.text} WHERE {same_b} = {same_a}{also}"
        if " ON " in inner.text and not OUTER.search(inner.text) and rng.random() < 0.3:
            # The condition of an inner join may be correlated, too, with or without one of WHERE.
            where = rng.choice(["1 = 1", " = ".join(reversed(rng.choice(pairs)))])
            found = f"FROM {inner.text} AND {same_b} = {same_a} WHERE {where}{also}"
        if rng.random() < 0.08:
            return self.first_of(body, inner) or f"EXISTS (SELECT 1 {found})"
        choice = rng.random()
        column, found = self.in_from(b, found)
        distinct = rng.choice(["", "", "", "DISTINCT "])
        if choice < 0.4:
            shown = rng.choice(["1", "1", "*", column])
            return f"{negated}EXISTS (SELECT {distinct}{shown} {found})"
        if choice < 0.7:
            where = f" WHERE {condition(rng, fields, 1)}" if also else ""
            if rng.random() < 0.3:
                return f"{a} {negated}IN (SELECT {distinct}{column} {found})"
            return f"{a} {negated}IN (SELECT {distinct}{b} FROM {inner.text}{where})"
        if choice < 0.85:
            return f"(SELECT {rng.choice(COUNTS)} {found}) > {rng.choice([0, 1, 4])}"
        kind = dict(fields)[b]
        if kind == "bool":
            return f"{a} IS NOT NULL"
        operator = rng.choice(["=", "<", ">="])
        return f"{a} {operator} (SELECT {rng.choice(['min', 'max'])}({b}) FROM {inner.text})"

    def in_from(self, column, found):
        """The column of these rows, perhaps as the only one of a query in FROM."""
        if self.rng.random() < 0.7:
            return column, found
        name = self.name()
        return f"{name}.r0", f"FROM (SELECT {column} AS r0 {found}) {name}"

    def tables_of_one_name(self):
        """A table, or two that may have columns with the same names."""
        rng, found = self.rng, []
        for _ in range(rng.choice([1, 1, 2])):
            table, name = rng.choice(self.tables), self.name()
            fields = [(f"{name}.{field}", kind) for field, kind in table.fields]
            found.append(Relation(f"{table.name} {name}", fields, table.rows))
        if len(found) == 1:
            return self.beside_its_rows(found[0]) if rng.random() < 0.08 else found[0]
        return self.joined_with(*found, DEEPEST)

    def beside_its_rows(self, left):
        """The relation with rows of another table that LATERAL finds for each of its rows."""
        rng, table, inner, name = self.rng, self.rng.choice(self.tables), self.name(), self.name()
        pairs = [(a, b) for a, kind in left.compared for b, same in table.fields if kind == same]
        if not pairs:
            return left
        a, b = rng.choice(pairs)
        query = f"SELECT {inner}.{b} AS r0 FROM {table.name} {inner} WHERE {inner}.{b} = {a}"
        text = f"{left.text} CROSS JOIN LATERAL ({query}) {name}"
        fields = [*left.fields, (f"{name}.r0", dict(table.fields)[b])]
        return Relation(text, fields, left.rows * table.rows)

    def first_of(self, body, inner):
        """IN of the first of sorted rows, whose key computes with a column that an alias hides."""
        rng = self.rng
        numbers = [name for name, kind in inner.compared if kind == "int"]
        outer = [name for name, kind in body.compared if kind == "int"]
        if not numbers or not outer:
            return None
        number, name = rng.choice(numbers), self.name()
        column = number.rpartition(".")[2]
        key = rng.choice([number, column]) if inner.text.count(" ") == 1 else number
        first = (
            f"SELECT 0 - {number} AS {column}, {number} AS r9 FROM {inner.text} "
            f"WHERE {number} IS NOT NULL ORDER BY {key} + 0 {rng.choice(['ASC', 'DESC'])} LIMIT 1"
        )
        query = rng.choice(
            [
                f"WITH {name} AS ({first}) SELECT {name}.r9 FROM {name}",
                f"SELECT {name}.r9 FROM ({first}) {name}",
                f"SELECT {name}.r9 FROM (VALUES (1)) {name}v (r8), LATERAL ({first}) {name}",
            ]
        )
        return f"{rng.choice(outer)} IN ({query})"

    def compared_as(self, outer, inner, kind):
        """Both as they are, or what is computed from them."""
        if kind not in COARSE or self.rng.random() < 0.6:
            return outer, inner
        coarse = self.rng.choice(COARSE[kind])
        return tuple(coarse.format(f"({side})" if " " in side else side) for side in (outer, inner))
