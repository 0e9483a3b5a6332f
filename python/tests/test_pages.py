"""The examples of the pages run as printed."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_example_of_the_readme_runs() -> None:
    outcome = doctest.testfile(str(ROOT / "python/README.md"), module_relative=False)
    assert outcome.attempted >= 5
    assert outcome.failed == 0


def test_the_examples_of_the_guide_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/guide/python.md").read_text()
    first, *others = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, object] = {}
    exec(first, names)
    import ostrakon

    with ostrakon.open("graph.db") as db:
        names.update(edges=db.table("edges"), pairs=[("carl", "dora")], names=["alice", "bob"])
        assert len(others) == 2
        for code in others:
            exec(code, names)
        edges = db.table("edges")
        assert edges.scan().count() == 4
        # Each line of the page is a scan that can be read.
        for line in others[1].splitlines():
            assert eval(line.split("#")[0], names).count() <= 4
