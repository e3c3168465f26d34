"""Benches of `eightfold.hw.memory.linear_fetch.LinearFetch` against the bytes of memory.

Parameters: ``port``, bytes of a beat; ``depth``, beats of the queue.
"""

from typing import Any

import cocotb
import numpy as np

from eightfold.hw.memory.linear_fetch import YIELDING, run_layout
from eightfold.hw.ports import BURST
from eightfold.sim.bench.memory_port import STALLS, FetchBench
from eightfold.sim.bench.stream import pack
from eightfold.sim.bench.support import clock_cycles, cycle, each_cycle, parameters, rng, stall_rng

BEATS = 4096
"""The beats of memory."""


class LinearBench(FetchBench):
    """A fetch with a memory of random bytes, and the beats of runs."""

    def __init__(self, dut: Any, idle: float, stall: float, latency: int) -> None:
        self.port: int = parameters()["port"]
        self.depth: int = parameters()["depth"]
        contents = rng(0).bytes(BEATS * self.port)
        super().__init__(dut, contents, self.port, ("runs", "o"), idle, stall, latency)

    async def start(self, runs: list[tuple[int, int]]) -> None:
        """Reset, expect the beats of some runs (first beat, beats), and send these."""
        words = [
            int.from_bytes(self.contents[at * self.port :][: self.port], "little")
            for first, beats in runs
            for at in range(first, first + beats)
        ]
        first, beats = (np.array(column) for column in zip(*runs, strict=True))
        fields = {"address": first * self.port, "beats": beats}
        await self.begin(pack(run_layout(), fields), words)


def random_runs(generator: np.random.Generator, count: int) -> list[tuple[int, int]]:
    """Return runs of no beats, of few, and of many."""
    runs = []
    for _ in range(count):
        beats = int(generator.choice([0, 1, 2, BURST - 1, BURST, BURST + 1, 3 * BURST, 100]))
        if generator.random() < 0.5:
            beats = int(generator.integers(0, 24))
        runs.append((int(generator.integers(0, BEATS - beats + 1)), beats))
    return runs


@cocotb.test()
@cocotb.parametrize(STALLS)
async def every_beat_of_every_run(dut: Any, idle: float, stall: float, latency: int) -> None:
    """Runs of all lengths give their beats in order; nothing else is asked for."""
    bench = LinearBench(dut, idle, stall, latency)
    runs = random_runs(rng(1), 40)
    await bench.start(runs)
    await bench.scoreboard.finish()
    assert bench.memory.requested == sum(beats for _, beats in runs)


@cocotb.test()
async def a_blocked_output_takes_what_fits_and_no_more(dut: Any) -> None:
    """Requests stop at the queue's depth, and go on where they stopped."""
    bench = LinearBench(dut, 0.0, 0.99, 4)
    await bench.start([(3, 10 * bench.depth)])
    await clock_cycles(dut, 8 * bench.depth)
    # One word is in the output register, too.
    assert bench.depth - BURST < bench.memory.requested - bench.sink.transfers <= bench.depth + 1
    await bench.release()


@cocotb.test()
async def yields_to_another_client_and_goes_on(dut: Any) -> None:
    """Nothing begins beyond what is stated, but everything comes even if it yields for ever."""
    bench = LinearBench(dut, 0.0, 0.99, 4)
    dut.yields.value = 1
    await bench.start([(3, 4 * bench.depth), (1, 2 * bench.depth)])
    await clock_cycles(dut, 8 * bench.depth)
    ahead = bench.memory.requested - bench.sink.transfers
    assert min(YIELDING, bench.depth - BURST) < ahead, f"only {ahead} beats ahead"
    assert ahead <= YIELDING + BURST + 1, f"{ahead} beats ahead"
    dut.yields.value = 0
    await clock_cycles(dut, 8 * bench.depth)
    assert bench.memory.requested - bench.sink.transfers > bench.depth - BURST
    dut.yields.value = 1
    await bench.release()


@cocotb.test()
async def a_request_stays_when_it_is_to_yield(dut: Any) -> None:
    """Whenever `yields` rises and falls, the requests are the same, each until it is taken."""
    bench = LinearBench(dut, 0.6, 0.3, 9)
    random = stall_rng("yields")

    def toggle() -> None:
        dut.yields.value = random.getrandbits(1)

    each_cycle(dut, toggle)
    runs = random_runs(rng(1), 40)
    await bench.start(runs)
    await bench.scoreboard.finish()
    assert bench.memory.requested == sum(beats for _, beats in runs)


@cocotb.test()
@cocotb.parametrize(yields=[0, 1])
async def a_beat_per_cycle_behind_the_stated_latency(dut: Any, yields: int) -> None:
    """Long runs, from burst to burst and from run to run, flow without a pause."""
    ahead = min(parameters()["depth"], YIELDING + BURST) if yields else parameters()["depth"]
    bench = LinearBench(dut, 0.0, 0.0, ahead - 24)
    dut.yields.value = yields
    await bench.start([(5, 200), (1000, 70), (77, 150)])
    await bench.scoreboard.finish()
    assert bench.cycles[-1] - bench.cycles[0] == 420 - 1


@cocotb.test()
async def the_stated_latency(dut: Any) -> None:
    """A lone run's request and its beat come after the stated cycles."""
    bench = LinearBench(dut, 0.0, 0.0, 2)
    started = []
    bench.memory.sink.add_callback(lambda _: started.append(cycle()))
    first = int.from_bytes(bench.contents[: bench.port], "little")
    await bench.begin([], [first])
    await bench.commands.send(pack(run_layout(), {"address": 0, "beats": 1}))
    sent = cycle()
    await bench.scoreboard.finish()
    (requested,) = started
    assert requested - sent == 3
    assert bench.cycles[0] - requested == 2 + 3
