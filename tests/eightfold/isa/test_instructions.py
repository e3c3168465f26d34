"""Commands as values: their fields are those of the instruction set, in its order."""

from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest

from eightfold import isa
from eightfold.isa.decode import decode
from eightfold.isa.shapes import signed, unsigned


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
