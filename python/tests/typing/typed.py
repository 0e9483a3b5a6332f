import datetime as dt

import ostrakon
from ostrakon import Schema, TypedScan

schema = Schema({"sensor": "text", "at": "datetime"}, {"celsius": "float"})
with ostrakon.open() as db:
    readings = db.create_table("readings", schema=schema).typed()
    now = dt.datetime(2024, 1, 1)
    count: int = readings.put({"sensor": ["a", "b"], "at": [now, now], "celsius": [-4.5, None]})
    scan: TypedScan = readings.scan().rows("a").where("celsius", None, 0.0).auths(["hr", "it"])
    found = scan.head()
    key: bytes = schema.key("a")
    assert (count, found[0]["celsius"], key) == (1, -4.5, b"a")
    assert readings.scan().range("a", ...).auths("hr").count() == 1
    deleted: int = readings.delete("a", columns=["celsius"], visibility="")
    assert deleted == 1
