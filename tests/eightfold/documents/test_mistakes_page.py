"""The examples of docs/mistakes.md."""

import doctest

from eightfold.common.files import IMPORT_ROOT

PAGE = IMPORT_ROOT / "docs" / "mistakes.md"


def test_examples_give_what_the_page_says() -> None:
    failed, attempted = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert attempted > 0 and failed == 0
