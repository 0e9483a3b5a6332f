"""Display of tables, scans and results: short texts, and HTML for notebooks."""

from __future__ import annotations

import datetime as dt
import html
from collections.abc import Iterable, Sequence
from typing import Any

# Maximum number of characters shown of one part.
_LONGEST = 60


def shortened(value: Any, longest: int = _LONGEST) -> str:
    """`shown`, truncated if it is long.

    >>> shortened("a" * 100, 10)
    "'aaaaaaaa…"
    """
    if isinstance(value, (str, bytes)) and len(value) > longest:
        return repr(value[:longest])[: longest - 1] + "…"
    text = shown(value)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def shown(value: Any) -> str:
    """`repr`; of dates and times, and of those in lists, tuples and dictionaries, the form of ISO
    8601.

    >>> shown((1, dt.datetime(2024, 5, 17, 10, tzinfo=dt.timezone.utc)))
    '(1, 2024-05-17T10:00:00Z)'
    """
    if isinstance(value, (dt.date, dt.time)):
        text = value.isoformat()
        return text[: -len("+00:00")] + "Z" if text.endswith("+00:00") else text
    if type(value) is tuple and value:
        return f"({', '.join(map(shown, value))}{',' if len(value) == 1 else ''})"
    if type(value) is list:
        return f"[{', '.join(map(shown, value))}]"
    if type(value) is dict:
        return f"{{{', '.join(f'{shown(key)}: {shown(one)}' for key, one in value.items())}}}"
    return repr(value)


def counted(count: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "range"), counted(2000, "range")
    ('1 range', '2,000 ranges')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def keys_shown(keys: Sequence[Any], most: int = 3) -> str:
    """The first keys, and the number of the others.

    >>> keys_shown(["a", "b", "c", "d"], 2)
    "'a', 'b', … 2 more"
    """
    shown = [shortened(key, 20) for key in keys[:most]]
    if len(keys) > most:
        shown.append(f"… {len(keys) - most:,} more")
    return ", ".join(shown)


def table_html(head: Iterable[Any], lines: Iterable[Iterable[Any]], note: str) -> str:
    """An HTML table with a line of text below it."""

    def cells(tag: str, line: Iterable[Any]) -> str:
        return "".join(f"<{tag}>{html.escape(_cell(cell))}</{tag}>" for cell in line)

    body = "".join(f"<tr>{cells('td', line)}</tr>" for line in lines)
    return (
        f"<table><thead><tr>{cells('th', head)}</tr></thead><tbody>{body}</tbody></table>"
        f"<p>{html.escape(note)}</p>"
    )


def entries_html(title: str, entries: Sequence[Any], most: int, *, text: bool = True) -> str:
    """The first entries of a scan, and whether there are more. Of bytes, with `text`, those that
    are text are shown as such."""
    if not entries:
        return f"<p>{html.escape(title)}</p>"
    more = ", and more" if len(entries) > most else ""
    note = f"{title}: {min(len(entries), most)} entries shown{more}"
    lines: list[Iterable[Any]] = list(entries[:most])
    if text:
        lines = [map(_readable, line) for line in lines]
    return table_html(entries[0]._fields, lines, note)


def _readable(cell: Any) -> Any:
    try:
        decoded = cell.decode() if isinstance(cell, bytes) else cell
    except UnicodeDecodeError:
        return cell
    # Numbers of tables with a schema are often valid UTF-8 of control characters.
    control = isinstance(decoded, str) and any(ord(sign) < ord(" ") for sign in decoded)
    return cell if control and not any(sign in decoded for sign in "\t\n\r") else decoded


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value if len(value) <= _LONGEST else value[: _LONGEST - 1] + "…"
    return shortened(value)
