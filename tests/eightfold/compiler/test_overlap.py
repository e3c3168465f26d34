"""MATRIX commands in pieces that wait less for each other: same bytes, fewer cycles."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from eightfold.cases.builder import SeededNetwork
from eightfold.cases.networks import network_rng, random_network
from eightfold.compiler import HARDWARE, network, overlap
from eightfold.compiler.emit.memory import Block, plan
from eightfold.compiler.overlap import MatrixPiece, by_depth, by_groups, by_rows
from eightfold.estimate.estimate import estimate_stream
from eightfold.isa import Engine
from eightfold.isa.issued import Issued
from eightfold.model import Graph
from eightfold.operators import load_model
from eightfold.target.config import PRESETS, AcceleratorConfig
from eightfold.target.memory import IDEAL, MemoryTiming
from tests.support.networks.covered import expect_covered
from tests.support.networks.machine_run import (
    compile_stream,
    expect_golden,
    expect_rewritten,
    random_values,
)

NANO = PRESETS["nano"]
QUICK = NANO.replace(port=16)
"""Here weights that are fetched twice keep nobody waiting."""
ODD = AcceleratorConfig(lanes=3, width=5, psum_depth=64, port=4, scratchpad=32768)
WAYS = (by_rows, by_groups, by_depth)


def layers(*kinds: str, size: tuple[int, int] = (9, 7), stride: int = 1) -> Graph:
    """Return a chain of layers: ``dense`` 3x3, ``point`` 1x1, ``depthwise`` 3x3; 11 channels."""
    net = SeededNetwork("layers that wait for each other", seed=5)
    x = net.graph_input((1, *size, 11), 1 / 64, 5)
    for kind in kinds:
        step = stride if kind != "point" else 1
        options = {"padding": "SAME", "stride_h": step, "stride_w": step}
        if kind == "depthwise":
            options["depth_multiplier"] = 1
            x = net.weighted("DEPTHWISE_CONV_2D", x, (1, 3, 3, 11), options)
        else:
            window = (3, 3) if kind == "dense" else (1, 1)
            x = net.weighted("CONV_2D", x, (11, *window, 11), options)
    return load_model(net.build())


def matrices(issued: Sequence[Issued]) -> int:
    return sum(command.engine == Engine.MATRIX for command in issued)


def uncut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "overlapped", lambda _, issued, __: [[each] for each in issued])


class Anywhere:
    """Cuts every command somewhere, some pieces of it again."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.cuts = dict.fromkeys(WAYS, 0)

    def __call__(
        self, config: AcceleratorConfig, issued: Sequence[Issued], memory: MemoryTiming
    ) -> list[list[Issued]]:
        assert memory == IDEAL
        whole = overlap.pieces_of(config, issued)
        pieces = {index: self.cut(piece, 3) for index, piece in whole}
        return overlap.replaced(issued, pieces)

    def cut(self, piece: MatrixPiece, depth: int) -> list[MatrixPiece]:
        c = piece.command
        counts = {by_rows: piece.rows, by_groups: c.groups, by_depth: c.kc}
        for place in self.rng.permutation(len(WAYS)) if depth else ():
            cutter = WAYS[place]
            pieces = cutter(piece, int(self.rng.integers(1, max(2, counts[cutter]))))
            if pieces:
                self.cuts[cutter] += 1
                return [part for each in pieces for part in self.cut(each, depth - 1)]
        return [piece]


@pytest.mark.parametrize(
    ("config", "seed", "stride"),
    [(NANO, 0, 1), (ODD, 1, 1), (ODD, 0, 2), pytest.param(NANO, 1, 2, marks=pytest.mark.long)],
    ids=["nano", "3x5-kept", "3x5-strided", "nano-strided-kept"],
)
@pytest.mark.usual(names=["3x5-strided"])
@pytest.mark.slow
def test_pieces_compute_what_the_whole_does(
    stride: int, config: AcceleratorConfig, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cutter = Anywhere(seed)
    monkeypatch.setattr(network, "overlapped", cutter)
    kinds = ("dense", "depthwise", "point", "dense", "depthwise")
    graph = layers(*kinds, size=(17, 7), stride=stride)
    expect_covered(expect_golden(graph, random_values(graph), config, keep=bool(seed % 2)))
    assert all(cutter.cuts.values())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
@pytest.mark.usual(count=8)
def test_random_networks_in_pieces_give_goldens_bytes(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, inputs = random_network(network_rng(seed), operators=HARDWARE)
    graph = load_model(model)
    monkeypatch.setattr(network, "overlapped", Anywhere(seed))
    config = (NANO, ODD, PRESETS["small"])[seed % 3]
    expect_covered(expect_golden(graph, inputs, config, keep=bool(seed % 2)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "kinds"),
    [
        (QUICK, ("dense", "dense", "dense")),
        pytest.param(NANO, ("dense", "dense", "depthwise"), marks=pytest.mark.long),
        pytest.param(NANO, ("dense", "depthwise", "point"), marks=pytest.mark.long),
        (NANO, ("dense", "point", "depthwise", "point", "depthwise")),
    ],
    ids=["rows", "groups", "depth", "all"],
)
@pytest.mark.usual(names=["rows"])
def test_layers_wait_less_for_each_other(
    config: AcceleratorConfig, kinds: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = layers(*kinds)
    cut = expect_golden(graph, random_values(graph), config, keep=False)
    expect_covered(cut)
    uncut(monkeypatch)
    whole = compile_stream(graph, config)
    cycles = [estimate_stream(config, each.issued)[1] for each in (cut, whole)]
    assert cycles[1] - cycles[0] > 25 * (len(kinds) - 2)
    assert matrices(cut.issued) - matrices(whole.issued) >= len(kinds) - 2


@pytest.mark.slow
@pytest.mark.parametrize("rows", [(2, 0), (0, 2), (3, 3)], ids="{0[0]}-{0[1]}".format)
@pytest.mark.usual
def test_rows_of_padding_alone_are_no_piece(rows: tuple[int, int]) -> None:
    net = SeededNetwork("a window of one pixel with padding", seed=5)
    x = net.graph_input((1, 9, 9, 8), 1 / 64, 5)
    options = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
    x = net.weighted("CONV_2D", x, (8, 1, 1, 8), options)
    x = net.weighted("CONV_2D", x, (8, 1, 1, 8), options)
    pads = net.integers([[0, 0], [*rows], [0, 0], [0, 0]])
    x = net.add("PAD", [x, pads], x)
    net.weighted("CONV_2D", x, (8, 1, 1, 8), options)
    graph = load_model(net.build())
    rewritten = expect_rewritten(graph, random_values(graph), NANO, keep=False)
    assert "PAD" not in {operator.name for operator in rewritten.graph.operators}
    expect_covered(compile_stream(rewritten.graph, NANO))


def test_commands_stay_whole_where_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    net = SeededNetwork("two readers", seed=5)
    x = net.graph_input((1, 6, 6, 8), 1 / 64, 5)
    options = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    for _ in range(3):
        net.weighted("CONV_2D", x, (8, 1, 1, 8), options)
    graph = load_model(net.build())
    issued = compile_stream(graph, NANO).issued
    uncut(monkeypatch)
    assert issued == compile_stream(graph, NANO).issued


@pytest.mark.slow
def test_a_command_that_shares_its_sums_is_not_cut_by_rows() -> None:
    graph = layers("dense", "point")
    *_, (_, piece) = overlap.pieces_of(NANO, compile_stream(graph, NANO).issued)
    assert by_rows(piece, 3)
    assert not any(by_rows(part, 3) for part in by_depth(piece, 1))
    command = replace(piece.command, first=0)
    rest = replace(piece, issued=replace(piece.issued, instruction=command))
    assert not by_rows(rest, 3)


@pytest.mark.parametrize("capacity", [4096, 2 * 1024, 3 * 1024])
def test_places_are_not_used_again_at_once_if_there_is_room(capacity: int) -> None:
    tensors = {step: Block(1024, step, step + 1) for step in range(5)}
    layout = plan(tensors, (), 6, lambda *_: 0, capacity)
    assert set(layout.tensors) == set(tensors)
    nearest = min(
        other - one
        for one in tensors
        for other in tensors
        if other > one and layout.tensors[one] == layout.tensors[other]
    )
    assert nearest == capacity // 1024
