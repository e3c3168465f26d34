"""The requantizer between streams: a product of its own, for designs that bring accumulators.

The accelerator's lanes have the same `RequantizePipeline`, without streams.
"""

from typing import Annotated

from amaranth.hdl import Module, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.credit import CreditQueue
from eightfold.hw.blocks.delay import delay
from eightfold.hw.blocks.layouts import REQUANTIZE_LAYOUT
from eightfold.hw.blocks.requantize_pipeline import RequantizePipeline
from eightfold.target.config import AcceleratorConfig

REQUANTIZER_INPUT = data.StructLayout({"acc": signed(32), "parameters": REQUANTIZE_LAYOUT})
"""The word of the requantizer's input stream: an accumulator and its own parameters."""


class Requantizer(Component):
    """Scale int32 accumulators to int8, each with its own parameters.

    The formula is `RequantizePipeline`'s; `eightfold.golden.requantize.requantize` is the same on
    arrays. See docs/numerics.md.

    Timing
    ------
    One result per cycle, `LATENCY` cycles after its accumulator, as long as ``o.ready`` is
    1. ``i.ready`` comes from a register: it falls once ``output_depth`` results are under way or
    wait on ``o``.

    Parameters
    ----------
    config
        ``output_depth`` is the number of results that can wait.
    """

    LATENCY = RequantizePipeline.LATENCY + CreditQueue.LATENCY
    """Cycles from a transfer on ``i`` to its result on ``o``."""

    i: Annotated[stream.Interface, In(stream.Signature(REQUANTIZER_INPUT))]
    """Accumulators with their parameters."""
    o: Annotated[stream.Interface, Out(stream.Signature(signed(8)))]
    """Results, same order."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.pipeline = pipeline = RequantizePipeline()
        m.submodules.queue = queue = CreditQueue(signed(8), self.config.output_depth)
        m.d.comb += pipeline.acc.eq(self.i.payload.acc)
        for name, cycle in pipeline.FIELD_CYCLE.items():
            # Each field waits for the stage that uses it.
            field = Value.cast(self.i.payload.parameters[name])
            m.d.comb += Value.cast(getattr(pipeline, name)).eq(delay(m, field, name, cycle))
        taken = self.i.valid & self.i.ready
        pushed = Signal(pipeline.LATENCY)
        m.d.sync += pushed.eq(pushed << 1 | taken)
        m.d.comb += [
            self.i.ready.eq(queue.available),
            queue.take.eq(taken),
            queue.push.eq(pushed[-1]),
            queue.push_data.eq(pipeline.result),
        ]
        wiring.connect(m, queue.o, wiring.flipped(self.o))
        return m
