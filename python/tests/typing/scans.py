import ostrakon
from ostrakon import Range, Scan

with ostrakon.open() as db:
    table = db.create_table("t", splits=["m"])
    table.put(["a", "b", "z"], "q", ["1", "2", "3"], family="f")
    scan: Scan = table.scan().rows(Range("a", "m")).columns("f", ("g", "h")).auths("hr").limit(10)
    text: str = scan.explain()
    assert scan.count() == 2
    assert "limit" in text or "at most" in text
    for batch in scan:
        fields: list[str] = batch.fields
        assert len(batch) == 2
        assert fields[0] == "row"
    assert [entry.row for entry in table.scan(Range.prefix("z")).head(1)] == ["z"]
    assert table.scan().range("a", "b").auths(["hr"]).count() == 2
    texts: list[str] = [entry.value.upper() for entry in table.scan().entries()]
    first: bytes = table.scan(text=False).rows("b").head(1)[0].value
    value: str | None = table.get("a", "q", family="f")
    raw: bytes | None = table.get("a", "q", family="f", text=False)
    assert (texts, first, value, raw) == (["1", "2", "3"], b"2", "1", b"1")
    deleted: int = table.delete("a", "q", family="f", visibility="", timestamp=None)
    assert deleted == 1
