"""Shapes know their range, layouts their places, and nothing here needs an HDL."""

import subprocess
import sys
from pathlib import Path

import pytest

from eightfold.isa.shapes import (
    Array,
    Enumeration,
    Field,
    Layout,
    Shape,
    below,
    number,
    signed,
    struct,
    unsigned,
)

DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits.tflite"


class Kind(Enumeration, shape=unsigned(5)):
    """Two values in more bits than they need."""

    SMALL = 0
    LARGE = 3


@pytest.mark.parametrize(
    ("shape", "width", "low", "high"),
    [
        (unsigned(8), 8, 0, 255),
        (signed(8), 8, -128, 127),
        (unsigned(32), 32, 0, 2**32 - 1),
        (signed(32), 32, -(2**31), 2**31 - 1),
        (unsigned(1), 1, 0, 1),
        (below(1), 0, 0, 0),
        (below(256), 8, 0, 255),
        (below(257), 9, 0, 511),
    ],
)
def test_a_shape_knows_its_range(shape: Shape, width: int, low: int, high: int) -> None:
    assert (shape.width, shape.low, shape.high) == (width, low, high)


def test_an_enumeration_is_as_wide_as_it_says() -> None:
    assert number(Kind) == unsigned(5) and Field(Kind, 0).width == 5
    assert [kind.value for kind in Kind] == [0, 3]


def test_fields_follow_each_other() -> None:
    inner = struct({"byte": signed(8), "kind": Kind})
    layout = struct({"flag": unsigned(1), "inner": inner, "taps": Array(signed(8), 3)})
    assert [(name, field.offset, field.width) for name, field in layout] == [
        ("flag", 0, 1),
        ("inner", 1, 13),
        ("taps", 14, 24),
    ]
    assert layout.size == 38 and layout["inner"].shape == inner


def test_no_field_crosses_a_word_but_a_layout() -> None:
    wide = struct({"low": unsigned(20), "high": unsigned(20)})
    shapes = {"a": unsigned(20), "b": unsigned(13), "c": wide, "d": unsigned(1)}
    layout = struct(shapes, word=32)
    assert [field.offset for _, field in layout] == [0, 32, 64, 104]
    assert layout.size == 128


def test_an_array_is_no_number() -> None:
    with pytest.raises(TypeError, match="is no number"):
        number(Array(signed(8), 2))
    with pytest.raises(TypeError, match="is no number"):
        number(Layout(0, ()))


WITHOUT_HDL = """
import sys
from pathlib import Path
sys.modules["amaranth"] = None  # an import of it fails
from eightfold.compiler import compile_network
from eightfold.compiler.artifacts import write_compiled
from eightfold.target.config import PRESETS
from eightfold.estimate.estimate import estimate_network
from eightfold.isa.c_header import c_header
from eightfold.isa.document import isa_document
from eightfold.operators import load_model
graph = load_model(Path(sys.argv[1]))
network = compile_network(graph, PRESETS["nano"])
assert write_compiled(graph, {Path(sys.argv[2]): network.segments[0].compiled})
assert sum(estimate_network(network.streams).values()) and c_header() and isa_document()
"""


@pytest.mark.slow
def test_a_network_is_compiled_listed_and_estimated_without_an_hdl(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_HDL, str(DIGITS), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "MATRIX" in (tmp_path / "listing.txt").read_text(encoding="utf-8")
