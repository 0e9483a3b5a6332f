"""Random statements that change tables, in the words of both systems."""

from scalars import scalar
from tables import LABELS, Events, Table, condition, literal, value


class Made:
    """A table that a query has filled."""

    labelled = False

    def __init__(self, name, fields, rows):
        self.name, self.names, self.fields, self.rows = name, [name], fields, rows
        self.keys = fields[:1]


class Changes:
    """Writes statements that change the tables of queries."""

    def __init__(self, rng, queries, held):
        self.rng, self.queries, self.held = rng, queries, held
        self.made = 0

    def change(self):
        """A statement for this system, and the same for the judge."""
        choice = self.rng.random()
        if choice < 0.25:
            return self.delete()
        if choice < 0.5:
            return self.update()
        if choice < 0.85:
            return self.insert()
        return self.create()

    def update(self):
        """New values of some columns that are not of the key."""
        rng = self.rng
        declared = [table for table in self.queries.tables if isinstance(table, Table)]
        table = rng.choice(declared)
        others = table.fields[len(table.keys) :]
        if not others:
            return self.delete()
        chosen = rng.sample(others, rng.randint(1, len(others)))
        values = []
        for name, kind in chosen:
            same = [name for name, other in table.fields if other == kind]
            choice = rng.random()
            if choice < 0.4:
                new = rng.choice(same)
            elif choice < 0.5:
                new = "NULL"
            elif choice < 0.7:
                new = f"coalesce({rng.choice(same)}, {literal(value(rng, kind))})"
            elif choice < 0.8:
                least = literal(value(rng, kind))
                new = f"(SELECT max(u.{name}) FROM {table.name} u WHERE u.{name} > {least})"
            else:
                new = literal(value(rng, kind))
            if kind == "bool" and new.startswith("(SELECT"):
                new = "NULL"
            values.append(f"{name} = {new}")
        text, kind = scalar(rng, table.fields)
        fields = [*table.fields, (f"({text})", kind)]
        text = f"UPDATE {table.name} SET {', '.join(values)} WHERE {condition(rng, fields)}"
        return text, text

    def delete(self):
        rng = self.rng
        table = rng.choice(
            [table for table in self.queries.tables if not isinstance(table, Events)]
        )
        # So that some rows stay.
        text, kind = scalar(rng, table.fields)
        fields = [*table.fields, (f"({text})", kind)]
        where = f"({condition(rng, fields)}) AND {self.some(table)}"
        text = f"DELETE FROM {table.name} WHERE {where}"
        return text, text

    def some(self, table):
        name, kind = self.rng.choice(table.fields)
        return f"{name} = {literal(value(self.rng, kind))}"

    def grouped(self, kinds):
        """A query with one row for each value of its first columns, never NULL, or `None`."""
        rng, queries = self.rng, self.queries
        keys, others = kinds
        body = queries.relation(2)
        chosen = []
        for kind in keys:
            fit = [name for name, same in body.compared if same == kind and name not in chosen]
            if not fit:
                return None
            chosen.append(rng.choice(fit))
        items = list(chosen)
        for kind in others:
            fit = [name for name, same in body.compared if same == kind and kind != "bool"]
            other = literal(value(rng, kind)) if rng.random() < 0.7 else "NULL"
            items.append(f"max({rng.choice(fit)})" if fit else other)
        there = " AND ".join(f"{name} IS NOT NULL" for name in chosen)
        return items, f"FROM {body.text} WHERE {there} GROUP BY {', '.join(chosen)}"

    def insert(self):
        """Records that replace those of their keys."""
        rng = self.rng
        # The judge has keys only of tables that were declared.
        declared = [table for table in self.queries.tables if isinstance(table, Table)]
        table = rng.choice(declared)
        keys = [kind for _, kind in table.keys]
        others = [kind for _, kind in table.fields[len(keys) :]]
        found = self.grouped((keys, others))
        if not found:
            return self.delete()
        items, rest = found
        names = [name for name, _ in table.fields]
        query = f"SELECT {', '.join(items)} {rest}"
        judged = f"INSERT OR REPLACE INTO {table.name} ({', '.join(names)}) {query}"
        if table.labelled:
            visible = [label for label, is_seen in LABELS.items() if is_seen(self.held)]
            names, items = [*names, "l"], [*items, literal(rng.choice(visible))]
        order = rng.sample(range(len(names)), len(names))
        columns = ", ".join(names[at] for at in order)
        shown = ", ".join(items[at] for at in order)
        return f"INSERT INTO {table.name} ({columns}) SELECT {shown} {rest}", judged

    def create(self):
        rng = self.rng
        kinds = ["int", "text", "date", "time"]
        key, others = rng.choice(kinds), rng.choices(kinds, k=rng.randint(0, 2))
        found = self.grouped(([key], others))
        if not found:
            return self.delete()
        items, rest = found
        self.made += 1
        name = f"made{self.made}"
        fields = [(f"c{at}", kind) for at, kind in enumerate([key, *others])]
        types = {"int": "BIGINT", "text": "VARCHAR", "date": "DATE", "time": "TIMESTAMP"}
        shown = ", ".join(
            f"CAST({item} AS {types[kind]}) AS {field}"
            for item, (field, kind) in zip(items, fields, strict=True)
        )
        self.queries.tables = [*self.queries.tables, Made(name, fields, 100)]
        query = f"SELECT {shown} {rest}"
        judged = f"CREATE TABLE {name} AS {query}"
        return f"CREATE TABLE {name} (PRIMARY KEY (c0)) AS {query}", judged
