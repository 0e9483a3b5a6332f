from ostrakon import DB

with DB() as db:
    people = [{"name": "ann", "town": "Ulm"}, {"name": "bea", "town": "Bonn"}]
    done = db.ingest(people, id="name")
    count: int = done.records
    R = db.records()
    keys: list[str] = R.find(all_of="town|Ulm,")
    texts: dict[str, str] = R.text(keys)
    assert (count, keys, list(texts)) == (2, ["ann"], ["ann"])
    R.ingest([{"name": "ann", "town": "Bonn"}], id="name", upsert=True)
    assert R.count("town|Ulm") == 0
