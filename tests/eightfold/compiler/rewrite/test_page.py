"""docs/compiler.md: what its network takes, and the rules; test_blocks.py has what is printed."""

import re
from pathlib import Path

import numpy as np
import pytest

from eightfold.common.files import IMPORT_ROOT
from eightfold.compiler import compile_network
from eightfold.compiler.rewrite import NAMES, rewrite
from eightfold.estimate.estimate import estimate_network
from eightfold.operators import load_model
from eightfold.target.config import PRESETS

PAGE = (IMPORT_ROOT / "docs" / "compiler.md").read_text(encoding="utf-8")


def test_the_network_takes_the_cycles_that_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (program,) = re.findall(r'^```python title="followed.py"\n(.*?)^```$', PAGE, re.DOTALL | re.M)
    exec(program, {"np": np})
    graph = load_model(Path("followed.tflite"))
    totals = [
        sum(estimate_network(compile_network(each, PRESETS["base"]).streams).values())
        for each in (graph, rewrite(graph).graph)
    ]
    assert "{:,} cycles by the estimate {:,}".format(*totals) in " ".join(PAGE.split())


def test_the_page_has_every_rule_in_order() -> None:
    named = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert tuple(named) == NAMES
