"""Runs the harnesses of `eightfold.conformance.adapters` around somebody's module.

Parameters of both: ``total``, ``patience`` and ``pauses`` of the harness, and ``reset_cycles``. The
bench starts clocks and waits: the harness does the rest, and this reports its counts.

- ``cases``, of `eightfold.conformance.adapters.stream`: ``count`` and ``linger`` of the harness.
- ``accesses``, of `eightfold.conformance.adapters.memory_mapped`: ``memory_words`` of the harness,
  and ``folder``, which has the memory before each run as ``load_0.hex`` and so on; what is there
  after it becomes ``dump_0.hex``. Python only runs where memory changes: at the program's barriers.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, First, RisingEdge, Timer

from eightfold.sim.bench.support import parameters, report, seed


async def start(dut: Any, settings: Sequence[str], idle: Sequence[str]) -> dict[str, Any]:
    """Hand the harness its parameters, start the clock, and the strobe around its edges.

    ``settings`` are the names of parameters that it has as inputs, ``idle`` of inputs that are 0.
    Returns the parameters, after the reset, when it runs.
    """
    job = parameters()
    for name in ("total", "patience", "pauses", *settings):
        getattr(dut, name).value = job[name]
    dut.seed.value = (seed() * 0x9E3779B1 + 1) & 0xFFFF_FFFF
    for name in ("run", "load", *idle):
        getattr(dut, name).value = 0
    dut.reset.value = 1
    Clock(dut.strobe, 10, unit="ns", impl="gpi", period_high=2).start(start_high=False)
    dut.clk.value = 0
    await Timer(4, unit="ns")
    Clock(dut.clk, 10, unit="ns", impl="gpi").start(start_high=False)
    for _ in range(job["reset_cycles"]):
        await FallingEdge(dut.strobe)
    dut.reset.value = 0
    dut.load.value = 1
    await FallingEdge(dut.strobe)
    dut.run.value = 1
    return job


def finish(dut: Any, what: str, counts: Sequence[str], unsure: Sequence[str] = ()) -> None:
    """Report counts, and ``unsure`` ones, which are 0 if they are unknown.

    Raises AssertionError if the harness has given up.
    """
    found = {name: int(getattr(dut, name).value) for name in counts}
    for name in unsure:
        value = getattr(dut, name).value
        found[name] = int(value) if value.is_resolvable else 0
    report(found)
    assert not dut.broken.value, f"the {what} ended early"


@cocotb.test()
async def cases(dut: Any) -> None:
    """Send all cases, and take the answers."""
    await start(dut, ("count", "linger"), ())
    await RisingEdge(dut.done)
    counts = ("accepted", "answered", "early", "first_early", "late")
    finish(dut, "cases", (*counts, "unknown_valid", "unknown_ready", "broken"))


@cocotb.test()
async def accesses(dut: Any) -> None:
    """Run the program, and give each run its memory."""
    job = await start(dut, ("memory_words",), ("go_on", "memory_load", "memory_dump"))
    await _serve_barriers(dut, Path(job["folder"]))
    counts = ("broken", "stuck", "late", "line", "errors", "first_error", "last_value")
    finish(dut, "program", (), (*counts, "violations"))


async def _serve_barriers(dut: Any, folder: Path) -> None:
    """Return when the program is done."""
    done = RisingEdge(dut.done)
    reached = dut.barrier.value_change
    run = 0
    while await First(done, reached) is reached:
        if run:
            await _pulse(dut, dut.memory_dump)
            shutil.move("dump.hex", folder / f"dump_{run - 1}.hex")
        contents = folder / f"load_{run}.hex"
        if contents.exists():
            shutil.copyfile(contents, "load.hex")
            await _pulse(dut, dut.memory_load)
        run += 1
        dut.go_on.value = dut.barrier.value


async def _pulse(dut: Any, signal: Any) -> None:
    """Raise a signal for two cycles."""
    signal.value = 1
    for _ in range(2):
        await FallingEdge(dut.strobe)
    signal.value = 0
    await FallingEdge(dut.strobe)
