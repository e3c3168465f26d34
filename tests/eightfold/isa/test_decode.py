"""Streams decode to what was encoded, and what is no stream is refused."""

import numpy as np
import pytest

from eightfold import isa
from eightfold.isa import ErrorCode, Opcode
from eightfold.isa.decode import CommandError, command_places, decode, read_stream
from eightfold.target.config import PRESETS, AcceleratorConfig
from tests.support.hardware.command_streams import bits, move, stream

CONFIG = AcceleratorConfig(lanes=4, width=4, port=4, vector_lanes=2)
ENGINE_COMMANDS = (Opcode.MOVE, Opcode.MATRIX, Opcode.VECTOR, Opcode.GATHER)


def extremes(opcode: Opcode, pick: str) -> dict[str, int]:
    """Return the lowest or highest value of every field behind the header, or alternating ones."""
    fields = {}
    for number, place in enumerate(command_places(opcode)[len(isa.HEADER) :]):
        low = -(1 << (place.width - 1)) if place.signed else 0
        high = low + (1 << place.width) - 1
        fields[place.name] = high if pick == "high" or (pick == "mixed" and number % 2) else low
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


@pytest.mark.parametrize("seed", range(5))
def test_random_streams_decode_to_what_was_encoded(seed: int) -> None:
    rng = np.random.default_rng(seed)
    items = []
    for _ in range(30):
        opcode = ENGINE_COMMANDS[rng.integers(len(ENGINE_COMMANDS))]
        fields = {}
        for place in command_places(opcode)[len(isa.HEADER) :]:
            low = -(1 << (place.width - 1)) if place.signed else 0
            fields[place.name] = int(rng.integers(low, low + (1 << place.width)))
        items.append((isa.COMMANDS[opcode], fields, "", ""))
    decoded = read_stream(CONFIG, stream(CONFIG, items))[1:-1]
    assert [command.fields for command in decoded] == [fields for _, fields, _, _ in items]


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
    used = set()
    for place in command_places(opcode):
        used |= set(range(place.offset, place.offset + place.width))
    unused = sorted(set(range(32 * command.words)) - used)
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


def test_a_stream_of_another_configuration_is_refused() -> None:
    with pytest.raises(CommandError, match="configuration"):
        read_stream(PRESETS["base"], WORDS)
