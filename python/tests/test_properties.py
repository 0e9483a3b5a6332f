"""Any entries that go in come out, sorted, whatever form they have: a dictionary is the judge."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import ostrakon

part = st.binary(max_size=20)
cells = st.dictionaries(st.tuples(part, part, part), part, max_size=60)


@settings(max_examples=60, deadline=None)
@given(cells=cells, chunks=st.integers(1, 5), bulk=st.booleans(), batch_entries=st.integers(1, 70))
def test_what_goes_in_comes_out(
    cells: dict[tuple[bytes, bytes, bytes], bytes], chunks: int, bulk: bool, batch_entries: int
) -> None:
    given = list(cells.items())
    step = max(1, len(given) // chunks)
    parts = [given[at : at + step] for at in range(0, len(given), step)]

    def column(pick: int) -> pa.ChunkedArray:
        picked = [[key[pick] if pick < 3 else value for key, value in one] for one in parts]
        return pa.chunked_array(picked, pa.binary())

    with ostrakon.open(memory_budget_bytes=64 << 20) as store:
        table = store.create_table("t")
        write = table.bulk_import if bulk else table.put
        assert write(column(0), column(2), column(3), family=column(1)) == len(given)
        scan = table.scan(text=False, batch_entries=batch_entries)
        found = [((e.row, e.family, e.qualifier), e.value) for e in scan.entries()]
        assert found == sorted(cells.items())
        frame = pa.table(scan)
        assert frame["value"].to_pylist() == [value for _, value in found]
