"""Random queries: joins and groups of joins and groups, set operations, windows, inner queries.

A query is its text and the kinds of its columns, which are named `r0`, `r1`, and so on. The kind
`mean` is that of numbers which two systems may round differently: nothing is compared with them.
"""

from inner import COUNTS, DEEPEST, Inner, Relation
from scalars import scalar
from tables import MANY_TO_ONE, condition, literal, value

# The most rows of a join, about.
LARGEST = 20_000
# Names that columns of the tables have.
OWN_NAMES = ["k0", "c0", "c1", "r1"]


class Queries(Inner):
    """Writes queries on tables."""

    def __init__(self, rng, tables):
        self.rng, self.tables = rng, tables
        self.names = 0
        # The columns of the last query that together are different in each row.
        self.unique = []
        # Whether an aggregate of the query has an order: the engine refuses two.
        self.is_ordered = False
        self.has_own_names = False
        # The relation of the last query, if its rows are those of the relation.
        self.plain = None

    def query(self):
        """A query, and the columns by which it is sorted."""
        self.names = 0
        rng = self.rng
        choice = rng.random()
        # Names that columns of the tables have, too, unless another query names them.
        self.has_own_names = choice > 0.25 and rng.random() < 0.4
        text, kinds, rows = self.select(0)
        if choice < 0.2:
            name = self.name()
            inner = self.of_common(name, kinds, rows)
            body = inner
            if rng.random() < 0.3:
                body = self.joined_with(inner, self.of_common(name, kinds, rows), 2)
            elif rng.random() < 0.5:
                body = self.joined(inner, 2)
            outer, kinds, _ = self.shaped(body, 2)
            text = f"WITH {name} AS ({text}) {outer}"
        elif choice < 0.25:
            text, kinds = self.recursive()
        compared = [at for at, kind in enumerate(kinds) if kind != "mean"]
        if not compared or rng.random() < 0.3:
            return text, []
        if len(compared) == len(kinds) and choice > 0.25 and self.plain and rng.random() < 0.4:
            return text + self.order_by_computed(compared) + self.limit(), compared
        if len(compared) == len(kinds) and rng.random() < 0.5:
            return text + self.order(compared) + self.limit(), compared
        by = rng.sample(compared, rng.randint(1, len(compared)))
        return text + self.order(by), by

    def of_common(self, name, kinds, rows):
        """The relation that WITH has named."""
        alias = self.name()
        fields = [(f"{alias}.r{at}", kind) for at, kind in enumerate(kinds)]
        return Relation(f"{name} {alias}", fields, rows)

    def recursive(self):
        """A query whose second part adds rows that it makes of those found before."""
        rng, name = self.rng, self.name()
        body = self.relation(DEEPEST)
        found, step = self.name(), self.relation(DEEPEST)
        numbers = [field for field, kind in body.compared if kind == "int"] or ["7"]
        number = rng.choice(numbers)
        begin = f"SELECT {number}, 0 FROM {body.text} WHERE {number} IS NOT NULL"
        fit = [field for field, kind in step.compared if kind == "int"]
        also = rng.choice([f"{found}.r0 + 1", f"{found}.r0", *fit])
        join = ""
        if fit:
            join = f" JOIN {step.text} ON {rng.choice(fit)} = {found}.r0"
        union = rng.choice(["UNION ALL", "UNION"])
        more = f"SELECT {also}, {found}.r1 + 1 FROM {name} {found}{join} WHERE {found}.r1 < 2"
        inner = self.of_common(name, ["int", "int"], LARGEST)
        outer, kinds, _ = self.shaped(inner, DEEPEST)
        return f"WITH RECURSIVE {name} (r0, r1) AS ({begin} {union} {more}) {outer}", kinds

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
        self.unique, self.is_ordered, self.plain = [], False, None
        rng = self.rng

        def named(items):
            return self.named(items, depth)

        where = f" WHERE {self.where(body, depth)}" if rng.random() < 0.6 else ""
        found = self.of_many(body, depth) if rng.random() < 0.08 else None
        if found:
            return found
        shape = rng.random()
        if shape < 0.15:
            items = [self.aggregate(body) for _ in range(rng.randint(1, 3))]
            return f"SELECT {named(items)} FROM {body.text}{where}", kinds(items), 1
        if shape < 0.5 and body.compared:
            count = rng.randint(1, min(3, len(body.compared)))
            groups = rng.sample(body.compared, count)
            # In GROUP BY, the engine does not find a common column of USING within each expression.
            if rng.random() < 0.25 and " USING (" not in body.text:
                groups[0] = scalar(rng, body.compared)
            # Some groups may be named by GROUP BY alone.
            shown = rng.sample(groups, rng.randint(0, len(groups)))
            items = shown + [self.aggregate(body) for _ in range(rng.randint(0, 2))]
            items = items or groups
            having = " HAVING count(*) > 1" if rng.random() < 0.2 else ""
            by = ", ".join(name for name, _ in groups)
            self.unique = [items.index(group) for group in groups if group in items]
            if len(self.unique) < len(groups):
                self.unique = []
            if rng.random() < 0.1:
                self.unique = []
                # Otherwise a key that begins with a parenthesis would be taken for a list.
                by = ", ".join(f"({name})" for name, _ in groups)
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
        self.plain = None if distinct else body
        return text, kinds(items), body.rows

    def of_many(self, body, depth):
        """A query of a column under a condition with one computed value, or `None`."""
        rng = self.rng
        columns = [column for column in body.compared if column[1] in MANY_TO_ONE]
        if not columns:
            return None
        name, kind = rng.choice(columns)
        inner = f"({name})" if " " in name else name
        where = f" WHERE {rng.choice(MANY_TO_ONE[kind]).format(inner)}"
        shape = rng.random()
        if shape < 0.3:
            items = [(name, kind), self.aggregate(body)]
            self.unique = [0]
            text = f"SELECT {self.named(items, depth)} FROM {body.text}{where} GROUP BY {name}"
            return text, kinds(items), body.rows
        if shape < 0.5:
            items = [(name, kind)]
            text = f"SELECT DISTINCT {self.named(items, depth)} FROM {body.text}{where}"
            return text, kinds(items), body.rows
        over = rng.choice([f"PARTITION BY {name}", f"ORDER BY {name}"])
        items = [(name, kind), (f"count(*) OVER ({over})", "int")]
        text = f"SELECT {self.named(items, depth)} FROM {body.text}{where}"
        return text, kinds(items), body.rows

    def named(self, items, depth):
        names = [f"r{at}" for at in range(len(items))]
        if depth == 0 and self.has_own_names:
            names[: len(OWN_NAMES)] = self.rng.sample(OWN_NAMES, len(OWN_NAMES))
        return ", ".join(f"{item} AS {name}" for (item, _), name in zip(items, names, strict=False))

    def order_by_computed(self, columns):
        """An order by what is computed from a column, whose name is also one of the result."""
        rng, body = self.rng, self.plain
        computed = {"int": "{} % 3", "text": "{} || 'x'", "bool": "NOT {}"}
        fields = [(name, computed[kind]) for name, kind in body.compared if kind in computed]
        order = self.order(columns)
        if not fields:
            return order
        name, form = rng.choice(fields)
        relation, _, column = name.rpartition(".")
        # Of the only relation, also without its name.
        is_only = all(field.startswith(f"{relation}.") for field, _ in body.fields)
        if is_only and rng.random() < 0.6:
            name = column
        return order.replace("BY ", f"BY {form.format(name)} {self.direction()}, ", 1)

    def name(self):
        self.names += 1
        return f"q{self.names}"

    def relation(self, depth):
        """A table, or a query."""
        rng, name = self.rng, self.name()
        if depth < DEEPEST and rng.random() < 0.45:
            text, columns, rows = self.select(depth + 1)
            unique = [f"{name}.r{at}" for at in self.unique]
            if rng.random() < 0.15 and "mean" not in columns:
                text += self.order(range(len(columns))) + self.limit()
            fields = [(f"{name}.r{at}", kind) for at, kind in enumerate(columns)]
            return Relation(f"({text}) {name}", fields, rows, unique)
        if rng.random() < 0.05:
            return self.values(name)
        table = rng.choice(self.tables)
        fields = [(f"{name}.{field}", kind) for field, kind in table.fields]
        unique = [f"{name}.{field}" for field, _ in table.keys]
        return Relation(f"{rng.choice(table.names)} {name}", fields, table.rows, unique)

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
        if self.rng.random() < 0.06:
            return self.counted(left)
        return self.joined_with(left, self.relation(depth + 1), depth)

    def counted(self, left):
        """The relation with a number of rows of another table for each row, and a constant."""
        rng, table, inner, name = self.rng, self.rng.choice(self.tables), self.name(), self.name()
        pairs = [(a, b) for a, kind in left.compared for b, same in table.fields if kind == same]
        if not pairs:
            return left
        a, b = rng.choice(pairs)
        found = f"FROM {table.name} {inner} WHERE {inner}.{b} = {a}"
        query = f"SELECT 7 AS r0, {rng.choice(COUNTS)} AS r1 {found}"
        text = f"{left.text} CROSS JOIN LATERAL ({query}) {name}"
        fields = [*left.fields, (f"{name}.r0", "int"), (f"{name}.r1", "int")]
        return Relation(text, fields, left.rows, left.unique)

    def joined_with(self, left, right, depth):
        rng = self.rng
        rows = left.rows * right.rows
        fields = left.fields + right.fields
        unique = left.unique + right.unique if left.unique and right.unique else []
        if rng.random() < 0.15:
            if rows > LARGEST:
                return left
            text = f"{left.text}{rng.choice([', ', ' CROSS JOIN '])}{right.text}"
            return Relation(text, fields, rows, unique)
        pairs = [(a, b) for a, kind in left.compared for b, same in right.compared if kind == same]
        if not pairs or rows > LARGEST:
            return left
        on = [f"{a} = {b}" for a, b in rng.sample(pairs, min(len(pairs), rng.choice([1, 1, 2])))]
        how = rng.choice(["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        if how != "FULL JOIN" and rng.random() < 0.25:
            on.append(condition(rng, left.compared + right.compared, 1))
        text = f"{left.text} {how} {right.text} ON {' AND '.join(on)}"
        return Relation(text, fields, rows, unique if how == "JOIN" else ())

    def set_operation(self, depth):
        left, columns, rows = self.select(depth)
        right, more = self.of_kinds(columns, depth)
        self.unique = []
        self.plain = None
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
        text = self.named(items, 1)
        return f"SELECT {text} FROM {body.text}{where}", body.rows

    def where(self, body, depth):
        rng = self.rng
        if not body.compared:
            return "1 = 1"
        if rng.random() < 0.3:
            computed = [scalar(rng, body.compared) for _ in range(2)]
            return condition(rng, body.compared + [(f"({text})", kind) for text, kind in computed])
        if depth < DEEPEST and rng.random() < 0.2:
            parts = [self.inner(body)]
            if rng.random() < 0.5:
                parts.append(condition(rng, body.compared, 1))
            return " AND ".join(parts)
        return condition(rng, body.compared)

    def expression(self, body, depth):
        rng = self.rng
        name, kind = rng.choice(body.fields)
        if body.compared and rng.random() < 0.35:
            return scalar(rng, body.compared)
        if body.compared and rng.random() < 0.1:
            return f"CASE WHEN {condition(rng, body.compared, 2)} THEN 1 ELSE 0 END", "int"
        if depth < DEEPEST and rng.random() < 0.05:
            table = rng.choice(self.tables)
            pairs = [(a, b) for a, same in body.compared for b, of in table.fields if same == of]
            if pairs:
                a, b = rng.choice(pairs)
                inner = self.name()
                same = self.compared_as(a, f"{inner}.{b}", dict(table.fields)[b])
                count = rng.choice(COUNTS)
                text = f"SELECT {count} FROM {table.name} {inner} WHERE {same[1]} = {same[0]}"
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
            if kind == "bool":
                choices += [(f"bool_and({name})", "bool"), (f"bool_or({name})", "bool")]
            if kind == "text" and not self.is_ordered and rng.random() < 0.2:
                self.is_ordered = True
                order = f"ORDER BY {name} {self.direction()}"
                choices = [(f"string_agg({name}, ',' {order})", "text")]
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
        if body.unique and rng.random() < 0.5:
            return self.window_of_rows(body, parts, (of, kind))
        if rng.random() < 0.4 and kind != "bool":
            functions = [f"min({of})", f"max({of})"] + [f"sum({of})"] * (kind in ("int", "float"))
            frame = rng.choice(["", " RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"])
            return f"{rng.choice(functions)} OVER ({parts}{order}{frame})", kind
        function = rng.choice(["rank()", "dense_rank()", "count(*)", f"count({of})"])
        return f"{function} OVER ({parts}{order})", "int"

    def window_of_rows(self, body, parts, of):
        """A function whose value depends on the order of all rows, which is that of their key."""
        rng = self.rng
        by = rng.sample(body.unique, len(body.unique))
        order = "ORDER BY " + ", ".join(f"{name} {self.direction()}" for name in by)
        name, kind = of
        frame = rng.choice(
            [
                "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
                "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING",
                "ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING",
                "ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
                "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
            ]
        )
        choices = [
            (f"row_number() OVER ({parts}{order})", "int"),
            (f"lag({name}) OVER ({parts}{order})", kind),
            (f"lead({name}, 2) OVER ({parts}{order})", kind),
            (f"{self.shift(name)} OVER ({parts}{order})", kind),
            (f"first_value({name}) OVER ({parts}{order} {frame})", kind),
            (f"last_value({name}) OVER ({parts}{order} {frame})", kind),
            (f"nth_value({name}, 2) OVER ({parts}{order} {frame})", kind),
            (f"count({name}) OVER ({parts}{order} {frame})", "int"),
        ]
        if kind in ("int", "float"):
            choices += [(f"sum({name}) OVER ({parts}{order} {frame})", kind)] * 2
            choices += [(f"avg({name}) OVER ({parts}{order} {frame})", "mean")]
        if kind == "text":
            choices += [(f"string_agg({name}, ',') OVER ({parts}{order} {frame})", kind)]
        if kind == "bool":
            function = rng.choice(["bool_and", "bool_or"])
            choices += [(f"{function}({name}) OVER ({parts}{order} {frame})", kind)]
        else:
            choices += [(f"min({name}) OVER ({parts}{order} {frame})", kind)]
        return rng.choice(choices)

    def shift(self, name):
        function, offset = self.rng.choice(["lag", "lead"]), self.rng.randint(-2, 3)
        return f"{function}({name}, {offset} IGNORE NULLS)"

    def ranked(self, body):
        by = self.rng.choice(body.compared)[0]
        return f"rank() OVER (ORDER BY {by} {self.direction()})"

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
