import ostrakon
from ostrakon.errors import InvalidArgumentError


def load(table: ostrakon.Table, pairs: list[tuple[str, str]]) -> int:
    count = 0
    with table.writer(durability="log") as writer:
        for row, qualifier in pairs:
            count += writer.put(row, qualifier, 1, family="edge")
        writer.flush()
    return count


with ostrakon.open() as db:
    assert load(db.create_table("t"), [("a", "b"), ("b", "c")]) == 2
    try:
        db["t"].put(["a", "b"], ["x"])
    except InvalidArgumentError as error:
        context: dict[str, str] = error.context
        assert context["argument"]
