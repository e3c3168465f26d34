"""Words are packed as the layouts say, and nothing is truncated silently."""

import numpy as np
import pytest

from eightfold import isa
from eightfold.golden.rounding import ROUNDINGS
from eightfold.hw.blocks.layouts import hdl
from eightfold.isa import streams
from eightfold.isa.shapes import Layout, pack, signed, struct, unsigned
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
