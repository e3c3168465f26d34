"""What every bench needs: its parameters, its random numbers, the clock, and a way to report."""

import json
import os
import random
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer
from cocotb.utils import get_sim_time

from eightfold.sim.simulator.limits import ENVIRONMENT
from eightfold.target.config import AcceleratorConfig

CLOCK_NS = 10
"""The period of the clock that every bench has."""


@cache
def _job() -> dict[str, Any]:
    return json.loads(Path(os.environ[ENVIRONMENT]).read_text(encoding="utf-8"))


def parameters() -> dict[str, Any]:
    """Return the parameters that the runner was given."""
    return _job()["parameters"]


def seed() -> int:
    """Return the run's seed."""
    return _job()["seed"]


def rng(stream: int = 0) -> np.random.Generator:
    """Return numpy's generator number ``stream`` of this seed, for test data."""
    return np.random.default_rng([seed(), stream])


def configuration() -> AcceleratorConfig:
    """Return the configuration whose fields are the bench's parameter ``config``."""
    return AcceleratorConfig(**parameters()["config"])


def cycle() -> int:
    """Return the number of the clock cycle."""
    return int(get_sim_time("ns")) // CLOCK_NS


def stall_rng(name: str) -> random.Random:
    """Return a generator for one stream's pauses: quick to ask once per cycle."""
    return random.Random(f"{seed()}/{name}")


def pause_channels(model: Any, stalls: Mapping[str, float], name: str = "") -> None:
    """Let a bus model of cocotbext-axi pause on channels at random, each with its probability."""
    for channel, stall in stalls.items():
        side = getattr(model, "read_if" if channel in ("ar", "r") else "write_if", model)
        random = stall_rng(f"{name}{channel}")
        pauses = iter(lambda random=random, stall=stall: random.random() < stall, None)
        if stall:
            getattr(side, f"{channel}_channel").set_pause_generator(pauses)


def report(result: dict[str, Any]) -> None:
    """Hand a JSON-able result back to the runner, as ``BenchResult.report``.

    Calls add up; a key given twice keeps its last value.
    """
    path = Path(_job()["report"])
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(json.dumps(known | result), encoding="utf-8")


def progress(done: int, total: int, text: str = "") -> None:
    """Tell the runner how far the bench is; cheap enough for a few calls per second."""
    line = json.dumps({"done": done, "total": total, "text": text})
    with Path(_job()["progress"]).open("a", encoding="utf-8") as file:
        file.write(line + "\n")


async def start_clock_and_reset(dut: Any, longest: int = 0) -> None:
    """Start ``clk`` at 100 MHz, hold ``rst`` for two cycles, and return just after an edge.

    The clock is made inside the simulator: it costs no Python per edge. Drive the inputs, or make
    the streams' drivers, before or after; a driver holds valid and ready low until it has work.

    From here on the test fails with TimeoutError when it has taken the cycles of
    `eightfold.sim.simulator.limits.Limits`, or ``longest`` if that is more: what it may take by
    limits of its own.
    """
    Clock(dut.clk, CLOCK_NS, unit="ns", impl="gpi").start(start_high=False)
    cocotb.start_soon(_end_after(max(_job()["cycles"], longest)))
    dut.rst.value = 1
    await clock_cycles(dut, 2)
    dut.rst.value = 0
    await clock_cycles(dut, 1)


async def _end_after(cycles: int) -> None:
    await Timer(cycles * CLOCK_NS, unit="ns")
    raise TimeoutError(f"it still runs after {cycles} cycles, the most that a test may take")


def each_cycle(dut: Any, step: Callable[[], None]) -> None:
    """Call a function right after every rising edge from now on."""

    async def run() -> None:
        edge = RisingEdge(dut.clk)
        while True:
            await edge
            step()

    cocotb.start_soon(run())


async def clock_cycles(dut: Any, cycles: int) -> None:
    """Wait for a number of rising edges."""
    edge = RisingEdge(dut.clk)
    for _ in range(cycles):
        await edge
