"""Commands as values: fields in the set's order; shapes know their range, layouts their places."""

import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eightfold import isa
from eightfold.isa.decode import decode
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


def vector(**fields: Any) -> isa.Vector:
    return isa.Vector(run=8, source_a=-3, target=64, **fields)


def test_every_command_has_its_class() -> None:
    assert {command.instruction for command in isa.COMMANDS.values()} == {
        isa.Begin, isa.End, isa.Weights, isa.Parameters, isa.Move, isa.Matrix, isa.Vector,
        isa.Gather,
    }  # fmt: skip
    for opcode, command in isa.COMMANDS.items():
        assert command.opcode == opcode == command.instruction.opcode


def test_fields_have_shape_and_text_in_the_order_of_their_bits() -> None:
    entries = isa.Weights.entries()
    assert [entry.name for entry in entries] == ["address", "full", "partial", "partial_lanes"]
    assert [entry.shape for entry in entries] == [unsigned(n) for n in (32, 32, 24, 8)]
    shapes = {entry.name: entry.shape for entry in isa.Vector.entries()}
    assert shapes["combine"] is isa.Combine and shapes["fill"] == signed(8)
    assert shapes["requantize"] == isa.REQUANTIZE_LAYOUT


def test_values_are_numbers_those_of_a_structure_by_its_name() -> None:
    values = vector(combine=isa.Combine.ADD, requantize=isa.Requantize(bias=-7)).values()
    assert (values["combine"], values["source_a"], values["requantize.bias"]) == (1, -3, -7)
    assert all(type(value) is int for value in values.values())


def test_a_command_left_as_usual_does_its_work_once_and_changes_nothing() -> None:
    values = vector().values()
    once = {"count0", "count1", "count2", "window0", "window1", "rows", "columns"}
    assert {name for name, value in values.items() if value == 1} == {*once, "requantize.single"}
    assert (values["requantize.low"], values["requantize.high"]) == (-128, 127)


def test_requantization_takes_numbers() -> None:
    assert isa.Requantize.of(isa.Requantize().values()) == isa.Requantize()
    assert isa.Requantize.of({"rounding": 5}).rounding is isa.Rounding.DOWN


def test_an_encoded_value_decodes_to_itself() -> None:
    begin = isa.Begin(version=isa.VERSION, configuration=1, memories=2)
    stream = [begin, vector(row=isa.Row.SUM, lookup_a=1, table_a=3), isa.End()]
    words = [
        isa.COMMANDS[each.opcode].encode(index=number, **each.values())
        for number, each in enumerate(stream)
    ]
    decoded = list(decode(np.concatenate(words)))
    assert [command.fields for command in decoded] == [each.values() for each in stream]


def test_a_command_cannot_be_changed_or_have_other_fields() -> None:
    with pytest.raises(FrozenInstanceError):
        vector().run = 9  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(TypeError, match="a_step3"):
        vector(a_step3=1)
    assert vector().with_fields(count0=7) == replace(vector(), count0=7)
    with pytest.raises(TypeError, match="'count9'"):
        vector().with_fields(count9=7)


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
