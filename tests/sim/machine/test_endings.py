"""How streams may end: what the hardware is known to end with is allowed, and little else."""

import numpy as np
import pytest

from eightfold import isa
from eightfold.isa import ErrorCode
from eightfold.isa.decode import CommandError, read_stream
from eightfold.sim.machine.endings import TIMEOUT, ending
from eightfold.sim.machine.legality import PARAMETERS, SEQUENCER, WEIGHTS, Refusal, read_words
from eightfold.sim.stimuli.commands import join, random_stream, spoil
from eightfold.target.config import PRESETS
from tests.sim.system.test_faults import CASES, MODEL
from tests.support.hardware.small_program import (
    ARENA_BYTES,
    CONFIG,
    INDEX,
    ITEMS,
    changed,
    program,
    run_model,
)

ARENA = np.random.default_rng(3).integers(0, 256, ARENA_BYTES, dtype=np.uint8)
CONTENTS = np.frombuffer(MODEL, np.uint8)


def end(words):
    """Return how the small program, changed, may end."""
    return ending(CONFIG, words, CONTENTS, ARENA)


def test_a_legal_program_is_done_and_leaves_what_the_machine_computes():
    found = end(program())
    assert (found.done, found.refusals, found.open, found.free) == (True, frozenset(), False, False)
    np.testing.assert_array_equal(found.arena, run_model(program(), MODEL, ARENA))
    assert str(found) == "done"


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.options])
def test_allows_what_the_hardware_ends_with(name):
    """`tests/sim/system/test_faults.py` shows that it does."""
    case = CASES[name]
    found = end(case.words)
    assert found.allows(case.code, case.engine, case.index)
    assert not found.free
    assert found.arena is None
    # What a GATHER with a far limit may read is too much to follow.
    far = ("gather_far_behind", "index_below_0", "index_below_0_of_64_bits")
    assert found.done == (name in far)


@pytest.mark.parametrize(
    "name",
    ["version", "opcode_0", "index", "load_before", "table_source",
     "store_into_model", "index_at_the_limit", "matrix_target", "vector_target", "no_token"],
)  # fmt: skip
def test_allows_nothing_else_where_that_is_certain(name):
    case = CASES[name]
    found = end(case.words)
    index = None if case.code == ErrorCode.TIMEOUT else case.index
    later = {each for each in found.refusals if each.index is None or each.index >= case.index}
    assert Refusal(case.code, case.engine, index) in found.refusals
    assert later == found.refusals
    assert len(found.refusals) <= 2


def test_constants_that_nobody_takes_may_be_refused_too_late():
    """END does not wait for the fetchers."""
    items = {**ITEMS, "more": (isa.WEIGHTS, {"address": 1 << 20, "full": 1}, "", "")}
    found = end(program(**items))
    refusal = Refusal(ErrorCode.ADDRESS, WEIGHTS, len(ITEMS) + 1)
    assert refusal in found.refusals
    assert found.done
    assert str(found).startswith("done or ADDRESS of 0")
    assert f"or ADDRESS of {WEIGHTS} in command {len(ITEMS) + 1}" in str(found)


def test_constants_that_are_taken_are_not():
    found = end(program(**changed("parameters", address=1 << 20)))
    assert found.refusals == {Refusal(ErrorCode.ADDRESS, PARAMETERS, INDEX["parameters"])}
    assert not found.done


def test_a_count_of_0_may_do_anything():
    found = end(program(**changed("load", count0=0)))
    assert found.free
    assert str(found) == "anything"
    assert found.allows(ErrorCode.TIMEOUT, SEQUENCER, 4)


def test_an_endless_command_may_run_on():
    fields = {f"count{i}": 65535 for i in range(4)}
    found = end(program(**changed("load", **fields)))
    assert found.open
    assert str(found).endswith("no end")


def test_what_reads_bytes_that_nobody_wrote_is_done_with_any_arena():
    found = end(program(**changed("store", source=3900)))
    assert found.done
    assert found.arena is None


def test_missing_tokens_are_waited_for():
    found = end(program(store=(*ITEMS["store"][:2], "va", "")))
    assert found.refusals == {TIMEOUT}
    assert not found.done


SPOILT = ("opcode", "index", "unused", "second_begin", "begin", "no_begin", "cut", "cut_command")


@pytest.mark.parametrize("kind", [*SPOILT, "empty"])
def test_words_are_refused_as_the_decoder_says(kind):
    """Of one mistake; with more of them the first word counts, here alone."""
    config = PRESETS["nano"]
    rng = np.random.default_rng(SPOILT.index(kind) if kind in SPOILT else 9)
    for _ in range(20):
        words = spoil(config, random_stream(config, rng, 6), rng, kind)
        commands, refusal = read_words(config, words)
        if kind == "empty":
            assert refusal == Refusal(ErrorCode.ILLEGAL_COMMAND, SEQUENCER, 0)
            continue
        with pytest.raises(CommandError) as error:
            read_stream(config, words)
        assert refusal == Refusal(error.value.code, SEQUENCER, error.value.index)
        assert len(commands) == error.value.index


def test_a_stream_without_mistakes_is_read_whole():
    config = PRESETS["nano"]
    words = join(random_stream(config, np.random.default_rng(1), 20))
    commands, refusal = read_words(config, np.concatenate([words, words]))
    assert refusal is None
    assert commands == read_stream(config, words)


def test_of_two_mistakes_the_first_word_counts():
    config = PRESETS["nano"]
    words = join(random_stream(config, np.random.default_rng(1), 2)).copy()
    words[2] ^= 1
    assert read_words(config, words)[1] == Refusal(ErrorCode.VERSION, SEQUENCER, 0)
    words[0] |= 1 << 31
    assert read_words(config, words)[1] == Refusal(ErrorCode.ILLEGAL_COMMAND, SEQUENCER, 0)
