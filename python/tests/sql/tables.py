"""Random tables that both systems have, their values, and conditions on them."""

import datetime as dt
import json
import re

TYPES = {
    "int": "BIGINT",
    "float": "DOUBLE",
    "bool": "BOOLEAN",
    "date": "DATE",
    "time": "TIMESTAMP",
    "text": "VARCHAR",
}
LABELS = {
    "": lambda held: True,
    "a": lambda held: "a" in held,
    "b": lambda held: "b" in held,
    "a&b": lambda held: {"a", "b"} <= held,
    "a|b": lambda held: bool(held & {"a", "b"}),
}
WORDS = ["", "a", "b", "ab", "abc", "b'c", "Ä", "é%", "x_y", "zz", "\U0001f600", "a b"]


# Columns in texts, beside texts in quotes, which are not respelled.
NAMES = re.compile(r"""'(?:[^']|'')*'|"[^"]*"|\b[kc]\d+\b""")
# The columns of a new table.
GIVEN = re.compile(r"\b(AS |PRIMARY KEY \()([kc]\d+)\b")


def respelled(rng, text):
    """A statement with its columns in random letters. Those of a new table are in upper case."""

    def spell(found):
        name = found[0]
        return name if name[0] in "'\"" else rng.choice([name, name.upper()])

    given = GIVEN.sub(lambda found: f'{found[1]}"{found[2].upper()}"', text)
    return NAMES.sub(spell, given)


class Table:
    """A table of both systems, whose columns may have names with upper-case letters."""

    def __init__(self, rng, name, upper=False):
        self.name = name
        self.upper = upper
        # What FROM may say, once there are files of the visible rows, too.
        self.names = [name]
        self.keys = [
            (f"k{at}", rng.choice(["int", "text", "date", "time"]))
            for at in range(rng.randint(1, 2))
        ]
        self.columns = [(f"c{at}", rng.choice(list(TYPES))) for at in range(rng.randint(1, 5))]
        self.labelled = rng.random() < 0.7
        self.fields = self.keys + self.columns
        self.rows = rng.choice([0, 5, 40, 200])

    def create(self, label):
        """The statement that creates it, with its label if it has one and `label` is set."""
        spelled = {name: f'"{name.upper()}"' if self.upper else name for name, _ in self.fields}
        columns = [f"{spelled[name]} {TYPES[kind]}" for name, kind in self.fields]
        keys = f"PRIMARY KEY ({', '.join(spelled[name] for name, _ in self.keys)})"
        if label and self.labelled:
            return (
                f"CREATE TABLE {self.name} ({', '.join([*columns, 'l VARCHAR', keys])}) "
                "WITH (label = 'l')"
            )
        return f"CREATE TABLE {self.name} ({', '.join([*columns, keys])})"


# The types of fields of events.
OF_EVENTS = {"int": "i64", "float": "f64", "bool": "bool", "text": "text", "time": "time"}


class Events:
    """An event type, whose events are rows of both systems."""

    def __init__(self, rng, name, upper=False):
        self.type = name
        self.upper = upper
        self.name = f"events.{name}"
        self.names = [self.name]
        self.keys = [("id", "int")]
        self.columns = [("time", "time")]
        self.columns += [(f"c{at}", rng.choice(list(OF_EVENTS))) for at in range(rng.randint(1, 4))]
        self.fields = self.keys + self.columns
        self.rows = rng.choice([5, 40, 200])
        self.indexed = {name for name, _ in self.fields if rng.random() < 0.5}
        self.bin = rng.choice(["1s", "1m", "1h"])
        self.shards = rng.randint(1, 3)

    def spelled(self, name):
        return name.upper() if self.upper and name.startswith("c") else name

    def schema(self):
        """The definition of the type, as TOML."""
        lines = [f'name = "{self.type}"', 'time = "time"', f'bin = "{self.bin}"']
        lines += [
            'visibility_field = "l"',
            'visibility = ""',
            "[[shards]]",
            f"count = {self.shards}",
        ]
        for name, kind in [*self.fields, ("l", "text")]:
            indexed = "true" if name in self.indexed else "false"
            spelled = self.spelled(name)
            lines += ["[[fields]]", f'name = "{spelled}"', f'type = "{OF_EVENTS[kind]}"']
            lines += [f"indexed = {indexed}"] if name != "time" else []
        return "\n".join(lines) + "\n"

    def record(self, row, label):
        """An event as a line of JSON."""
        fields = zip(self.fields, row, strict=True)
        record = {
            self.spelled(name): plain_text(cell) for (name, _), cell in fields if cell is not None
        }
        if label:
            record["l"] = label
        return json.dumps(record, ensure_ascii=False)

    def declared(self):
        """The statements that create it in the other system."""
        columns = ", ".join(f"{name} {TYPES[kind]}" for name, kind in self.fields)
        return ["CREATE SCHEMA IF NOT EXISTS events", f"CREATE TABLE {self.name} ({columns})"]


def plain_text(cell):
    return f"{cell.isoformat()}Z" if isinstance(cell, dt.datetime) else cell


def value(rng, kind):
    if kind == "int":
        return rng.choice([rng.randint(-3, 3), rng.randint(-1000, 1000), 255, 256, -256, 65536])
    if kind == "float":
        return rng.choice([rng.randint(-8, 8) / 4, rng.randint(-4000, 4000) / 4])
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "date":
        return dt.date(1970, 1, 1) + dt.timedelta(
            days=rng.choice([rng.randint(-3, 3), 19000, -400])
        )
    if kind == "time":
        return dt.datetime(1970, 1, 1) + dt.timedelta(
            seconds=rng.randint(-2, 2), microseconds=rng.choice([0, 1, 999999])
        )
    return rng.choice(WORDS)


def literal(value):
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, dt.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, float):
        return f"CAST({value!r} AS DOUBLE)"
    return str(value)


# Conditions with one computed value, which many values have.
MANY_TO_ONE = {
    "int": ["CAST({} AS BOOLEAN)", "NOT CAST({} AS BOOLEAN)", "{} * 0 = 0", "{} % 2 = 1"],
    "float": ["{} * 0 = 0", "floor({}) = 0", "abs({}) = 1", "{} + 1e17 = 1e17"],
    "time": [
        "CAST({} AS DATE) = DATE '1970-01-01'",
        "CAST({} AS DATE) IN (DATE '1969-12-31')",
        "date_trunc('second', {}) = TIMESTAMP '1970-01-01 00:00:01'",
    ],
    "date": ["extract(year FROM {}) = 1970", "date_trunc('month', {}) = DATE '1970-01-01'"],
}

# Values that are the same for many.
COARSE = {
    "int": ["{} % 3", "CAST({} AS BOOLEAN)", "{} + 1"],
    "float": ["floor({})", "abs({})"],
    "text": ["upper({})", "length({})", "left({}, 1)"],
    "date": ["extract(month FROM {})", "date_trunc('month', {})"],
    "time": ["CAST({} AS DATE)", "date_trunc('second', {})"],
}


def condition(rng, fields, depth=0):
    """A condition on fields, pairs of an expression and its kind."""
    choice = rng.random()
    if depth < 2 and choice < 0.35:
        parts = [condition(rng, fields, depth + 1) for _ in range(rng.randint(2, 3))]
        return "(" + f" {rng.choice(['AND', 'AND', 'OR'])} ".join(parts) + ")"
    if depth < 2 and choice < 0.42:
        return f"NOT ({condition(rng, fields, depth + 1)})"
    name, kind = rng.choice(fields)
    choice = rng.random()
    if choice < 0.12:
        return f"{name} IS {rng.choice(['', 'NOT '])}NULL"
    if choice < 0.25:
        values = ", ".join(literal(value(rng, kind)) for _ in range(rng.randint(1, 4)))
        return f"{name} {rng.choice(['', 'NOT '])}IN ({values})"
    if choice < 0.38 and kind != "bool":
        low, high = sorted((value(rng, kind), value(rng, kind)))
        return f"{name} BETWEEN {literal(low)} AND {literal(high)}"
    if choice < 0.55 and kind == "text":
        pattern = rng.choice(["a%", "%b", "%b%", "_", "a_%", "x\\_%", "", "%", "b'%"])
        if "\\" not in pattern:
            return f"{name} {rng.choice(['', 'NOT '])}LIKE {literal(pattern)}"
    if choice < 0.65 and kind in MANY_TO_ONE:
        return rng.choice(MANY_TO_ONE[kind]).format(f"({name})" if " " in name else name)
    other = [found for found in fields if found[1] == kind and found[0] != name]
    if choice > 0.9 and other:
        return f"{name} {rng.choice(['=', '<', '>='])} {rng.choice(other)[0]}"
    operator = rng.choice(["=", "<>", "<", "<=", ">", ">="])
    return f"{name} {operator} {literal(value(rng, kind))}"
