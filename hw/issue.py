"""The front end of the MAC array: when a vector of activations may enter the pipeline."""

from amaranth.hdl import Cat, Module, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from eightfold.config import AcceleratorConfig
from eightfold.streams import activation_layout
from hw.partial_sums import PartialSums


def step_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return what moves the lanes' operands: a vector, and whether weights change with it."""
    return data.StructLayout(
        {
            "bytes": data.ArrayLayout(signed(8), config.width),
            "valid": unsigned(1),
            "depthwise": unsigned(1),
            "swap": unsigned(1),
        }
    )


def line_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return where the lines keep a vector, and where they find the one of a row before."""
    place = range(config.line_depth)
    return data.StructLayout({"push": unsigned(1), "write": place, "read": place})


REASON_LAYOUT = data.StructLayout(
    {"issue": 1, "weights": 1, "parameters": 1, "held": 1},
)
"""What the front end does in a cycle in which it has a vector, or what the vector waits for."""


def sum_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return what becomes of a vector's dot products, lane by lane the same."""
    return data.StructLayout(
        {
            "slot": range(config.psum_depth),
            "first": unsigned(1),
            "store": unsigned(1),  # the sum stays in its slot
            "send": unsigned(1),  # the sum leaves through the requantizer
            "retire": unsigned(1),  # the bank before this one is not needed any more
        }
    )


class Issue(wiring.Component):
    """Hold a vector until its weights, parameters, partial sum and result's place are there.

    Timing
    ------
    One vector per cycle; ``step``, ``line`` and ``sum`` come from registers, two cycles after the
    vector if nothing holds it. A vector that reads a partial sum waits until the sum is
    `PartialSums.REVISIT` cycles old, so results do not depend on the order in which slots are
    visited.

    Parameters
    ----------
    config
        ``width``, ``psum_depth``, ``parameter_banks`` and ``line_depth``.

    Members
    -------
    activations : ``In(stream.Signature(activation_layout(config)))``
    weights_full, parameters_ready, credit : ``In(1)``
        What ``next_weights``, ``next_parameters`` and a result need.
    take, spend : ``Out(1)``
        Parameters and the result's place are used up in this cycle. Weights are a cycle later,
        with ``step.swap``: then ``weights_full`` must tell of the next ones.
    reason : ``Out(REASON_LAYOUT)``
        One bit, or none without a vector.
    step : ``Out(step_layout(config))``
    line : ``Out(line_layout(config))``
    sum : ``Out(sum_layout(config))``
        Its flags are 0 if no vector is issued.
    bank : ``Out(range(config.parameter_banks))``
        Of the vector whose ``sum`` came a cycle before.
    """

    activations: stream.Interface
    weights_full: Signal
    parameters_ready: Signal
    credit: Signal
    take: Signal
    spend: Signal
    reason: data.View
    step: data.View
    line: data.View
    sum: data.View
    bank: Signal

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__(
            {
                "activations": In(stream.Signature(activation_layout(config))),
                "weights_full": In(1),
                "parameters_ready": In(1),
                "credit": In(1),
                "take": Out(1),
                "spend": Out(1),
                "reason": Out(REASON_LAYOUT),
                "step": Out(step_layout(config)),
                "line": Out(line_layout(config)),
                "sum": Out(sum_layout(config)),
                "bank": Out(range(config.parameter_banks)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held, valid = Signal(activation_layout(self.config), reset_less=True), Signal()
        go, load = Signal(), Signal()
        may_swap, may_advance = ~held.next_weights | self.weights_full, self._may_advance(held)
        may_sum = ~self._revisits(m, load, go, held) & self._may_send(held)
        m.d.comb += [
            go.eq(valid & may_swap & may_advance & may_sum),
            self.reason.issue.eq(go),
            self.reason.weights.eq(valid & ~may_swap),
            self.reason.parameters.eq(valid & may_swap & ~may_advance),
            self.reason.held.eq(valid & may_swap & may_advance & ~may_sum),
            self.activations.ready.eq(go | ~valid),
            load.eq(self.activations.valid & self.activations.ready),
            self.take.eq(go & held.next_parameters),
            self.spend.eq(go & held.fire & held.last),
        ]
        with m.If(self.activations.ready):
            m.d.sync += valid.eq(self.activations.valid)
        with m.If(load):
            m.d.sync += held.eq(self.activations.payload)
        self._send(m, held, go)
        return m

    def _may_advance(self, held: data.View) -> Value:
        return ~held.next_parameters | self.parameters_ready

    def _may_send(self, held: data.View) -> Value:
        return ~(held.fire & held.last) | self.credit

    def _send(self, m: Module, held: data.View, go: Signal) -> None:
        """Register the vector for the lanes."""
        banks = self.config.parameter_banks
        # A cycle after the other fields, for the clock's sake: it is needed much later than they.
        bank = Signal(range(banks), init=banks - 1)
        m.d.comb += self.bank.eq(bank)
        with m.If(self.sum.retire):
            m.d.sync += bank.eq(bank + 1)
        m.d.sync += [
            self.step.bytes.eq(held.bytes),
            self.step.depthwise.eq(held.depthwise),
            self.step.valid.eq(go),
            self.step.swap.eq(go & held.next_weights),
            self.sum.slot.eq(held.slot),
            self.sum.first.eq(held.first),
            self.sum.store.eq(go & held.fire & ~held.last),
            self.sum.send.eq(self.spend),
            self.sum.retire.eq(self.take),
        ]
        place = Signal(range(self.config.line_depth))
        push = go & held.depthwise
        with m.If(push):
            m.d.sync += place.eq(place + 1)
        m.d.sync += [
            self.line.push.eq(push),
            self.line.write.eq(place),
            self.line.read.eq(place - held.line),
        ]

    def _revisits(self, m: Module, load: Signal, go: Signal, held: data.View) -> Value:
        """Return whether the held vector reads a sum that is still on its way to the RAM.

        The comparisons are made while the vector is loaded, against the vectors issued in this
        cycle and the ones before; what is left for later is to count the cycles.
        """
        cycles = PartialSums.REVISIT - 1
        new = self.activations.payload
        writes, slot = held.fire & ~held.last, held.slot
        recent: list[Value] = []
        for age in range(cycles):
            recent.append(writes & new.fire & ~new.first & (slot == new.slot))
            stored = Signal(name=f"stored{age}")
            stored_slot = Signal.like(held.slot, name=f"stored_slot{age}", reset_less=True)
            m.d.sync += [stored.eq(writes & go if age == 0 else writes), stored_slot.eq(slot)]
            writes, slot = stored, stored_slot
        wait = Signal(cycles)
        m.d.sync += wait.eq(wait >> 1)
        with m.If(load):
            # A held vector is issued if another one is loaded; one issued before does not count.
            valid = [Value.cast(recent[0]) & go, *recent[1:]]
            m.d.sync += wait.eq(Cat(Cat(*valid[: cycles - left]).any() for left in range(cycles)))
        return wait[0]
