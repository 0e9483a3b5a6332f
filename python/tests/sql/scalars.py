"""Calls of functions that both systems compute alike: those of the kinds of tables.py."""

from tables import condition, literal, value

TEXT = [
    ("upper({})", "text"),
    ("lower({})", "text"),
    ("trim({})", "text"),
    ("reverse({})", "text"),
    ("{} || 'x'", "text"),
    ("left({}, 2)", "text"),
    ("right({}, 2)", "text"),
    ("substr({}, 2, 2)", "text"),
    ("replace({}, 'b', 'c')", "text"),
    ("lpad({}, 3, '-')", "text"),
    ("concat({}, 'x')", "text"),
    ("nullif({}, 'a')", "text"),
    ("length({})", "int"),
    ("strpos({}, 'b')", "int"),
    ("starts_with({}, 'a')", "bool"),
]
INT = [
    ("{} + 1", "int"),
    ("{} * 2 - 3", "int"),
    ("abs({})", "int"),
    ("- {}", "int"),
    ("{} % 3", "int"),
    ("nullif({}, 0)", "int"),
    ("greatest({}, 0)", "int"),
    ("least({}, 1, 255)", "int"),
    ("CAST({} AS VARCHAR)", "text"),
    ("CAST({} AS DOUBLE)", "float"),
]
FLOAT = [
    ("{} * 2", "float"),
    ("{} + 0.25", "float"),
    ("- {}", "float"),
    ("abs({})", "float"),
    ("floor({})", "float"),
    ("ceil({})", "float"),
    ("round({})", "float"),
    ("nullif({}, 0)", "float"),
    ("greatest({}, 0.5)", "float"),
]
BOOL = [
    ("NOT {}", "bool"),
    ("{} IS TRUE", "bool"),
    ("{} IS NOT FALSE", "bool"),
    ("CAST({} AS INT)", "int"),
]
DATE = [
    ("extract(year FROM {})", "int"),
    ("extract(month FROM {})", "int"),
    ("extract(day FROM {})", "int"),
    ("extract(dow FROM {})", "int"),
    ("date_part('doy', {})", "int"),
    ("date_part('quarter', {})", "int"),
    ("date_part('week', {})", "int"),
    ("CAST(date_trunc('week', {}) AS DATE)", "date"),
    ("CAST(date_trunc('month', {}) AS DATE)", "date"),
    ("CAST(date_trunc('year', {}) AS DATE)", "date"),
    ("CAST({} AS TIMESTAMP)", "time"),
    ("CAST({} AS VARCHAR)", "text"),
]
TIME = [
    ("CAST({} AS DATE)", "date"),
    ("date_trunc('second', {})", "time"),
    ("date_trunc('hour', {})", "time"),
    ("{} + INTERVAL '1 second'", "time"),
    ("{} - INTERVAL '1 hour'", "time"),
    ("extract(year FROM {})", "int"),
    ("extract(hour FROM {})", "int"),
    ("extract(minute FROM {})", "int"),
]
OF_KIND = {"text": TEXT, "int": INT, "float": FLOAT, "bool": BOOL, "date": DATE, "time": TIME}


def scalar(rng, fields, depth=0):
    """An expression of fields without `mean`, and its kind."""
    name, kind = rng.choice(fields)
    choice = rng.random()
    if choice < 0.1:
        return f"coalesce({name}, {literal(value(rng, kind))})", kind
    if choice < 0.2:
        other = literal(value(rng, kind)) if rng.random() < 0.7 else "NULL"
        return f"CASE WHEN {condition(rng, fields, 1)} THEN {name} ELSE {other} END", kind
    text, made = rng.choice(OF_KIND[kind])
    inner = f"({name})" if " " in name else name
    text = text.format(inner)
    if depth < 1 and rng.random() < 0.2:
        return scalar(rng, [(f"({text})", made)], depth + 1)
    return text, made
