"""Counts of events by time, as data and as plots."""

from __future__ import annotations

import datetime as dt
import html
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ostrakon.display import counted, table_html
from ostrakon.extras import load

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["Histogram", "TopValues"]

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
# Maximum number of bins without events that are shown and returned between others.
_BINS = 100_000
# Maximum number of bars that a notebook or a text shows one by one.
_BARS = 400
_WIDTH = 50


class Histogram(Sequence[tuple[dt.datetime, int]]):
    """The number of events in each bin of time: pairs of the bin's start, in UTC, and the count.

    Bins without events between others are there, with 0, unless there would be more than 100,000
    bins. `repr` shows bars of text, and a notebook a plot.
    """

    __slots__ = ("_bins", "_by", "_micros", "_title")

    def __init__(self, title: str, by: str, micros: int, found: list[tuple[int, int]]) -> None:
        self._title = title
        self._by = by
        self._micros = micros
        self._bins = found
        if found and (found[-1][0] - found[0][0]) // micros < _BINS:
            counts = dict(found)
            starts = range(found[0][0], found[-1][0] + 1, micros)
            self._bins = [(start, counts.get(start, 0)) for start in starts]

    @property
    def by(self) -> str:
        """The span of a bin."""
        return self._by

    @property
    def total(self) -> int:
        """The number of events in all bins."""
        return sum(self.counts)

    @property
    def times(self) -> list[dt.datetime]:
        """The starts of the bins."""
        return [moment_of(start) for start, _ in self._bins]

    @property
    def counts(self) -> list[int]:
        """The number of events in each bin."""
        return [count for _, count in self._bins]

    def __len__(self) -> int:
        return len(self._bins)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [(moment_of(start), count) for start, count in self._bins[at]]
        start, count = self._bins[at]
        return moment_of(start), count

    def __iter__(self) -> Iterator[tuple[dt.datetime, int]]:
        return ((moment_of(start), count) for start, count in self._bins)

    def to_arrow(self) -> pyarrow.Table:
        """The bins as a pyarrow table with the columns `time` and `events`."""
        pyarrow = load("pyarrow", "arrow")
        times = pyarrow.array([start for start, _ in self._bins], pyarrow.timestamp("us", tz="UTC"))
        return pyarrow.table({"time": times, "events": pyarrow.array(self.counts, pyarrow.int64())})

    def to_pandas(self) -> pandas.DataFrame:
        """The bins as a pandas frame with the index `time` and the column `events`."""
        load("pandas", "pandas")
        return self.to_arrow().to_pandas().set_index("time")

    def to_polars(self) -> polars.DataFrame:
        """The bins as a polars frame with the columns `time` and `events`."""
        frame: polars.DataFrame = load("polars", "polars").DataFrame(self.to_arrow())
        return frame

    def plot(self, axes: Any = None) -> Any:
        """Plots the bins by matplotlib, into `axes` or a new figure. Returns the axes."""
        if axes is None:
            axes = load("matplotlib.pyplot", "plots").subplots(figsize=(8, 2.5))[1]
        width = dt.timedelta(microseconds=self._micros)
        axes.bar(self.times, self.counts, width=width, align="edge", linewidth=0)
        axes.set_title(self._title)
        axes.set_ylabel(f"events per {self._by}")
        axes.xaxis_date(dt.timezone.utc)
        axes.figure.autofmt_xdate()
        return axes

    def __repr__(self) -> str:
        if not self._bins:
            return f"{self._title}: no events"
        most = max(self.counts)
        digits = len(f"{most:,}")
        lines = [
            f"{_shown(start)}  {count:>{digits},}  {'█' * -(-count * _WIDTH // most)}".rstrip()
            for start, count in self._bins[:_BARS]
        ]
        if len(self._bins) > _BARS:
            lines.append(f"… {len(self._bins) - _BARS:,} more bins")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        title = f"{self._title}: {counted(self.total, 'event')}, bins of {self._by}"
        if not self._bins:
            return f"<p>{html.escape(title)}</p>"
        # Bars that are narrower than a unit are added up.
        span = -(-len(self._bins) // _BARS)
        sums = [
            sum(count for _, count in self._bins[at : at + span])
            for at in range(0, len(self._bins), span)
        ]
        most, step = max(sums), 600 / len(sums)
        bars = "".join(
            f'<rect x="{at * step:.2f}" y="{100 - 100 * count / most:.2f}" '
            f'width="{max(step * 0.9, 0.5):.2f}" height="{100 * count / most:.2f}">'
            f"<title>{_shown(self._bins[at * span][0])}: {count:,}</title></rect>"
            for at, count in enumerate(sums)
            if count
        )
        return (
            f"<p>{html.escape(title)}</p>"
            '<svg viewBox="0 0 600 118" width="600" height="118" role="img" fill="currentColor">'
            f'<g fill="#4477aa">{bars}</g><line x1="0" y1="100" x2="600" y2="100" stroke="#888"/>'
            f'<text x="0" y="114" font-size="11">{_shown(self._bins[0][0])}</text>'
            f'<text x="600" y="114" font-size="11" text-anchor="end">{_shown(self._bins[-1][0])}'
            "</text></svg>"
        )


class TopValues(Sequence[tuple[Any, int]]):
    """The most frequent values of a field with the number of events that have them.

    A value is text, as it was ingested, or bytes if it is not valid UTF-8.
    """

    __slots__ = ("_field", "_values", "distinct", "events")

    def __init__(
        self, field: str, values: list[tuple[bytes, int]], distinct: int, events: int
    ) -> None:
        self._field = field
        self._values = [(_text(value), count) for value, count in values]
        # How many different values there are, and how many events have one.
        self.distinct = distinct
        self.events = events

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, at: Any) -> Any:
        return self._values[at]

    def to_pandas(self) -> pandas.DataFrame:
        """The values as a pandas frame with the field's name and `events` as columns."""
        frame: pandas.DataFrame = load("pandas", "pandas").DataFrame(
            self._values, columns=[self._field, "events"]
        )
        return frame

    def __repr__(self) -> str:
        digits = max([len("events"), *(len(f"{count:,}") for _, count in self._values)])
        lines = [f"{'events':>{digits}}  {self._field}"]
        lines += [f"{count:>{digits},}  {value!s}" for value, count in self._values]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        lines = [(f"{count:,}", value) for value, count in self._values]
        note = f"{counted(self.distinct, 'different value')} in {counted(self.events, 'event')}"
        return table_html(("events", self._field), lines, note)


def moment_of(micros: int) -> dt.datetime:
    """Microseconds since 1970 as a time in UTC."""
    return _EPOCH + dt.timedelta(microseconds=micros)


def _shown(micros: int) -> str:
    return moment_of(micros).replace(tzinfo=None).isoformat() + "Z"


def _text(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value
