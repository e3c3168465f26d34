"""docs/compiler.md: its network is what the page says, and so is what becomes of it."""

import re
from pathlib import Path

import numpy as np
import pytest

from eightfold.compiler import compile_network
from eightfold.compiler.artifacts import write_compiled
from eightfold.compiler.rewrite import NAMES, rewrite
from eightfold.config import PRESETS
from eightfold.estimate.estimate import estimate_network
from eightfold.files import IMPORT_ROOT
from eightfold.model import load_model

PAGE = (IMPORT_ROOT / "docs" / "compiler.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    """Return the blocks of code of a language, in order."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return [text for language, text in found if language == kind]


def test_the_network_is_followed_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (program,) = blocks("python")
    exec(program, {"np": np})
    graph = load_model(Path("followed.tflite"))
    rewritten = rewrite(graph)
    (rules,) = (block for block in blocks("") if block.startswith("rewritten by"))
    (headings,) = (block for block in blocks("") if block.startswith("# operator"))
    assert rewritten.summary() == rules.splitlines()
    (segment,) = compile_network(rewritten.graph, PRESETS["base"]).segments
    assert segment.compiled is not None
    write_compiled(rewritten.graph, {tmp_path: segment.compiled})
    listing = (tmp_path / "listing.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in listing if line.startswith("#")] == headings.splitlines()
    totals = [
        sum(estimate_network(compile_network(each, PRESETS["base"])).values())
        for each in (graph, rewritten.graph)
    ]
    assert "{:,} cycles by the estimate {:,}".format(*totals) in " ".join(PAGE.split())


def test_the_page_has_every_rule_in_order() -> None:
    named = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert tuple(named) == NAMES
