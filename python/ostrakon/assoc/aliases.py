"""D4M's own names, of Matlab and of Python, for what has another name here."""
# ruff: noqa: N802, D103

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ostrakon.assoc.core import Assoc


def sqIn(array: Assoc, **options: Any) -> Assoc:
    return array.sqin(**options)


def sqOut(array: Assoc, **options: Any) -> Assoc:
    return array.sqout(**options)


def CatKeyMul(array: Assoc, other: Assoc, delimiter: str = ";", **options: Any) -> Assoc:
    return array.catkeymul(other, delimiter, **options)


def CatValMul(
    array: Assoc, other: Assoc, pair_delimiter: str = ",", delimiter: str = ";", **options: Any
) -> Assoc:
    return array.catvalmul(other, pair_delimiter, delimiter, **options)


def CatKeySqInNoDiag(array: Assoc, delimiter: str = ";", **options: Any) -> Assoc:
    return array.catkeysqinnodiag(delimiter, **options)


def NoDiag(array: Assoc) -> Assoc:
    return array.nodiag()


def Abs0(array: Assoc) -> Assoc:
    return array.logical()


def dblLogi(array: Assoc) -> Assoc:
    return array.logical()


def noRow(array: Assoc) -> Assoc:
    return array.norow()


def noCol(array: Assoc) -> Assoc:
    return array.nocol()


def noVal(array: Assoc) -> Assoc:
    return array.logical()


def OutDegree(array: Assoc) -> Assoc:
    return array.degree_distribution(1)


def InDegree(array: Assoc) -> Assoc:
    return array.degree_distribution(0)


def BinDegree(array: Assoc, base: float = 2.0) -> Assoc:
    return array.binned_degrees(base)


def str2num(array: Assoc) -> Assoc:
    return array.to_numbers()


def num2str(array: Assoc, format: str | None = None) -> Assoc:  # noqa: A002
    return array.to_text(format)


def putRow(array: Assoc, row: Any) -> Assoc:
    return array.put_row(row)


def putCol(array: Assoc, col: Any) -> Assoc:
    return array.put_col(col)


def putVal(array: Assoc, val: Any) -> Assoc:
    return array.put_val(val)


def putAdj(array: Assoc, adj: Any) -> Assoc:
    return array.put_adj(adj)


def reAssoc(array: Assoc) -> Assoc:
    return array


def NewSep(array: Assoc, separator: str) -> Assoc:
    """The array itself, which has no separators; an error where a text holds this one."""
    for text in (array.row_text, array.col_text, array.val_text):
        text(separator)
    return array


def TopColPerRow(array: Assoc, count: int) -> Assoc:
    return array.top_col_per_row(count)


def TopRowPerCol(array: Assoc, count: int) -> Assoc:
    return array.top_row_per_col(count)


def randRow(array: Assoc, count: int = 1, seed: int | None = None) -> Assoc:
    return array.rand_row(count, seed)


def randCol(array: Assoc, count: int = 1, seed: int | None = None) -> Assoc:
    return array.rand_col(count, seed)


def xor(array: Assoc, other: Assoc) -> Assoc:
    return array ^ other


def mtimesCustom(array: Assoc, other: Assoc, plus: Any, times: Any) -> Assoc:
    return array.semiring_prod(other, plus, times)


def Text2word(array: Assoc, separator: str | None = None) -> Assoc:
    return array.words(separator)


def col2val(array: Assoc, separator: str = "|") -> Assoc:
    return array.col2type(separator, convert=False)


def col_to_type(array: Assoc, separator: str = "|", convert: bool = True) -> Assoc:
    return array.col2type(separator, convert)


def Row(array: Assoc, separator: str = ",") -> str:
    return array.row_text(separator)


def Col(array: Assoc, separator: str = ",") -> str:
    return array.col_text(separator)


def Val(array: Assoc, separator: str = ",") -> str:
    return array.val_text(separator)


def Adj(array: Assoc) -> Any:
    return array.adj


def get_row(array: Assoc) -> Any:
    return array.row


def get_col(array: Assoc) -> Any:
    return array.col


def get_val(array: Assoc) -> Any:
    return array.val


def get_adj(array: Assoc) -> Any:
    return array.adj


def isequal(array: Assoc, other: Any) -> bool:
    return array.equals(other)


def isempty(array: Assoc) -> bool:
    return array.is_empty()


def displayFull(array: Assoc) -> None:
    array.printfull()


def ReadCSV(cls: type[Assoc], /, path: Any, **options: Any) -> Assoc:
    return cls.read_csv(path, **options)


def readcsv(
    cls: type[Assoc], /, path: Any, *, convert_values: bool = False, **options: Any
) -> Assoc:
    if convert_values:
        options["convert"] = True
    return cls.read_csv(path, **options)


def writecsv(array: Assoc, path: Any, **options: Any) -> None:
    array.write_csv(path, **options)


def Assoc2CSV(array: Assoc, *arguments: Any, **options: Any) -> None:
    """`A.Assoc2CSV(path)`, or Matlab's `A.Assoc2CSV(row_separator, col_separator, path)`."""
    if len(arguments) == 3:
        row_separator, delimiter, path = arguments
        options = {"row_separator": row_separator, "delimiter": delimiter} | options
    else:
        (path,) = arguments
    array.write_csv(path, **options)


def Assoc2HTML(array: Assoc, path: Any) -> None:
    array.write_html(path)


def Assoc2KML(array: Assoc, path: Any, **options: Any) -> None:
    array.write_kml(path, **options)


def load(cls: type[Assoc], /, path: Any, name: str | None = None) -> Assoc:
    """`.mat` files, as Matlab's `load`."""
    return cls.read_mat(path, name)


def save(array: Assoc, path: Any, name: str = "A") -> None:
    """`.mat` files, as Matlab's `save`."""
    array.save_mat(path, name)
