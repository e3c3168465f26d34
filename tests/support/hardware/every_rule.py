"""A unit in whose netlist every rule of `eightfold.synth` finds something to rewrite."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class EveryRule(wiring.Component):
    """Products behind registers, sums with carries, masks and signs; outputs come a cycle late."""

    a: Signal
    b: Signal
    enable: Signal
    clear: Signal
    q: Signal

    def __init__(self) -> None:
        super().__init__(
            {"a": In(signed(8)), "b": In(signed(8)), "enable": In(2), "clear": In(1), "q": Out(96)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        results = [*self._products(m), *self._sums(), *self._lanes(m)]
        late = Signal(sum(len(result) for result in results), reset_less=True)
        m.d.sync += late.eq(Cat(*results))
        m.d.comb += self.q.eq(late)
        return m

    def _products(self, m: Module) -> list[Value]:
        """Return one whose operands have an enable each, and one of a bit with a reset."""
        kept = [Signal(signed(8), name=f"kept_{name}", reset_less=True) for name in "ab"]
        for index, (register, port) in enumerate(zip(kept, (self.a, self.b), strict=True)):
            with m.If(self.enable[index]):
                m.d.sync += register.eq(port)
        product = Signal(signed(16), reset_less=True)
        cleared = Signal(signed(8), reset_less=True)
        m.d.sync += [
            product.eq(kept[0] * kept[1]),
            cleared.eq(Mux(self.clear, self.a << 1, self.a)),
        ]
        return [product, (cleared * self.b)[:16]]

    def _sums(self) -> list[Value]:
        """Return one with a carry, a comparison, one with a mask and one with a sign."""
        a, b, carry = self.a, self.b, self.clear
        carried = (Cat(C(1, 1), a).as_signed() + Cat(carry, b).as_signed()) >> 1
        size = Mux(b[0], a[:4].as_signed(), Mux(b[1], a[:4].as_signed() << 1, 0))
        return [carried, a < b, a + Mux(carry, b, 0), Mux(b[2], ~size, size) + a]

    def _lanes(self, m: Module) -> list[Value]:
        """Return what two lanes choose by a register that each of them has."""
        lanes = [Lane(0), Lane(~0)]
        for number, lane in enumerate(lanes):
            m.submodules[f"lane{number}"] = lane
            m.d.comb += [lane.a.eq(self.a), lane.b.eq(self.b), lane.choice.eq(self.clear)]
        return [lane.chosen for lane in lanes]


class Lane(wiring.Component):
    """``a`` or ``b`` by the ``choice`` of the cycle before, XOR a constant."""

    a: Signal
    b: Signal
    choice: Signal
    chosen: Signal

    def __init__(self, mask: int) -> None:
        self.mask = mask
        super().__init__({"a": In(8), "b": In(8), "choice": In(1), "chosen": Out(8)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        takes_b = Signal()
        m.d.sync += takes_b.eq(self.choice)
        m.d.sync += self.chosen.eq(Mux(takes_b, self.b, self.a) ^ self.mask)
        return m
