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

    def sqIn(self) -> Assoc:
        return self._self.sqin()

    def sqOut(self) -> Assoc:
        return self._self.sqout()

    def CatKeyMul(self, other: Assoc, delimiter: str = ";") -> Assoc:
        return self._self.catkeymul(other, delimiter)

    def CatValMul(self, other: Assoc, pair_delimiter: str = ",", delimiter: str = ";") -> Assoc:
        return self._self.catvalmul(other, pair_delimiter, delimiter)

    def CatKeySqInNoDiag(self, delimiter: str = ";") -> Assoc:
        return self._self.catkeysqinnodiag(delimiter)

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

    def num2str(self) -> Assoc:
        return self._self.to_text()

    def putRow(self, row: Any) -> Assoc:
        return self._self.put_row(row)

    def putCol(self, col: Any) -> Assoc:
        return self._self.put_col(col)

    def putVal(self, val: Any) -> Assoc:
        return self._self.put_val(val)

    def col_to_type(self, separator: str = "|", convert: bool = True) -> Assoc:
        return self._self.col2type(separator, convert)

    def Row(self, separator: str = ",") -> str:
        return self._self.row_text(separator)

    def Col(self, separator: str = ",") -> str:
        return self._self.col_text(separator)

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

    def Assoc2CSV(self, path: Any, **options: Any) -> None:
        self._self.write_csv(path, **options)
