from collections.abc import Iterator

import ostrakon


def seen(table: ostrakon.Table, *auths: str) -> list[str]:
    entries: Iterator[ostrakon.Entry] = table.scan("alice", auths=auths).entries()
    return [entry.value for entry in entries]


with ostrakon.open() as db:
    people = db.create_table("people")
    people.put("alice", "city", "Berlin", family="contact")
    people.put("alice", "mail", "a@b.c", family="contact", visibility="hr|self")
    assert seen(people, "hr") == ["Berlin", "a@b.c"]
    assert seen(people) == ["Berlin"]
