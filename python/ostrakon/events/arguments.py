"""What functions about events are given."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from ostrakon.arguments import (
    integer_of,
    mapping_of,
    number_of,
    optional_text,
    path_of,
    text_of,
    texts_by_text,
    wrong_type,
)
from ostrakon.errors import InvalidArgumentError

# A moment: a time, a day, or a text such as `2015-05-17T10:05:03Z`.
When = dt.datetime | dt.date | str

SPAN = "a span of time as text, such as '1h', '15m' or '30d', or a timedelta"
MOMENT = (
    "a datetime, a date, or a text such as '2024-05-17T10:05:03Z', '2024-05-17' or '@1715940303'"
)
CONDITION = 'a condition as text, such as "status >= 400"'
TOML = "a definition as TOML text, such as `Events.toml` returns"
COUNT_BY = ("auto", "aggregates", "index", "scan")
FORMATS = ("zeek", "json", "web", "squid", "syslog", "dpkg", "csv", "tsv")
_SHORT_SPAN = "a span of time as text, such as '50ms'"
_U32 = 2**32 - 1
_ABOUT_A_SHARE = "a number, such as 0.05"
ABOUT_EVENTS = "a number of events"

# Settings of the planner, which `Events.query` takes, and what each of them takes.
_PLANNER: dict[str, Callable[[str, Any], Any]] = {
    "threshold": lambda name, given: number_of(name, given, _ABOUT_A_SHARE),
    "factor": lambda name, given: number_of(name, given, _ABOUT_A_SHARE),
    "first_events": lambda name, given: integer_of(name, given, ABOUT_EVENTS),
    "window_events": lambda name, given: integer_of(name, given, ABOUT_EVENTS),
    "window_short": lambda name, given: text_of(name, given, _SHORT_SPAN),
    "window_long": lambda name, given: text_of(name, given, _SHORT_SPAN),
    "window_growth": lambda name, given: integer_of(name, given, "a factor, such as 4", 0, _U32),
    "memory_bytes": lambda name, given: integer_of(name, given, "a number of bytes"),
    "threads": lambda name, given: integer_of(name, given, "a number of threads"),
}


def planner_of(planner: Any) -> dict[str, Any]:
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


def files_of(
    format_: str | None,
    names: Mapping[str, str] | None,
    tables: Mapping[str, str | PathLike[str]] | None,
) -> dict[str, Any]:
    """How log files are read, in the form of the native part."""
    enrich = mapping_of("enrich", tables, "{'host': 'hosts.csv'}")
    return {
        "format": optional_text("format", format_, f"one of {', '.join(FORMATS)}"),
        "map": list(texts_by_text("map", names, "{'ts': 'time'}").items()),
        "enrich": [
            (text_of("enrich", field, "names of fields"), Path(path_of("enrich", path)))
            for field, path in enrich.items()
        ],
    }


def span_of(argument: str, span: str | dt.timedelta) -> str:
    """A span of time as text."""
    if isinstance(span, dt.timedelta):
        return f"{span // dt.timedelta(microseconds=1)}us"
    return text_of(argument, span, SPAN)


def when_of(argument: str, moment: When | None) -> str | None:
    """A moment as text. One without a zone is in UTC."""
    if moment is None:
        return None
    if isinstance(moment, dt.datetime):
        # pandas has a time that is none, and not equal to itself.
        if moment != moment:  # noqa: PLR0124
            raise wrong_type(argument, f"{MOMENT}, or None", moment)
        if moment.tzinfo is not None:
            moment = moment.astimezone(dt.timezone.utc).replace(tzinfo=None)
        return moment.isoformat() + "Z"
    if isinstance(moment, dt.date):
        return moment.isoformat()
    return text_of(argument, moment, f"{MOMENT}, or None")
