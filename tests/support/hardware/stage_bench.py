"""Benches of `faulty_stage.FaultyStage`; the runner's own tests start them."""

from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge, Timer

from eightfold.sim.bench.scoreboard import StreamScoreboard
from eightfold.sim.bench.stream import StreamSink, StreamSource, watchdog
from eightfold.sim.bench.support import (
    clock_cycles,
    parameters,
    progress,
    report,
    rng,
    seed,
    start_clock_and_reset,
)


@cocotb.test()
async def passes_words_on(dut: Any) -> None:
    """Words leave as they came, at any speed of both ends."""
    settings = parameters()
    dut.fault.value = settings["fault"]
    source = StreamSource(dut, "i", idle=settings["idle"])
    sink = StreamSink(dut, "o", stall=settings["stall"])
    words = [*range(8), *rng().integers(-128, 128, size=settings["words"]).tolist()]
    scoreboard = StreamScoreboard(dut)
    scoreboard.expect(sink, [word & 0xFF for word in words])
    cocotb.start_soon(watchdog([source, sink], cycles=500))
    source.append(words)
    await start_clock_and_reset(dut)
    await scoreboard.finish()
    report({"taken": sink.transfers, "sent": source.transfers})
    report({"seed": seed(), "folder": str(Path.cwd())})


@cocotb.test()
async def reads_after_an_edge_are_from_before_it(dut: Any) -> None:
    """The rule that all drivers rely on."""
    dut.fault.value = 0
    dut.i__valid.value = 0
    dut.o__ready.value = 0
    await start_clock_and_reset(dut)
    before = int(dut.edges.value)
    await RisingEdge(dut.clk)
    assert int(dut.edges.value) == before + 1
    await Timer(1, unit="ns")
    assert int(dut.edges.value) == before + 2


@cocotb.test()
async def a_word_per_cycle(dut: Any) -> None:
    """Without pauses a driver and a monitor do not slow a stream down."""
    dut.fault.value = 0
    source, sink = StreamSource(dut, "i"), StreamSink(dut, "o")
    words: list[int] = []
    sink.add_callback(words.append)
    await start_clock_and_reset(dut)
    source.append([1] * 50)
    source.append([2] * 50)
    await clock_cycles(dut, 1 + 100 + 2)  # until driven, the words, the latency
    assert words == [1] * 50 + [2] * 50


@cocotb.test()
async def reports_progress(dut: Any) -> None:
    """Tell the runner about three steps, and wait until each has been seen."""
    for step in range(3):
        progress(step, 3, f"step {step}")
        while not Path(parameters()["seen"], str(step)).exists():
            await Timer(1, unit="ns")


@cocotb.test()
async def never_ends(dut: Any) -> None:
    """Run until stopped."""
    progress(0, 1, "running")
    await start_clock_and_reset(dut)
    while True:
        await clock_cycles(dut, 1000)


@cocotb.test()
async def expects_too_much(dut: Any) -> None:
    """Fails, and its message has the values."""
    words = list(range(3))
    await Timer(1, "ns")
    assert len(words) == 4


@cocotb.test()
async def waits_for_ever(dut: Any) -> None:
    """A bench that nothing would end."""
    await start_clock_and_reset(dut)
    while True:
        await RisingEdge(dut.clk)


@cocotb.test()
async def may_take_longer(dut: Any) -> None:
    """A bench that has limits of its own, and needs more cycles than others may take."""
    await start_clock_and_reset(dut, longest=300)
    await clock_cycles(dut, 250)


@cocotb.test()
async def hangs(dut: Any) -> None:
    """A bench in which time stands still."""
    while True:
        pass
