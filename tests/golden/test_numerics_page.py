"""The worked examples of docs/numerics.md give what the page says."""

import doctest

from eightfold.common.files import IMPORT_ROOT

PAGE = IMPORT_ROOT / "docs" / "numerics.md"


def test_worked_examples() -> None:
    failed, attempted = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert attempted > 30
    assert failed == 0
