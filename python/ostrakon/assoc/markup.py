"""Arrays as pages: HTML tables, and KML for maps."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from os import PathLike
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ostrakon.assoc.construction import number_text
from ostrakon.assoc.display import shown_cells
from ostrakon.assoc.machine import Array
from ostrakon.assoc.whole import Whole
from ostrakon.errors import InvalidArgumentError

if TYPE_CHECKING:
    from ostrakon.assoc.core import Assoc

StrPath = str | PathLike[str]

_KML = "http://www.opengis.net/kml/2.2"

# What XML 1.0 has no form for.
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def to_html(array: Assoc, rows: int | None = None, cols: int | None = None) -> str:
    """An HTML table, whole or of the first `rows` and `cols` keys.

    >>> from ostrakon import Assoc
    >>> print(Assoc("a,", "x,", 1).to_html())
    <table><thead><tr><th></th><th>x</th></tr></thead><tbody>
    <tr><th>a</th><td>1</td></tr>
    </tbody></table>
    """
    grid, left = shown_cells(array, rows, cols)
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in grid[0])
    lines = [f"<table><thead><tr>{head}</tr></thead><tbody>"]
    for line in grid[1:]:
        cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in line[1:])
        lines.append(f"<tr><th>{html.escape(line[0])}</th>{cells}</tr>")
    lines.append("</tbody></table>")
    lines.extend(f"<p>{html.escape(note)}</p>" for note in left)
    return "\n".join(lines)


def write_html(array: Assoc, path: StrPath, title: str = "Assoc") -> None:
    """A page of the whole table."""
    with Whole(path) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        file.write(
            f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{html.escape(title)}'
            f"</title></head><body>\n{array.to_html()}\n</body></html>\n"
        )


def write_kml(
    array: Assoc,
    path: StrPath,
    latitude: Any = "lat",
    longitude: Any = "lon",
    *,
    altitude: Any = None,
    name: Any = None,
    missing: str = "error",
) -> None:
    """A KML file with a point for each row. `latitude`, `longitude` (in degrees) and `altitude`
    (in metres above the sea) are columns; `name` is the column with the names of points, by
    default their row keys. All other columns go into the points' data. A row without
    coordinates is an error, or with `missing="drop"` left out.
    """
    if missing not in ("error", "drop"):
        raise InvalidArgumentError(f"missing: 'error' or 'drop', not {missing!r}")
    lat = _column(array, "latitude", latitude)
    lon = _column(array, "longitude", longitude)
    alt = np.zeros(len(lat)) if altitude is None else _column(array, "altitude", altitude)
    for argument, degrees, most in (("latitude", lat, 90), ("longitude", lon, 180)):
        outside = np.flatnonzero(np.abs(degrees) > most)
        if len(outside):
            at = int(outside[0])
            raise InvalidArgumentError(
                f"{argument}: {degrees[at]} of row {array._row[at]!r} is beyond {most} degrees"
            )
    there = ~(np.isnan(lat) | np.isnan(lon) | np.isnan(alt))
    if missing == "error" and not there.all():
        at = int(np.flatnonzero(~there)[0])
        raise InvalidArgumentError(
            f"missing: the row {array._row[at]!r} has no coordinates; missing='drop' leaves "
            "such rows out"
        )
    special = {latitude, longitude, altitude, name}
    with Whole(path) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<kml xmlns="{_KML}"><Document>\n')
        for at, cells in _rows(array, there):
            called = cells.get(name, array._row[at]) if name is not None else array._row[at]
            place = (lon[at], lat[at], *([] if altitude is None else [alt[at]]))
            rest = [(col, value) for col, value in cells.items() if col not in special]
            _point(file, called, rest, ",".join(map(number_text, map(float, place))))
        file.write("</Document></kml>\n")


def _rows(array: Assoc, wanted: Array) -> Iterator[tuple[int, dict[Any, Any]]]:
    """Rows one after the other: position, and value by column key."""
    starts, columns, values, _ = array._matrix
    keys = array._col.to_list()
    for at in np.flatnonzero(wanted).tolist():
        span = slice(int(starts[at]), int(starts[at + 1]))
        found = values[span].tolist()
        if array._val is not None:
            found = [array._val[value] for value in found]
        yield at, {keys[col]: one for col, one in zip(columns[span].tolist(), found, strict=True)}


def _column(array: Assoc, argument: str, column: Any) -> Array:
    """A column as numbers, NaN where a row has none. Null stands for 0, which is not stored."""
    numbers = np.full(array.shape[0], np.nan)
    part = array[:, [column]]
    if not len(part):
        raise InvalidArgumentError(f"{argument}: there is no column {column!r}")
    if part.dtype.kind in "mM":
        raise InvalidArgumentError(f"{argument}: the column {column!r} holds timestamps")
    try:
        part = part.to_numbers()
    except ValueError as error:
        raise InvalidArgumentError(f"{argument}: the column {column!r}: {error}") from None
    numbers[part._row.positions_in(array._row)] = part.values  # type: ignore[arg-type]
    return numbers


def _point(file: IO[str], name: Any, cells: list[tuple[Any, Any]], place: str) -> None:
    from xml.etree.ElementTree import Element, SubElement, tostring

    mark = Element("Placemark")
    SubElement(mark, "name").text = _plain(name)
    if cells:
        data = SubElement(mark, "ExtendedData")
        for col, value in cells:
            item = SubElement(data, "Data", {"name": _plain(col)})
            SubElement(item, "value").text = _plain(value)
    SubElement(SubElement(mark, "Point"), "coordinates").text = place
    file.write(tostring(mark, encoding="unicode") + "\n")


def _plain(value: Any) -> str:
    text = value if isinstance(value, str) else number_text(value)
    wrong = _NO_XML.search(text)
    if wrong:
        raise InvalidArgumentError(
            f"write_kml: {text!r} holds {wrong.group()!r}, which XML has no form for"
        )
    return text
