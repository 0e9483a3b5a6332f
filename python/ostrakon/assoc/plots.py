"""Plots with matplotlib (extra `plots`). Every function returns the axes and shows nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ostrakon.assoc.display import triple_line
from ostrakon.errors import InvalidArgumentError
from ostrakon.extras import load

if TYPE_CHECKING:
    from ostrakon.assoc.core import Assoc

# Keys written along an axis.
_TICKS = 20

# Pixels between a click and the entry it means.
_NEAR = 4


def spy(
    array: Assoc,
    ax: Any = None,
    *,
    ticks: int = _TICKS,
    styles: bool = False,
    click: Callable[[Any, Any, Any], Any] | None = None,
    **style: Any,
) -> Any:
    """Where entries are: row keys downward, column keys to the right. At most `ticks` keys are
    written along each axis; `style` goes to matplotlib's `plot`. With `styles`, the values are
    matplotlib's array formats (`"r."`, `"bo"`), and each entry is drawn as its value says.

    Where the figure is shown in a window, a click on an entry calls `click` with its row,
    column and value; by default they are written to standard output.
    """
    if ax is None:
        ax = _new_axes()
    height, width = array.shape
    most = max(height, width, 1)
    # From points to specks between one key and a thousand.
    size = float(np.interp(np.log10(most), [0, 3], [9, 0.6]))
    options = {"marker": "s", "linestyle": "", "markersize": size} | style
    rows, columns = array._matrix.rows(), array._matrix.columns
    if styles:
        _plot_by_value(array, ax, rows, columns, {"markersize": size} | style)
    else:
        ax.plot(columns, rows, **options)
    ax.set_xlim(-0.5, max(width, 1) - 0.5)
    ax.set_ylim(max(height, 1) - 0.5, -0.5)
    for keys, axis, rotation in ((array._col, ax.xaxis, 90), (array._row, ax.yaxis, 0)):
        count = len(keys)
        places = np.unique(np.linspace(0, max(count - 1, 0), min(count, ticks)).astype(int))
        labels = [_short(keys[int(place)]) for place in places]
        axis.set_ticks(places, labels, rotation=rotation, fontsize=8)
    ax.set_xlabel(f"{width:,} columns")
    ax.set_ylabel(f"{height:,} rows")
    ax.set_title(f"{len(array._matrix.columns):,} entries")
    report = _write if click is None else click
    # A function, not a method: of methods matplotlib keeps no hold.
    ax.figure.canvas.mpl_connect("button_press_event", lambda event: _hit(array, ax, event, report))
    return ax


def _plot_by_value(array: Assoc, ax: Any, rows: Any, columns: Any, style: dict[str, Any]) -> None:
    if array._val is None:
        raise TypeError("styles: the values are numbers, and no formats of matplotlib")
    for at, form in enumerate(array._val.to_list()):
        chosen = array._matrix.values == at
        try:
            lines = ax.plot(columns[chosen], rows[chosen], form, **style)
        except ValueError as error:
            raise InvalidArgumentError(f"styles: the value {form!r}: {error}") from None
        if "linestyle" not in style:
            # Entries have no order that a line could mean.
            lines[0].set_linestyle("")
        if lines[0].get_marker() in (None, "None", ""):
            lines[0].set_marker("s")


def _hit(array: Assoc, ax: Any, event: Any, report: Callable[[Any, Any, Any], Any]) -> None:
    """Reports the entry under a click, or the nearest within a few pixels."""
    busy = getattr(getattr(event.canvas, "toolbar", None), "mode", "")
    if event.inaxes is not ax or event.button != 1 or busy:
        return
    entry = _nearest(array, ax, event.x, event.y)
    if entry is None:
        return
    starts, columns, values, _ = array._matrix
    row = int(np.searchsorted(starts, entry, "right")) - 1
    value = array._val[int(values[entry])] if array._val is not None else values[entry]
    if hasattr(value, "item") and values.dtype.kind not in "mM":
        value = value.item()
    report(array._row[row], array._col[int(columns[entry])], value)


def _nearest(array: Assoc, ax: Any, x: float, y: float) -> int | None:
    starts, columns, _, _ = array._matrix
    if not len(columns):
        return None
    # A click means what is within this many pixels, or its array cell.
    corners = ax.transData.inverted().transform([(x - _NEAR, y - _NEAR), (x + _NEAR, y + _NEAR)])
    (left, bottom), (right, top) = np.sort(corners, axis=0)
    low, high = (max(np.floor(min(bottom, top) + 0.5), 0), np.floor(max(bottom, top) + 0.5))
    first, last = int(low), int(min(high, len(starts) - 2))
    if last < first:
        return None
    entries = np.arange(int(starts[first]), int(starts[last + 1]))
    near = columns[entries]
    entries = entries[(near >= np.floor(left + 0.5)) & (near <= np.floor(right + 0.5))]
    if not len(entries):
        return None
    rows = np.searchsorted(starts, entries, "right") - 1
    places = ax.transData.transform(np.column_stack([columns[entries], rows]).astype(float))
    return int(entries[np.argmin(((places - (x, y)) ** 2).sum(axis=1))])


def plot_degrees(
    array: Assoc, ax: Any = None, *, axis: int = 1, base: float | None = None, **style: Any
) -> Any:
    """How many rows (axis 1) or columns (axis 0) have each degree, on logarithmic scales; with
    `base`, in logarithmic bins."""
    if ax is None:
        ax = _new_axes()
    counts = array.degree_distribution(axis) if base is None else array.binned_degrees(base, axis)
    options = {"marker": "o", "linestyle": "", "markersize": 4} | style
    if len(counts):
        ax.loglog(counts.row, counts.values, **options)
    ax.set_xlabel("out-degree" if axis == 1 else "in-degree")
    ax.set_ylabel("rows" if axis == 1 else "columns")
    return ax


def _new_axes() -> Any:
    """Axes of a new figure of pyplot, so that notebooks show it."""
    plt = load("matplotlib.pyplot", "plots")
    return plt.subplots(layout="constrained")[1]


def _write(row: Any, col: Any, value: Any) -> None:
    sys.stdout.write(triple_line(row, col, value) + "\n")


def _short(key: Any) -> str:
    text = str(key)
    return text if len(text) <= 20 else text[:19] + "…"
