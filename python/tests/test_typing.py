"""Programs as users write them: mypy accepts them as `strict`, and they run."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "typing"
README = Path(__file__).parents[2] / "README.md"
SCRIPTS = sorted(FOLDER.glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_script_runs(script: Path) -> None:
    runpy.run_path(str(script))


def test_mypy_accepts_the_scripts_and_the_readme(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    checked = list(SCRIPTS)
    for at, block in enumerate(blocks):
        checked.append(tmp_path / f"readme_{at}.py")
        checked[-1].write_text(block, encoding="utf-8")
    assert len(checked) > 10
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(FOLDER / "mypy.ini"),
         *map(str, checked)],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
