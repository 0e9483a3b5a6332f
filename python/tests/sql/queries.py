"""Random queries: joins and groups of joins and groups, set operations, windows, inner queries.

A query is its text and the kinds of its columns, which are named `r0`, `r1`, and so on. The kind
`mean` is that of numbers which two systems may round differently: nothing is compared with them.
"""

from tables import condition, literal, value

# The most rows of a join, about.
LARGEST = 20_000
# No more queries within queries.
DEEPEST = 3


class Relation:
    """Something that FROM may name, with its fields and about the most rows."""

    def __init__(self, text, fields, rows):
        self.text, self.fields, self.rows = text, fields, rows
        self.compared = [(name, kind) for name, kind in fields if kind != "mean"]


class Queries:
    """Writes queries on tables."""

    def __init__(self, rng, tables):
        self.rng, self.tables = rng, tables
        self.names = 0

    def query(self):
        """A query, and the columns by which it is sorted."""
        self.names = 0
        rng = self.rng
        text, kinds = self.select(0)[:2]
        if rng.random() < 0.2:
            name = self.name()
            inner = Relation(name, [(f"{name}.r{at}", kind) for at, kind in enumerate(kinds)], 500)
            body = self.joined(inner, 2) if rng.random() < 0.5 else inner
            outer, kinds, _ = self.shaped(body, 2)
            text = f"WITH {name} AS ({text}) {outer}"
        compared = [at for at, kind in enumerate(kinds) if kind != "mean"]
        if not compared or rng.random() < 0.3:
            return text, []
        if len(compared) == len(kinds) and rng.random() < 0.5:
            return text + self.order(compared) + self.limit(), compared
        by = rng.sample(compared, rng.randint(1, len(compared)))
        return text + self.order(by), by

    def select(self, depth):
        """A query without an order, the kinds of its columns, and about the most rows."""
        rng = self.rng
        if depth < DEEPEST and rng.random() < 0.12:
            return self.set_operation(depth + 1)
        if rng.random() < 0.05:
            return self.shaped(self.common(), DEEPEST)
        body = self.relation(depth)
        if rng.random() < 0.4 and body.rows <= LARGEST:
            body = self.joined(body, depth)
        return self.shaped(body, depth)

    def shaped(self, body, depth):
        rng = self.rng
        where = f" WHERE {self.where(body, depth)}" if rng.random() < 0.6 else ""
        shape = rng.random()
        if shape < 0.15:
            items = [self.aggregate(body) for _ in range(rng.randint(1, 3))]
            return f"SELECT {named(items)} FROM {body.text}{where}", kinds(items), 1
        if shape < 0.5 and body.compared:
            count = rng.randint(1, min(3, len(body.compared)))
            groups = rng.sample(body.compared, count)
            # Some groups may be named by GROUP BY alone.
            shown = rng.sample(groups, rng.randint(0, len(groups)))
            items = shown + [self.aggregate(body) for _ in range(rng.randint(0, 2))]
            items = items or groups
            having = " HAVING count(*) > 1" if rng.random() < 0.2 else ""
            by = ", ".join(name for name, _ in groups)
            if rng.random() < 0.1:
                by = f"{rng.choice(['ROLLUP', 'CUBE'])} ({by})"
            text = f"SELECT {named(items)} FROM {body.text}{where} GROUP BY {by}{having}"
            return text, kinds(items), body.rows
        if shape < 0.6 and body.compared:
            items = [self.window(body), *rng.sample(body.fields, min(2, len(body.fields)))]
            return f"SELECT {named(items)} FROM {body.text}{where}", kinds(items), body.rows
        if shape < 0.63 and body.compared:
            # Only the columns that say which row it is.
            items = rng.sample(body.compared, min(2, len(body.compared)))
            on = ", ".join(name for name, _ in items)
            order = ", ".join(f"{name} {self.direction()}" for name, _ in items)
            text = (
                f"SELECT DISTINCT ON ({on}) {named(items)} FROM {body.text}{where} ORDER BY {order}"
            )
            return f"SELECT * FROM ({text}) {self.name()}", kinds(items), body.rows
        items = [self.expression(body, depth) for _ in range(rng.randint(1, 4))]
        distinct = "DISTINCT " if rng.random() < 0.25 and "mean" not in kinds(items) else ""
        text = f"SELECT {distinct}{named(items)} FROM {body.text}{where}"
        return text, kinds(items), body.rows

    def name(self):
        self.names += 1
        return f"q{self.names}"

    def relation(self, depth):
        """A table, or a query."""
        rng, name = self.rng, self.name()
        if depth < DEEPEST and rng.random() < 0.45:
            text, columns, rows = self.select(depth + 1)
            if rng.random() < 0.15 and "mean" not in columns:
                text += self.order(range(len(columns))) + self.limit()
            fields = [(f"{name}.r{at}", kind) for at, kind in enumerate(columns)]
            return Relation(f"({text}) {name}", fields, rows)
        if rng.random() < 0.05:
            return self.values(name)
        table = rng.choice(self.tables)
        fields = [(f"{name}.{field}", kind) for field, kind in table.fields]
        return Relation(f"{rng.choice(table.names)} {name}", fields, table.rows)

    def values(self, name):
        rng = self.rng
        columns = [rng.choice(["int", "text", "date"]) for _ in range(rng.randint(1, 2))]
        rows = [
            ", ".join(literal(value(rng, kind)) for kind in columns)
            for _ in range(rng.randint(1, 3))
        ]
        listed = ", ".join(f"({row})" for row in rows)
        names = ", ".join(f"r{at}" for at in range(len(columns)))
        fields = [(f"{name}.r{at}", kind) for at, kind in enumerate(columns)]
        return Relation(f"(VALUES {listed}) {name} ({names})", fields, len(rows))

    def common(self):
        """Two tables joined by their columns with one name, or one table."""
        rng = self.rng
        left, right = rng.choice(self.tables), rng.choice(self.tables)
        a, b = self.name(), self.name()
        shared = [field for field in left.fields if field in right.fields]
        if not shared or left.rows * right.rows > LARGEST:
            return self.relation(DEEPEST)
        using = rng.sample(shared, rng.randint(1, min(2, len(shared))))
        how = rng.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        by = ", ".join(name for name, _ in using)
        fields = list(using)
        for table, name in ((left, a), (right, b)):
            fields += [
                (f"{name}.{of}", kind) for of, kind in table.fields if (of, kind) not in using
            ]
        text = f"{left.name} {a} {how} {right.name} {b} USING ({by})"
        return Relation(text, fields, left.rows * right.rows)

    def joined(self, left, depth):
        """The relation joined with another one, if that is not too large."""
        rng, right = self.rng, self.relation(depth + 1)
        rows = left.rows * right.rows
        fields = left.fields + right.fields
        if rng.random() < 0.15:
            if rows > LARGEST:
                return left
            text = f"{left.text}{rng.choice([', ', ' CROSS JOIN '])}{right.text}"
            return Relation(text, fields, rows)
        pairs = [(a, b) for a, kind in left.compared for b, same in right.compared if kind == same]
        if not pairs or rows > LARGEST:
            return left
        on = [f"{a} = {b}" for a, b in rng.sample(pairs, min(len(pairs), rng.choice([1, 1, 2])))]
        how = rng.choice(["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        if how != "FULL JOIN" and rng.random() < 0.25:
            on.append(condition(rng, left.compared + right.compared, 1))
        text = f"{left.text} {how} {right.text} ON {' AND '.join(on)}"
        return Relation(text, fields, rows)

    def set_operation(self, depth):
        left, columns, rows = self.select(depth)
        right, more = self.of_kinds(columns, depth)
        operation = self.rng.choice(["UNION ALL", "UNION", "EXCEPT", "INTERSECT"])
        if operation != "UNION ALL":
            operation += self.rng.choice(["", "", " ALL"]) if operation != "UNION" else ""
        if "mean" in columns and operation != "UNION ALL":
            return left, columns, rows
        return f"({left}) {operation} ({right})", columns, rows + more

    def of_kinds(self, kinds, depth):
        """A query with columns of these kinds."""
        body = self.relation(depth)
        items = []
        for kind in kinds:
            fit = [name for name, same in body.fields if same == kind]
            other = "CAST(0.5 AS DOUBLE)" if kind == "mean" else literal(value(self.rng, kind))
            items.append((self.rng.choice([*fit, *fit, other]), kind))
        where = f" WHERE {self.where(body, depth)}" if self.rng.random() < 0.5 else ""
        return f"SELECT {named(items)} FROM {body.text}{where}", body.rows

    def where(self, body, depth):
        rng = self.rng
        if not body.compared:
            return "1 = 1"
        if depth < DEEPEST and rng.random() < 0.2:
            parts = [self.inner(body)]
            if rng.random() < 0.5:
                parts.append(condition(rng, body.compared, 1))
            return " AND ".join(parts)
        return condition(rng, body.compared)

    def inner(self, body):
        """A condition with a query that names columns of the outer one, or does not."""
        rng, name = self.rng, self.name()
        table = rng.choice(self.tables)
        fields = [(f"{name}.{field}", kind) for field, kind in table.fields]
        pairs = [(a, b) for a, kind in body.compared for b, same in fields if kind == same]
        if not pairs:
            return f"EXISTS (SELECT 1 FROM {table.name} {name})"
        a, b = rng.choice(pairs)
        negated = rng.choice(["", "", "NOT "])
        also = f" AND {condition(rng, fields, 1)}" if rng.random() < 0.5 else ""
        choice = rng.random()
        if choice < 0.4:
            return f"{negated}EXISTS (SELECT 1 FROM {table.name} {name} WHERE {b} = {a}{also})"
        if choice < 0.7:
            where = f" WHERE {condition(rng, fields, 1)}" if also else ""
            return f"{a} {negated}IN (SELECT {b} FROM {table.name} {name}{where})"
        if choice < 0.85:
            return f"(SELECT count(*) FROM {table.name} {name} WHERE {b} = {a}{also}) > 1"
        kind = dict(fields)[b]
        if kind == "bool":
            return f"{a} IS NOT NULL"
        operator = rng.choice(["=", "<", ">="])
        return f"{a} {operator} (SELECT {rng.choice(['min', 'max'])}({b}) FROM {table.name} {name})"

    def expression(self, body, depth):
        rng = self.rng
        name, kind = rng.choice(body.fields)
        if kind == "int" and rng.random() < 0.4:
            text = rng.choice([f"{name} + 1", f"{name} * 2 - 3", f"abs({name})", f"-{name}"])
            return text, "int"
        if kind == "text" and rng.random() < 0.4:
            text, kind = rng.choice(
                [(f"upper({name})", "text"), (f"{name} || 'x'", "text"), (f"length({name})", "int")]
            )
            return text, kind
        if kind != "mean" and rng.random() < 0.15:
            return f"coalesce({name}, {literal(value(rng, kind))})", kind
        if body.compared and rng.random() < 0.1:
            return f"CASE WHEN {condition(rng, body.compared, 2)} THEN 1 ELSE 0 END", "int"
        if depth < DEEPEST and rng.random() < 0.05:
            table = rng.choice(self.tables)
            pairs = [(a, b) for a, same in body.compared for b, of in table.fields if same == of]
            if pairs:
                a, b = rng.choice(pairs)
                inner = self.name()
                text = f"SELECT count(*) FROM {table.name} {inner} WHERE {inner}.{b} = {a}"
                return f"({text})", "int"
        return name, kind

    def aggregate(self, body):
        rng = self.rng
        choices = [("count(*)", "int")]
        if body.compared:
            name, kind = rng.choice(body.compared)
            choices += [(f"count({name})", "int"), (f"count(DISTINCT {name})", "int")]
            if kind != "bool":
                choices += [(f"min({name})", kind), (f"max({name})", kind)]
            if kind in ("int", "float"):
                choices += [(f"sum({name})", kind), (f"avg({name})", "mean")]
            if rng.random() < 0.1:
                choices = [(f"count(*) FILTER (WHERE {condition(rng, body.compared, 2)})", "int")]
        return rng.choice(choices)

    def window(self, body):
        """A function whose value does not depend on the order of equal rows."""
        rng = self.rng
        by, kind = rng.choice(body.compared)
        if kind == "bool":
            by = f"CAST({by} AS INT)"
        parts = f"PARTITION BY {rng.choice(body.compared)[0]} " if rng.random() < 0.5 else ""
        order = f"ORDER BY {by} {self.direction()}"
        of, kind = rng.choice(body.compared)
        if rng.random() < 0.4 and kind != "bool":
            functions = [f"min({of})", f"max({of})"] + [f"sum({of})"] * (kind in ("int", "float"))
            frame = rng.choice(["", " RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"])
            return f"{rng.choice(functions)} OVER ({parts}{order}{frame})", kind
        function = rng.choice(["rank()", "dense_rank()", "count(*)", f"count({of})"])
        return f"{function} OVER ({parts}{order})", "int"

    def direction(self):
        rng = self.rng
        return f"{rng.choice(['ASC', 'DESC'])} NULLS {rng.choice(['FIRST', 'LAST'])}"

    def order(self, columns):
        """A limit needs the order of all columns, so that the same rows are left."""
        if self.rng.random() < 0.3:
            order = [f"{at + 1} ASC NULLS LAST" for at in columns]
        else:
            order = [f"{at + 1} {self.direction()}" for at in columns]
        return f" ORDER BY {', '.join(order)}"

    def limit(self):
        rng = self.rng
        if rng.random() < 0.5:
            return ""
        offset = f" OFFSET {rng.choice([1, 5])}" if rng.random() < 0.3 else ""
        return f" LIMIT {rng.choice([0, 1, 3, 10])}{offset}"


def kinds(items):
    return [kind for _, kind in items]


def named(items):
    return ", ".join(f"{item} AS r{at}" for at, (item, _) in enumerate(items))
