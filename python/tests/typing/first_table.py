import ostrakon

with ostrakon.open() as db:
    edges = db.create_table("edges", exist_ok=True)
    written: int = edges.put(["alice", "bob"], ["bob", "carl"], [1, 2], family="edge")
    value: str | None = edges.get("alice", "bob", family="edge")
    names: list[str] = db.tables()
    assert (written, value, names, db["edges"].count()) == (2, "1", ["edges"], 2)
    db.drop("edges")
