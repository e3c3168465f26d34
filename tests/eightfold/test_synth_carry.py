"""Carry chains that begin by themselves compute what chains with a carry input did."""

from collections.abc import Callable
from pathlib import Path

import pytest
from amaranth.hdl import Cat, Const, Module, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from eightfold.synth.carry import free_carry_chains
from eightfold.synth.ports import top_module
from tests.eightfold.netlist_proof import Netlist, proved

Formula = Callable[[Signal, Signal, Signal], Value]


class Unit(wiring.Component):
    """One sum of two numbers of ``width`` bits and a carry."""

    a: Signal
    b: Signal
    carry: Signal
    q: Signal

    def __init__(self, formula: Formula, width: int) -> None:
        self.formula = formula
        ports = {"a": In(signed(width)), "b": In(signed(width)), "carry": In(1)}
        super().__init__({**ports, "q": Out(signed(width + 2))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.q.eq(self.formula(self.a, self.b, self.carry))
        return m


def chained(a: Value, b: Value) -> Value:
    return (a.as_signed() + b.as_signed()) >> 1


FORMULAS: dict[str, Formula] = {
    "a + b": lambda a, b, carry: a + b,
    "a - b": lambda a, b, carry: a - b,
    "a + b + carry": lambda a, b, carry: chained(Cat(Const(1, 1), a), Cat(carry, b)),
    "b + a + carry": lambda a, b, carry: chained(Cat(carry, b), Cat(Const(1, 1), a)),
    "a - b - 1 + carry": lambda a, b, carry: chained(Cat(carry, a), Cat(Const(1, 1), ~b)),
    "a - b - carry": lambda a, b, carry: (
        (Cat(Const(0, 1), a).as_signed() - Cat(carry, b).as_signed()) >> 1
    ),
    "a < b": lambda a, b, carry: a < b,
    "a <= b, and a carry": lambda a, b, carry: chained(Cat(carry & a[0], a), Cat(carry & a[0], b)),
}


def fed(netlist: Netlist) -> int:
    """Return how many chains have a carry input from the fabric."""
    cells = top_module(netlist)["cells"].values()
    carries = [cell["connections"] for cell in cells if cell["type"] == "CCU2C"]
    outputs = [wires["COUT"] for wires in carries if "COUT" in wires]
    return sum(wires["CIN"] not in (["x"], *outputs) for wires in carries)


@pytest.mark.slow
@pytest.mark.parametrize("width", [7, 8])
@pytest.mark.parametrize("formula", FORMULAS)
def test_the_netlist_is_equivalent(tmp_path: Path, formula: str, width: int) -> None:
    netlist, freed = proved(tmp_path, Unit(FORMULAS[formula], width), free_carry_chains)
    assert sum(freed.values()) + fed(netlist) == 1
    if "carry" in formula or width % 2 == 0:
        assert fed(netlist) == 0
