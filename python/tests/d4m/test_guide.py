"""What is printed in the README and the guide runs, and says what is printed."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_examples_of_the_guide() -> None:
    page = ROOT / "docs" / "guide" / "graphs.md"
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert result.attempted > 20
    assert result.failed == 0


def test_the_example_of_the_readme(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert found is not None
    code, printed = found.groups()
    assert len(code.splitlines()) <= 10
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert run.stdout == printed
    assert (tmp_path / "people.db").is_dir()
