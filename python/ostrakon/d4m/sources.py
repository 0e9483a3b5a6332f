"""Input of records: frames, Arrow tables, dictionaries, files of text, logs.

Whatever the form, it becomes fields: the distinct values of each as sorted texts, and which record
has which. Frames and tables never become one Python object per value.
"""

from __future__ import annotations

import datetime
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostrakon._native import NativeColumn, NativeRecordFile
from ostrakon.assoc.construction import number_text, texts_of_numbers
from ostrakon.assoc.items import Items, read_items, resolve
from ostrakon.assoc.keys import TextKeys
from ostrakon.errors import InvalidArgumentError
from ostrakon.extras import load

Array = NDArray[Any]

# Records read from a Parquet file at once.
_PARQUET = 1 << 16


@dataclass
class Field:
    """A field of records: entry `i` says that record `records[i]` has the value
    `keys[places[i]]`."""

    name: str
    keys: TextKeys
    places: Array
    records: Array
    plain: bool = False
    """Whether the texts are numbers or truth values, which JSON writes without quotes."""
    several: bool = False
    """Whether a record may have several values."""


@dataclass
class RecordSet:
    """Records in the form in which they are indexed."""

    count: int
    fields: list[Field]
    raw: NativeColumn | None = None
    """The text of each record as it came, where there is one."""
    rows: list[Mapping[Any, Any]] | None = None
    """The records, where they came one by one."""

    def texts(self) -> NativeColumn | list[str]:
        """The text of each record: as it came, or as JSON."""
        if self.raw is not None:
            return self.raw
        if self.rows is not None:
            return [_json(row) for row in self.rows]
        columns = [_written(field, self.count) for field in self.fields]
        if not columns:
            return ["{}"] * self.count
        rows = zip(*columns, strict=True)
        return [f"{{{', '.join(filter(None, row))}}}" for row in rows]


def _written(field: Field, count: int) -> Array:
    """A field as JSON, for each record; empty where it has none."""
    name = json.dumps(field.name, ensure_ascii=False)
    # JSON cannot represent infinity.
    values = [
        key if field.plain and not key.endswith("f") else json.dumps(key, ensure_ascii=False)
        for key in field.keys.to_list()
    ]
    column = np.full(count, "", object)
    if not field.several:
        members = np.array([f"{name}: {value}" for value in values], object)
        column[field.records] = members[field.places]
        return column
    held: dict[int, list[str]] = {}
    for record, place in zip(field.records.tolist(), field.places.tolist(), strict=True):
        held.setdefault(record, []).append(values[place])
    for record, several in held.items():
        column[record] = f"{name}: [{', '.join(several)}]"
    return column


def _json(row: Mapping[Any, Any]) -> str:
    try:
        return json.dumps(row, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        return json.dumps(_plain(row), ensure_ascii=False)


def _plain(value: Any) -> Any:
    """A value in what JSON knows; NaN is a gap."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_plain(one) for one in value]
    if _missing(value):
        return None
    if value is True or value is False or isinstance(value, (str, int)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return value_text("text", value)


def read_batches(records: Any, separator: str, most: int) -> Iterator[RecordSet]:
    """Reads the records given to `ingest`, in batches of at most `most` records; at least one.

    Empty texts, `None` and NaN are missing values. A list in a field is several values; a mapping
    in a field becomes separate fields, `outer.inner`. Arrow tables, data frames of polars and
    Parquet files are read batch by batch, without a copy of the whole.
    """
    if isinstance(records, (str, Path)):
        batches = _from_path(Path(records), most)
    elif isinstance(records, Mapping):
        batches = _from_columns(dict(records), most)
    else:
        batches = _from_frame(records, most) or _from_rows(records, most)
    for made in batches:
        for field in made.fields:
            if separator in field.name:
                raise InvalidArgumentError(
                    f"records: the field {field.name!r} holds the separator {separator!r}: rename "
                    "it, or choose another separator",
                    {"argument": "records"},
                )
        yield made


def _from_frame(records: Any, most: int) -> Iterator[RecordSet] | None:
    home = type(records).__module__.partition(".")[0]
    if home in ("pandas", "polars") and hasattr(records, "columns"):
        return _from_columns({name: records[name] for name in records.columns}, most)
    if home == "pyarrow" and hasattr(records, "column_names"):
        return _from_columns({name: records[name] for name in records.column_names}, most)
    if hasattr(records, "read_next_batch"):
        return _from_arrow_batches(records, records.schema, most)
    if hasattr(records, "__arrow_c_stream__"):
        pa = load("pyarrow", "arrow")
        return _from_frame(pa.RecordBatchReader.from_stream(records), most)
    return None


def _from_arrow_batches(batches: Iterable[Any], schema: Any, most: int) -> Iterator[RecordSet]:
    """Batches of Arrow of any size, put together to batches of about `most` records."""
    import pyarrow as pa

    held: list[Any] = []
    first = True
    for batch in batches:
        held.append(batch)
        if sum(len(part) for part in held) >= most:
            table = pa.Table.from_batches(held)
            held = []
            first = False
            yield from _from_columns({name: table[name] for name in table.column_names}, most)
    if held or first:
        table = pa.Table.from_batches(held, schema)
        yield from _from_columns({name: table[name] for name in table.column_names}, most)


def _from_columns(columns: Mapping[Any, Any], most: int) -> Iterator[RecordSet]:
    """Columns, sliced where slices share their memory."""
    counts = {len(column) for column in columns.values() if _sliced(column)}
    if len(counts) != 1 or not all(_sliced(column) for column in columns.values()):
        yield _record_set(columns)
        return
    for at in range(0, max(*counts, 1), most):
        yield _record_set({name: _slice(column, at, most) for name, column in columns.items()})


def _sliced(column: Any) -> bool:
    home = type(column).__module__.partition(".")[0]
    return home in ("pyarrow", "polars", "pandas", "numpy") and hasattr(column, "__len__")


def _slice(column: Any, at: int, most: int) -> Any:
    home = type(column).__module__.partition(".")[0]
    if home in ("pyarrow", "polars"):
        return column.slice(at, most)
    return column.iloc[at : at + most] if home == "pandas" else column[at : at + most]


def _record_set(columns: Mapping[Any, Any]) -> RecordSet:
    fields: list[Field] = []
    lengths: dict[str, int] = {}
    for key, column in columns.items():
        name = str(key)
        field, lengths[name] = _field(name, column)
        fields.append(field)
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InvalidArgumentError(
            f"records: the columns have different lengths ({told}); nothing was written",
            {"argument": "records"},
        )
    return RecordSet(next(iter(lengths.values()), 0), fields)


def _field(name: str, column: Any) -> tuple[Field, int]:
    exploded = _exploded(name, column)
    if exploded is not None:
        parents, column, count = exploded
    else:
        parents, count = None, -1
    try:
        items = read_items(name, column)
        keys, places = _texts(items)
    except TypeError:
        # Values of several kinds: each becomes text for itself, or is refused by name.
        texts = [None if _missing(item) else value_text(name, item) for item in column]
        items = read_items(name, texts)
        keys, places = _texts(items)
    if count < 0:
        count = items.count
    present = np.ones(items.count, bool) if items.valid is None else np.asarray(items.valid, bool)
    empty = keys.find("")
    if empty is not None:
        present &= places != empty
    records = np.flatnonzero(present) if parents is None else parents[present]
    made = Field(
        name,
        keys,
        places[present],
        np.ascontiguousarray(records, np.uint32),
        plain=items.array is not None and items.array.dtype.kind in "biuf",
        several=parents is not None,
    )
    return made, count


def _texts(items: Items) -> tuple[TextKeys, Array]:
    if items.array is None:
        keys, places = resolve([items])[0]
        assert isinstance(keys, TextKeys)
        return keys, places
    array = items.array
    if array.dtype.kind == "b":
        return TextKeys.of(["false", "true"]), array.astype(np.uint32)
    if array.dtype.kind == "f" and items.valid is not None:
        array = np.where(items.valid, array, 0.0)
    keys, places = texts_of_numbers(array)
    return keys, np.asarray(places, np.uint32)


def _exploded(name: str, column: Any) -> tuple[Array, Any, int] | None:
    """A column of lists as records and items; `None` when it holds none."""
    if type(column).__module__.partition(".")[0] == "polars":
        load("pyarrow", "polars")
        column = column.to_arrow()
    if type(column).__module__.partition(".")[0] == "pyarrow":
        import pyarrow as pa
        import pyarrow.compute as pc

        if hasattr(column, "combine_chunks") and isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
            return None
        parents = pc.list_parent_indices(column).to_numpy(zero_copy_only=False)
        return parents, pc.list_flatten(column), len(column)
    if isinstance(column, np.ndarray) and column.dtype.kind != "O":
        return None
    if hasattr(column, "dtype") and getattr(column.dtype, "kind", "O") != "O":
        return None
    if isinstance(column, (str, bytes)) or not isinstance(column, Iterable):
        raise InvalidArgumentError(
            f"records: the field {name!r} is not a column", {"argument": "records"}
        )
    listed = list(column)
    if not any(isinstance(item, (list, tuple, set)) for item in listed):
        return None
    owners: list[int] = []
    values: list[Any] = []
    for at, item in enumerate(listed):
        several = item if isinstance(item, (list, tuple, set)) else [item]
        owners.extend([at] * len(several))
        values.extend(several)
    return np.array(owners, np.uint32), values, len(listed)


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def value_text(name: str, value: Any) -> str:
    """One value as the text under which it is found.

    >>> value_text("x", True), value_text("x", 5.0), value_text("x", "a b")
    ('true', '5', 'a b')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return number_text(value)
    if isinstance(value, np.generic):
        return value_text(name, value.item()) if value.dtype.kind not in "mM" else str(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise InvalidArgumentError(
                f"records: a value of the field {name!r} holds bytes that are not valid UTF-8",
                {"argument": "records"},
            ) from None
    raise InvalidArgumentError(
        f"records: the field {name!r} holds {type(value).__name__}, which has no text",
        {"argument": "records"},
    )


def _from_rows(records: Any, most: int) -> Iterator[RecordSet]:
    if isinstance(records, (str, bytes)) or not isinstance(records, Iterable):
        raise InvalidArgumentError(
            "records: a data frame, an Arrow table, a list of dictionaries, a dictionary of "
            f"columns, or the path of a CSV or JSON lines file, not {type(records).__name__}",
            {"argument": "records"},
        )
    rest = iter(records)
    before = 0
    while (rows := list(itertools.islice(rest, most))) or not before:
        yield _set_of_rows(rows, before)
        before += max(len(rows), 1)


def _set_of_rows(rows: list[Any], before: int) -> RecordSet:
    values: dict[str, tuple[list[int], list[str]]] = {}
    for at, record in enumerate(rows):
        if not isinstance(record, Mapping):
            raise InvalidArgumentError(
                f"records: record {before + at} is {type(record).__name__}, not a dictionary; "
                "nothing was written",
                {"argument": "records"},
            )
        _collect(values, at, "", record)
    fields = []
    for name, (owners, texts) in values.items():
        keys, places = resolve([Items(name, len(texts), source=(name, "list", texts))])[0]
        assert isinstance(keys, TextKeys)
        fields.append(Field(name, keys, places, np.array(owners, np.uint32)))
    return RecordSet(len(rows), fields, rows=rows)


def _collect(
    values: dict[str, tuple[list[int], list[str]]], at: int, outer: str, record: Mapping[Any, Any]
) -> None:
    for key, value in record.items():
        name = f"{outer}{key}"
        if isinstance(value, Mapping):
            _collect(values, at, f"{name}.", value)
            continue
        for one in _leaves(value):
            if isinstance(one, Mapping):
                _collect(values, at, f"{name}.", one)
                continue
            if _missing(one):
                continue
            text = value_text(name, one)
            if text:
                held = values.setdefault(name, ([], []))
                held[0].append(at)
                held[1].append(text)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple, set)):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield value


def _from_path(path: Path, most: int) -> Iterator[RecordSet]:
    with path.open("rb") as file:
        start = file.read(4)
    return _from_parquet(path, most) if start == b"PAR1" else _from_file(path, most)


def _from_parquet(path: Path, most: int) -> Iterator[RecordSet]:
    with load("pyarrow.parquet", "arrow").ParquetFile(path) as file:
        yield from _from_arrow_batches(file.iter_batches(_PARQUET), file.schema_arrow, most)


def _from_file(path: Path, most: int) -> Iterator[RecordSet]:
    """Text and logs, compressed or not. Every cell is text, as it stands; lines of JSON are kept as
    they are."""
    file = NativeRecordFile(path)
    first = True
    while True:
        count, columns, lines = file.next(most)
        if not count and not first:
            return
        first = False
        fields = []
        for name, content, offsets, records in columns:
            source = (name, "buffer", content, offsets)
            keys, places = resolve([Items(name, len(records), source=source)])[0]
            assert isinstance(keys, TextKeys)
            several = bool((records[1:] == records[:-1]).any())
            fields.append(Field(name, keys, places, records, several=several))
        yield RecordSet(count, fields, lines)
