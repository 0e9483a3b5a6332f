"""Plots with matplotlib (extra `plots`). Every function returns the axes and shows nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ostrakon.assoc.base import Parts

if TYPE_CHECKING:
    from ostrakon.assoc.core import Assoc

# Keys written along an axis.
_TICKS = 20


class Plots(Parts):
    """Pictures of an array."""

    __slots__ = ()

    def spy(self, ax: Any = None, *, ticks: int = _TICKS, **style: Any) -> Any:
        """Where entries are: row keys downward, column keys to the right. At most `ticks` keys are
        written along each axis; `style` goes to matplotlib's `plot`."""
        if ax is None:
            ax = _new_axes()
        height, width = cast("Assoc", self).shape
        most = max(height, width, 1)
        # From points to specks between one key and a thousand.
        size = float(np.interp(np.log10(most), [0, 3], [9, 0.6]))
        options = {"marker": "s", "linestyle": "", "markersize": size} | style
        ax.plot(self._matrix.columns, self._matrix.rows(), **options)
        ax.set_xlim(-0.5, max(width, 1) - 0.5)
        ax.set_ylim(max(height, 1) - 0.5, -0.5)
        for keys, axis, rotation in ((self._col, ax.xaxis, 90), (self._row, ax.yaxis, 0)):
            count = len(keys)
            places = np.unique(np.linspace(0, max(count - 1, 0), min(count, ticks)).astype(int))
            labels = [_short(keys[int(place)]) for place in places]
            axis.set_ticks(places, labels, rotation=rotation, fontsize=8)
        ax.set_xlabel(f"{width:,} columns")
        ax.set_ylabel(f"{height:,} rows")
        ax.set_title(f"{len(self._matrix.columns):,} entries")
        return ax

    def plot_degrees(
        self, ax: Any = None, *, axis: int = 1, base: float | None = None, **style: Any
    ) -> Any:
        """How many rows (axis 1) or columns (axis 0) have each degree, on logarithmic scales; with
        `base`, in logarithmic bins."""
        if ax is None:
            ax = _new_axes()
        array = cast("Assoc", self)
        counts = (
            array.degree_distribution(axis) if base is None else array.binned_degrees(base, axis)
        )
        options = {"marker": "o", "linestyle": "", "markersize": 4} | style
        if len(counts):
            ax.loglog(counts.row, counts.values, **options)
        ax.set_xlabel("out-degree" if axis == 1 else "in-degree")
        ax.set_ylabel("rows" if axis == 1 else "columns")
        return ax


def _new_axes() -> Any:
    """Axes of a new figure of pyplot, so that notebooks show it."""
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def _short(key: Any) -> str:
    text = str(key)
    return text if len(text) <= 20 else text[:19] + "…"
