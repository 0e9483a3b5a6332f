"""The examples of the pages run as printed."""

from __future__ import annotations

import doctest
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def test_the_example_of_the_readme_runs() -> None:
    outcome = doctest.testfile(str(ROOT / "python/README.md"), module_relative=False)
    assert outcome.attempted >= 5
    assert outcome.failed == 0


def blocks_of(page: str) -> list[tuple[str, str]]:
    """The blocks of code, and what each prints if the next block is text."""
    found = r"```python\n(.*?)```(?:\n[^`]*?\n```text\n(.*?)```)?"
    return re.findall(found, page, re.DOTALL)


@pytest.mark.parametrize("name", ["sql", "events", "operations"])
def test_the_examples_of_the_pages_of_commands_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    page = (ROOT / f"docs/guide/{name}.md").read_text()
    if name == "events":
        # The page makes its logs by these commands.
        commands = re.findall(r"^\$ ((?:mkdir|printf|cat|rm) .* ?logs.*)$", page, re.MULTILINE)[:11]
        for command in commands:
            subprocess.run(["/bin/sh", "-c", command], check=True)
    blocks = blocks_of(page)
    assert len(blocks) == {"sql": 2, "events": 1, "operations": 1}[name]
    for code, printed in blocks:
        exec(code, {})
        assert capsys.readouterr().out == printed != ""


def test_the_examples_of_the_guide_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/guide/python.md").read_text()
    blocks = blocks_of(page)
    assert [bool(printed) for _, printed in blocks] == [
        *[True, True, True, False, False, False, False],
        # SQL, the DB-API, ADBC, events, errors
        *[True, True, True, True, True],
    ]
    names: dict[str, Any] = {}
    for code, printed in blocks:
        exec(code, names)
        shown = capsys.readouterr().out
        assert not printed or shown == printed
    with names["db"]:
        assert names["edges"].count() == 5
        # Each line of the page that makes a scan makes one that can be read.
        scans = [line for line in page.splitlines() if line.startswith("edges.scan(")]
        assert len(scans) == 10
        counts = [eval(line.split("  #")[0], names).count() for line in scans]
        assert counts == [5, 2, 5, 2, 3, 1, 5, 5, 2, 5]
        readings, noon = names["readings"], names["noon"]
        assert readings.count() == 2
        assert "This prints `2`." in page
        cold = readings.scan().where("celsius", 0, 10).columns("sensor", "celsius").head()
        assert f"prints `{cold}`" in page
        # Each line of the table of narrowed scans can be read.
        narrowed = re.findall(r"^\| `(scan\(\)\..*?)` \|", page, re.MULTILINE)
        assert len(narrowed) == 5
        for line in narrowed:
            assert eval(f"readings.{line}", {"readings": readings, "noon": noon}).count() >= 0
