"""SQL of the program `ostrakon`, judged by DuckDB: random queries on random tables.

`OSTRAKON_SQL_SEED` repeats the run of that seed, `OSTRAKON_SQL_QUERIES` plays more queries.
"""

import datetime as dt
import json
import math
import os
import random
import subprocess
from pathlib import Path

import pytest

duckdb = pytest.importorskip("duckdb")

PROGRAM = os.environ.get(
    "OSTRAKON_PROGRAM", str(Path(__file__).parents[2] / "target" / "debug" / "ostrakon")
)
SEED = int(os.environ.get("OSTRAKON_SQL_SEED", "1"))
QUERIES = int(os.environ.get("OSTRAKON_SQL_QUERIES", "2000"))
# Queries on the tables of one store.
EACH = 100

pytestmark = pytest.mark.skipif(
    not Path(PROGRAM).exists(), reason="the program is not built: cargo build -p ostrakon-cli"
)

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


class Table:
    """A table of both systems."""

    def __init__(self, rng, name):
        self.name = name
        self.keys = [
            (f"k{at}", rng.choice(["int", "text", "date", "time"]))
            for at in range(rng.randint(1, 2))
        ]
        self.columns = [(f"c{at}", rng.choice(list(TYPES))) for at in range(rng.randint(1, 5))]
        self.labelled = rng.random() < 0.7
        self.fields = self.keys + self.columns

    def create(self, label):
        columns = [f"{name} {TYPES[kind]}" for name, kind in self.fields]
        keys = f"PRIMARY KEY ({', '.join(name for name, _ in self.keys)})"
        if not label:
            return f"CREATE TABLE {self.name} ({', '.join(columns)})"
        if self.labelled:
            return (
                f"CREATE TABLE {self.name} ({', '.join([*columns, 'l VARCHAR', keys])}) "
                "WITH (label = 'l')"
            )
        return f"CREATE TABLE {self.name} ({', '.join([*columns, keys])})"


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


def condition(rng, fields, depth=0):
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
    other = [found for found in fields if found[1] == kind and found[0] != name]
    if choice > 0.9 and other:
        return f"{name} {rng.choice(['=', '<', '>='])} {rng.choice(other)[0]}"
    operator = rng.choice(["=", "<>", "<", "<=", ">", ">="])
    return f"{name} {operator} {literal(value(rng, kind))}"


def expression(rng, fields):
    name, kind = rng.choice(fields)
    if kind == "int" and rng.random() < 0.4:
        return rng.choice([f"{name} + 1", f"{name} * 2 - 3", f"abs({name})", f"-{name}"])
    if kind == "text" and rng.random() < 0.4:
        return rng.choice([f"upper({name})", f"{name} || 'x'", f"length({name})"])
    if rng.random() < 0.15:
        return f"coalesce({name}, {literal(value(rng, kind))})"
    if rng.random() < 0.1:
        return f"CASE WHEN {condition(rng, fields, 2)} THEN 1 ELSE 0 END"
    return name


def aggregate(rng, fields):
    name, kind = rng.choice(fields)
    choices = [f"count({name})", "count(*)", f"count(DISTINCT {name})"]
    if kind != "bool":
        choices += [f"min({name})", f"max({name})"]
    if kind in ("int", "float"):
        choices += [f"sum({name})", f"avg({name})"]
    return rng.choice(choices)


def query(rng, tables):
    """A query, and whether its rows have an order."""
    table = rng.choice(tables)
    source, fields = table.name, table.fields
    if rng.random() < 0.2:
        other = rng.choice(tables)
        pairs = [(a, b) for a, kind in table.fields for b, same in other.fields if kind == same]
        if pairs:
            a, b = rng.choice(pairs)
            how = rng.choice(["JOIN", "JOIN", "LEFT JOIN"])
            source = f"{table.name} x {how} {other.name} y ON x.{a} = y.{b}"
            fields = [(f"x.{name}", kind) for name, kind in table.fields]
            fields += [(f"y.{name}", kind) for name, kind in other.fields]
    where = f" WHERE {condition(rng, fields)}" if rng.random() < 0.8 else ""
    shape = rng.random()
    if shape < 0.25:
        items = [aggregate(rng, fields) for _ in range(rng.randint(1, 3))]
        return f"SELECT {named(items)} FROM {source}{where}", False
    if shape < 0.5:
        groups = [name for name, _ in rng.sample(fields, rng.randint(1, min(2, len(fields))))]
        items = groups + [aggregate(rng, fields) for _ in range(rng.randint(1, 2))]
        having = " HAVING count(*) > 1" if rng.random() < 0.3 else ""
        by = ", ".join(groups)
        return f"SELECT {named(items)} FROM {source}{where} GROUP BY {by}{having}", False
    items = [expression(rng, fields) for _ in range(rng.randint(1, 4))]
    distinct = "DISTINCT " if rng.random() < 0.2 else ""
    text = f"SELECT {distinct}{named(items)} FROM {source}{where}"
    if rng.random() < 0.15:
        # The engine cannot sort a union in which two columns are the same: it fails.
        return f"{text} UNION ALL {text}", False
    if rng.random() < 0.6:
        # By all columns, so that a limit leaves the same rows.
        order = [
            f"{at + 1} {rng.choice(['ASC', 'DESC'])} NULLS {rng.choice(['FIRST', 'LAST'])}"
            for at in range(len(items))
        ]
        if rng.random() < 0.3:
            order = [f"{at + 1} ASC NULLS LAST" for at in range(len(items))]
        text += f" ORDER BY {', '.join(order)}"
        if rng.random() < 0.5:
            text += f" LIMIT {rng.choice([0, 1, 3, 10])}"
            if rng.random() < 0.3:
                text += f" OFFSET {rng.choice([1, 5])}"
        return text, True
    return text, False


def named(items):
    return ", ".join(f"{item} AS r{at}" for at, item in enumerate(items))


def plain(value):
    """A value in the form in which both systems give it."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, dt.datetime):
        return ("time", value)
    if isinstance(value, dt.date):
        return ("date", value)
    if isinstance(value, (int, float)):
        return float(f"{float(value):.12g}")
    return value


def decoded(value, wanted):
    """A value of JSON as that of DuckDB's type."""
    if isinstance(value, str) and isinstance(wanted, dt.datetime):
        return dt.datetime.fromisoformat(value)
    if isinstance(value, str) and isinstance(wanted, dt.date):
        return dt.date.fromisoformat(value)
    return value


def rank(row):
    return [(cell is None, str(type(cell)), repr(cell)) for cell in row]


def same(ours, theirs, ordered):
    # The types of the columns, as the judge has them.
    types = [
        next((row[at] for row in theirs if row[at] is not None), None)
        for at in range(len(theirs[0]) if theirs else 0)
    ]
    if len(ours) != len(theirs):
        return False
    ours = [
        [plain(decoded(cell, kind)) for cell, kind in zip(row, types, strict=False)] for row in ours
    ]
    theirs = [[plain(cell) for cell in row] for row in theirs]
    if not ordered:
        ours, theirs = sorted(ours, key=rank), sorted(theirs, key=rank)
    return all(
        a == b
        or (isinstance(a, float) and isinstance(b, float) and math.isclose(a, b, rel_tol=1e-9))
        for x, y in zip(ours, theirs, strict=False)
        for a, b in zip(x, y, strict=False)
    )


def run(store, statements, held):
    """The rows of statements, each after a row that says which it is."""
    text = "".join(
        f"SELECT 'statement {at}' AS mark;\n{statement};\n"
        for at, statement in enumerate(statements)
    )
    command = [
        PROGRAM,
        "sql",
        "--json",
        "--data",
        store,
        "--auths",
        ",".join(sorted(held)),
        "-f",
        "-",
    ]
    done = subprocess.run(command, input=text, capture_output=True, encoding="utf-8", check=False)
    answers = []
    for line in done.stdout.splitlines():
        row = json.loads(line)
        if str(row.get("mark", "")).startswith("statement "):
            answers.append([])
        else:
            answers[-1].append(list(row.values()))
    assert done.returncode == 0, f"{statements[len(answers) - 1]}\n{done.stderr}"
    return answers


def play(seed, count, store):
    rng = random.Random(seed)
    judge = duckdb.connect()
    tables = [Table(rng, f"t{at}") for at in range(2)]
    held = set(rng.choice(["", "a", "b", "ab"]))
    setup = []
    for table in tables:
        setup.append(table.create(True))
        records = {}
        for _ in range(rng.choice([0, 5, 40, 200])):
            key = tuple(value(rng, kind) for _, kind in table.keys)
            rest = [value(rng, kind) if rng.random() < 0.8 else None for _, kind in table.columns]
            label = rng.choice(list(LABELS)) if table.labelled else ""
            records[key] = (rest, label)
            cells = [literal(cell) for cell in [*key, *rest]]
            cells += [literal(label)] if table.labelled else []
            setup.append(f"INSERT INTO {table.name} VALUES ({', '.join(cells)})")
        if records and rng.random() < 0.5:
            key = rng.choice(list(records))
            del records[key]
            wanted = " AND ".join(
                f"{name} = {literal(cell)}"
                for (name, _), cell in zip(table.keys, key, strict=False)
            )
            setup.append(f"DELETE FROM {table.name} WHERE {wanted}")
        judge.execute(table.create(False))
        for key, (rest, label) in records.items():
            if LABELS[label](held):
                cells = ", ".join(literal(cell) for cell in [*key, *rest])
                judge.execute(f"INSERT INTO {table.name} VALUES ({cells})")
    run(store, batched(setup), {"a", "b"})
    if rng.random() < 0.5:
        subprocess.run(
            [PROGRAM, "--data", store, "table", "flush", "t0"], check=True, capture_output=True
        )
    queries = [query(rng, tables) for _ in range(count)]
    answers = run(store, [text for text, _ in queries], held)
    for (text, ordered), ours in zip(queries, answers, strict=False):
        theirs = [list(row) for row in judge.execute(text).fetchall()]
        assert same(ours, theirs, ordered), (
            f"OSTRAKON_SQL_SEED={seed}, authorizations {sorted(held)}\n{text}\n"
            f"ours:   {ours[:20]}\nDuckDB: {theirs[:20]}"
        )


def batched(statements):
    """Statements that insert into the same table, as one."""
    out = []
    for statement in statements:
        head, _, values = statement.partition(" VALUES ")
        if values and out and out[-1].startswith(head + " VALUES "):
            out[-1] += ", " + values
        else:
            out.append(statement)
    return out


@pytest.mark.parametrize("seed", range(SEED, SEED + max(1, QUERIES // EACH)))
def test_duckdb_answers_the_same(seed, tmp_path):
    play(seed, EACH, str(tmp_path / "store"))
