"""SQL of the program `ostrakon`, judged by DuckDB: random queries on random tables and files.

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
from changes import Changes
from queries import Queries
from tables import LABELS, Events, Table, literal, respelled, value

duckdb = pytest.importorskip("duckdb")

PROGRAM = os.environ.get(
    "OSTRAKON_PROGRAM", str(Path(__file__).parents[3] / "target" / "debug" / "ostrakon")
)
SEED = int(os.environ.get("OSTRAKON_SQL_SEED", "1"))
QUERIES = int(os.environ.get("OSTRAKON_SQL_QUERIES", "2000"))
# Queries on the tables of one store.
EACH = 100

pytestmark = pytest.mark.skipif(
    not Path(PROGRAM).exists(), reason="the program is not built: cargo build -p ostrakon-cli"
)


def plain(value):
    """A value in the form in which both systems give it."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, dt.datetime):
        return ("time", value)
    if isinstance(value, dt.date):
        return ("date", value)
    if isinstance(value, (int, float)):
        # Zero has two signs, which are equal.
        return float(f"{float(value):.12g}") + 0.0
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


def same(ours, theirs, order):
    """Whether both have the same rows, with the same values in the columns of the order."""
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
    by = [[[row[at] for at in order] for row in rows] for rows in (ours, theirs)]
    if by[0] != by[1]:
        return False
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


def fill(judge, rng, table, held):
    """Statements that fill a table with random records. The judge has those the reader sees."""
    setup = [table.create(True)]
    records = {}
    for _ in range(table.rows):
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
            f"{name} = {literal(cell)}" for (name, _), cell in zip(table.keys, key, strict=False)
        )
        setup.append(f"DELETE FROM {table.name} WHERE {wanted}")
    judge.execute(table.create(False))
    for key, (rest, label) in records.items():
        if LABELS[label](held):
            cells = ", ".join(literal(cell) for cell in [*key, *rest])
            judge.execute(f"INSERT INTO {table.name} VALUES ({cells})")
    return setup


def play(seed, count, store):
    rng = random.Random(seed)
    judge = duckdb.connect()
    # Half of the runs have columns in upper-case letters, which statements name in any letters.
    upper, letters = seed % 2 == 0, random.Random(seed)
    tables = [Table(rng, f"t{at}", upper) for at in range(2)]
    held = set(rng.choice(["", "a", "b", "ab"]))
    setup = [text for table in tables for text in fill(judge, rng, table, held)]
    run(store, batched(setup), {"a", "b"})
    if rng.random() < 0.5:
        subprocess.run(
            [PROGRAM, "--data", store, "table", "flush", "t0"], check=True, capture_output=True
        )
    events = Events(rng, "e", upper)
    ingest(judge, rng, store, events, held)
    for table in tables:
        file = Path(store).parent / f"{table.name}.parquet"
        judge.execute(f"COPY {table.name} TO {literal(str(file))} (FORMAT parquet)")
        table.names = [table.name, table.name, literal(str(file))]
    writer = Queries(rng, [*tables, events])
    changes = Changes(rng, writer, held)
    # Each with the same statement for the judge, and the columns by which its rows are sorted.
    statements = []
    for _ in range(count):
        if rng.random() < 0.1:
            statements.append((*changes.change(), []))
        else:
            text, order = writer.query()
            statements.append((text, text, order))
    if upper:
        statements = [
            (respelled(letters, text), judged, order) for text, judged, order in statements
        ]
    answers = run(store, [text for text, _, _ in statements], held)
    failed = 0
    for (text, judged, order), ours in zip(statements, answers, strict=False):
        try:
            theirs = [list(row) for row in judge.execute(judged).fetchall()]
        except duckdb.Error:
            # Then the tables would differ from now on.
            assert text.startswith(("SELECT", "(", "WITH")), judged
            # Such as a sum of numbers whose type it chose too small.
            failed += 1
            continue
        assert same(ours, theirs, order), (
            f"OSTRAKON_SQL_SEED={seed}, authorizations {sorted(held)}\n{text}\n"
            f"ours:   {ours[:20]}\nDuckDB: {theirs[:20]}"
        )
    assert failed <= count // 20, f"the judge failed {failed} times"


def ingest(judge, rng, store, events, held):
    """Stores random events in both systems."""
    folder = Path(store).parent
    schema, log = folder / "events.toml", folder / "events.jsonl"
    schema.write_text(events.schema(), encoding="utf-8")
    for statement in events.declared():
        judge.execute(statement)
    lines = []
    for number in range(events.rows):
        row = [number, value(rng, "time")]
        row += [value(rng, kind) if rng.random() < 0.8 else None for _, kind in events.columns[1:]]
        label = rng.choice(list(LABELS))
        lines.append(events.record(row, label))
        if LABELS[label](held):
            cells = ", ".join(literal(cell) for cell in row)
            judge.execute(f"INSERT INTO {events.name} VALUES ({cells})")
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for command in (
        ["events", "create", events.type, "--schema", str(schema)],
        ["events", "ingest", events.type, str(log)],
    ):
        subprocess.run([PROGRAM, "--data", store, *command], check=True, capture_output=True)


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
