"""One lane: its window, its double buffer and its timing, cycle by cycle."""

from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module, Signal, Value

from eightfold.golden.requantize import requantize
from eightfold.hw.array.lane import Lane
from eightfold.hw.array.lane_control import LaneControl, result_cycle
from eightfold.hw.array.multiplier import WeightEncoder
from eightfold.hw.array.partial_sums import PartialSums
from eightfold.hw.blocks.delay import delay
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.stream_transfers import simulate

STYLES = ["infer", "rows"]
PARAMETERS = {
    "bias": -77,
    "left": 1,
    "multiplier": 3 << 29,
    "single": 0,
    "right": 6,
    "rounding": 0,
    "zero_point": -3,
    "low": -100,
    "high": 120,
}


class LaneBench:
    """A lane with its control, driven by hand: one call of `step` is one cycle."""

    def __init__(self, width, style):
        config = AcceleratorConfig(
            lanes=1, width=width, psum_depth=16, parameter_banks=4, multiplier=style
        )
        self.width = width
        self.latency = result_cycle(config) + LaneControl.AHEAD - 1
        self.rows, self.columns = config.window_rows, config.window_columns
        self.top = Module()
        self.top.submodules.lane = self.lane = Lane(config)
        self.top.submodules.control = self.control = LaneControl(config)
        self.top.d.comb += self.lane.control.eq(self.control.lanes)
        self.encoders = [WeightEncoder(style) for _ in range(width)]
        for d, encoder in enumerate(self.encoders):
            self.top.submodules[f"encoder{d}"] = encoder
            self.later(self.lane.taps[d], encoder.weight, f"tap{d}")
        # What the lane is given directly comes as much later as the registers on its way make it.
        self.step_in: Any = Signal(self.lane.step.shape())
        self.window = Signal(self.lane.window.shape())
        self.write_taps = Signal()
        self.later(self.lane.step, self.step_in, "step")
        self.later(self.lane.window, self.window, "window")
        self.later(self.lane.write_taps, self.write_taps, "write_taps")
        self.ctx: Any = None  # the simulator's, once it runs
        self.cycle = 0
        self.expected = {}
        self.results = {}

    def run(self, bench):
        async def testbench(ctx):
            self.ctx = ctx
            await self.load_parameters()
            await bench(self)
            for _ in range(self.latency + 2):
                await self.step()

        simulate(self.top, testbench)
        assert self.results == self.expected
        assert self.expected

    def later(self, port, value, name):
        self.top.d.comb += Value.cast(port).eq(
            delay(self.top, value, f"{name}{{}}", LaneControl.AHEAD - 1, reset=True)
        )

    async def load_parameters(self):
        self.ctx.set(self.lane.write_parameters, 1)
        for name, value in PARAMETERS.items():
            self.ctx.set(getattr(self.lane.requantize, name), value)
        await self.step()
        self.ctx.set(self.lane.write_parameters, 0)

    async def step(self, taps=None, **sums):
        """One cycle: write ``taps`` if given, and ``sums`` for the vector of the next cycle."""
        self.ctx.set(self.write_taps, taps is not None)
        for encoder, byte in zip(self.encoders, taps or [], strict=False):
            self.ctx.set(encoder.byte, int(byte))
        for name in ("first", "store", "send", "slot"):
            self.ctx.set(getattr(self.control.sum, name), sums.get(name, 0))
        if self.ctx.get(self.control.valid):
            self.results[self.cycle] = self.ctx.get(self.lane.result)
        await self.ctx.tick()
        self.cycle += 1
        for name in ("valid", "swap", "depthwise"):
            self.ctx.set(getattr(self.step_in, name), sums.get(name, 0))
        for row, byte in enumerate(sums.get("window", [0] * self.rows)):
            self.ctx.set(self.window[row], int(byte))
        for d, byte in enumerate(sums.get("bytes", [0] * self.width)):
            self.ctx.set(self.step_in.bytes[d], int(byte))
        if sums.get("send"):
            result = int(requantize(sums["total"], **PARAMETERS))
            self.expected[self.cycle + self.latency] = result


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(("width", "rows", "columns"), [(2, 2, 1), (5, 3, 1), (8, 3, 2)])
def test_each_row_of_the_depthwise_window_holds_its_last_bytes_newest_first(
    width, rows, columns, style
):
    async def bench(lane):
        assert (lane.rows, lane.columns) == (rows, columns)
        taps = [3 * d - 4 for d in range(width)]
        await lane.step(taps=taps)
        await lane.step(valid=1, swap=1, bytes=[100] * width)
        operands = [100] * width
        for index, byte in enumerate([-128, 127, 5, -6, 0, 9, 127]):
            window = [byte, 3 - byte // 2, byte // 3 - 20][:rows]
            operands = [0, *operands[:-1]]
            for row, entering in enumerate(window):
                operands[row * columns] = entering
            total = int(np.dot(operands, taps))
            # Pauses must not move the window, moves without a sum must.
            if index % 3 == 1:
                await lane.step(window=[55] * rows, depthwise=1)
            fire = index % 2
            await lane.step(valid=1, depthwise=1, window=window, first=fire, send=fire, total=total)

    LaneBench(width, style).run(bench)


@pytest.mark.parametrize("style", STYLES)
def test_weights_written_with_the_swap_belong_to_the_next_buffer(style):
    async def bench(lane):
        ones = [1, 1, 1, 1]
        await lane.step(taps=[1, 2, 3, 4])
        await lane.step(valid=1, swap=1, bytes=ones, first=1, send=1, total=10)
        # `step` writes taps in this cycle, the one in which the lane sees the swap above.
        await lane.step(taps=[-128] * 4, valid=1, bytes=ones, first=1, send=1, total=10)
        await lane.step(valid=1, swap=1, bytes=ones, first=1, send=1, total=-512)

    LaneBench(4, style).run(bench)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.slow
def test_partial_sums_add_up_per_slot_after_the_stated_pause(style):
    async def bench(lane):
        await lane.step(taps=[1, 0, 0, 0])
        await lane.step(valid=1, swap=1, bytes=[0] * 4)
        totals = [0] * PartialSums.REVISIT
        for chunk in range(4):
            for slot in range(PartialSums.REVISIT):
                byte = 31 * chunk - 40 * slot
                totals[slot] += byte
                last = int(chunk == 3)
                await lane.step(
                    valid=1,
                    bytes=[byte, 9, 9, 9],
                    first=int(chunk == 0),
                    store=1 - last,
                    send=last,
                    slot=slot,
                    total=totals[slot],
                )

    LaneBench(4, style).run(bench)
