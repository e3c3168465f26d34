"""Words are packed as the layouts say, commands are values, and nothing is truncated silently."""

import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eightfold import isa
from eightfold.golden.rounding import ROUNDINGS
from eightfold.hw.blocks.layouts import hdl
from eightfold.isa import streams
from eightfold.isa.decode import decode
from eightfold.isa.shapes import (
    Array,
    Enumeration,
    Field,
    Layout,
    Shape,
    below,
    number,
    pack,
    signed,
    struct,
    unsigned,
)
from eightfold.target.config import PRESETS, AcceleratorConfig

ENTRY_LAYOUT = struct({"index": unsigned(8), "value": signed(32)})


def test_rounding_codes_are_those_of_golden() -> None:
    assert [mode.name.lower() for mode in isa.Rounding] == list(ROUNDINGS)
    assert [mode.value for mode in isa.Rounding] == list(range(len(ROUNDINGS)))


@pytest.mark.parametrize("seed", range(4))
def test_packed_words_read_back_through_the_layout(seed: int) -> None:
    rng = np.random.default_rng(seed)
    config = AcceleratorConfig(lanes=3, width=int(rng.integers(2, 9)))
    layout = streams.activation_layout(config)
    count = 20
    fields = {
        "bytes": rng.integers(-128, 128, (count, config.width)),
        "slot": rng.integers(0, config.psum_depth, count),
        "line": rng.integers(0, config.line_depth, count),
        **{
            name: rng.integers(0, 2, count)
            for name in ("depthwise", "fire", "first", "last", "next_weights", "next_parameters")
        },
    }
    for row, word in enumerate(pack(layout, fields)):
        value = hdl(layout).from_bits(word)
        assert [value["bytes"][i] for i in range(config.width)] == fields["bytes"][row].tolist()
        for name in set(fields) - {"bytes"}:
            assert value[name] == fields[name][row]


def test_nested_fields_and_negative_numbers_read_back() -> None:
    extremes = {
        "bias": -(2**31), "left": 30, "multiplier": 2**31 - 1, "single": 1, "right": 62,
        "rounding": 6, "zero_point": -128, "low": -128, "high": 127,
    }  # fmt: skip
    fields = {**{f"requantize.{name}": value for name, value in extremes.items()}, "last": 1}
    word = hdl(streams.parameter_layout()).from_bits(pack(streams.parameter_layout(), fields)[0])
    for name, value in extremes.items():
        assert word["requantize"][name] == value
    assert word["last"] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"index": 256}, "index must be in 0..255"),
        ({"value": 2**31}, "value must be in -2147483648..2147483647"),
        ({"extra": 1}, "fields differ from the layout's: \\['extra'\\]"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pack(ENTRY_LAYOUT, {"index": 0, "value": 0, **change})


def test_a_vector_of_the_wrong_length_is_refused() -> None:
    layout = streams.weight_layout(PRESETS["nano"])
    with pytest.raises(ValueError, match=r"taps: shape \(2, 5\) is not \(2, 4\)"):
        pack(layout, {"taps": np.zeros((2, 5)), "last": [0, 1]})
    with pytest.raises(ValueError, match="taps must be in -128..127"):
        pack(layout, {"taps": np.full((1, 4), 128), "last": [0]})


def bits_of(layout: Layout) -> list[int]:
    """Return the bits of all fields, one after the other."""
    return [bit for _, field in layout for bit in range(field.offset, field.offset + field.width)]


@pytest.mark.parametrize("command", isa.COMMANDS.values(), ids=lambda c: c.opcode.name)
def test_fields_of_a_command_share_no_bit_and_cross_no_word(command: isa.Command) -> None:
    bits = bits_of(command.layout)
    assert len(set(bits)) == len(bits) and max(bits) < 32 * command.words
    for name, field in command.layout:
        if name != "requantize":
            assert field.offset // 32 == (field.offset + field.width - 1) // 32, name
    assert all(entry.text for entry in (*isa.HEADER, *command.fields))


def test_every_command_begins_with_its_opcode_and_index() -> None:
    assert list(isa.COMMANDS) == list(isa.Opcode)
    for opcode, command in isa.COMMANDS.items():
        words = command.encode(index=0xABCD, wait=5, signal=2)
        assert words.dtype == np.dtype("<u4") and words.shape == (command.words,)
        assert words[0] == 0xABCD_2500 | opcode.value
        assert not words[1:].any()


def test_gather_has_the_fields_of_move_where_move_has_them() -> None:
    """The mover reads them as those of a MOVE."""
    layouts = (command.layout for command in (isa.MOVE, isa.GATHER))
    move, gather = ({str(name): field for name, field in layout} for layout in layouts)
    shared = {name for name in move if name in gather}
    assert shared == {name for name in move if name != "fill" and not name.endswith("3")}
    assert {name: move[name] for name in shared} == {name: gather[name] for name in shared}
    end = gather["count2"].offset + 16
    assert all(field.offset != end for field in gather.values()), "where MOVE has count3"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"run": 1 << 24}, "^MOVE: run must be in 0..16777215, not 16777216"),
        ({"source_stride3": -(2**31) - 1}, "source_stride3 must be in -2147483648..2147483647"),
        ({"count4": 1}, r"fields differ from the layout's: \['count4'\]"),
        ({"index": 1 << 16}, "index must be in 0..65535"),
    ],
)
def test_commands_take_only_what_fits(fields: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        isa.MOVE.encode(**fields)


def test_registers_are_words_that_do_not_overlap() -> None:
    offsets = [register.offset for register in isa.REGISTERS]
    assert offsets == sorted(set(offsets)) and max(offsets) < 0x100
    assert all(offset % 4 == 0 for offset in offsets)
    for register in isa.REGISTERS:
        assert register.layout.size == 32, register.name
        bits = bits_of(register.layout)
        assert len(set(bits)) == len(bits), register.name


def test_the_identification_is_ascii() -> None:
    assert isa.IDENTIFICATION.to_bytes(4, "big") == b"8FLD"


@pytest.mark.parametrize("name", PRESETS)
def test_configuration_words_tell_the_sizes(name: str) -> None:
    config = PRESETS[name]
    sizes, memories = isa.configuration_words(config)
    assert list(sizes.to_bytes(4, "little")) == [
        config.lanes, config.width, config.port, config.vector_lanes,
    ]  # fmt: skip
    scratchpad, psums, lines, tables = memories.to_bytes(4, "little")
    # Bits of what is left out lie above.
    assert (1 << scratchpad % 32, 1 << psums % 64, 1 << lines, tables) == (
        config.scratchpad, config.psum_depth, config.line_depth, config.tables,
    )  # fmt: skip


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
    places = [(name, field.offset, field.width) for name, field in layout]
    assert places == [("flag", 0, 1), ("inner", 1, 13), ("taps", 14, 24)]
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
from eightfold.isa.headers import c_header
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
