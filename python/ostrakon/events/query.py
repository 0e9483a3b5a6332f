"""Queries of events."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ostrakon.arguments import flag_of, integer_of, one_of, text_of
from ostrakon.display import counted, shortened, table_html
from ostrakon.errors import Error, InvalidArgumentError
from ostrakon.events.arguments import ABOUT_EVENTS, COUNT_BY, span_of
from ostrakon.events.results import EventPage
from ostrakon.histogram import Histogram, TopValues
from ostrakon.rows import batches_of, frame_of, polars_of, table_of, tuples_of
from ostrakon.scan import limit_of

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from ostrakon._native import NativeEvents, NativeRows

# Maximum number of events that a notebook shows.
_SHOWN = 10


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
        most, events = self._question["limit"], integer_of("events", events, ABOUT_EVENTS)
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
        events = integer_of("events", events, ABOUT_EVENTS)
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
        no effect on a query with `then` or `resume`: its events are read."""
        limit, count_by = self._question["limit"], one_of("count_by", count_by, COUNT_BY)
        if self._question["then"] or self._question["resume"] is not None:
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
        span, way = span_of("by", by), one_of("count_by", count_by, COUNT_BY)
        question = self._from_the_newest("a histogram", self._whole("a histogram"))
        micros, shown, bins = self._native.histogram(question, span, way)
        return Histogram(self._title(), shown, micros, bins)

    def top(self, field: str, limit: int = 10, *, count_by: str = "auto") -> TopValues:
        """The `limit` most frequent values of a field. The limit of the query must be `None`."""
        question = self._from_the_newest("`top`", self._whole("`top`"))
        field = text_of("field", field, "the name of a field")
        most = integer_of("limit", limit, "a number of values")
        way = one_of("count_by", count_by, COUNT_BY)
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

    def _from_the_newest(self, what: str, question: dict[str, Any]) -> dict[str, Any]:
        """The question, for an answer that does not continue an earlier one."""
        if question["resume"] is not None:
            raise InvalidArgumentError(
                f"{what} is about all events of the query, and it has `resume`: leave that out",
                {"argument": "resume"},
            )
        return question

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
