"""Event types."""

from __future__ import annotations

import datetime as dt
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ostrakon.arguments import (
    flag_of,
    one_of,
    optional_integer,
    optional_path,
    optional_text,
    path_of,
    text_of,
    texts_of,
)
from ostrakon.display import counted, table_html
from ostrakon.errors import Error, InvalidArgumentError
from ostrakon.events.arguments import (
    ABOUT_EVENTS,
    CONDITION,
    TOML,
    When,
    files_of,
    planner_of,
    span_of,
    when_of,
)
from ostrakon.events.query import EventQuery
from ostrakon.events.results import (
    Calibration,
    Disagreement,
    EventCheck,
    EventField,
    EventIngest,
    EventRepair,
)
from ostrakon.histogram import moment_of
from ostrakon.ranges import Bytes
from ostrakon.scan import auths_of, limit_of

if TYPE_CHECKING:
    from ostrakon._native import NativeEvents


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
        self._native.change(self._name, text_of("toml", toml, TOML))

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
            optional_integer("batch_events", batch_events, ABOUT_EVENTS),
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
            "condition": text_of("condition", condition, CONDITION),
            "last": None if last is None else span_of("last", last),
            "from_time": when_of("from_time", from_time),
            "to_time": when_of("to_time", to_time),
            "now": when_of("now", now),
            "fields": None if fields is None else texts_of("fields", fields, "['host', 'status']"),
            "limit": limit_of(limit),
            "auths": auths_of(auths),
            "path": one_of("path", path, ("auto", "index", "scan")),
            "then": texts_of("then", then, "['dns.client=host']"),
            "resume": optional_text("resume", resume, "the `token` of an `EventPage`"),
            "planner": planner_of(planner),
        }
        return EventQuery(self._native, question)

    def age_off(self, before: When | None = None) -> dt.datetime:
        """Removes the events before a time, of all labels; by default those that are older than
        the type keeps them (`keep`). Returns the time from which on events are kept.

        The time is rounded down to a whole bin of counts. Older events are rejected by `ingest`
        from then on. A store that was opened with `auths` rejects this: use
        `query(to_time=…).delete()`, which deletes what the reader sees.
        """
        return moment_of(self._native.age_off(self._name, when_of("before", before)))

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
        scan, and keeps it for the planner. Needs at least 10,000 events that the reader sees."""
        return Calibration(*self._native.calibrate(self.query(auths=auths)._question))

    def __repr__(self) -> str:
        return f"<ostrakon.Events {self._name!r}>"

    def _repr_html_(self) -> str:
        try:
            lines = [tuple(field) for field in self.fields]
        except Error as error:
            return table_html((), (), f"{self!r}: {error}")
        return table_html(EventField._fields, lines, repr(self))
