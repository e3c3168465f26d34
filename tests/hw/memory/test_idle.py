# amaranth: UnusedElaboratable=no
"""The memory ports' ``idle`` tells of a request as soon as it is taken.

`RunControl` resets everything when the ports have been idle for `RunControl.SETTLE` cycles after
``stop``: a request that they took in the cycle before must be seen by then.
"""

import random
from dataclasses import dataclass
from typing import Any

import pytest

from eightfold.hw.control.run_control import RunControl
from eightfold.hw.memory.reader import MemoryReader
from eightfold.hw.memory.writer import MemoryWriter
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.stream_transfers import simulate

CONFIG = AcceleratorConfig(lanes=4, width=4, port=4, vector_lanes=2)

LATENCY = 1
"""Cycles from a request's transfer until ``idle`` is 0."""

REGISTERS = 1
"""Between ``idle`` of the ports and that of `RunControl`, in `Accelerator`."""


@dataclass
class Port:
    """A memory port with one client; bursts are of a beat."""

    dut: Any
    request: Any
    address_ready: Any
    answer: Any
    last: Any = None
    beats: Any = None


def ports():
    reader, writer = MemoryReader(CONFIG, clients=1), MemoryWriter(CONFIG)
    axi = reader.axi
    return [
        Port(reader, reader.clients[0].request, axi.arready, axi.rvalid, last=axi.rlast),
        Port(
            writer,
            writer.client.request,
            writer.axi.awready,
            writer.axi.bvalid,
            beats=writer.client.beats,
        ),
    ]


@pytest.mark.parametrize("which", [0, 1], ids=["reader", "writer"])
@pytest.mark.parametrize("before", range(6))
def test_idle_is_0_from_the_cycle_after_a_request_to_its_answer(which, before):
    port = ports()[which]
    draws = random.Random(before)

    async def testbench(ctx):
        ctx.set(port.address_ready, 1)
        ctx.set(port.request.payload.beats, 1)
        if port.beats is not None:
            ctx.set(port.beats.valid, 1)
        for _ in range(20):
            await ctx.tick().repeat(3 + before)
            assert ctx.get(port.dut.idle)
            ctx.set(port.request.valid, 1)
            assert ctx.get(port.request.ready)
            await ctx.tick()  # taken
            ctx.set(port.request.valid, 0)
            ctx.set(port.dut.stop, 1)
            for _ in range(draws.randrange(1, 20)):
                assert not ctx.get(port.dut.idle)
                await ctx.tick()
            ctx.set(port.answer, 1)
            if port.last is not None:
                ctx.set(port.last, 1)
            assert not ctx.get(port.dut.idle)
            await ctx.tick()
            ctx.set(port.answer, 0)
            assert not ctx.get(port.dut.idle), "it has not been delivered"
            await ctx.tick()
            assert ctx.get(port.dut.idle)
            ctx.set(port.dut.stop, 0)

    simulate(port.dut, testbench)


def test_run_control_waits_for_it():
    assert LATENCY + REGISTERS <= RunControl.SETTLE
