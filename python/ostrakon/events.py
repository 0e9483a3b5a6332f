"""Event types: log files as events, and questions about them."""

from __future__ import annotations

import datetime as dt
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ostrakon.arguments import (
    flag_of,
    integer_of,
    mapping_of,
    number_of,
    one_of,
    optional_integer,
    optional_path,
    optional_text,
    path_of,
    text_of,
    texts_by_text,
    texts_of,
    wrong_type,
)
from ostrakon.display import counted, shortened, table_html
from ostrakon.errors import Error, InvalidArgumentError
from ostrakon.histogram import Histogram, TopValues, moment_of
from ostrakon.ranges import Bytes
from ostrakon.rows import batches_of, frame_of, polars_of, table_of, tuples_of
from ostrakon.scan import auths_of, limit_of

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from ostrakon._native import NativeEvents, NativeRows

__all__ = [
    "Calibration",
    "Disagreement",
    "EventCheck",
    "EventField",
    "EventIngest",
    "EventPage",
    "EventQuery",
    "EventRepair",
    "Events",
    "When",
]

# A moment: a time, a day, or a text such as `2015-05-17T10:05:03Z`.
When = dt.datetime | dt.date | str


class EventField(NamedTuple):
    """A field of an event type."""

    name: str
    type: str
    indexed: bool


class EventIngest(NamedTuple):
    """What `Events.ingest` stored.

    `duplicates` were stored already; `repeated` of them equal a new event of the same call.
    `rejected` counts the lines that are not events of the type; `reasons` has the first 100 of
    them: file, line and reason.
    """

    events: int
    duplicates: int
    entries: int
    rejected: int
    reasons: list[tuple[str, int, str]]
    seconds: float
    repeated: int = 0


class Disagreement(NamedTuple):
    """A place where the index or the counts of an event type do not say what its events say.

    `table` is `index` or `aggregate`, `field` is empty for the count of all events, and `bin` is
    the start of a span of time. `expected` is the number of events there, `found` what the table
    says.
    """

    table: str
    field: str
    bin: dt.datetime
    expected: int
    found: int


class EventCheck(NamedTuple):
    """The result of `Events.check`; `disagreements` is empty if the tables agree.

    `unknown_batches` are the first and the last batch that the registry of event types does not
    know, because a part of it was lost. Nothing of them counts until `Events.repair` takes them in.
    """

    events: int
    index_entries: int
    counts: int
    disagreements: list[Disagreement]
    unknown_batches: tuple[int, int] | None = None


class EventRepair(NamedTuple):
    """What `Events.repair` corrected: entries added to the index and removed from it, counts.

    `batches` are the first and the last batch that were taken in; see `EventCheck`.
    """

    added: int
    removed: int
    counts: int
    batches: tuple[int, int] | None = None


class Calibration(NamedTuple):
    """What `Events.calibrate` measured.

    `threshold` is the share of events below which the index is used.
    """

    scanned_per_second: float
    fetched_per_second: float
    threshold: float


class EventPage(NamedTuple):
    """A part of the events of a query, returned by `EventQuery.page`.

    `token` continues the query (`resume=`); it is `None` if there are no more events.
    """

    events: pyarrow.Table
    token: str | None


_SPAN = "a span of time as text, such as '1h', '15m' or '30d', or a timedelta"
_MOMENT = (
    "a datetime, a date, or a text such as '2024-05-17T10:05:03Z', '2024-05-17' or '@1715940303'"
)
_CONDITION = 'a condition as text, such as "status >= 400"'
_TOML = "a definition as TOML text, such as `Events.toml` returns"
_COUNT_BY = ("auto", "aggregates", "index", "scan")
_FORMATS = ("zeek", "json", "web", "squid", "syslog", "dpkg", "csv", "tsv")
_SHORT_SPAN = "a span of time as text, such as '50ms'"
_U32 = 2**32 - 1
_ABOUT_A_SHARE = "a number, such as 0.05"
_ABOUT_EVENTS = "a number of events"

# Settings of the planner, which `Events.query` takes, and what each of them takes.
_PLANNER: dict[str, Callable[[str, Any], Any]] = {
    "threshold": lambda name, given: number_of(name, given, _ABOUT_A_SHARE),
    "factor": lambda name, given: number_of(name, given, _ABOUT_A_SHARE),
    "first_events": lambda name, given: integer_of(name, given, _ABOUT_EVENTS),
    "window_events": lambda name, given: integer_of(name, given, _ABOUT_EVENTS),
    "window_short": lambda name, given: text_of(name, given, _SHORT_SPAN),
    "window_long": lambda name, given: text_of(name, given, _SHORT_SPAN),
    "window_growth": lambda name, given: integer_of(name, given, "a factor, such as 4", 0, _U32),
    "memory_bytes": lambda name, given: integer_of(name, given, "a number of bytes"),
    "threads": lambda name, given: integer_of(name, given, "a number of threads"),
}


def _planner_of(planner: Any) -> dict[str, Any]:
    """All settings of the planner; those that are not given are `None`."""
    given = mapping_of("planner", planner, "{'threads': 2}")
    for name in given:
        if name not in _PLANNER:
            raise InvalidArgumentError(
                f"`planner` has {name!r}; the settings are {', '.join(_PLANNER)}",
                {"argument": "planner"},
            )
    return {
        name: None if given.get(name) is None else check(f"planner[{name!r}]", given[name])
        for name, check in _PLANNER.items()
    }


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
        self._native.change(self._name, text_of("toml", toml, _TOML))

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
        rejects: str | PathLike[str] | None = None,
        allow_rejected: bool = False,
    ) -> EventIngest:
        """Reads log files: Zeek's logs, JSON lines, web servers' logs, Squid, syslog, dpkg, CSV and
        TSV, packed by gzip or zstd or not.

        An event is stored once, however often it is ingested. A line that is not an event is
        rejected and counted. If all lines are rejected, this raises `InvalidArgumentError`, unless
        `allow_rejected` is true. `rejects` is the path of a file that gets all rejected lines with
        file, line number, reason and text, as TSV. It replaces such a file of an earlier call, and
        no other file. After Ctrl-C, ingest the same files again. `map` gives fields of the files
        other names; `enrich` adds the columns of a table to the events whose field is a key in the
        table's first column. Give the same ones as to `Store.create_events`.

        If most fields of a file are not fields of the type, the file may be a log of another kind:
        its events are stored, and a `UserWarning` says how to remove them.
        """
        if not files:
            raise InvalidArgumentError("`ingest` needs the path of a log file", {})
        allow_rejected = flag_of("allow_rejected", allow_rejected)
        started = time.monotonic()
        events, duplicates, repeated, entries, rejected, reasons, unlike = self._native.ingest(
            self._name,
            [Path(path_of("files", file)) for file in files],
            files_of(format, map, enrich),
            optional_integer("batch_events", batch_events, _ABOUT_EVENTS),
            optional_path("rejects", rejects),
        )
        shown = [(str(file), line, reason) for file, line, reason in reasons]
        seconds = time.monotonic() - started
        for path, unknown, fields, condition in unlike:
            warnings.warn(self._of_another_kind(path, unknown, fields, condition), stacklevel=2)
        if rejected and not (events or duplicates or allow_rejected):
            file, line, reason = shown[0]
            raise InvalidArgumentError(
                f"no line is an event of {self._name!r}, and all were rejected "
                f"({counted(rejected, 'line')}), the first of them, line {line} of {file}, because "
                f"{reason}: check that the files are logs of this type, or pass "
                "`allow_rejected=True`, which returns the lines and reasons",
                {"type": self._name, "file": file, "line": str(line), "rejected": str(rejected)},
            )
        return EventIngest(events, duplicates, entries, rejected, shown, seconds, repeated)

    def _of_another_kind(
        self, file: Path, unknown: list[str], fields: int, condition: str | None
    ) -> str:
        removal = (
            ""
            if condition is None
            else f', and remove its events with `query("{condition}").delete()`; `count()` first '
            "tells how many events have none of these fields"
        )
        return (
            f"{len(unknown)} of {fields} fields of {str(file)!r} are not fields of the type "
            f"{self._name!r}, and are kept as text ({', '.join(unknown[:5])}): it may be a log of "
            "another kind. If it is, create a type for it with `Store.create_events`"
            f"{removal}; otherwise add the fields with `change`"
        )

    def query(
        self,
        condition: str = "",
        *,
        last: str | dt.timedelta | None = None,
        from_time: When | None = None,
        to_time: When | None = None,
        now: When | None = None,
        fields: Sequence[str] | None = None,
        limit: int | None = None,
        auths: Bytes | Iterable[Bytes] | None = None,
        path: str = "auto",
        then: Sequence[str] = (),
        resume: str | None = None,
        planner: Mapping[str, Any] | None = None,
    ) -> EventQuery:
        """Describes a query for the events that fulfil a condition; see `EventQuery`.

        `last="1d"`, or a timedelta, takes those of the last day, `from_time` and `to_time`
        (excluded) those of a time, and `now` is the moment that counts as the present. As text, a
        moment is a date or time such as `2015-05-17T10:05:03Z`, or seconds since 1970; those below
        100,000,000 are written with an `@`, because `2025` could be a year. `path` is `index` or
        `scan` instead of what the planner chooses. Each text `TYPE.FIELD=FIELD` of `then` follows
        up: it takes the values that a field has among the events found, and looks for the events of
        another type that have one of them.

        `resume` is the token of an earlier page of the same query: see `EventQuery.page`. `planner`
        has settings of the planner, with the names of the options of `ostrakon events query`:
        `threshold`, `factor`, `first_events`, `window_events`, `window_short` and `window_long`
        (such as `"50ms"`), `window_growth`, `threads`; and `memory_bytes`, the most bytes of events
        that are held at once.
        """
        question = {
            "name": self._name,
            "condition": text_of("condition", condition, _CONDITION),
            "last": None if last is None else _span("last", last),
            "from_time": _when("from_time", from_time),
            "to_time": _when("to_time", to_time),
            "now": _when("now", now),
            "fields": None if fields is None else texts_of("fields", fields, "['host', 'status']"),
            "limit": limit_of(limit),
            "auths": auths_of(auths),
            "path": one_of("path", path, ("auto", "index", "scan")),
            "then": texts_of("then", then, "['dns.client=host']"),
            "resume": optional_text("resume", resume, "the `token` of an `EventPage`"),
            "planner": _planner_of(planner),
        }
        return EventQuery(self._native, question)

    def age_off(self, before: When | None = None) -> dt.datetime:
        """Removes the events before a time, of all labels; by default those that are older than
        the type keeps them (`keep`). Returns the time from which on events are kept.

        The time is rounded down to a whole bin of counts. Older events are rejected by `ingest`
        from then on. A store that was opened with `auths` rejects this: use
        `query(to_time=…).delete()`, which deletes what the reader sees.
        """
        return moment_of(self._native.age_off(self._name, _when("before", before)))

    def check(self, *, auths: Bytes | Iterable[Bytes] | None = None) -> EventCheck:
        """Compares index and counts with the events that the authorizations allow to see."""
        return self._check(auths, repair=False)[0]

    def repair(self, *, auths: Bytes | Iterable[Bytes] | None = None) -> EventRepair:
        """Checks index and counts, and corrects what does not agree with the events. The events do
        not change, except that batches that the registry does not know are taken in."""
        return self._check(auths, repair=True)[1]

    def _check(
        self, auths: Bytes | Iterable[Bytes] | None, *, repair: bool
    ) -> tuple[EventCheck, EventRepair]:
        question = self.query(auths=auths)._question
        checked, repaired = self._native.check(question, repair)
        events, index_entries, counts, wrong, unknown = checked
        disagreements = [
            Disagreement(table, field, moment_of(start), expected, found)
            for table, field, start, expected, found in wrong
        ]
        check = EventCheck(events, index_entries, counts, disagreements, unknown)
        return check, EventRepair(*(repaired or (0, 0, 0)))

    def calibrate(self, *, auths: Bytes | Iterable[Bytes] | None = None) -> Calibration:
        """Measures on this machine the share of events below which the index is faster than a
        scan, and keeps it for the planner. Needs at least 1,000 events that the reader sees."""
        return Calibration(*self._native.calibrate(self.query(auths=auths)._question))

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
        return EventQuery(self._native, {**self._question, "limit": limit_of(events, "events")})

    def batches(self) -> Iterator[pyarrow.RecordBatch]:
        """The events as pyarrow record batches, as they are found."""
        return batches_of(self._start())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's stream interface."""
        return self._start().__arrow_c_stream__(requested_schema)

    def head(self, events: int = 5) -> list[dict[str, Any]]:
        """The newest events as dictionaries of Python objects; needs pyarrow."""
        most, events = self._question["limit"], integer_of("events", events, _ABOUT_EVENTS)
        some = self.limit(events if most is None else min(most, events))
        table = some.to_arrow()
        rows = tuples_of(iter(table.to_batches()))
        return [dict(zip(table.column_names, row, strict=True)) for row in rows]

    def page(self, events: int) -> EventPage:
        """The first events, and a token with which another query returns the next ones.

        The token belongs to the event type, the condition and the end of the time. If these depend
        on the present, give each query the same `now`.

        >>> import ostrakon, tempfile, pathlib
        >>> log = pathlib.Path(tempfile.mkdtemp()) / "web.csv"
        >>> days = [f"2024-05-{day:02}T10:00:00Z,{day}\\n" for day in range(1, 6)]
        >>> _ = log.write_text("time,day\\n" + "".join(days))
        >>> with ostrakon.open() as store:
        ...     web = store.create_events("web", log)
        ...     _ = web.ingest(log)
        ...     page = web.query().page(3)
        ...     rest = web.query(resume=page.token).page(3)
        ...     page.events["day"].to_pylist(), rest.events["day"].to_pylist(), rest.token
        ([5, 4, 3], [2, 1], None)
        """
        events = integer_of("events", events, _ABOUT_EVENTS)
        rows, token = self._native.page({**self._question, "limit": events})
        return EventPage(table_of(rows), token)

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
        """The number of events that the query returns. See `histogram` for `count_by`, which has
        no effect on a query with `then`: its events are read."""
        limit, count_by = self._question["limit"], one_of("count_by", count_by, _COUNT_BY)
        if self._question["then"]:
            rows = self._native.query({**self._question, "fields": []})
            count = 0
            while (batch := rows.next_batch()) is not None:
                count += len(batch)
            return count
        count = self._native.count(self._question, count_by)
        return count if limit is None else min(count, limit)

    def histogram(self, by: str | dt.timedelta, *, count_by: str = "auto") -> Histogram:
        """The number of events in each span of time: `histogram("1h")`. The limit must be `None`.
        Spans are counted from 1970, so that weeks begin on Thursdays.

        `count_by` is `aggregates` (the counts kept at ingest), `index` or `scan`, or whatever is
        cheapest. The answer is the same.
        """
        span, way = _span("by", by), one_of("count_by", count_by, _COUNT_BY)
        micros, shown, bins = self._native.histogram(self._whole("a histogram"), span, way)
        return Histogram(self._title(), shown, micros, bins)

    def top(self, field: str, limit: int = 10, *, count_by: str = "auto") -> TopValues:
        """The `limit` most frequent values of a field. The limit of the query must be `None`."""
        question = self._whole("`top`")
        field = text_of("field", field, "the name of a field")
        most = integer_of("limit", limit, "a number of values")
        way = one_of("count_by", count_by, _COUNT_BY)
        found = self._native.top(question, field, most, way)
        return TopValues(field, *found)

    def explain(self, *, analyze: bool = False) -> str:
        """Describes how the query is answered. With `analyze`, runs it and says what was read."""
        analyze = flag_of("analyze", analyze)
        return _explained(self._native.explain(self._alone(), analyze))

    def delete(self) -> int:
        """Deletes the events, and returns their number. The limit must be `None`."""
        return self._native.delete(self._whole("`delete`"))

    def _whole(self, what: str) -> dict[str, Any]:
        """The question, for an answer about all events of the query."""
        if self._question["limit"] is not None:
            raise InvalidArgumentError(
                f"{what} is about all events of the query, and the query has a limit: remove it "
                "with `.limit(None)`",
                {"argument": "limit"},
            )
        return self._alone()

    def _alone(self) -> dict[str, Any]:
        if self._question["then"]:
            raise InvalidArgumentError(
                "a query with `then` returns and counts events, and nothing else",
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
            if name not in {"name", "condition", "planner"} and value not in (None, [], "auto")
        ]
        planner = {
            name: value for name, value in self._question["planner"].items() if value is not None
        }
        said += [f"planner={planner}"] if planner else []
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
    enrich = mapping_of("enrich", tables, "{'host': 'hosts.csv'}")
    return {
        "format": optional_text("format", format_, f"one of {', '.join(_FORMATS)}"),
        "map": list(texts_by_text("map", names, "{'ts': 'time'}").items()),
        "enrich": [
            (text_of("enrich", field, "names of fields"), Path(path_of("enrich", path)))
            for field, path in enrich.items()
        ],
    }


def _span(argument: str, span: str | dt.timedelta) -> str:
    """A span of time as text."""
    if isinstance(span, dt.timedelta):
        return f"{span // dt.timedelta(microseconds=1)}us"
    return text_of(argument, span, _SPAN)


def _when(argument: str, moment: When | None) -> str | None:
    """A moment as text. One without a zone is in UTC."""
    if moment is None:
        return None
    if isinstance(moment, dt.datetime):
        # pandas has a time that is none, and not equal to itself.
        if moment != moment:  # noqa: PLR0124
            raise wrong_type(argument, f"{_MOMENT}, or None", moment)
        if moment.tzinfo is not None:
            moment = moment.astimezone(dt.timezone.utc).replace(tzinfo=None)
        return moment.isoformat() + "Z"
    if isinstance(moment, dt.date):
        return moment.isoformat()
    return text_of(argument, moment, f"{_MOMENT}, or None")


def _explained(plan: Mapping[str, Any]) -> str:
    moments = (plan["from"], plan["to"])
    times = "all" if moments == ("unbounded", "unbounded") else "{} to {}".format(*moments)
    lines = [
        f"path       {plan['path']}",
        f"because    {plan['reason']}",
        f"times      {times}",
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
            f"read       {actual['handled'] or 0:,} entries, returned {actual['sent']:,} events"
        )
        lines.append(f"took       {actual['seconds'] * 1e3:.1f} ms")
    return "\n".join(lines)
