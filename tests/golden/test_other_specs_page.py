"""The examples of docs/other-specs.md."""

import doctest
import re

from eightfold.common.files import IMPORT_ROOT

PAGE = IMPORT_ROOT / "docs" / "other-specs.md"


def test_every_example_of_the_page_is_true() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    source = "\n".join(blocks)
    assert source.count(">>>") > 20
    test = doctest.DocTestParser().get_doctest(source, {}, PAGE.name, str(PAGE), 0)
    runner = doctest.DocTestRunner()
    runner.run(test)
    assert runner.summarize(verbose=False).failed == 0
