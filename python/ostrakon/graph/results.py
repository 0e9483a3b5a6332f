"""What the functions of this package return."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ostrakon.display import keys_shown, table_html
from ostrakon.extras import load

if TYPE_CHECKING:
    import pandas
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from ostrakon.assoc import Assoc

Key: TypeAlias = str | bytes

# Maximum number of lines of a result that a notebook shows.
_SHOWN = 10


@dataclass(frozen=True, repr=False)
class Matrix:
    """A sparse matrix with sorted row and column keys."""

    rows: list[Key]
    columns: list[Key]
    offsets: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.indices)

    def to_scipy(self) -> csr_array[Any, Any]:
        """The matrix as a SciPy array in compressed sparse row format."""
        from scipy.sparse import csr_array

        shape = (len(self.rows), len(self.columns))
        return csr_array((self.values, self.indices, self.offsets), shape=shape)

    def triples(self) -> list[tuple[Key, Key, float]]:
        """Row key, column key and value of every entry, in order."""
        rows = np.repeat(np.arange(len(self.rows)), np.diff(self.offsets))
        entries = zip(rows.tolist(), self.indices.tolist(), self.values.tolist(), strict=True)
        return [(self.rows[row], self.columns[column], value) for row, column, value in entries]

    def to_assoc(self) -> Assoc:
        """The matrix as an associative array; keys must be texts."""
        from ostrakon.assoc import Assoc

        return Assoc.from_scipy(self.to_scipy(), self.rows, self.columns)

    def __repr__(self) -> str:
        return (
            f"<ostrakon.graph.Matrix of {len(self):,} entries, {len(self.rows):,} rows by "
            f"{len(self.columns):,} columns>"
        )

    def _repr_html_(self) -> str:
        entries = self._first(_SHOWN)
        return table_html(("row", "column", "value"), entries, repr(self))

    def _first(self, count: int) -> list[tuple[Key, Key, float]]:
        count = min(count, len(self))
        rows = np.searchsorted(self.offsets, np.arange(count), "right") - 1
        columns, values = self.indices[:count].tolist(), self.values[:count].tolist()
        entries = zip(rows.tolist(), columns, values, strict=True)
        return [(self.rows[row], self.columns[column], value) for row, column, value in entries]


@dataclass(frozen=True, repr=False)
class Outcome:
    """The outcome of an algorithm; `matrix` is set if no result table was named."""

    entries_read: int
    entries_written: int = 0
    result_entries: int = 0
    relative_io: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)
    matrix: Matrix | None = None

    def _said(self) -> list[str]:
        """The findings of a subclass, as texts."""
        return []

    def _lines(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """The header and the first lines of the findings."""
        return ("row", "column", "value"), [] if self.matrix is None else self.matrix._first(_SHOWN)

    def __repr__(self) -> str:
        said = [*self._said(), *(f"{name} {count:,}" for name, count in self.counts.items())]
        if self.matrix is not None:
            said.append(repr(self.matrix))
        said.append(f"{self.entries_read:,} entries read, {self.entries_written:,} written")
        return f"<ostrakon.graph.{type(self).__name__}: {', '.join(said)}>"

    def _repr_html_(self) -> str:
        heads, lines = self._lines()
        return table_html(heads if lines else (), lines, repr(self))


@dataclass(frozen=True, repr=False)
class Bfs(Outcome):
    """The result of a search: sorted vertices, and the step in which each was first reached."""

    vertices: list[Key] = field(default_factory=list)
    steps: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))
    last: list[Key] = field(default_factory=list)

    def levels(self) -> dict[Key, int]:
        """The step of each vertex."""
        return dict(zip(self.vertices, self.steps.tolist(), strict=True))

    def _said(self) -> list[str]:
        steps = int(self.steps.max()) if len(self.steps) else 0
        return [f"{len(self.vertices):,} vertices in {steps:,} steps"]

    def _lines(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        lines = zip(self.vertices[:_SHOWN], self.steps[:_SHOWN].tolist(), strict=True)
        return ("vertex", "step"), list(lines)


@dataclass(frozen=True, repr=False)
class Components(Outcome):
    """Connected components: sorted vertices, and for each the smallest vertex of its component."""

    vertices: list[Key] = field(default_factory=list)
    representatives: list[Key] = field(default_factory=list)

    def _said(self) -> list[str]:
        return [f"{len(self.vertices):,} vertices"]

    def _lines(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        lines = zip(self.vertices[:_SHOWN], self.representatives[:_SHOWN], strict=True)
        return ("vertex", "component"), list(lines)


@dataclass(frozen=True, repr=False)
class Ranks(Outcome):
    """Sorted vertices and their ranks, which add up to 1."""

    vertices: list[Key] = field(default_factory=list)
    ranks: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    converged: bool = True

    def _said(self) -> list[str]:
        top = keys_shown([self.vertices[at] for at in self._order()])
        said = f"{len(self.vertices):,} vertices, the first {top}"
        return [said if self.converged else f"{said}, not converged"]

    def to_pandas(self) -> pandas.DataFrame:
        """The vertices and ranks as a pandas frame, highest rank first."""
        order = np.argsort(-self.ranks, kind="stable")
        frame: pandas.DataFrame = load("pandas", "pandas").DataFrame(
            {"vertex": [self.vertices[at] for at in order], "rank": self.ranks[order]}
        )
        return frame

    def _order(self) -> list[int]:
        order: list[int] = np.argsort(-self.ranks, kind="stable")[:_SHOWN].tolist()
        return order

    def _lines(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        lines = [(self.vertices[at], float(self.ranks[at])) for at in self._order()]
        return ("vertex", "rank"), lines


@dataclass(frozen=True, repr=False)
class Factors(Outcome):
    """Non-negative factors: W (documents x topics), H (topics x words), the error of each round."""

    documents: list[Key] = field(default_factory=list)
    words: list[Key] = field(default_factory=list)
    w: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    h: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    errors: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    def _said(self) -> list[str]:
        error = f", error {self.errors[-1]:.3g}" if len(self.errors) else ""
        topics = self.w.shape[1]
        said = f"{len(self.documents):,} documents, {topics:,} topics, {len(self.words):,} words"
        return [said + error]
