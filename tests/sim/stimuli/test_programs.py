"""Random programs are legal on every machine, and what spoils them does what it says."""

from collections import Counter

import numpy as np
import pytest

from eightfold import isa
from eightfold.isa import Opcode, Row, Space
from eightfold.sim.machine.endings import ending
from eightfold.sim.machine.tokens import check_tokens
from eightfold.sim.stimuli.commands import BEGIN, END, KINDS, Mutation, mutated, random_mutation
from eightfold.sim.stimuli.copies import CrowdedError, random_gather
from eightfold.sim.stimuli.programs import ProgramRandom, stream
from eightfold.sim.stimuli.vector import is_legal, random_command
from eightfold.target.config import PRESETS, AcceleratorConfig

ODD = AcceleratorConfig(lanes=3, width=5, port=4, scratchpad=8192, weight_buffer=512)


@pytest.mark.slow
@pytest.mark.parametrize("config", [PRESETS["nano"], PRESETS["base"], ODD], ids=str)
def test_programs_are_legal_determined_and_of_all_engines(config):
    found = Counter()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        program = ProgramRandom(config, rng).program(int(rng.integers(1, 9)))
        words = np.concatenate(stream(config, program.items, rng))
        check_tokens(config, words)
        end = ending(config, words, np.frombuffer(program.model, np.uint8), program.arena)
        assert (end.done, end.open, end.free, end.refusals) == (True, False, False, frozenset())
        assert end.arena is not None
        assert (end.arena != program.arena).any()
        found.update(item.opcode for item in program.items)
    assert found.keys() == isa.COMMANDS.keys() - {Opcode.BEGIN, Opcode.END}


def test_a_program_goes_on_without_a_gather_that_has_no_room():
    taken = np.ones(1 << 12, np.bool_)
    areas = ((0, 500), (600, 900), (0, 400))
    pair = (Space.ARENA, Space.SCRATCHPAD)
    with pytest.raises(CrowdedError, match="no GATHER of 50 fits"):
        random_gather(
            np.random.default_rng(0), pair, areas, np.zeros(1 << 12, np.uint8), taken, trials=50
        )
    rng = np.random.default_rng([0x57EA, 20218])  # which has no room for its second one
    assert ProgramRandom(PRESETS["nano"], rng).program(3).items


PIECES = {BEGIN: [0x1], 1: [0x10105, 11, 12], 2: [0x20206, 21], END: [0x30002]}


@pytest.mark.parametrize(
    ("mutation", "expected"),
    [
        (Mutation("flip", 1, word=1, at=4), [0x1, 0x10105, 27, 12, 0x20206, 21, 0x30002]),
        (Mutation("field", 1, at=32, width=8, value=5), [1, 0x10105, 5, 12, 0x20206, 21, 0x30002]),
        (Mutation("garbage", 2, word=1, value=7), [1, 0x10105, 11, 12, 0x20206, 7, 0x30002]),
        (Mutation("drop", 1, word=0), [1, 11, 12, 0x20206, 21, 0x30002]),
        (Mutation("double", 2, word=1), [1, 0x10105, 11, 12, 0x20206, 21, 21, 0x30002]),
        (Mutation("swap", 1, word=1), [1, 0x10105, 12, 11, 0x20206, 21, 0x30002]),
        (Mutation("cut", 1, word=2), [1, 0x10105, 11]),
        (Mutation("omit", 1), [1, 0x10206, 21, 0x20002]),
        (Mutation("lose", 1), [1, 0x20206, 21, 0x30002]),
        (Mutation("repeat", 2), [1, 0x10105, 11, 12, 0x20206, 21, 0x20206, 21, 0x30002]),
        (Mutation("exchange", 1), [1, 0x20206, 21, 0x10105, 11, 12, 0x30002]),
        (Mutation("flip", 7, word=1), [1, 0x10105, 11, 12, 0x20206, 21, 0x30002]),
    ],
    ids=lambda value: str(value) if isinstance(value, Mutation) else "",
)  # fmt: skip
def test_a_mutation_does_what_it_says(mutation, expected):
    pieces = {place: np.array(words, np.uint32) for place, words in PIECES.items()}
    assert mutated(pieces, [mutation]).tolist() == expected
    assert {place: words.tolist() for place, words in pieces.items()} == PIECES


def test_mutations_are_of_every_kind_and_can_be_applied_together():
    opcodes = {BEGIN: Opcode.BEGIN, 1: Opcode.MOVE, 2: Opcode.WEIGHTS, END: Opcode.END}
    pieces = {place: isa.COMMANDS[opcode].encode() for place, opcode in opcodes.items()}
    rng = np.random.default_rng(0)
    found = [random_mutation(rng, opcodes, {Space.ARENA: 99}) for _ in range(600)]
    assert {each.kind for each in found} == set(KINDS)
    for start in range(0, 600, 5):
        mutated(pieces, found[start : start + 5])


CONFIG = AcceleratorConfig(lanes=4, width=4, port=4, vector_lanes=2, scratchpad=4096)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("row", Row)
@pytest.mark.usual(count=7)
def test_a_row_never_writes_what_it_still_reads(row, seed):
    rng = np.random.default_rng(seed)
    for _ in range(100):
        fields = random_command(rng, CONFIG, rows=(row,))
        if row != Row.NONE:
            assert not fields["repeat_a"]
        sources = {name: fields[name] for name in fields if name.startswith(("source_a", "a_"))}
        steps = {
            name: fields[name.replace("a_", "target_", 1)] for name in sources if "step" in name
        }
        in_place = steps.items() <= sources.items() and fields["source_a"] == fields["target"]
        assert is_legal(CONFIG, fields, in_place)
