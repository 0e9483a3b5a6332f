"""`.mat` files of Matlab (version 5) with D4M's fields: row, col, val and the sparse matrix."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ostrakon.assoc.items import Items, read_items, resolve
from ostrakon.assoc.keys import Keys, TextKeys
from ostrakon.assoc.machine import Array
from ostrakon.assoc.whole import Whole
from ostrakon.errors import InvalidArgumentError, TooLargeError

if TYPE_CHECKING:
    from ostrakon.assoc.core import Assoc

StrPath = str | PathLike[str]

# Separators of keys in the order in which they are tried, D4M's own first.
_SEPARATORS = ",;\n\t|\r" + "".join(map(chr, range(1, 9)))

# The format counts bytes in 32 bits, and Matlab reads no variable above 2 GiB.
_MOST_BYTES = (1 << 31) - (1 << 20)

# Integers above have no exact form as Matlab's doubles.
_EXACT = 1 << 53


def save_mat(array: Assoc, path: StrPath, name: str = "A") -> None:
    """Writes a struct `name` of D4M's fields: `row` and `col` (texts behind each other, the
    last character separates; or numbers), `val` (the distinct texts; empty for numbers) and
    `adj` (sparse: values, or positions from 1 in `val`). A fifth field, `kind`, has the type
    of the values, which Matlab keeps as doubles.
    """
    import scipy.io

    if not (name.isascii() and name.isidentifier() and name[0] != "_" and len(name) <= 31):
        raise InvalidArgumentError(
            f"name: {name!r} is not a valid name of a Matlab variable: up to 31 letters, "
            "digits and _, a letter first"
        )
    values = array._matrix.values
    if values.dtype.kind in "mM":
        raise TypeError("save_mat: the values are timestamps; to_text() turns them into texts")
    if values.dtype.kind == "i" and len(values) and np.abs(values).max() > _EXACT:
        raise InvalidArgumentError(
            "save_mat: an integer above 2^53 has no exact form in a .mat file; use to_text()"
        )
    matrix = array.to_scipy()
    kind = "text" if array._val is not None else values.dtype.name
    if kind != "bool":
        matrix = matrix.astype(np.float64)
    struct = {
        "row": _written("row", array._row),
        "col": _written("col", array._col),
        "val": "" if array._val is None else _written("val", array._val),
        "adj": matrix.tocsc(),
        "kind": kind,
    }
    size = 12 * len(values) + array._row.nbytes + array._col.nbytes
    if size + (0 if array._val is None else array._val.nbytes) > _MOST_BYTES:
        raise TooLargeError(
            f"save_mat: {len(values):,} entries are more than a .mat file holds (2 GiB); write "
            "parts, or Parquet"
        )
    with Whole(path) as part:
        scipy.io.savemat(
            str(part), {name: struct}, appendmat=False, do_compression=True, oned_as="column"
        )


def read_mat(cls: type[Assoc], /, path: StrPath, name: str | None = None) -> Assoc:
    """Reads what `save_mat` writes, and structs and objects of D4M with the fields row, col,
    val and adj (or A). `name` is needed where a file has several. Empty rows or columns mean
    positions from 1, as in Matlab.
    """
    variables = _loaded(path)
    found = {key: value for key, value in variables.items() if _is_assoc(value)}
    if name is not None:
        if name not in variables:
            there = ", ".join(sorted(variables)) or "nothing"
            raise InvalidArgumentError(f"name: {path} has no variable {name!r}, it has {there}")
        if name not in found:
            raise InvalidArgumentError(
                f"name: the variable {name!r} of {path} is not an associative array: a struct of "
                "row, col, val and adj"
            )
    elif len(found) != 1:
        there = ", ".join(sorted(found or variables)) or "nothing"
        raise InvalidArgumentError(
            f"name: {path} has several associative arrays: {there}; say which"
            if found
            else f"path: {path} holds no associative array (a struct of row, col, val and "
            f"adj), but {there}"
        )
    chosen = name if name is not None else next(iter(found))
    return _assembled(cls, f"{path}, {chosen}", _fields(found[chosen]))


def _written(name: str, keys: Keys) -> Any:
    """Keys as D4M holds them: texts behind each other, or numbers."""
    if not isinstance(keys, TextKeys):
        array = keys.to_numpy()
        if array.dtype.kind in "mM":
            raise TypeError(f"save_mat: the {name} keys are timestamps; put_{name} gives others")
        return np.array(array).reshape(-1, 1)
    if not len(keys):
        return ""
    separator = next(
        (one for one in _SEPARATORS if keys.native.first_containing(one) is None), None
    )
    if separator is None:
        raise InvalidArgumentError(f"{name}: no character is left to separate the keys")
    content, offsets = keys.native.to_buffers()
    joined = np.insert(content, offsets[1:], ord(separator))
    return joined.tobytes().decode()


def _loaded(path: StrPath) -> dict[str, Any]:
    import scipy.io

    try:
        loaded = scipy.io.loadmat(str(path), appendmat=False, struct_as_record=True)
    except NotImplementedError:
        raise InvalidArgumentError(
            f"path: {path} is a .mat file of version 7.3; in Matlab: save -v7"
        ) from None
    except Exception as error:  # SciPy names no base class of what it raises on broken files.
        if isinstance(error, OSError) and error.errno is not None:
            raise  # The file cannot be opened or read.
        raise InvalidArgumentError(f"path: {path} is not a readable .mat file: {error}") from None
    return {key: value for key, value in loaded.items() if not key.startswith("__")}


def _is_assoc(value: Any) -> bool:
    if not isinstance(value, np.ndarray) or value.dtype.names is None or value.size != 1:
        return False
    names = {name.lower() for name in value.dtype.names}
    return {"row", "col", "val"} <= names and bool(names & {"adj", "a"})


def _fields(value: Array) -> dict[str, Any]:
    record = value.reshape(-1)[0]
    fields = {name.lower(): record[name] for name in value.dtype.names or ()}
    if "adj" not in fields:
        fields["adj"] = fields["a"]
    return fields


def _assembled(cls: Any, place: str, fields: dict[str, Any]) -> Assoc:
    import scipy.sparse

    from ostrakon.assoc.construction import fold

    try:
        matrix = scipy.sparse.coo_array(fields["adj"])
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"adj: {place}: no matrix: {error}") from None
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise InvalidArgumentError(f"adj: {place}: no matrix of numbers")
    if matrix.nnz == 0:
        return cast("Assoc", cls())
    sides = []
    for name, places, size in (
        ("row", matrix.row, matrix.shape[0]),
        ("col", matrix.col, matrix.shape[1]),
    ):
        items = _listed(name, place, fields[name], size)
        keys, ranks = resolve([items])[0]
        if len(ranks) < size:
            raise InvalidArgumentError(
                f"{name}: {place}: {len(ranks)} keys for {size} of the matrix"
            )
        sides.append((keys, ranks[places]))
    values: Array = matrix.data
    dictionary: TextKeys | None = None
    kind = _text_of(fields.get("kind", ""))
    if np.asarray(fields["val"]).size and not _is_one(fields["val"]):
        texts, ranks = resolve([_listed("val", place, fields["val"], None)])[0]
        if not isinstance(texts, TextKeys):
            raise InvalidArgumentError(f"val: {place}: texts are needed, or nothing")
        positions = values.astype(np.int64)
        if (positions < 1).any() or (positions > len(ranks)).any():
            raise InvalidArgumentError(
                f"adj: {place}: an entry points outside the {len(ranks)} texts of val"
            )
        values, dictionary = ranks[positions - 1].astype(np.uint32), texts
    elif kind in ("int64", "bool"):
        values = values.astype(kind)
    else:
        values = _numbers("adj", place, values)
    (row, rows), (col, cols) = sides
    triples = (np.ascontiguousarray(rows), np.ascontiguousarray(cols), values)
    return cast("Assoc", cls._make(*fold(row, col, dictionary, triples, "last", ";")))


def _numbers(name: str, place: str, values: Array) -> Array:
    items = read_items(name, values)
    if items.valid is not None or items.array is None:
        raise InvalidArgumentError(f"{name}: {place}: NaN is not a valid value")
    return items.array


def _listed(name: str, place: str, field: Any, size: int | None) -> Items:
    """Keys in any of the ways in which Matlab may have them."""
    array = np.asarray(field)
    if array.size == 0 or (array.dtype.kind == "U" and array.size == 1 and not array.item()):
        if size is None:
            return Items(name, 0, source=(name, "list", []))
        return Items(name, size, array=np.arange(1, size + 1, dtype=np.int64))
    if array.dtype.kind == "U" and array.size == 1:
        return _split(name, array.item(), size)
    if array.dtype.kind == "U":
        # A matrix of characters: a key in each row, filled up with blanks.
        return Items(
            name, array.size, source=(name, "list", np.char.rstrip(array).ravel().tolist())
        )
    if array.dtype.kind == "O":
        return Items(name, array.size, source=(name, "list", [_text_of(one) for one in array.flat]))
    if array.dtype.kind in "iuf":
        return Items(name, array.size, array=_numbers(name, place, array.ravel()))
    raise InvalidArgumentError(f"{name}: {place}: neither texts nor numbers")


def _split(name: str, text: str, size: int | None) -> Items:
    """A text whose last character separates. D4M.py forgets it; then the number of keys tells."""
    content = np.frombuffer(text.encode(), np.uint8)
    separator = text[-1]
    ends = np.flatnonzero(content == ord(separator)) if separator.isascii() else np.empty(0, int)
    if size is not None and len(ends) < size:
        for other in _SEPARATORS:
            found = np.flatnonzero(content == ord(other))
            if other != separator and len(found) == size - 1:
                ends = np.append(found, len(content))
                content = np.append(content, np.uint8(ord(other)))
                break
    if not len(ends):
        return Items(name, 1, source=(name, "list", [text]))
    # Each key without the separator after it; none is left in the buffer.
    keep = np.ones(len(content), bool)
    keep[ends] = False
    keep[ends[-1] :] = False
    offsets = np.zeros(len(ends) + 1, np.int64)
    offsets[1:] = ends - np.arange(len(ends))
    return Items(name, len(ends), source=(name, "buffer", content[keep], offsets))


def _text_of(value: Any) -> str:
    array = np.asarray(value)
    return str(array.item()) if array.size == 1 and array.dtype.kind == "U" else ""


def _is_one(value: Any) -> bool:
    """D4M.py's mark for numbers."""
    array = np.asarray(value)
    return array.dtype.kind in "iuf" and array.size == 1 and array.item() == 1
