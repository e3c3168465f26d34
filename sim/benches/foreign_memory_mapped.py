"""Runs the harness of `eightfold.conformance.adapters.memory_mapped` around somebody's module.

Parameters: ``total``, ``patience``, ``pauses`` and ``memory_words`` of the harness,
``reset_cycles``, and ``folder``, which has the memory before each run as ``load_0.hex`` and so on;
what is there after it becomes ``dump_0.hex``. Python only runs where memory changes: at the
program's barriers.
"""

import shutil
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, First, RisingEdge

from eightfold.sim.bench.support import parameters, report, seed
from eightfold.sim.benches.foreign_stream import start

COUNTS = (*("broken", "stuck", "late", "line", "errors", "first_error", "last_value"), "violations")


@cocotb.test()
async def accesses(dut: Any) -> None:
    """Run the program, and give each run its memory."""
    job = parameters()
    for name in ("total", "patience", "pauses", "memory_words"):
        getattr(dut, name).value = job[name]
    dut.seed.value = (seed() * 0x9E3779B1 + 1) & 0xFFFF_FFFF
    for name in ("go_on", "memory_load", "memory_dump"):
        getattr(dut, name).value = 0
    await start(dut, job["reset_cycles"])
    dut.run.value = 1
    await _serve_barriers(dut, Path(job["folder"]))
    counts = {name: getattr(dut, name).value for name in COUNTS}
    report({name: int(value) if value.is_resolvable else 0 for name, value in counts.items()})
    assert not dut.broken.value, "the program ended early"


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
