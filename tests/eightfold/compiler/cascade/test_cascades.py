"""Chains in strips compute what golden computes, whatever the strips, on the machine model."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np
import pytest

from eightfold.cases.networks import network_rng, random_network
from eightfold.compiler import HARDWARE, Compiled, best_cascades
from eightfold.compiler.cascade import search
from eightfold.compiler.cascade.row_wise import WindowedRows
from eightfold.compiler.cascade.schedule import Act, Action, Schedule
from eightfold.compiler.cascade.search import Search
from eightfold.compiler.step_program import Chains, Proposal
from eightfold.estimate import estimate_network
from eightfold.operators import load_model
from eightfold.target.config import PRESETS, AcceleratorConfig
from eightfold.target.memory import IDEAL, PROFILES, MemoryTiming
from examples.mobilenet import mobilenet_model
from tests.eightfold.compiler.rewrite.test_rules import replace_by
from tests.eightfold.compiler.test_compiler import TIGHT
from tests.support.networks.cascades import CHOICES, AtRandom, Forced, block_model
from tests.support.networks.machine_run import compile_stream, expect_golden

HEIGHTS = range(1, 8)
"""Of strips: the chain's last result has 7 rows."""

ROOMY = PRESETS["nano"]
NARROW = TIGHT["6x5"].replace(scratchpad=1 << 15)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("height", "outside", "words"),
    [(*each, words) for each in [*((h, True) for h in HEIGHTS), (2, False)] for words in CHOICES],
)
@pytest.mark.usual("height", "outside", count=2)
def test_strips_of_every_height_equal_golden(height: int, outside: bool, words: str) -> None:
    graph = load_model(block_model())
    forced = Forced(height, words, outside)
    expect_golden(graph, ROOMY, height, keep=False, cascades=forced)
    assert forced.made  # one for each memory that is planned for
    for cascade in forced.made:
        assert set(cascade.owners) == set(range(len(graph.operators)))


@pytest.mark.slow
@pytest.mark.parametrize("words", CHOICES)
@pytest.mark.parametrize(
    ("images", "height", "keep"), [(1, 1, True), (1, 4, True), (3, 2, False), (3, 2, True)]
)
@pytest.mark.usual("images", "height", "keep", count=2)
def test_every_image_and_tensor_is_delivered(
    images: int, height: int, keep: bool, words: str
) -> None:
    forced = Forced(height, words, outside=True)
    config = NARROW if images == 1 else ROOMY
    expect_golden(block_model(images=images), config, keep=keep, cascades=forced)
    assert forced.made


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("config", TIGHT)
@pytest.mark.usual("config")
def test_a_random_network_in_random_strips_equals_golden(config: str, seed: int) -> None:
    model, inputs = random_network(network_rng(seed), operators=HARDWARE)
    strategy = AtRandom(1, random=Random(seed))
    expect_golden(model, TIGHT[config], inputs, seed % 2 == 0, cascades=strategy)


def a_halo_row_short(right: Callable, self: WindowedRows, source: int, rows: range) -> range:
    return right(self, source, rows)[: max(1, len(self.step.rows.inputs(rows)) - 1)]


def a_halo_from_another_row(right: Callable, *arguments: Any) -> Action:
    moved = right(*arguments)
    assert moved.act is Act.MOVE
    return moved._replace(before=moved.before + 1)


def no_halo_moves(*_: Any) -> Iterator[Action]:
    return iter(())


MUTANTS: dict[Callable, tuple[Any, str]] = {
    a_halo_row_short: (WindowedRows, "needed"),
    a_halo_from_another_row: (Schedule, "_move"),
    no_halo_moves: (Schedule, "_moves"),
}


@pytest.mark.parametrize("wrong", MUTANTS)
def test_a_wrong_halo_is_caught(wrong: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_by(wrong, *MUTANTS[wrong], monkeypatch)
    forced = Forced(2, "kept", outside=True)
    with pytest.raises(AssertionError, match="tensor"):
        expect_golden(block_model(), ROOMY, keep=False, cascades=forced)


def test_what_fits_has_no_cascade() -> None:
    assert compile_stream(block_model(), PRESETS["base"]).decision is None


def test_nothing_outside_has_no_way() -> None:
    def strategy(
        chains: Chains,
        config: AcceleratorConfig,
        attempt: Callable[[Proposal], Compiled],
        memory: MemoryTiming,
    ) -> Compiled:
        assert Search(chains, config, frozenset(), memory).best().segments == ()
        return attempt(Proposal())

    compile_stream(block_model(), PRESETS["base"], cascades=strategy)


def cycles(stream: Compiled, memory: MemoryTiming = IDEAL) -> int:
    return sum(estimate_network([stream], memory).values())


@pytest.mark.long  # strips have fewer cycles in the choice by costs below too
def test_a_network_larger_than_the_scratchpad_has_fewer_cycles() -> None:
    graph = load_model(mobilenet_model(0.35, 64))
    layers, strips = (
        compile_stream(graph, ROOMY, cascades=cascades) for cascades in (None, best_cascades)
    )
    before, after = (cycles(stream) for stream in (layers, strips))
    assert after < before
    assert strips.decision
    # Those of the decision are estimated before commands are cut in pieces, as none of a strip is.
    assert before < strips.decision.alone < 1.02 * before
    assert after == strips.decision.cycles
    np.testing.assert_array_equal(compile_stream(graph, ROOMY).words, strips.words)


@pytest.mark.long  # test_memories.py has a smaller network with cascades
def test_the_choice_follows_the_memory() -> None:
    graph = load_model(mobilenet_model(0.35, 64))
    config = PRESETS["small"].replace(scratchpad=16384)
    slow = PROFILES["sdr-sdram-16"]
    quick_choice, slow_choice = (
        compile_stream(graph, config, memory=memory) for memory in (IDEAL, slow)
    )
    for better, worse, memory in (
        (quick_choice, slow_choice, IDEAL),
        (slow_choice, quick_choice, slow),
    ):
        assert cycles(better, memory) < cycles(worse, memory)


@pytest.mark.long
@pytest.mark.parametrize("explicit", [False, True], ids=["same", "explicit"])
@pytest.mark.parametrize("keep", [False, True], ids=["outputs", "all tensors"])
def test_a_network_larger_than_the_scratchpad_equals_golden(keep: bool, explicit: bool) -> None:
    expect_golden(mobilenet_model(0.35, 64, explicit=explicit), ROOMY, keep=keep)


@pytest.mark.slow
def test_a_long_stream_is_chosen_by_the_costs_of_the_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = load_model(mobilenet_model(0.35, 64))
    config = PRESETS["small"].replace(scratchpad=16384)
    estimated = compile_stream(graph, config)
    monkeypatch.setattr(search, "LONG", 0)
    quick = compile_stream(graph, config)
    assert estimated.decision and quick.decision
    assert (estimated.decision.estimated, quick.decision.estimated) == (True, False)
    assert 10 * quick.decision.cycles < 9 * quick.decision.alone
    assert cycles(quick) <= 1.02 * cycles(estimated)
