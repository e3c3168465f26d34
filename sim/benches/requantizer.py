"""Benches of the requantizer against `eightfold.golden.requantize`, bit for bit.

The design is `eightfold.hw.requantizer.Requantizer` or a
`eightfold.sim.benches.requantizer_bank.RequantizerBank`. Parameters: ``lanes``, how many
requantizers share the stream; ``random``, the number of random cases; ``corners``, a step: every so
many of the corner cases are sent.
"""

from typing import Any

import cocotb
import numpy as np
from cocotb.utils import get_sim_time

from eightfold.hw.requantizer import REQUANTIZER_INPUT, Requantizer
from eightfold.sim.bench.explain import wrong_byte
from eightfold.sim.bench.scoreboard import StreamScoreboard
from eightfold.sim.bench.stream import CLOCK_NS, StreamSink, StreamSource, watchdog
from eightfold.sim.bench.support import parameters, report, rng, start_clock_and_reset
from eightfold.sim.bench.words import pack
from eightfold.sim.machine.explain import requantize_lines
from eightfold.sim.stimuli.requantize import (
    Cases,
    corner_cases,
    edge_cases,
    expected_results,
    power_cases,
    random_cases,
    take,
    tie_cases,
    wrap_cases,
)


def rows(values: list[int], width: int, lanes: int) -> list[int]:
    """Return words of ``width`` bits joined to rows of ``lanes`` words, the first at bit 0."""
    return [
        sum(value << (lane * width) for lane, value in enumerate(values[start : start + lanes]))
        for start in range(0, len(values), lanes)
    ]


def packed(cases: Cases, lanes: int) -> tuple[list[int], list[int]]:
    """Return the words of ``i`` and those expected from ``o``; the last row is full."""
    count = len(cases["acc"]) // lanes * lanes
    cases = take(cases, slice(count))
    fields = {name: values for name, values in cases.items() if name != "acc"}
    words = pack(
        REQUANTIZER_INPUT,
        {"acc": cases["acc"]} | {f"parameters.{name}": values for name, values in fields.items()},
    )
    results = expected_results(cases).view(np.uint8).tolist()
    return rows(words, REQUANTIZER_INPUT.size, lanes), rows(results, 8, lanes)


class RequantizerBench:
    """A source, a sink and the exact comparison.

    Attributes
    ----------
    first, last
        Clock cycles in which the first and the latest result have transferred.
    """

    def __init__(self, dut: Any, idle: float = 0.0, stall: float = 0.0) -> None:
        self.dut = dut
        self.lanes: int = parameters()["lanes"]
        self.first = self.last = 0
        self.source = StreamSource(dut, "i", idle=idle)
        self.sink = StreamSink(dut, "o", stall=stall)
        self.scoreboard = StreamScoreboard(dut)
        self.sink.add_callback(self._note)

    def _note(self, _: int) -> None:
        self.last = cycle()
        self.first = self.first or self.last

    async def start(self, cases: Cases) -> list[int]:
        """Expect the results of some cases, reset the design, and return the words to send."""
        words, results = packed(cases, self.lanes)

        def explain(row: int, got: int) -> list[str]:
            lane, text = wrong_byte(got, results[row])
            case = {name: values[row * self.lanes + lane] for name, values in cases.items()}
            return [text, *requantize_lines(case["acc"], case)]

        self.scoreboard.expect(self.sink, results, explain)
        await start_clock_and_reset(self.dut)
        cocotb.start_soon(watchdog([self.source, self.sink]))
        return words

    async def run(self, cases: Cases) -> int:
        """Send cases, wait for their results, and return the number of words sent."""
        words = await self.start(cases)
        self.source.append(words)
        await self.scoreboard.finish()
        return len(words)

    async def run_at_full_speed(self, cases: Cases) -> None:
        """Send cases without a pause, and check that one result leaves in every cycle."""
        words = await self.run(cases)
        assert self.last - self.first == words - 1


def cycle() -> int:
    """Return the number of the clock cycle."""
    return int(get_sim_time("ns")) // CLOCK_NS


@cocotb.test()
async def corners(dut: Any) -> None:
    """Every mode, rounding and shift at the ends of every range, at full speed."""
    cases = take(corner_cases(rng(1)), slice(None, None, parameters()["corners"]))
    await RequantizerBench(dut).run_at_full_speed(cases)
    report({"corners": len(cases["acc"])})


@cocotb.test()
async def ties(dut: Any) -> None:
    """Exact ties and their neighbours in every mode, rounding and shift, at full speed."""
    await RequantizerBench(dut).run_at_full_speed(tie_cases(rng(2), 6))


@cocotb.test()
async def edges(dut: Any) -> None:
    """Results at the limits and beside them, in every mode, rounding and shift, at full speed."""
    await RequantizerBench(dut).run_at_full_speed(edge_cases(rng(8), 2))


@cocotb.test()
async def powers(dut: Any) -> None:
    """Every single bit of the product, in and out of the byte range, at full speed."""
    await RequantizerBench(dut).run_at_full_speed(power_cases(rng(6)))


@cocotb.test()
async def wraps(dut: Any) -> None:
    """Zero points that wrap the pair's int32, and those that just do not, at full speed."""
    await RequantizerBench(dut).run_at_full_speed(wrap_cases(rng(7)))


@cocotb.test()
async def random_quadruples(dut: Any) -> None:
    """Random accumulators, biases, multipliers and shifts, at full speed."""
    cases = random_cases(rng(3), parameters()["random"])
    await RequantizerBench(dut).run_at_full_speed(cases)
    report({"random": len(cases["acc"])})


@cocotb.test()
@cocotb.parametrize(
    (("idle", "stall"), [(0.0, 0.5), (0.5, 0.0), (0.3, 0.3), (0.9, 0.1), (0.0, 0.97)])
)
async def random_stalls(dut: Any, idle: float, stall: float) -> None:
    """Results are right and in order whoever waits for whom; the queue fills and empties."""
    lanes = parameters()["lanes"]
    cases = random_cases(rng(4), 400 * lanes)
    await RequantizerBench(dut, idle, stall).run(cases)


@cocotb.test()
async def a_result_comes_after_the_stated_latency(dut: Any) -> None:
    """A lone word's result transfers `Requantizer.LATENCY` cycles after it."""
    bench = RequantizerBench(dut)
    words = await bench.start(random_cases(rng(5), bench.lanes))
    await bench.source.send(words)
    accepted = cycle()
    await bench.scoreboard.finish()
    report({"latency": bench.first - accepted})
    assert bench.first - accepted == Requantizer.LATENCY
