"""Event types: log files as events, and questions about them."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ostrakon.display import counted, shortened, table_html
from ostrakon.errors import Error, InvalidArgumentError
from ostrakon.histogram import Histogram, TopValues
from ostrakon.ranges import Bytes
from ostrakon.rows import batches_of, frame_of, polars_of, table_of, tuples_of
from ostrakon.scan import auths_of, limit_of

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from ostrakon._native import NativeEvents, NativeRows

__all__ = ["EventField", "EventIngest", "EventQuery", "Events", "When"]

# A moment: a time, a day, or a text such as `2015-05-17T10:05:03Z`.
When = dt.datetime | dt.date | str


class EventField(NamedTuple):
    """A field of an event type."""

    name: str
    type: str
    indexed: bool


class EventIngest(NamedTuple):
    """What `Events.ingest` stored.

    `duplicates` were stored already. `rejected` counts the lines that are not events of the type;
    `reasons` has the first 100 of them: file, line and reason.
    """

    events: int
    duplicates: int
    entries: int
    rejected: int
    reasons: list[tuple[str, int, str]]
    seconds: float


class Events:
    """The events of one type. Returned by `Store.events` and `Store.create_events`.

    >>> import ostrakon, tempfile, pathlib
    >>> log = pathlib.Path(tempfile.mkdtemp()) / "web.csv"
    >>> lines = ["time,host,status", "2024-05-17T10:05:03Z,a,200", "2024-05-17T11:00:00Z,b,404"]
    >>> _ = log.write_text("\\n".join(lines))
    >>> with ostrakon.open() as store:
    ...     web = store.create_events("web", log)
    ...     web.ingest(log).events
    ...     web.query("status >= 400").to_arrow().column("host").to_pylist()
    ...     web.query().histogram("1h")
    2
    ['b']
    2024-05-17T10:00:00Z  1  ██████████████████████████████████████████████████
    2024-05-17T11:00:00Z  1  ██████████████████████████████████████████████████
    """

    __slots__ = ("_name", "_native")

    def __init__(self, native: NativeEvents, name: str) -> None:
        self._native = native
        self._name = name

    @property
    def name(self) -> str:
        """The name of the type."""
        return self._name

    @property
    def fields(self) -> list[EventField]:
        """The fields of the type."""
        return [EventField(*field) for field in self._native.fields(self._name)]

    @property
    def toml(self) -> str:
        """The definition of the type; `change` takes it back."""
        return self._native.toml(self._name)

    def change(self, toml: str) -> None:
        """Replaces the definition of the type. Stored events are not rewritten."""
        self._native.change(self._name, toml)

    def drop(self) -> None:
        """Deletes the type and all its events, whatever their labels."""
        self._native.drop_type(self._name)

    def ingest(
        self,
        *files: str | PathLike[str],
        format: str | None = None,  # noqa: A002 - the word of `ostrakon events ingest`
        map: Mapping[str, str] | None = None,  # noqa: A002 - likewise
        enrich: Mapping[str, str | PathLike[str]] | None = None,
        batch_events: int | None = None,
    ) -> EventIngest:
        """Reads log files: Zeek's logs, JSON lines, web servers' logs, Squid, syslog, dpkg, CSV and
        TSV, packed by gzip or zstd or not.

        An event is stored once, however often it is ingested. A line that is not an event is
        rejected and counted. After Ctrl-C, ingest the same files again. `map` gives fields of the
        files other names; `enrich` adds the columns of a table to the events whose field is a key
        in the table's first column. Say both as they were said to `Store.create_events`.
        """
        if not files:
            raise InvalidArgumentError("`ingest` needs the path of a log file", {})
        started = time.monotonic()
        events, duplicates, entries, rejected, reasons = self._native.ingest(
            self._name, [Path(file) for file in files], files_of(format, map, enrich), batch_events
        )
        shown = [(str(file), line, reason) for file, line, reason in reasons]
        seconds = time.monotonic() - started
        return EventIngest(events, duplicates, entries, rejected, shown, seconds)

    def query(
        self,
        condition: str = "",
        *,
        last: str | None = None,
        from_time: When | None = None,
        to_time: When | None = None,
        now: When | None = None,
        fields: Sequence[str] | None = None,
        limit: int | None = None,
        auths: Bytes | Iterable[Bytes] | None = None,
        path: str = "auto",
        then: Sequence[str] = (),
    ) -> EventQuery:
        """Describes a query for the events that fulfil a condition; see `EventQuery`.

        `last="1d"` takes those of the last day, `from_time` and `to_time` (excluded) those of a
        time, and `now` is the moment that counts as the present. `path` is `index` or `scan`
        instead of what the planner chooses. Each text `TYPE.FIELD=FIELD` of `then` follows up: it
        takes the values that a field has among the events found, and looks for the events of
        another type that have one of them.
        """
        if isinstance(fields, str) or isinstance(then, str):
            raise InvalidArgumentError(
                "`fields` and `then` are lists of texts, not one text",
                {"argument": "fields" if isinstance(fields, str) else "then"},
            )
        question = {
            "name": self._name,
            "condition": condition,
            "last": last,
            "from_time": _when(from_time),
            "to_time": _when(to_time),
            "now": _when(now),
            "fields": None if fields is None else list(fields),
            "limit": limit_of(limit),
            "auths": auths_of(auths),
            "path": path,
            "then": list(then),
        }
        return EventQuery(self._native, question)

    def __repr__(self) -> str:
        return f"<ostrakon.Events {self._name!r}>"

    def _repr_html_(self) -> str:
        try:
            lines = [tuple(field) for field in self.fields]
        except Error as error:
            return table_html((), (), f"{self!r}: {error}")
        return table_html(EventField._fields, lines, repr(self))


class EventQuery:
    """The description of a query, returned by `Events.query`; it runs each time it is read.

    Events come newest first, as columns with types: `time` in UTC, the fields, and the label,
    `visibility`. A value that is not of its field's type is null. The query has Arrow's stream
    interface, and `batches` reads it in bounded memory; reading may stop at any time.
    """

    __slots__ = ("_native", "_question")

    def __init__(self, native: NativeEvents, question: dict[str, Any]) -> None:
        self._native = native
        self._question = question

    def _start(self) -> NativeRows:
        return self._native.query(self._question)

    def limit(self, events: int | None) -> EventQuery:
        """The query for at most this many events; `None` means all."""
        return EventQuery(self._native, {**self._question, "limit": limit_of(events)})

    def batches(self) -> Iterator[pyarrow.RecordBatch]:
        """The events as pyarrow record batches, as they are found."""
        return batches_of(self._start())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's stream interface."""
        return self._start().__arrow_c_stream__(requested_schema)

    def head(self, events: int = 5) -> list[dict[str, Any]]:
        """The newest events as dictionaries of Python objects; needs pyarrow."""
        most = self._question["limit"]
        some = self.limit(events if most is None else min(most, events))
        table = some.to_arrow()
        rows = tuples_of(iter(table.to_batches()))
        return [dict(zip(table.column_names, row, strict=True)) for row in rows]

    def to_arrow(self) -> pyarrow.Table:
        """All events as a pyarrow table."""
        return table_of(self._start())

    def to_pandas(self) -> pandas.DataFrame:
        """All events as a pandas frame; needs pyarrow too."""
        return frame_of(self.to_arrow())

    def to_polars(self) -> polars.DataFrame:
        """All events as a polars frame; needs pyarrow too."""
        return polars_of(self.to_arrow())

    def count(self, *, count_by: str = "auto") -> int:
        """The number of events, whatever the limit. See `histogram` for `count_by`."""
        return self._native.count(self._alone(), count_by)

    def histogram(self, by: str, *, count_by: str = "auto") -> Histogram:
        """The number of events in each span of time, whatever the limit: `histogram("1h")`.

        `count_by` is `aggregates` (the counts kept at ingest), `index` or `scan`, or whatever is
        cheapest. The answer is the same.
        """
        micros, shown, bins = self._native.histogram(self._alone(), by, count_by)
        return Histogram(self._title(), shown, micros, bins)

    def top(self, field: str, limit: int = 10, *, count_by: str = "auto") -> TopValues:
        """The most frequent values of a field among the events, whatever the limit of these."""
        found = self._native.top(self._alone(), field, limit_of(limit) or 0, count_by)
        return TopValues(field, *found)

    def explain(self, *, analyze: bool = False) -> str:
        """Describes how the query is answered. With `analyze`, runs it and says what was read."""
        return _explained(self._native.explain(self._alone(), analyze))

    def delete(self) -> int:
        """Deletes the events, and returns their number. The limit must be `None`."""
        if self._question["limit"] is not None:
            raise InvalidArgumentError(
                "a query with a limit cannot delete: it would choose among the events", {}
            )
        return self._native.delete(self._alone())

    def _alone(self) -> dict[str, Any]:
        if self._question["then"]:
            raise InvalidArgumentError(
                "a query with `then` returns events: count them by `len(query.to_arrow())`",
                {"argument": "then"},
            )
        return self._question

    def _title(self) -> str:
        name, condition = self._question["name"], self._question["condition"]
        return f"{name}: {condition}" if condition else str(name)

    def __repr__(self) -> str:
        said = [
            f"{name}={shortened(value)}"
            for name, value in self._question.items()
            if name not in {"name", "condition"} and value not in (None, [], "auto")
        ]
        return f"<ostrakon.EventQuery of {self._title()!r}{''.join(f', {one}' for one in said)}>"

    def _repr_html_(self) -> str:
        try:
            found = self.limit(min(self._question["limit"] or _SHOWN, _SHOWN)).to_arrow()
        except Error as error:
            return table_html((), (), f"{self!r}: {error}")
        lines = list(tuples_of(iter(found.to_batches())))
        return table_html(found.column_names, lines, f"{self!r}: {counted(len(lines), 'event')}")


# Maximum number of events that a notebook shows.
_SHOWN = 10


def files_of(
    format_: str | None,
    names: Mapping[str, str] | None,
    tables: Mapping[str, str | PathLike[str]] | None,
) -> dict[str, Any]:
    """How log files are read, in the form of the native part."""
    return {
        "format": format_,
        "map": list((names or {}).items()),
        "enrich": [(field, Path(path)) for field, path in (tables or {}).items()],
    }


def _when(moment: When | None) -> str | None:
    """A moment as text. One without a zone is in UTC."""
    if isinstance(moment, dt.datetime):
        if moment.tzinfo is not None:
            moment = moment.astimezone(dt.timezone.utc).replace(tzinfo=None)
        return moment.isoformat() + "Z"
    if isinstance(moment, dt.date):
        return moment.isoformat()
    return moment


def _explained(plan: Mapping[str, Any]) -> str:
    lines = [
        f"path       {plan['path']}",
        f"because    {plan['reason']}",
        f"times      {plan['from']} to {plan['to']}",
        f"events     {plan['events']:,} in these times, about {plan['estimate']:,} to read",
    ]
    for test, events, used in plan["tests"]:
        number = "too many values to count" if events is None else f"{events:,}"
        lines.append(f"test       {test} ({number}; {'index' if used else 'filter'})")
    of = "of the index" if plan["path"] == "index" else "one per shard"
    lines.append(f"ranges     {plan['ranges']:,}, {of}, for each window of time")
    lines.append(f"condition  {plan['condition']}")
    actual = plan.get("actual")
    if actual is not None:
        lines.append(f"found      {actual['events']:,} events in {actual['windows']:,} windows")
        if actual["looked_up"]:
            lines.append(f"looked up  {actual['looked_up']:,} events in the index")
        lines.append(
            f"handled    {actual['handled'] or 0:,} entries next to the data, {actual['sent']:,} "
            "events sent from there"
        )
        lines.append(f"took       {actual['seconds'] * 1e3:.1f} ms")
    return "\n".join(lines)
