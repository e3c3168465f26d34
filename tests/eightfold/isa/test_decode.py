"""Streams decode to what was encoded; a listing names what a command does, on one line."""

import numpy as np
import pytest

from eightfold import isa
from eightfold.isa import Combine, ErrorCode, Opcode, Operand, Row, Space
from eightfold.isa.decode import CommandError, command_places, decode, listing, read_stream
from eightfold.isa.shapes import number
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.command_streams import Item, bits, gather, matrix, move, stream, vector

CONFIG = AcceleratorConfig(lanes=4, width=4, port=4, vector_lanes=2)
ENGINE_COMMANDS = (Opcode.MOVE, Opcode.MATRIX, Opcode.VECTOR, Opcode.GATHER)


def extremes(opcode: Opcode, pick: str) -> dict[str, int]:
    """Return the lowest or highest value of every field behind the header, or alternating ones."""
    fields = {}
    for index, place in enumerate(command_places(opcode)[len(isa.HEADER) :]):
        is_high = pick == "high" or (pick == "mixed" and index % 2)
        fields[place.name] = number(place.shape).high if is_high else number(place.shape).low
    return fields


@pytest.mark.parametrize("pick", ["low", "high", "mixed"])
@pytest.mark.parametrize(
    "opcode", [o for o in isa.COMMANDS if o not in (Opcode.BEGIN, Opcode.END)], ids=lambda o: o.name
)
def test_extreme_fields_decode_to_what_was_encoded(opcode: Opcode, pick: str) -> None:
    fields = extremes(opcode, pick)
    wait, signal = ("ov", "av") if opcode in ENGINE_COMMANDS else ("", "")
    (_, command, end) = decode(stream(CONFIG, [(isa.COMMANDS[opcode], fields, wait, signal)]))
    assert (command.number, command.opcode) == (1, opcode)
    assert command.fields == fields
    assert sum(1 << engine.value for engine in command.wait) == bits(wait)
    assert sum(1 << engine.value for engine in command.signal) == bits(signal)
    assert end.opcode == Opcode.END


@pytest.mark.slow
def test_numbers_go_on_where_the_index_wraps() -> None:
    count = 65537
    length = isa.PARAMETERS.words
    words = stream(CONFIG, [(isa.PARAMETERS, {"channels": 1}, "", "")])
    begin = words[:4]
    command = words[4 : 4 + length]
    end = words[4 + length :]
    commands = np.tile(command & 0xFFFF, (count, 1))
    commands[:, 0] |= (np.arange(1, count + 1, dtype=np.uint32) << 16) & 0xFFFF0000
    last = np.array([(int(end[0]) & 0xFFFF) | (count + 1) % (1 << 16) << 16], np.uint32)
    words = np.concatenate([begin, commands.ravel(), last]).astype(np.uint32)
    decoded = list(decode(words))
    assert [command.number for command in decoded] == list(range(count + 2))


@pytest.mark.parametrize("opcode", isa.COMMANDS, ids=lambda o: o.name)
def test_every_bit_that_no_field_uses_is_refused(opcode: Opcode) -> None:
    """One bit at a time; a bit of a field gives another value or another error."""
    command = isa.COMMANDS[opcode]
    used = {bit for place in command_places(opcode)
            for bit in range(place.offset, place.offset + place.width)}  # fmt: skip
    unused = [bit for bit in range(32 * command.words) if bit not in used]
    middle = opcode not in (Opcode.BEGIN, Opcode.END)
    words = stream(CONFIG, [(command, extremes(opcode, "low"), "", "")] if middle else [])
    start = 0 if opcode == Opcode.BEGIN else len(words) - 1 if opcode == Opcode.END else 4
    for bit in unused:
        spoiled = words.copy()
        spoiled[start + bit // 32] |= 1 << bit % 32
        with pytest.raises(CommandError, match=f"word {bit // 32}, bit {bit % 32} is set") as error:
            list(decode(spoiled))
        begins = opcode == Opcode.BEGIN
        assert error.value.code == (ErrorCode.VERSION if begins else ErrorCode.ILLEGAL_COMMAND)
    if opcode in (*ENGINE_COMMANDS, Opcode.PARAMETERS, Opcode.BEGIN):
        assert unused


def spoiled(place: int, value: int) -> np.ndarray:
    """Return BEGIN, a MOVE and END with another word at ``place``."""
    words = stream(CONFIG, [move(run=1)])
    words[place] = value
    return words


WORDS = stream(CONFIG, [move(run=1)])


@pytest.mark.parametrize(
    ("words", "code", "index", "text"),
    [
        (spoiled(0, 5), ErrorCode.VERSION, 0, "not BEGIN"),
        (spoiled(0, 0), ErrorCode.VERSION, 0, "not BEGIN"),
        (spoiled(1, 1), ErrorCode.VERSION, 0, f"version 0x1 is not {isa.VERSION:#x}"),
        (spoiled(2, 0), ErrorCode.VERSION, 0, "configuration 0x0"),
        (spoiled(3, 0), ErrorCode.VERSION, 0, "memories 0x0"),
        (spoiled(0, 1 << 16 | 1), ErrorCode.ILLEGAL_COMMAND, 0, "index 1"),
        (spoiled(4, 1 << 16), ErrorCode.ILLEGAL_COMMAND, 1, "no opcode 0"),
        (spoiled(4, 1 << 16 | 9), ErrorCode.ILLEGAL_COMMAND, 1, "no opcode 9"),
        (spoiled(4, 2 << 16 | 5), ErrorCode.ILLEGAL_COMMAND, 1, "index 2"),
        (spoiled(4, 1 << 16 | 8 << 8 | 5), ErrorCode.ILLEGAL_COMMAND, 1, "a token of no engine"),
        (spoiled(4, 1 << 16 | 8 << 12 | 5), ErrorCode.ILLEGAL_COMMAND, 1, "a token of no engine"),
        (spoiled(19, 2 << 16 | 1 << 8 | 2), ErrorCode.ILLEGAL_COMMAND, 2, "END takes no tokens"),
        (spoiled(4, 1 << 16 | 1), ErrorCode.ILLEGAL_COMMAND, 1, "a second BEGIN"),
        (WORDS[:-1], ErrorCode.ILLEGAL_COMMAND, 2, "no END"),
        (WORDS[:-2], ErrorCode.ILLEGAL_COMMAND, 1, "the stream ends in it"),
        (np.append(WORDS, WORDS[-1:]), ErrorCode.ILLEGAL_COMMAND, 3, "words behind END"),
        (WORDS[:0], ErrorCode.ILLEGAL_COMMAND, 0, "no END"),
    ],
)
def test_what_is_no_stream_is_refused(
    words: np.ndarray, code: ErrorCode, index: int, text: str
) -> None:
    with pytest.raises(CommandError, match=text) as error:
        read_stream(CONFIG, words)
    assert (error.value.code, error.value.index) == (code, index)


SMALL = AcceleratorConfig(
    lanes=4, width=4, port=4, scratchpad=4096, psum_depth=16, weight_buffer=512, vector_lanes=2
)


def lines(*items: Item) -> list[str]:
    """Return the lines between BEGIN and END."""
    return list(listing(stream(SMALL, items)))[1:-1]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (
            move("av", "o", source_space=Space.MODEL, source=64, run=9, fill=5),
            "1 MOVE       wait=matrix,vector signal=mover source_space=MODEL "
            "target_space=SCRATCHPAD source=64 run=9",
        ),
        (
            move(source_space=Space.FILL, source=4, fill=5, run=2, count1=3, source_stride1=7,
                 target_stride1=-8, target_stride2=6),
            "1 MOVE       source_space=FILL target_space=SCRATCHPAD fill=5 run=2 count1=3 "
            "target_stride1=-8",
        ),
        (
            gather("v", "a", target_space=Space.ARENA, index_size=2, source=8, run=6, count0=5,
                   target_stride0=6, index_stride0=4, index_stride1=20, step=6, limit=9,
                   indices=100),
            "1 GATHER     wait=vector signal=matrix source_space=SCRATCHPAD target_space=ARENA "
            "index_size=2 source=8 run=6 count0=5 step=6 target_stride0=6 limit=9 indices=100 "
            "index_stride0=4",
        ),
        (
            (isa.WEIGHTS, {"address": 4, "full": 3, "partial_lanes": 1}, "", ""),
            "1 WEIGHTS    address=4 full=3",
        ),
        (
            (isa.PARAMETERS, {"address": 16, "channels": 5, "shared": 1}, "", ""),
            "1 PARAMETERS address=16 channels=5 shared=1",
        ),
        (
            matrix("v", "", groups=2, group_step=4, x=9, x_step=4, y_step=99, columns=36, lead=4,
                   target=100, column0=-4, fill=-128),
            "1 MATRIX     wait=vector groups=2 last_lanes=1 fill=-128 first=1 last=1 x=9 "
            "fire_x_step=1 group_step=4 column0=-4 x_step=4 columns=36 rows=1 target=100",
        ),
        (
            matrix(depthwise=1, last=0, target=100),
            "1 MATRIX     last_lanes=1 first=1 depthwise=1 line=3 rows=1",
        ),
        (
            vector(source_a=3, table_a=1, source_b=9, table_b=2, run=8, requantize__rounding=5),
            "1 VECTOR     combine=A reduce=NONE run=8 source_a=3 rows=1 columns=1 "
            "requantize.rounding=DOWN",
        ),
        (
            vector(combine=Combine.ADD, lookup_b=1, table_b=1, count0=2, b_step0=5,
                   requantize__high=6),
            "1 VECTOR     combine=ADD reduce=NONE operand_b=BYTES lookup_b=1 table_b=1 run=1 "
            "count0=2 b_step0=5 rows=1 columns=1 requantize.rounding=HALF_AWAY requantize.high=6",
        ),
        (
            vector(row=Row.RECIPROCAL, relative=1, lookup_b=1, table_b=1, source_b=5, run=10),
            "1 VECTOR     row=RECIPROCAL relative=1 lookup_b=1 table_b=1 run=10 rows=1 columns=1 "
            "requantize.rounding=HALF_AWAY",
        ),
        (
            vector(combine=Combine.MULTIPLY, operand_b=Operand.WORD, repeat_a=1, run=3),
            "1 VECTOR     combine=MULTIPLY reduce=NONE operand_b=WORD repeat_a=1 run=3 rows=1 "
            "columns=1 requantize.rounding=HALF_AWAY",
        ),
        (
            vector(combine=15),
            "1 VECTOR     combine=15 reduce=NONE operand_b=BYTES run=1 rows=1 columns=1 "
            "requantize.rounding=HALF_AWAY",
        ),
    ],
    ids=["move", "fill", "gather", "weights", "parameters", "dense", "depthwise", "unary", "binary",
         "row", "word", "unknown"],
)  # fmt: skip
def test_a_line_shows_what_has_a_meaning(item: Item, expected: str) -> None:
    assert [line.strip() for line in lines(item)] == [expected]


def test_begin_and_end_have_lines_and_numbers_are_aligned() -> None:
    words = stream(SMALL, [move(run=1)] * 9)
    found = list(listing(words))
    assert (
        found[0]
        == f"    0 BEGIN      version={isa.VERSION} configuration=0x02040404 memories=0x0209040c"
    )
    assert found[-1] == "   10 END"
    assert len(found) == 11
