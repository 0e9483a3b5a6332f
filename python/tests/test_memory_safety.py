"""What the native part believes of memory that is not its own."""

import threading

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import ostrakon
from ostrakon import Assoc


@pytest.fixture
def table():
    with ostrakon.open() as store:
        yield store.create_table("t")


class Liar:
    """Says of itself that it is an array somewhere in memory."""

    def __init__(self, address, length, kind="<i8"):
        self.__array_interface__ = {
            "version": 3,
            "typestr": kind,
            "shape": (length,),
            "data": (address, True),
            "strides": None,
        }


@pytest.mark.parametrize("argument", ["row", "qualifier", "value", "family", "visibility"])
def test_an_object_with_an_address_is_not_a_column(table, argument):
    arguments = {"row": "k", argument: Liar(8, 4)}
    with pytest.raises(ostrakon.errors.InvalidArgumentError, match=f"`{argument}`"):
        table.put(**arguments)
    with pytest.raises(ostrakon.errors.InvalidArgumentError, match="timestamp"):
        table.put("k", timestamp=Liar(8, 4))
    with pytest.raises((ostrakon.errors.InvalidArgumentError, TypeError)):
        table.scan(Liar(8, 4)).count()
    assert table.scan().count() == 0


def test_what_an_array_says_of_itself_is_not_believed(table):
    class Lying(np.ndarray):
        __array_interface__ = Liar(8, 10**6).__array_interface__
        shape = (10**6,)
        strides = (8,)

    lying = np.arange(3).view(Lying)
    assert table.put("k", ["a", "b", "c"], lying) == 3
    assert [entry.value for entry in table.scan().entries()] == ["0", "1", "2"]


def test_strides_of_any_kind_are_followed(table):
    numbers = np.arange(10)
    for name, array in {
        "backwards": numbers[::-3],
        "gaps": numbers[1::4],
        "repeated": as_strided(numbers[4:], (3,), (0,)),
        "field": np.array([(1, 2), (3, 4)], dtype=[("a", "i1"), ("b", "<i8")])["b"],
        "other order": numbers[:4].astype(">i8"),
        "read-only": np.broadcast_to(np.int64(7), (4,)),
        "no bytes": np.array(["", ""]),
    }.items():
        table.put(name, [str(at) for at in range(len(array))], array)
        found = [entry.value for entry in table.scan(name).entries()]
        assert found == [str(item) for item in array.tolist()], name


def test_blocks_of_an_array_follow_each_other(table):
    width = 1 << 12
    count = (4 << 20) // width + 3  # a block has 4 MiB
    names = [f"{at:06}" for at in range(count)]
    wide = np.array(names, dtype=f"S{width}")
    assert table.put("k", names, wide, durability="none") == count
    assert [entry.value for entry in table.scan().entries()] == names


def test_masked_items_are_not_written(table):
    with pytest.raises(ostrakon.errors.InvalidArgumentError, match=r"masked .*filled"):
        table.put("k", ["a", "b"], np.ma.array([1, 2], mask=[False, True]))


def test_an_array_may_be_written_to_while_it_is_read(table):
    # What is stored is one state or another of each item, and never anything else.
    numbers = np.full(1 << 16, 1111, np.int64)
    over = threading.Event()

    def write():
        while not over.is_set():
            numbers[:] = 2222
            numbers[:] = 1111

    writing = threading.Thread(target=write)
    writing.start()
    try:
        names = [str(at) for at in range(len(numbers))]
        for _ in range(3):
            table.put("k", names, numbers, durability="none")
            kinds = set(Assoc(names, "x", numbers).values.tolist())
            assert kinds <= {1111, 2222}
    finally:
        over.set()
        writing.join()
    assert {entry.value for entry in table.scan().entries()} <= {"1111", "2222"}


def test_memory_that_kernels_share_can_be_opened_by_nobody():
    array = Assoc(["a", "a", "b"], ["x", "y", "x"], [1, 2, 3])
    matrix = array._matrix
    for part in (matrix.starts, matrix.columns, array.transpose()._matrix.values):
        assert not part.flags.writeable
        with pytest.raises(ValueError, match="WRITEABLE"):
            part.flags.writeable = True
        with pytest.raises(ValueError, match="WRITEABLE"):
            part[:].flags.writeable = True


def test_a_nonzero_byte_is_true():
    marks = np.frombuffer(b"\x00\x01\x02\xff", bool)
    assert Assoc(["a", "b", "c", "d"], "x", marks).row.tolist() == ["b", "c", "d"]
