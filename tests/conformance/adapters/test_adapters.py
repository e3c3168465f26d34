"""A file with an adapter is light to load, and finds its sources beside it however it is loaded."""

import runpy
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import eightfold.conformance.adapters as room
from tests.support.conformance.streams import bytes_of, columns

ADAPTER = """
from eightfold.conformance.adapters import StreamAdapter


class Mine(StreamAdapter):
    sources = ["rtl/mine.v"]
    top = "mine"
    clock = None
    latency = 0
    inputs = {"x": "accumulator"}
    outputs = {"result": "y[7:0]"}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "rtl").mkdir()
    source = "module mine (input [31:0] x, output [31:0] y); assign y = x; endmodule\n"
    (tmp_path / "rtl" / "mine.v").write_text(source)
    (tmp_path / "mine.py").write_text(ADAPTER)
    return tmp_path / "mine.py"


def test_an_adapter_in_a_file_finds_its_sources_beside_it(file: Path) -> None:
    spec = spec_from_file_location("mine", file)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)  # which is not in sys.modules
    for kind in (module.Mine, runpy.run_path(str(file))["Mine"]):
        answers = kind().answer(columns(20), simulator="icarus")
        assert np.array_equal(answers.results["result"], bytes_of(columns(20)["accumulator"]))


def test_every_public_name_is_there() -> None:
    assert dir(room) == sorted(room.__all__)
    for name in room.__all__:
        assert getattr(room, name).__name__ == name
    with pytest.raises(AttributeError, match="Other"):
        _ = room.Other  # pyright: ignore[reportAttributeAccessIssue]


def test_no_simulator_is_loaded_with_an_adapter(file: Path) -> None:
    program = (
        f"import runpy, sys; runpy.run_path({str(file)!r})\n"
        "from eightfold.conformance.adapters import MemoryMappedAdapter\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('cocotb', 'amaranth')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
