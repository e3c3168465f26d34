"""Benches of the requantizer against `eightfold.golden.requantize`, bit for bit.

The design is `eightfold.hw.requantizer.Requantizer` or a `RequantizerBank`. Parameters: ``lanes``,
how many requantizers share the stream; ``random``, the number of random cases; ``corners``, a step:
every so many of the corner cases are sent.
"""

from collections.abc import Callable
from typing import Any

import cocotb
import numpy as np
from amaranth.hdl import Cat, Module, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from eightfold.conformance.units import requantize
from eightfold.conformance.units.requantize import Domain, concatenate, take
from eightfold.golden.requantize import requantize as golden_requantize
from eightfold.golden.rounding import ROUNDINGS, rounding_code
from eightfold.hw.requantizer import REQUANTIZER_INPUT, Requantizer
from eightfold.sim.bench.scoreboard import StreamScoreboard, wrong_byte
from eightfold.sim.bench.stream import StreamSink, StreamSource, pack, watchdog
from eightfold.sim.bench.support import cycle, parameters, report, rng, start_clock_and_reset
from eightfold.sim.machine.explain import requantize_lines
from eightfold.target.config import AcceleratorConfig


class RequantizerBank(wiring.Component):
    """So many independent requantizers whose streams transfer together, their words as arrays.

    A bench then spends Python time per row.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        super().__init__(
            {
                "i": In(stream.Signature(data.ArrayLayout(REQUANTIZER_INPUT, lanes))),
                "o": Out(stream.Signature(data.ArrayLayout(signed(8), lanes))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        units = [Requantizer(AcceleratorConfig()) for _ in range(self.lanes)]
        m.d.comb += [
            self.i.ready.eq(Cat(unit.i.ready for unit in units).all()),
            self.o.valid.eq(Cat(unit.o.valid for unit in units).all()),
        ]
        for lane, unit in enumerate(units):
            m.submodules[f"lane{lane}"] = unit
            m.d.comb += [
                Value.cast(unit.i.payload).eq(Value.cast(self.i.payload[lane])),
                unit.i.valid.eq(self.i.valid & self.i.ready),
                self.o.payload[lane].eq(unit.o.payload),
                unit.o.ready.eq(self.o.valid & self.o.ready),
            ]
        return m


Cases = dict[str, NDArray[np.int64]]
"""``acc`` and the fields of `eightfold.isa.REQUANTIZE_LAYOUT`: integers of shape (n,)."""

LIMIT = 1 << 31

DOMAINS = tuple(
    Domain(single=single, rounding=rounding, exponents=(-30, 62 if single else 31))
    for single in (False, True)
    for rounding in ROUNDINGS
)
"""What the hardware takes: the spec's forms and others."""


def corner_cases(rng: np.random.Generator) -> Cases:
    """Return every (mode, rounding, right) and every (mode, rounding, left) at corner values.

    Operands, multipliers and both ends of the zero point are crossed with them; a random multiplier
    joins the corner ones. Every left shift is there with a right shift too.
    """
    cases = _of_all(rng, requantize.corner_cases)
    both = take(cases, cases["left"] > 0)
    right = rng.integers(0, np.where(both["single"], 63, 32))
    return concatenate([cases, both | {"right": right}])


def tie_cases(rng: np.random.Generator, count: int) -> Cases:
    """Return ties of both roundings and their neighbours, ``count`` of each for every shift."""
    first = _of_all(rng, lambda rng, domain: requantize.first_tie_cases(rng, domain, count))
    second = _of_all(rng, lambda rng, domain: requantize.second_tie_cases(rng, domain, count))
    return concatenate([first, second])


def power_cases(rng: np.random.Generator) -> Cases:
    """Return products of plus or minus every power of two, with every right shift."""
    return _of_all(rng, requantize.power_cases)


def wrap_cases(rng: np.random.Generator) -> Cases:
    """Return products so near the ends that a pair's zero point wraps int32, and neighbours."""
    return _of_all(rng, requantize.wrap_cases)


def random_cases(rng: np.random.Generator, count: int) -> Cases:
    """Return random cases in random order, about a third with a left shift."""
    share = -(-count // len(DOMAINS))
    cases = _of_all(rng, lambda rng, domain: requantize.random_cases(rng, domain, share))
    cases = take(cases, rng.permutation(share * len(DOMAINS))[:count])
    shifted = rng.random(count) < 0.3
    return cases | {"left": np.where(shifted, rng.integers(0, 31, count), cases["left"])}


def expected_results(cases: Cases) -> NDArray[np.int8]:
    """Return golden's results."""
    return golden_requantize(**cases)  # pyright: ignore[reportArgumentType]


def _of_all(
    rng: np.random.Generator, make: Callable[[np.random.Generator, Domain], requantize.Cases]
) -> Cases:
    """Return the cases of every domain, as the hardware has them."""
    return concatenate([_as_hardware(rng, domain, make(rng, domain)) for domain in DOMAINS])


def _as_hardware(rng: np.random.Generator, domain: Domain, cases: requantize.Cases) -> Cases:
    """Add mode and bias: the accumulator is what makes the biased sum the one that was drawn."""
    cases = take(cases, domain.within(cases))
    count = len(cases["acc"])
    bias = np.choose(
        rng.integers(0, 4, count),
        [
            np.zeros(count, np.int64),
            rng.choice([-LIMIT, LIMIT - 1], count),
            rng.integers(-LIMIT, LIMIT, count),
            rng.integers(-1000, 1000, count),
        ],
    )
    acc = (cases["acc"] - bias + LIMIT) % (2 * LIMIT) - LIMIT
    modes = {
        "single": np.full(count, int(domain.single)),
        "rounding": np.full(count, int(rounding_code(domain.rounding))),
    }
    arguments = domain.arguments(cases) | modes | {"acc": acc, "bias": bias}
    return {name: np.asarray(values) for name, values in arguments.items()}


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

    ``first``, ``last``: clock cycles in which the first and the latest result have transferred.
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
    cases = _of_all(rng(8), lambda rng, domain: requantize.edge_cases(rng, domain, 2))
    await RequantizerBench(dut).run_at_full_speed(cases)


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
