"""The worked examples of docs/numerics.md give what the page says."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "numerics.md"


def test_worked_examples() -> None:
    failed, attempted = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert attempted > 30
    assert failed == 0
