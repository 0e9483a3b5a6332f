"""Products that would not fit into memory are refused before they are built; all others are not."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostrakon import Assoc
from ostrakon.assoc import memory
from ostrakon.errors import InvalidArgumentError, TooLargeError

KEYS = st.integers(0, 5).map(str)
ARRAYS = st.lists(st.tuples(KEYS, KEYS, st.integers(1, 9)), max_size=20).map(
    lambda triples: Assoc(*([triple[at] for triple in triples] for at in range(3)))
)


@given(left=ARRAYS, right=ARRAYS)
def test_the_limit_is_exact(left, right):
    whole = left @ right
    need = 12 * len(whole)
    assert left.matmul(right, limit_bytes=need).equals(whole)
    assert len(left.matmul(right, "min.plus", limit_bytes=need)) == len(whole)
    if len(whole):
        with pytest.raises(TooLargeError, match="other: the product has") as caught:
            left.matmul(right, limit_bytes=need - 1)
        assert caught.value.context["argument"] == "other"
        assert int(caught.value.context["need_bytes"]) >= need


@pytest.mark.parametrize("engine", ["native", "scipy", "graphblas"])
def test_every_engine_is_asked_before(engine):
    if engine == "graphblas":
        pytest.importorskip("graphblas")
    array = Assoc(np.arange(300), 0, 1)
    assert len(array.matmul(array.T, engine=engine, limit_bytes=300 * 300 * 12)) == 90_000
    with pytest.raises(
        TooLargeError, match="where 1.0 MiB may be used; multiply parts of the rows"
    ):
        array.matmul(array.T, engine=engine, limit_bytes=1 << 20)


def test_many_products_at_few_places_are_not_refused():
    # 40,000 multiplications, one entry: the bound is above the limit, the count is not.
    array = Assoc(0, np.arange(200), 1)
    tall = Assoc(np.arange(200), np.arange(200) % 2, 1)
    assert array.sqout(limit_bytes=12).values.tolist() == [200]
    assert tall.sqin(limit_bytes=24).values.tolist() == [100, 100]
    grid = Assoc(np.repeat(np.arange(50), 50), np.tile(np.arange(50), 50), 1)
    assert len(grid.matmul(grid, limit_bytes=2500 * 12)) == 2500


@pytest.mark.parametrize(
    "call",
    [
        lambda array: array.sqout(limit_bytes=10_000),
        lambda array: array.T.sqin(limit_bytes=10_000),
        lambda array: array.sqOut(limit_bytes=10_000),
        lambda array: array.catkeymul(array.T, limit_bytes=10_000),
        lambda array: array.CatValMul(array.T, limit_bytes=10_000),
        lambda array: array.T.catkeysqinnodiag(limit_bytes=10_000),
        lambda array: array.semiring_prod(array.T, max, min, limit_bytes=10_000),
        lambda array: array.semiring_prod(array.T, np.maximum, np.minimum, limit_bytes=10_000),
    ],
)
def test_every_product_is_refused(call):
    array = Assoc([f"r{at}" for at in range(100)], "inner", 1)
    text = "^(other|the array): .* would need at least"
    with pytest.raises(MemoryError, match=text) as caught:
        call(array)
    assert isinstance(caught.value, TooLargeError)


def test_texts_count():
    array = Assoc(["a", "b"], "k" * 1000, 1)
    assert array.catkeymul(array.T, limit_bytes=4 * 1001 + 4 * 16).nnz == 4
    with pytest.raises(TooLargeError, match="other: the texts of 4 products are 4,004 bytes"):
        array.catkeymul(array.T, limit_bytes=4000)
    with pytest.raises(TooLargeError, match="other: the product has"):
        array.catkeymul(array.T, limit_bytes=4 * 1001 + 4 * 16 - 1)


def test_the_limit_of_the_environment_and_of_the_machine(monkeypatch):
    array = Assoc(np.arange(100), 0, 1)
    monkeypatch.setenv("OSTRAKON_MEMORY_BYTES", "1000")
    with pytest.raises(TooLargeError, match="where 1000 bytes may be used"):
        array.sqout()
    assert len(array.sqout(limit_bytes=1 << 20)) == 10_000
    monkeypatch.delenv("OSTRAKON_MEMORY_BYTES")
    assert len(array.sqout()) == 10_000
    with pytest.raises(InvalidArgumentError, match="limit_bytes: -1 is negative"):
        array.sqout(limit_bytes=-1)
    known = memory.available_bytes()
    assert known is None or 1 << 20 < known < 1 << 50


def test_what_no_machine_has_is_refused_at_once():
    # 1.6 TB of entries: the bound alone does not tell, the count stops where it is clear.
    code = (
        "import numpy as np\n"
        "from ostrakon import Assoc\n"
        "A = Assoc(np.arange(400_000), 0, 1)\n"
        "for call in (A.sqout, lambda: A @ A.T, lambda: A.semiring_prod(A.T, max, min)):\n"
        "    try:\n"
        "        call()\n"
        "    except MemoryError as error:\n"
        "        print(type(error).__name__, error)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    lines = out.stdout.splitlines()
    assert len(lines) == 3
    assert [line.split(" the product has ")[0] for line in lines] == [
        "TooLargeError the array:", "TooLargeError other:", "TooLargeError other:",
    ]  # fmt: skip


def test_ulimit_is_a_limit():
    pytest.importorskip("resource")
    code = (
        "import numpy as np, resource\n"
        "from ostrakon import Assoc\n"
        "from ostrakon.assoc import memory\n"
        "A = Assoc(np.arange(10_000), 0, 1)\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (512 << 20),) * 2)\n"
        "assert memory.available_bytes() <= 512 << 20\n"
        "try:\n"
        "    A.sqout()\n"
        "except MemoryError as error:\n"
        "    print(error)\n"
    )
    if not sys.platform.startswith("linux"):
        pytest.skip("the limit of addresses is Linux's")
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout.startswith("the array: the product has ")


def test_a_long_key_does_not_fill_the_memory():
    # As an array of fixed width these rows would take 8 GB.
    array = Assoc(["long" * 5000, "short"], np.arange(2) % 1, 1)
    many = Assoc(["long" * 5000] * 100_000 + ["short"], np.arange(100_001), 1)
    rows, _, _ = many.find()
    assert rows.dtype == object
    assert (len(rows), rows[-1], len(rows[0])) == (100_001, "short", 20_000)
    assert array.find()[0].dtype.kind == "U"
    assert Assoc(rows, many.find()[1], 1).equals(many)
