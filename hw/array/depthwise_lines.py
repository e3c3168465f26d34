"""The lines of the depthwise window: two delays of whole vectors in RAM."""

from typing import Annotated

from amaranth.hdl import Module, Signal, Value, signed, unsigned
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from eightfold.hw.array.issue_words import line_layout, step_layout
from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.delay import delay
from eightfold.target.config import AcceleratorConfig


def older_layout(config: AcceleratorConfig) -> data.ArrayLayout:
    """Return the vectors one line and two lines before a depthwise vector."""
    vector = data.ArrayLayout(signed(8), config.width)
    return data.ArrayLayout(vector, config.window_rows - 1)


class DepthwiseLines(Component):
    """Give each depthwise vector those that came ``line`` and twice ``line`` vectors before.

    Only depthwise vectors count. The first RAM keeps the vectors, the second what the first gave:
    ``older[1]`` of a vector is ``older[0]`` of the one ``line`` before.

    Timing
    ------
    One vector per cycle, no stalls; ``o`` is ``i`` one cycle later, and ``older``, from the RAMs'
    output registers, belongs to ``o``. A vector is in both RAMs three cycles after its ``i``, so
    the distance of ``line.write`` and ``line.read`` is `eightfold.isa.MIN_LINE` to ``line_depth``,
    and both RAMs can be read at once.

    Parameters
    ----------
    config
        ``width`` and ``line_depth``.
    """

    i: Annotated[data.View, lambda self: In(step_layout(self.config))]
    """A vector, and what moves with it."""
    line: Annotated[data.View, lambda self: In(line_layout(self.config))]
    """The lines of the same vector."""
    o: Annotated[data.View, lambda self: Out(step_layout(self.config))]
    """The vector on its way to the lanes."""
    older: Annotated[data.View, lambda self: Out(older_layout(self.config))]
    """What came one line and two lines before it."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += Value.cast(self.o).eq(delay(m, self.i, "step1", reset=True))
        push = self.line.push
        place = self.line.write
        word = Value.cast(self.i.bytes)
        for number in range(self.config.window_rows - 1):
            # The second RAM's word is the first one's output, slow from the clock: it, too, takes
            # a register on its way.
            push = delay(m, push, f"push{number}_1", reset=True)
            place = delay(m, place, f"place{number}_1", reset=True)
            word = self._ram(m, number, push, place, delay(m, word, f"word{number}_1", reset=True))
            m.d.comb += Value.cast(self.older[number]).eq(word)
        return m

    def _ram(self, m: Module, number: int, push: Value, place: Value, word: Value) -> Signal:
        """Add one RAM, and return its output register."""
        width = 8 * self.config.width
        m.submodules[f"ram{number}"] = ram = Memory(
            shape=unsigned(width), depth=self.config.line_depth, init=[]
        )
        write, read = ram.write_port(), ram.read_port(domain="comb")
        output = Signal(width, name=f"line{number}", reset_less=True)
        m.d.comb += [
            read.addr.eq(self.line.read),
            write.addr.eq(place),
            write.data.eq(word),
            write.en.eq(push),
        ]
        # Nothing that is used is read in the cycle of its write: see
        # `eightfold.hw.array.partial_sums`.
        with m.If(~push | (self.line.read != place)):
            m.d.sync += output.eq(read.data)
        return output
