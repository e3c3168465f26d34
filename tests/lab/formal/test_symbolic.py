"""Netlists as formulas compute what Amaranth's simulator does."""

import random
from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, signed, unsigned
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component
from lab.formal.solver import Symbolic, z3
from tests.support.hardware.stream_transfers import simulate

PORTS = {"a": 9, "b": 7, "c": 5}


class Everything(Component):
    """Every operation, on signed and unsigned words of several widths, and two registers."""

    def __init__(self) -> None:
        super().__init__(
            {
                "a": In(signed(PORTS["a"])),
                "b": In(signed(PORTS["b"])),
                "c": In(unsigned(PORTS["c"])),
                "now": Out(80),
                "then": Out(14),
            }
        )

    def elaborate(self: Any, platform: object) -> Module:
        m = Module()
        a, b, c = self.a, self.b, self.c
        m.d.comb += self.now.eq(
            Cat(
                (a + b)[:11],
                (a - c)[:11],
                (b * c)[:12],
                (a & b) ^ (a | c),
                a < b,
                a <= c,
                b > a,
                c >= b,
                a == b,
                c != b,
                c.any(),
                a.all(),
                b.xor(),
                Mux(a[0], b, c),
                Array([a, b, c, ~a])[c[:2]],
                ~c.bool(),
            )
        )
        inner = Signal(14)
        m.d.sync += [inner.eq(a * b), self.then.eq(inner ^ c)]
        return m


def test_every_operation_and_registers() -> None:
    unit: Any = Everything()
    symbolic = Symbolic(Everything())
    now, then = symbolic.signal("now", 2), symbolic.signal("then", 2)
    rng = random.Random(7)
    for _ in range(20):
        words = [{name: rng.getrandbits(bits) for name, bits in PORTS.items()} for _ in range(3)]
        seen = {}

        async def bench(context, words=words, seen=seen) -> None:
            for cycle, inputs in enumerate(words):
                for name, value in inputs.items():
                    context.set(getattr(unit, name), value)
                if cycle < 2:
                    await context.tick()
            seen.update(now=context.get(unit.now), then=context.get(unit.then))

        simulate(unit, bench)
        values = [
            (z3.BitVec(f"{name}@{cycle}", PORTS[name]), z3.BitVecVal(value, PORTS[name]))
            for cycle, inputs in enumerate(words)
            for name, value in inputs.items()
        ]
        values += [(z3.BitVec(f"rst@{cycle}", 1), z3.BitVecVal(0, 1)) for cycle in range(2)]
        for name, formula in (("now", now), ("then", then)):
            assert z3.simplify(z3.substitute(formula, *values)).as_long() == seen[name], name
