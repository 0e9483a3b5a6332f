"""What event types return."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pyarrow


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
