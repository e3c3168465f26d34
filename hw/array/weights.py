"""Weights: the double buffer of a lane, and the loader that fills those of all lanes."""

from typing import Annotated

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from eightfold.hw.array.issue_words import SUPPLY_LAYOUT
from eightfold.hw.array.multiplier import WeightEncoder, tap_styles, taps_layout
from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.layouts import weight_layout
from eightfold.target.config import AcceleratorConfig


def weight_write_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return a write to the lanes with a set bit in ``lanes``."""
    return data.StructLayout({"lanes": unsigned(config.lanes), "taps": taps_layout(config)})


class WeightBuffer(Component):
    """Hold one lane's weights: a shadow copy being written, and the active one.

    Timing
    ------
    ``active`` changes the cycle after ``swap``, to what was written before the cycle of ``swap``;
    a write in the same cycle belongs to the next buffer. Taps never written are 0.

    Parameters
    ----------
    config
        ``width``, ``multiplier`` and ``dsp_taps``.
    """

    write: Annotated[Signal, In(1)]
    """``taps`` go into the shadow copy."""
    swap: Annotated[Signal, In(1)]
    """The shadow copy becomes the active one."""
    taps: Annotated[data.View, lambda self: In(taps_layout(self.config))]
    active: Annotated[data.View, lambda self: Out(taps_layout(self.config))]

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        layout = taps_layout(self.config)
        shadow, active = (Signal(layout, name=n, reset_less=True) for n in ("shadow", "active"))
        m.d.comb += self.active.eq(active)
        with m.If(self.write):
            m.d.sync += shadow.eq(self.taps)
        with m.If(self.swap):
            m.d.sync += active.eq(shadow)
        return m


class WeightLoader(Component):
    """Fill the shadow buffers from the weight stream, one lane per word, lane 0 first.

    A buffer is full with its word marked ``last``, or lane ``lanes - 1``; it stays so until
    ``take``. The lanes swap their buffers a cycle after that, when the first word of the next one
    may be written: in steady state the stream never pauses.

    Timing
    ------
    A word per cycle; stalls while the buffer is full. Words wait in one register, behind which the
    weights are encoded; ``write`` comes from a second one. A buffer counts as full from the cycle
    on in which the last word leaves the first register; ``supply`` tells that a cycle before.
    ``words.ready`` depends on registers only.

    Parameters
    ----------
    config
        ``lanes``, ``width``, ``multiplier`` and ``dsp_taps``.
    """

    words: Annotated[
        stream.Interface, lambda self: In(stream.Signature(weight_layout(self.config)))
    ]
    """A lane's weights each."""
    supply: Annotated[data.View, Out(SUPPLY_LAYOUT)]
    """The supply of full buffers."""
    take: Annotated[Signal, In(1)]
    """Only while a buffer is full."""
    write: Annotated[data.View, lambda self: Out(weight_write_layout(self.config))]
    """To the lanes."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word = Signal(weight_layout(self.config), reset_less=True)
        valid = Signal()
        following, lane = (Signal(range(self.config.lanes), name=n) for n in ("following", "lane"))
        # The buffer is complete and not swapped in this cycle; the word in the register completes
        # it; ``full`` is either of them.
        waits, completes, full = Signal(), Signal(), Signal()
        last = self.words.payload.last | (following == self.config.lanes - 1)
        m.d.comb += [
            self.words.ready.eq(~valid | ~waits),
            self.supply.two.eq(Mux(self.words.ready, self.words.valid & last, completes)),
            self.supply.one.eq(full | self.supply.two),
        ]
        m.d.sync += [
            waits.eq(full & ~self.take),
            full.eq(Mux(self.take, self.supply.two, self.supply.one)),
        ]
        with m.If(self.words.ready):
            m.d.sync += [
                valid.eq(self.words.valid),
                word.eq(self.words.payload),
                lane.eq(following),
                completes.eq(self.words.valid & last),
            ]
            with m.If(self.words.valid):
                m.d.sync += following.eq(Mux(last, 0, following + 1))
        m.d.sync += self.write.lanes.eq((valid & ~waits) << lane)
        for d, style in enumerate(tap_styles(self.config)):
            m.submodules[f"encoder{d}"] = encoder = WeightEncoder(style)
            m.d.comb += encoder.byte.eq(word.taps[d])
            m.d.sync += self.write.taps[d].eq(encoder.weight)
        return m
