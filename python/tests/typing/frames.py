# pyright: reportUnknownMemberType=false
# pyarrow has no types.

import polars as pl

import ostrakon

with ostrakon.open() as db:
    table = db.create_table("t")
    frame = pl.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
    table.put_frame(frame, {"row": "source", "qualifier": "target"}, value="1")
    read: pl.DataFrame = table.to_polars()
    assert read["row"].to_list() == ["a", "b"]
    lazy: pl.LazyFrame = table.scan().lazy()
    assert lazy.filter(pl.col("row") == "b").collect().height == 1
    assert table.to_arrow().num_rows == 2
