"""The examples of the guide run as they are printed."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[3] / "docs" / "guide"


@pytest.mark.parametrize("page", ["associative-arrays.md", "coming-from-d4m.md"])
def test_examples_of_the_guide(page: str) -> None:
    result = doctest.testfile(str(GUIDE / page), module_relative=False, encoding="utf-8")
    assert result.attempted > 2
    assert result.failed == 0
