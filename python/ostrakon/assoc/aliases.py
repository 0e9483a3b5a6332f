"""D4M's own names, of Matlab and of Python, for what has another name here."""
# ruff: noqa: N802, D102

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ostrakon.assoc.base import Parts

if TYPE_CHECKING:
    from ostrakon.assoc.core import Assoc


class D4MNames(Parts):
    """Each method is the one it names; see there."""

    __slots__ = ()

    @property
    def _self(self) -> Assoc:
        return cast("Assoc", self)

    def sqIn(self, **options: Any) -> Assoc:
        return self._self.sqin(**options)

    def sqOut(self, **options: Any) -> Assoc:
        return self._self.sqout(**options)

    def CatKeyMul(self, other: Assoc, delimiter: str = ";", **options: Any) -> Assoc:
        return self._self.catkeymul(other, delimiter, **options)

    def CatValMul(
        self, other: Assoc, pair_delimiter: str = ",", delimiter: str = ";", **options: Any
    ) -> Assoc:
        return self._self.catvalmul(other, pair_delimiter, delimiter, **options)

    def CatKeySqInNoDiag(self, delimiter: str = ";", **options: Any) -> Assoc:
        return self._self.catkeysqinnodiag(delimiter, **options)

    def NoDiag(self) -> Assoc:
        return self._self.nodiag()

    def Abs0(self) -> Assoc:
        return self._self.logical()

    def dblLogi(self) -> Assoc:
        return self._self.logical()

    def noRow(self) -> Assoc:
        return self._self.norow()

    def noCol(self) -> Assoc:
        return self._self.nocol()

    def noVal(self) -> Assoc:
        return self._self.logical()

    def OutDegree(self) -> Assoc:
        return self._self.degree_distribution(1)

    def InDegree(self) -> Assoc:
        return self._self.degree_distribution(0)

    def BinDegree(self, base: float = 2.0) -> Assoc:
        return self._self.binned_degrees(base)

    def str2num(self) -> Assoc:
        return self._self.to_numbers()

    def num2str(self, format: str | None = None) -> Assoc:  # noqa: A002
        return self._self.to_text(format)

    def putRow(self, row: Any) -> Assoc:
        return self._self.put_row(row)

    def putCol(self, col: Any) -> Assoc:
        return self._self.put_col(col)

    def putVal(self, val: Any) -> Assoc:
        return self._self.put_val(val)

    def putAdj(self, adj: Any) -> Assoc:
        return self._self.put_adj(adj)

    def reAssoc(self) -> Assoc:
        return self._self

    def NewSep(self, separator: str) -> Assoc:
        """The array itself, which has no separators; an error where a text holds this one."""
        for text in (self._self.row_text, self._self.col_text, self._self.val_text):
            text(separator)
        return self._self

    def TopColPerRow(self, count: int) -> Assoc:
        return self._self.top_col_per_row(count)

    def TopRowPerCol(self, count: int) -> Assoc:
        return self._self.top_row_per_col(count)

    def randRow(self, count: int = 1, seed: int | None = None) -> Assoc:
        return self._self.rand_row(count, seed)

    def randCol(self, count: int = 1, seed: int | None = None) -> Assoc:
        return self._self.rand_col(count, seed)

    def xor(self, other: Assoc) -> Assoc:
        return self._self ^ other

    def mtimesCustom(self, other: Assoc, plus: Any, times: Any) -> Assoc:
        return self._self.semiring_prod(other, plus, times)

    def Text2word(self, separator: str | None = None) -> Assoc:
        return self._self.words(separator)

    def col2val(self, separator: str = "|") -> Assoc:
        return self._self.col2type(separator, convert=False)

    def col_to_type(self, separator: str = "|", convert: bool = True) -> Assoc:
        return self._self.col2type(separator, convert)

    def Row(self, separator: str = ",") -> str:
        return self._self.row_text(separator)

    def Col(self, separator: str = ",") -> str:
        return self._self.col_text(separator)

    def Val(self, separator: str = ",") -> str:
        return self._self.val_text(separator)

    def Adj(self) -> Any:
        return self._self.adj

    def get_row(self) -> Any:
        return self._self.row

    def get_col(self) -> Any:
        return self._self.col

    def get_val(self) -> Any:
        return self._self.val

    def get_adj(self) -> Any:
        return self._self.adj

    def isequal(self, other: Any) -> bool:
        return self._self.equals(other)

    def isempty(self) -> bool:
        return self._self.is_empty()

    def displayFull(self) -> None:
        self._self.printfull()

    @classmethod
    def ReadCSV(cls, path: Any, **options: Any) -> Assoc:
        return cast("Any", cls).read_csv(path, **options)  # type: ignore[no-any-return]

    @classmethod
    def readcsv(cls, path: Any, *, convert_values: bool = False, **options: Any) -> Assoc:
        if convert_values:
            options["convert"] = True
        return cast("Any", cls).read_csv(path, **options)  # type: ignore[no-any-return]

    def writecsv(self, path: Any, **options: Any) -> None:
        self._self.write_csv(path, **options)

    def Assoc2CSV(self, *arguments: Any, **options: Any) -> None:
        """`A.Assoc2CSV(path)`, or Matlab's `A.Assoc2CSV(row_separator, col_separator, path)`."""
        if len(arguments) == 3:
            row_separator, delimiter, path = arguments
            options = {"row_separator": row_separator, "delimiter": delimiter} | options
        else:
            (path,) = arguments
        self._self.write_csv(path, **options)

    def Assoc2HTML(self, path: Any) -> None:
        self._self.write_html(path)

    def Assoc2KML(self, path: Any, **options: Any) -> None:
        self._self.write_kml(path, **options)

    @classmethod
    def load(cls, path: Any, name: str | None = None) -> Assoc:
        """`.mat` files, as Matlab's `load`."""
        return cast("Any", cls).read_mat(path, name)  # type: ignore[no-any-return]

    def save(self, path: Any, name: str = "A") -> None:
        """`.mat` files, as Matlab's `save`."""
        self._self.save_mat(path, name)
