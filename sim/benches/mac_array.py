"""Benches of the MAC array against `eightfold.sim.machine.beats`.

Parameters: ``config``, the fields of an `AcceleratorConfig`; ``passes``, the length of the random
programs.
"""

from collections.abc import Sequence
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from eightfold.golden.requantize import requantize
from eightfold.hw.array.lane_control import reservation
from eightfold.hw.array.mac_array import latency
from eightfold.hw.array.partial_sums import PartialSums
from eightfold.hw.blocks.layouts import REQUANTIZE_LAYOUT
from eightfold.hw.blocks.requantize_pipeline import RequantizePipeline
from eightfold.sim.bench import support
from eightfold.sim.bench.scoreboard import StreamScoreboard, wrong_byte
from eightfold.sim.bench.stream import StreamSink, StreamSource, pack, watchdog
from eightfold.sim.machine import beats as beats_model
from eightfold.sim.machine.beats import Program
from eightfold.sim.machine.explain import explain_beats
from eightfold.sim.stimuli.beats import ProgramBuilder, random_program, requantize_fields
from eightfold.target.config import AcceleratorConfig

INPUTS = ("parameters", "weights", "activations")


class VectorSide:
    """The vector engine's place in a bench: random sums at random times, each result compared.

    ``share``: probability that it has the requantizers in a cycle; 0 leaves them to the array.

    ``results``: vectors of results that were right.
    """

    QUIET = 8
    """Cycles from a change of parameters to the first sums."""

    def __init__(self, dut: Any, config: AcceleratorConfig, share: float) -> None:
        self.dut, self.config, self.share = dut, config, share
        self.rng = support.rng(99)
        self.results = 0
        for name in ("reserve", "sums", "change__valid", "change__requantize"):
            getattr(dut, f"vector__{name}").value = 0

    async def run(self) -> None:
        """Change the parameters, send sums for a while, wait for their results; again and again."""
        while self.share:
            parameters = requantize_fields(self.rng, 1)
            self.dut.vector__change__requantize.value = pack(REQUANTIZE_LAYOUT, parameters)[0]
            self.dut.vector__change__valid.value = 1
            await RisingEdge(self.dut.clk)
            self.dut.vector__change__valid.value = 0
            await support.clock_cycles(self.dut, int(self.rng.integers(self.QUIET, 2 * self.QUIET)))
            await self._sums({name: int(values[0]) for name, values in parameters.items()})

    async def _sums(self, parameters: dict[str, int]) -> None:
        ahead, behind = reservation(self.config), RequantizePipeline.LATENCY
        lanes = self.config.vector_lanes
        reserved = self.rng.random(int(self.rng.integers(1, 60))) < self.share
        sums = self.rng.integers(-(1 << 31), 1 << 31, (len(reserved), lanes), dtype=np.int32)
        small = self.rng.random(len(reserved)) < 0.5
        sums[small] %= 1 << 14
        expected = requantize(sums, **parameters)
        for now in range(len(reserved) + ahead + behind):
            self.dut.vector__reserve.value = int(now < len(reserved) and reserved[now])
            there, done = now - ahead, now - ahead - behind
            if 0 <= there < len(reserved):
                self.dut.vector__sums.value = int.from_bytes(sums[there].tobytes(), "little")
            await RisingEdge(self.dut.clk)
            if done >= 0 and reserved[done]:
                word = int(self.dut.vector__results.value)
                got = np.frombuffer(word.to_bytes(lanes, "little"), np.int8)
                text = f"results of the vector engine's sums {sums[done]} by {parameters}"
                np.testing.assert_array_equal(got, expected[done], text)
                self.results += 1


class ArrayBench:
    """A MAC array with a source on every input, and every result compared as it comes.

    ``stalls``: probability of a pause in parameters, weights, activations and results. ``share``:
    of the requantizers' cycles, the vector engine's.

    ``words``: the program's words by stream. ``cycles``: clock cycle of each result.
    """

    def __init__(
        self, dut: Any, stalls: Sequence[float] = (0.0, 0.0, 0.0, 0.0), share: float = 0.0
    ) -> None:
        self.dut = dut
        self.config = config = support.configuration()
        self.sources = {
            name: StreamSource(dut, name, idle=idle)
            for name, idle in zip(INPUTS, stalls, strict=False)
        }
        self.sink = StreamSink(dut, "results", stall=stalls[-1])
        self.scoreboard = StreamScoreboard(dut)
        self.vector = VectorSide(dut, config, share)
        self.words: dict[str, list[int]] = {}
        self.cycles: list[int] = []
        self.sink.add_callback(lambda _: self.cycles.append(support.cycle()))

    async def start(self, program: Program, streams: Sequence[str] = INPUTS) -> None:
        """Reset the array, send the words of some streams, and expect the model's results."""
        vectors = beats_model.results(self.config, program)
        results = [int.from_bytes(vector.tobytes(), "little") for vector in vectors]

        def explain(index: int, got: int) -> list[str]:
            lane, text = wrong_byte(got, results[index])
            return [text, *explain_beats(self.config, program, index, lane)]

        self.scoreboard.expect(self.sink, results, explain)
        self.words = program.packed(self.config)
        await support.start_clock_and_reset(self.dut)
        cocotb.start_soon(watchdog([*self.sources.values(), self.sink]))
        cocotb.start_soon(self.vector.run())
        for name in streams:
            self.sources[name].append(self.words[name])

    async def run(self, program: Program) -> None:
        """Send a program and wait until all its results have come and were right."""
        await self.start(program)
        await self.scoreboard.finish()


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.3, None])
async def random_programs(dut: Any, stall: float | None) -> None:
    """Random passes give the model's results in order; stall None: each stream at its own pace.

    With stalls, the vector engine takes requantizers as well, seldom or nearly always.
    """
    config = support.configuration()
    generator = support.rng(int(10 * (stall or 0)))
    stalls = [stall] * 4 if stall is not None else generator.choice([0, 0.1, 0.5, 0.85], 4).tolist()
    # A vector whose sums go in turn finds no time among nearly always.
    often = 0.95 if config.turns == 1 else 0.3
    share = float(generator.choice([0.05, often])) if stall is None else stall
    bench = ArrayBench(dut, stalls, share)
    await bench.run(random_program(config, generator, support.parameters()["passes"]))
    assert (bench.vector.results > 0) == (share > 0)


@cocotb.test()
async def results_wait_for_a_slow_consumer(dut: Any) -> None:
    """A result per cycle against a consumer that takes one in ten: none is lost."""
    bench = ArrayBench(dut, [0, 0, 0, 0.9])
    config = bench.config
    builder = ProgramBuilder(config, support.rng())
    for _ in range(config.matrix_banks - 1):
        builder.dense(config.psum_depth, 1)
    await bench.run(builder.build())


@cocotb.test()
async def one_vector_per_cycle(dut: Any) -> None:
    """Tiles of at least ``lanes`` pixels take a cycle per vector, weight changes included; those
    with a result as many as the requantizers have turns."""
    config = support.configuration()
    pixels = max(config.lanes, PartialSums.REVISIT)
    chunks = 3
    # A bank per tile, and as many tiles as there are free banks in the ring.
    tiles = config.matrix_banks - 1
    bench = ArrayBench(dut)
    builder = ProgramBuilder(config, support.rng())
    for _ in range(tiles):
        builder.dense(pixels, chunks)
    await bench.run(builder.build())
    gaps = np.tile([config.turns] * (pixels - 1) + [pixels * (chunks - 1) + 1], tiles)[:-1]
    np.testing.assert_array_equal(np.diff(bench.cycles), gaps)


@cocotb.test()
async def a_pass_takes_as_long_as_its_weights(dut: Any) -> None:
    """FULLY_CONNECTED in steady state: exactly ``lanes`` cycles per weight buffer."""
    config = support.configuration()
    # Fewer lanes than it takes to come back to a partial sum: then only single chunks are as fast.
    chunks = 3 if config.lanes >= PartialSums.REVISIT else 1
    bench = ArrayBench(dut)
    builder = ProgramBuilder(config, support.rng())
    for _ in range(config.matrix_banks - 1):
        builder.dense(1, chunks)
    await bench.run(builder.build())
    gaps = np.diff(bench.cycles)
    support.report({"cycles_per_pass": float(gaps.mean()) / chunks})
    np.testing.assert_array_equal(gaps, chunks * config.lanes)


@cocotb.test()
async def a_result_comes_after_the_stated_latency(dut: Any) -> None:
    """With weights and parameters loaded, a lone vector's result takes `latency` cycles."""
    config = support.configuration()
    bench = ArrayBench(dut)
    builder = ProgramBuilder(config, support.rng())
    builder.dense(1, 1)
    await bench.start(builder.build(), ["parameters", "weights"])
    await support.clock_cycles(dut, 2 * config.lanes + 8)
    await bench.sources["activations"].send(bench.words["activations"])
    accepted = support.cycle()
    await bench.scoreboard.finish()
    support.report({"latency": bench.cycles[0] - accepted})
    assert bench.cycles[0] - accepted == latency(config)
