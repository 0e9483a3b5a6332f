"""ADBC, the interface of Apache Arrow to databases, for the tables of a store. Needs
`adbc-driver-manager` and pyarrow (the extra `ostrakon[adbc]`).

>>> import ostrakon.adbc
>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as directory, ostrakon.adbc.connect(directory) as connection:
...     cursor = connection.cursor()
...     _ = cursor.execute("CREATE TABLE visits (day BIGINT, pages BIGINT, PRIMARY KEY (day))")
...     _ = cursor.executemany("INSERT INTO visits VALUES (?, ?)", [(1, 10), (2, 20)])
...     _ = cursor.execute("SELECT sum(pages) AS pages FROM visits WHERE day <= ?", [2])
...     found = cursor.fetch_arrow_table()
...     cursor.close()
>>> found.to_pydict()
{'pages': [30]}

Other programs load the driver by the path `driver()`, without the entry point's name: it is the one
that driver managers look for.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING

from ostrakon import _native, extras
from ostrakon.arguments import LEAST_MEMORY, bytes_of, flag_of, optional_integer, path_of
from ostrakon.errors import UnsupportedError
from ostrakon.scan import auths_of

if TYPE_CHECKING:
    import adbc_driver_manager.dbapi

    from ostrakon.ranges import Bytes

__all__ = ["connect", "driver"]


def driver() -> str:
    """The path of the shared library that has the driver in it."""
    if not _native.HAS_SQL:
        raise UnsupportedError("this build of the package is without SQL, and so without ADBC", {})
    path = _native.__file__
    if path is None:
        raise UnsupportedError("the package is not in a file that could be loaded", {})
    return path


def connect(
    path: str | PathLike[str],
    *,
    auths: Bytes | Iterable[Bytes] | None = None,
    label: Bytes = "",
    files: bool = False,
    read_only: bool = False,
    memory_bytes: int | None = None,
) -> adbc_driver_manager.dbapi.Connection:
    """A connection to the store in the directory `path`, which is created if it is missing,
    with the directories above it, as by `ostrakon.open`.

    The store is open until the connection is closed. Queries see what the authorizations `auths`
    allow, new records get the label `label`, and with `files` queries may read files by their path.
    `memory_bytes` is what queries may use, at least 16 MiB, by default an eighth of the machine's
    memory, from 256 MiB to 2 GiB. Each statement is committed by itself.

    Raises the errors of `adbc_driver_manager.dbapi`.
    """
    manager = extras.load("adbc_driver_manager.dbapi", "adbc")
    label = bytes_of("label", label, "an expression of labels as text, such as 'hr|audit'")
    options = {
        "uri": path_of("path", path),
        "adbc.ostrakon.label": label.decode() if isinstance(label, bytes) else label,
        "adbc.ostrakon.files": str(flag_of("files", files)).lower(),
        "adbc.ostrakon.read_only": str(flag_of("read_only", read_only)).lower(),
    }
    given = auths_of(auths)
    if given is not None:
        # Accumulo's serialised form, in which a name may have any characters.
        names = [name.encode() if isinstance(name, str) else name for name in given]
        coded = ",".join(b64encode(name).decode() for name in names)
        options["adbc.ostrakon.auths"] = f"!AUTH1:{coded}"
    memory_bytes = optional_integer("memory_bytes", memory_bytes, "a number of bytes", LEAST_MEMORY)
    if memory_bytes is not None:
        options["adbc.ostrakon.memory_bytes"] = str(memory_bytes)
    connection: adbc_driver_manager.dbapi.Connection = manager.connect(
        driver=driver(), db_kwargs=options, autocommit=True
    )
    return connection
