"""The class: what an associative array is. Its operations are functions in modules, by topic."""
# D4M's own names, which the class has too, are not those of PEP 8.
# ruff: noqa: N802, N815

from __future__ import annotations

from typing import Any

import numpy as np

from ostrakon.assoc import (
    aliases,
    arithmetic,
    choosing,
    comparison,
    conversion,
    display,
    entries,
    files,
    indexing,
    markup,
    mat,
    plots,
    products,
    reductions,
    schema,
)
from ostrakon.assoc.construction import build, build_from_matrix
from ostrakon.assoc.keys import Keys, TextKeys
from ostrakon.assoc.machine import Array
from ostrakon.assoc.matrix import Condensed, Matrix, matrix_of, restored
from ostrakon.assoc.warning import AssocWarning

__all__ = ["Assoc", "AssocWarning"]


class Assoc:
    """An associative array: a sparse matrix whose rows and columns have sorted, unique keys.

    Keys are texts, or numbers, or timestamps; values are texts, integers, floats, booleans or
    timestamps, and keep their type. Null values (zero, the empty text, `False`) are not stored.
    Associative arrays are immutable; every operation returns a new one.

    `row`, `col`, `val` are delimiter strings (`"a,b,"`: the last character separates), lists, NumPy
    arrays (`U`, `S`, numbers, `datetime64`, objects), Arrow, pandas or polars columns, or single
    keys, which are repeated. `aggregate` combines several values at one place: `min`
    (the default), `max`, `sum`, `prod`, `first`, `last`, `count`, `concat` (texts with `separator`
    between them), `unique` (there must be none), or a function of two values, which is folded in
    input order. A gap (`None`, NaN) is an error, or with `missing="drop"` leaves its triple out.

    >>> from ostrakon import Assoc
    >>> Assoc("a,a,b,", "x,y,x,", [1, 2, 3])
    ('a', 'x')  1
    ('a', 'y')  2
    ('b', 'x')  3
    >>> Assoc("a,a,", "x,x,", "one,two,", aggregate="concat")
    ('a', 'x')  'one;two'
    """

    __slots__ = ("_col", "_matrix", "_row", "_val")
    _row: Keys
    _col: Keys
    _val: TextKeys | None
    _matrix: Matrix

    # NumPy leaves `array * A` and `number < A` to this class.
    __array_ufunc__ = None
    # Comparisons give arrays, not truth.
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        row: Any = (),
        col: Any = (),
        val: Any = 1,
        aggregate: Any = "min",
        *,
        adj: Any = None,
        missing: str = "error",
        separator: str = ";",
        convert_val: bool = False,
    ) -> None:
        if adj is not None:
            parts = build_from_matrix(row, col, val, adj)
        else:
            parts = build(row, col, val, aggregate, missing, separator, convert_val)
        self._set(*parts)
        if convert_val and self._val is not None:
            other = self.to_numbers()
            self._set(other._row, other._col, other._val, other._matrix)

    def _set(self, row: Keys, col: Keys, val: TextKeys | None, matrix: Matrix) -> None:
        object.__setattr__(self, "_row", row)
        object.__setattr__(self, "_col", col)
        object.__setattr__(self, "_val", val)
        object.__setattr__(self, "_matrix", matrix)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("an Assoc never changes; operations give new ones")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("an Assoc never changes; operations give new ones")

    @classmethod
    def _make(cls, row: Keys, col: Keys, val: TextKeys | None, matrix: Matrix) -> Assoc:
        made = cls.__new__(cls)
        made._set(row, col, val, matrix)
        return made

    @classmethod
    def _condensed(
        cls, row: Keys, col: Keys, val: TextKeys | None, like: Array, result: Condensed
    ) -> Assoc:
        """From the keys a kernel worked with and what it left of them."""
        starts, columns, values, rows, cols = result
        if rows is not None:
            row = row.take(rows)
        if cols is not None:
            col = col.take(cols)
        values = restored(values, like)
        if val is not None:
            val, values = _used_values(val, values)
        return cls._make(row, col, val, matrix_of(starts, columns, values, len(col)))

    def __reduce__(self) -> tuple[Any, ...]:
        parts = tuple(np.array(part) for part in self._matrix[:3])
        return _rebuilt, (self._row, self._col, self._val, *parts)

    def __copy__(self) -> Assoc:
        return self  # it never changes

    def __deepcopy__(self, memo: dict[int, Any]) -> Assoc:
        return self  # it never changes

    def copy(self) -> Assoc:
        """The array itself: it never changes."""
        return self

    @property
    def row(self) -> Array:
        """Row keys, ascending."""
        return self._row.to_numpy()

    @property
    def col(self) -> Array:
        """Column keys, ascending."""
        return self._col.to_numpy()

    @property
    def val(self) -> Array | float:
        """The distinct texts, ascending; 1.0 when values are numbers, as in D4M."""
        return 1.0 if self._val is None else self._val.to_numpy()

    @property
    def adj(self) -> Any:
        """The matrix as `scipy.sparse.csr_array`: values, or 1-based positions in `val`."""
        return self.to_scipy()

    @property
    def values(self) -> Array:
        """The value of each entry, by row, then column."""
        if self._val is None:
            return self._matrix.values
        return self._val.spread(self._matrix.values)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values: a NumPy number or timestamp, or `str`."""
        return np.dtype(str) if self._val is not None else self._matrix.values.dtype

    @property
    def is_text(self) -> bool:
        """Whether values are texts."""
        return self._val is not None

    @property
    def shape(self) -> tuple[int, int]:
        """How many row keys and column keys there are."""
        return len(self._row), len(self._col)

    def size(self) -> tuple[int, int]:
        """The same as `shape`, by D4M's name."""
        return self.shape

    @property
    def nnz(self) -> EntryCount:
        """How many entries there are. `A.nnz()` gives the same, as D4M writes it."""
        return EntryCount(len(self._matrix.columns))

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        parts = sum(part.nbytes for part in self._matrix[:3])
        values = 0 if self._val is None else self._val.nbytes
        return parts + self._row.nbytes + self._col.nbytes + values

    def __len__(self) -> int:
        return len(self._matrix.columns)

    def is_empty(self) -> bool:
        """Whether there is no entry."""
        return len(self) == 0

    def __bool__(self) -> bool:
        raise TypeError(
            "an Assoc is neither true nor false. Python reads `2 <= A <= 9` as "
            "`(2 <= A) and (A <= 9)`: write `(2 <= A) <= 9`. For emptiness use len(A)"
        )

    # Entries.
    __contains__ = entries.contains
    find = entries.find
    triples = entries.triples
    __iter__ = entries.iterate
    get = entries.get
    get_value = entries.get_value
    equals = entries.equals
    check_canonical = entries.check_canonical

    # Selection.
    __getitem__ = indexing.select

    @property
    def loc(self) -> Assoc:
        """The array itself: brackets take keys."""
        return indexing.loc(self)

    @property
    def iloc(self) -> indexing.Positions:
        """By positions: `A.iloc[0]`, `A.iloc[:10, [0, -1]]`."""
        return indexing.iloc(self)

    # Arithmetic.
    __add__ = arithmetic.add
    __sub__ = arithmetic.subtract
    __mul__ = arithmetic.multiply
    __rmul__ = arithmetic.rmul
    __truediv__ = arithmetic.true_divide
    divide = arithmetic.divide
    __neg__ = arithmetic.negative
    __abs__ = arithmetic.magnitude
    __and__ = arithmetic.and_
    __or__ = arithmetic.or_
    __xor__ = arithmetic.xor
    without = arithmetic.without
    minimum = arithmetic.minimum
    maximum = arithmetic.maximum
    combine = arithmetic.combine
    apply = arithmetic.apply

    # Comparisons. Those that `object` has too need a declaration for type checkers.
    def __eq__(self, other: object) -> Assoc:  # type: ignore[override]
        return comparison.equal(self, other)

    def __ne__(self, other: object) -> Assoc:  # type: ignore[override]
        return comparison.not_equal(self, other)

    __lt__ = comparison.less
    __le__ = comparison.less_equal
    __gt__ = comparison.greater
    __ge__ = comparison.greater_equal

    # Products over inner keys.
    __matmul__ = products.matmul_operator
    __rmatmul__ = products.rmatmul_operator
    matmul = products.matmul
    semiring_prod = products.semiring_prod
    sqin = products.sqin
    sqout = products.sqout
    catkeymul = products.catkeymul
    catvalmul = products.catvalmul
    catkeysqinnodiag = products.catkeysqinnodiag

    # Reductions over rows (axis 0) or columns (axis 1).
    transpose = reductions.transpose

    @property
    def T(self) -> Assoc:
        """The transpose."""
        return reductions.T(self)

    sum = reductions.sum_
    count = reductions.count
    min = reductions.min_
    max = reductions.max_
    mean = reductions.mean
    reduce = reductions.reduce
    degree = reductions.degree
    degree_distribution = reductions.degree_distribution
    binned_degrees = reductions.binned_degrees
    logical = reductions.logical
    diag = reductions.diag
    nodiag = reductions.nodiag
    triu = reductions.triu
    tril = reductions.tril
    norow = reductions.norow
    nocol = reductions.nocol

    # Keys and values rewritten.
    val2col = schema.val2col
    col2type = schema.col2type
    to_numbers = schema.to_numbers
    to_text = schema.to_text
    val_text = schema.val_text
    astype = schema.astype
    put_row = schema.put_row
    put_col = schema.put_col
    put_val = schema.put_val
    row_text = schema.row_text
    col_text = schema.col_text

    # Choosing entries, and words.
    top_col_per_row = choosing.top_col_per_row
    top_row_per_col = choosing.top_row_per_col
    rand_row = choosing.rand_row
    rand_col = choosing.rand_col
    conv = choosing.conv
    put_adj = choosing.put_adj
    words = choosing.words

    # Files.
    read_csv = classmethod(files.read_csv)
    from_csv = classmethod(files.from_csv)
    to_csv = files.to_csv
    read_tsv = classmethod(files.read_tsv)
    write_csv = files.write_csv
    write_tsv = files.write_tsv
    to_json = files.to_json
    from_json = classmethod(files.from_json)
    write_json = files.write_json
    read_json = classmethod(files.read_json)
    write_matrix_market = files.write_matrix_market
    read_matrix_market = classmethod(files.read_matrix_market)
    write_parquet = files.write_parquet
    read_parquet = classmethod(files.read_parquet)

    # Files of Matlab.
    save_mat = mat.save_mat
    read_mat = classmethod(mat.read_mat)

    # HTML and KML.
    to_html = markup.to_html
    write_html = markup.write_html
    write_kml = markup.write_kml

    # Other libraries.
    to_dict = conversion.to_dict
    to_dict2 = conversion.to_dict2
    from_dict = classmethod(conversion.from_dict)
    to_arrow = conversion.to_arrow
    from_arrow = classmethod(conversion.from_arrow)
    to_pandas = conversion.to_pandas
    from_pandas = classmethod(conversion.from_pandas)
    to_polars = conversion.to_polars
    from_polars = classmethod(conversion.from_polars)
    to_scipy = conversion.to_scipy_
    from_scipy = classmethod(conversion.from_scipy)
    to_networkx = conversion.to_networkx
    from_networkx = classmethod(conversion.from_networkx)
    to_graphblas = conversion.to_graphblas
    from_graphblas = classmethod(conversion.from_graphblas)

    # Text, and HTML for notebooks.
    __repr__ = display.text_of
    table = display.table
    printfull = display.printfull
    _repr_html_ = display.notebook_html

    # Pictures of an array.
    spy = plots.spy
    plot_degrees = plots.plot_degrees

    # D4M's own names.
    sqIn = aliases.sqIn
    sqOut = aliases.sqOut
    CatKeyMul = aliases.CatKeyMul
    CatValMul = aliases.CatValMul
    CatKeySqInNoDiag = aliases.CatKeySqInNoDiag
    NoDiag = aliases.NoDiag
    Abs0 = aliases.Abs0
    dblLogi = aliases.dblLogi
    noRow = aliases.noRow
    noCol = aliases.noCol
    noVal = aliases.noVal
    OutDegree = aliases.OutDegree
    InDegree = aliases.InDegree
    BinDegree = aliases.BinDegree
    str2num = aliases.str2num
    num2str = aliases.num2str
    putRow = aliases.putRow
    putCol = aliases.putCol
    putVal = aliases.putVal
    putAdj = aliases.putAdj
    reAssoc = aliases.reAssoc
    NewSep = aliases.NewSep
    TopColPerRow = aliases.TopColPerRow
    TopRowPerCol = aliases.TopRowPerCol
    randRow = aliases.randRow
    randCol = aliases.randCol
    xor = aliases.xor
    mtimesCustom = aliases.mtimesCustom
    Text2word = aliases.Text2word
    col2val = aliases.col2val
    col_to_type = aliases.col_to_type
    Row = aliases.Row
    Col = aliases.Col
    Val = aliases.Val
    Adj = aliases.Adj
    get_row = aliases.get_row
    get_col = aliases.get_col
    get_val = aliases.get_val
    get_adj = aliases.get_adj
    isequal = aliases.isequal
    isempty = aliases.isempty
    displayFull = aliases.displayFull
    ReadCSV = classmethod(aliases.ReadCSV)
    readcsv = classmethod(aliases.readcsv)
    writecsv = aliases.writecsv
    Assoc2CSV = aliases.Assoc2CSV
    Assoc2HTML = aliases.Assoc2HTML
    Assoc2KML = aliases.Assoc2KML
    load = classmethod(aliases.load)
    save = aliases.save


class EntryCount(int):
    """A number of entries that may also be called, since D4M writes `A.nnz()`."""

    def __call__(self) -> int:
        """The number."""
        return int(self)


def _used_values(val: TextKeys, positions: Array) -> tuple[TextKeys, Array]:
    """Only the texts in use, and the positions among them."""
    used = np.zeros(len(val), bool)
    used[positions] = True
    if used.all():
        return val, positions
    kept = np.flatnonzero(used).astype(np.uint32)
    place = np.zeros(len(val), np.uint32)
    place[kept] = np.arange(len(kept), dtype=np.uint32)
    return val.take(kept), place[positions]


def _rebuilt(
    row: Keys, col: Keys, val: TextKeys | None, starts: Array, columns: Array, values: Array
) -> Assoc:
    return Assoc._make(row, col, val, matrix_of(starts, columns, values, len(col)))
