"""The worked examples of the pages on arithmetic give what the pages say."""

import doctest
import re

import pytest

from eightfold.common.files import IMPORT_ROOT


@pytest.mark.parametrize(("name", "least"), [("numerics", 30), ("other-specs", 20)])
def test_worked_examples(name: str, least: int) -> None:
    page = IMPORT_ROOT / "docs" / f"{name}.md"
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page.name, str(page), 0)
    failed, attempted = doctest.DocTestRunner().run(test)
    assert (failed, attempted > least) == (0, True)
