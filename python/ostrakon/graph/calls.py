"""The arguments and results of calls into the compiled module."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from ostrakon import _native
from ostrakon.arguments import (
    bytes_of,
    flag_of,
    integer_of,
    number_of,
    optional_bytes,
    optional_integer,
    optional_number,
    optional_text,
    text_of,
    wrong_type,
)
from ostrakon.errors import InvalidArgumentError
from ostrakon.graph.results import Matrix
from ostrakon.scan import auths_of

if TYPE_CHECKING:
    from ostrakon.graph.results import Key
    from ostrakon.ranges import Bytes
    from ostrakon.store import Store

A_TABLE = "the name of a table"
FORMS = "'adjacency', 'incidence' or 'single'"
U32 = 2**32 - 1
_Parts: TypeAlias = tuple[
    tuple[bytearray, bytearray], tuple[bytearray, bytearray], bytearray, bytearray, bytearray
]


@dataclass(frozen=True)
class Part:
    """A table, or a part of it, as a matrix: rows are rows, qualifiers are columns.

    `rows` and `columns` are lists in D4M's form: each key is followed by a separator. `a,:,b,` is
    an inclusive range, `:,b,` and `a,:,` are unbounded ranges, and `al*,` is a prefix. `least` and
    `most` bound the values. `values` is `numbers`, `numbers_or_one` (text counts as 1) or `ones`.
    """

    table: str
    rows: str = ":"
    columns: str = ":"
    family: Bytes | None = None
    least: float | None = None
    most: float | None = None
    values: str = "numbers"


_RUST_NAMES = "ValueKind::Ones or NumbersOrOne"
_PYTHON_NAMES = 'Part(table, values="ones") or values="numbers_or_one"'

_DEFAULTS: dict[str, Any] = {
    "result": None,
    "second_result": None,
    "count": 0,
    "rounds_max": 0,
    "tolerance": 0.0,
    "damping": 0.0,
    "seed": 0,
    "column": b"",
}


_OPTIONS: dict[str, Callable[[str, Any], Any]] = {
    "result": lambda name, given: optional_text(name, given, A_TABLE),
    "second_result": lambda name, given: optional_text(name, given, A_TABLE),
    # Checked under the names that the functions give it.
    "count": lambda _, given: given,
    "rounds_max": lambda name, given: integer_of(name, given, "a number of rounds"),
    "tolerance": lambda name, given: number_of(name, given, "a number, such as 0.01"),
    "damping": lambda name, given: number_of(name, given, "a number, such as 0.85"),
    "seed": lambda name, given: integer_of(name, given, "a number"),
    "column": bytes_of,
}


def compute(
    store: Store,
    algorithm: str,
    table: str | Part,
    *,
    collect: bool | None = None,
    auths: Iterable[Bytes] | None = None,
    visibility: Bytes | None = None,
    memory_bytes: int | None = None,
    threads: int | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Runs an algorithm; `options` are those of `_DEFAULTS`."""
    unknown = options.keys() - _DEFAULTS.keys()
    if unknown:
        raise TypeError(f"{algorithm}() got an unexpected argument {min(unknown)!r}")
    context = context_of(auths, visibility, memory_bytes, threads)
    given = {
        **_DEFAULTS,
        **{name: _OPTIONS[name](name, value) for name, value in options.items()},
        "collect": collects(collect, options.get("result"), None),
    }
    found: dict[str, Any] = call(
        _native.graph_compute, store, context, algorithm, part_of(table), given
    )
    return found


def call(function: Callable[..., Any], store: Store, *arguments: Any) -> Any:
    """Calls into the compiled module, whose messages get the names that Python has."""
    try:
        return function(check_store(store)._native, *arguments)
    except InvalidArgumentError as error:
        text = str(error)
        if _RUST_NAMES not in text:
            raise
        raise type(error)(text.replace(_RUST_NAMES, _PYTHON_NAMES), error.context) from None


def check_store(store: Any) -> Store:
    """The store, or an error that says what to pass."""
    if not hasattr(store, "_native"):
        takes = "an `ostrakon.Store`"
        if hasattr(store, "store"):
            takes += " (pass `db.store`)"
        raise wrong_type("store", takes, store)
    return cast("Store", store)


def context_of(
    auths: Iterable[Bytes] | None,
    visibility: Bytes | None,
    memory_bytes: int | None,
    threads: int | None,
) -> dict[str, Any]:
    """What every call is given."""
    return {
        "auths": auths_of(auths),
        "visibility": optional_bytes("visibility", visibility, "a label, such as 'hr|audit'"),
        "memory_bytes": optional_integer("memory_bytes", memory_bytes, "a number of bytes"),
        "threads": optional_integer("threads", threads, "a number of threads"),
    }


def part_of(table: str | Part, argument: str = "table") -> dict[str, Any]:
    """A table, or a part of it, as the compiled module takes it."""
    if not isinstance(table, Part):
        return vars(Part(text_of(argument, table, f"{A_TABLE}, or a `Part`")))
    keys = "a list of keys in D4M's form, such as 'a,b,'"
    return {
        "table": text_of("table", table.table, A_TABLE),
        "rows": text_of("rows", table.rows, keys),
        "columns": text_of("columns", table.columns, keys),
        "family": optional_bytes("family", table.family),
        "least": optional_number("least", table.least, "a number"),
        "most": optional_number("most", table.most, "a number"),
        "values": text_of("values", table.values, "'numbers', 'numbers_or_one' or 'ones'"),
    }


def outputs_of(
    result: str | None, transpose: str | None, collect: bool
) -> tuple[str | None, str | None, bool]:
    """Where the result goes: to tables, or to the caller."""
    return (
        optional_text("result", result, A_TABLE),
        optional_text("result_transpose", transpose, A_TABLE),
        collect,
    )


def collects(collect: bool | None, *results: str | None) -> bool:
    """Whether the result is returned: if nothing else is said, when no result table is named."""
    if collect is None:
        return all(result is None for result in results)
    return flag_of("collect", collect)


def keys_of(parts: tuple[bytearray, bytearray]) -> list[Key]:
    """The keys of a result: texts, if all of them are."""
    data = bytes(parts[0])
    ends = np.frombuffer(parts[1], np.uint64).tolist()
    starts = [0, *ends[:-1]] if ends else []
    keys = [data[start:end] for start, end in zip(starts, ends, strict=True)]
    try:
        return [key.decode() for key in keys]
    except UnicodeDecodeError:
        # If one key is not text, all keys stay bytes, because a list of one type can be sorted.
        return list(keys)


def matrix_of(parts: _Parts | None) -> Matrix | None:
    """The matrix of a result, if it was not written to a table."""
    if parts is None:
        return None
    rows, columns, offsets, indices, values = parts
    return Matrix(
        rows=keys_of(rows),
        columns=keys_of(columns),
        offsets=np.frombuffer(offsets, np.int64),
        indices=np.frombuffer(indices, np.int32),
        values=np.frombuffer(values, np.float64),
    )


_KNOWN = ("entries_read", "entries_written", "result_entries", "relative_io")


def outcome_of(found: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of an `Outcome`; numbers with other names are its `counts`."""
    rest = dict(found)
    outcome: dict[str, Any] = {name: rest.pop(name) for name in _KNOWN if name in rest}
    outcome["matrix"] = matrix_of(rest.pop("matrix", None))
    outcome["counts"] = rest
    return outcome
