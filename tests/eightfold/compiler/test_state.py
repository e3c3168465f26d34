"""Variables in one place of the arena: the new value over the old, once nothing reads the old."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from eightfold.cases.networks import DRAWN, network_rng, random_network
from eightfold.compiler import Compiled, compile_network, step_program
from eightfold.compiler.lower.lowering import HARDWARE
from eightfold.isa import Space
from eightfold.model import Graph
from eightfold.model.builder import ModelBuilder
from eightfold.operators import load_model, run_graphs
from eightfold.sim.machine.machine import Machine
from eightfold.target.config import PRESETS, AcceleratorConfig
from tests.support.models.networks import streaming
from tests.support.networks.machine_run import compile_stream, random_values

FRAMES = 3
SHAPE = (1, 1301)  # three do not fit the smallest scratchpad, and it is no multiple of a beat
QUANTIZED = {"scale": 0.5, "zero_point": 3}


def swapping() -> bytes:
    """Return a model that swaps two variables, leaves one, adds to one, and shows what it read.

    The fifth gets what another one had; the last one is assigned an input, and never read.
    """
    builder = ModelBuilder()
    rng = np.random.default_rng(7)
    x = builder.input(SHAPE, **QUANTIZED)
    initial = rng.integers(-128, 128, (6, *SHAPE), np.int8)
    handles = [builder.variable(codes, **QUANTIZED) for codes in initial]
    values = [builder.tensor(SHAPE, **QUANTIZED) for _ in handles[:5]]
    for handle, value in zip(handles, values, strict=False):
        builder.operator("READ_VARIABLE", [handle], [value])
    total = builder.tensor(SHAPE, **QUANTIZED)
    builder.operator("ADD", [values[0], values[3]], [total])
    assigned = {0: values[1], 1: values[0], 3: total, 4: values[2], 5: x}
    for number, value in assigned.items():
        builder.operator("ASSIGN_VARIABLE", [handles[number], value], [])
    for output in (total, *values):
        builder.output(output)
    return builder.build()


def frames_in_memory(stream: Compiled, graph: Graph) -> None:
    """Run frames in one arena, of which only the state is kept: other bytes are random before."""
    batch = [random_values(graph, seed) for seed in range(FRAMES)]
    expected = run_graphs(graph, batch)
    base = len(stream.model)
    memory = np.zeros(base + stream.arena, np.uint8)
    memory[:base] = np.frombuffer(stream.model, np.uint8)
    for number, values in enumerate(expected):
        arena = np.random.default_rng(number).integers(0, 256, stream.arena, np.uint8)
        for tensor, offset in stream.inputs.items():
            content = values[tensor].reshape(-1).view(np.uint8)
            if number and tensor in stream.state:
                content = memory[base + offset :][: content.size]
            arena[offset : offset + content.size] = content
        memory[base:] = arena
        machine = Machine(stream.config, memory, (0, base), (base, stream.arena), seed=number)
        machine.run(stream.words)
        for tensor, offset in stream.outputs.items():
            wanted = values[tensor]
            got = memory[base + offset :][: wanted.nbytes].view(wanted.dtype)
            np.testing.assert_array_equal(got, wanted.reshape(-1), f"frame {number}, {tensor}")


STATEFUL = HARDWARE & DRAWN
SMALL = replace(PRESETS["nano"], scratchpad=4096)
"""Little more than the room of one step: most tensors are in memory."""


def networks(count: int) -> Iterator[tuple[int, Graph]]:
    """Yield random networks with variables, and their seeds."""
    found = 0
    for seed in range(10 * count):
        graph = load_model(random_network(network_rng(seed), operators=STATEFUL)[0])
        if graph.variables and found < count:
            found += 1
            yield seed, graph


@pytest.mark.parametrize("keep", [False, True], ids=["outputs", "every tensor"])
@pytest.mark.parametrize("config", [PRESETS["base"], SMALL], ids=["base", "small"])
def test_the_state_stays_in_memory(config: AcceleratorConfig, keep: bool) -> None:
    graph = load_model(swapping())
    stream = compile_stream(graph, config, keep=keep)
    assert len(stream.state) == 5, "one is never read: it is a result"
    assert all(
        stream.inputs[old] == stream.outputs.get(new, stream.inputs[old])
        for old, new in stream.state.items()
    )
    frames_in_memory(stream, graph)


@pytest.mark.slow
@pytest.mark.parametrize("keep", [False, True], ids=["outputs", "every tensor"])
@pytest.mark.usual(names=["every"])
def test_random_networks_keep_their_state_in_memory(keep: bool) -> None:
    streams = 0
    for seed, graph in networks(6):
        config = SMALL if seed % 2 else PRESETS["nano"]
        network = compile_network(graph, config, fallback=True, keep=keep)
        if len(network.segments) == 1 and network.streams:
            frames_in_memory(network.streams[0], graph)
            streams += 1
    assert streams > 3


def test_a_streaming_block_stores_what_it_keeps_at_once() -> None:
    """The last rows go from the scratchpad over the past ones; there is no copy besides."""
    graph = load_model(streaming())
    stream = compile_stream(graph, PRESETS["base"])
    (old, new), *_ = stream.state.items()
    stores = [
        command
        for command in stream.issued
        for interval in command.writes
        if interval.space is Space.ARENA and interval.start == stream.inputs[old]
    ]
    assert len(stores) == 1
    assert stream.outputs[new] == stream.inputs[old] == 0
    frames_in_memory(stream, graph)


def test_a_store_before_the_last_read_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the rule for what is read after it is assigned, frames differ."""
    monkeypatch.setattr(step_program, "_is_read_later", lambda *_: False)
    graph = load_model(swapping())
    with pytest.raises(AssertionError, match="frame"):
        frames_in_memory(compile_stream(graph, SMALL), graph)
