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
            {"a": In(signed(8)), "b": In(signed(8)), "enable": In(2), "clear": In(1), "q": Out(80)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        results = [*self._products(m), *self._sums()]
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
