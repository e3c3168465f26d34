"""Carry chains with LUTs merged in, and such that begin by themselves, compute what they did."""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from eightfold.synth.carry import (
    drop_unread_carries,
    fold_luts,
    free_carry_chains,
    half_of,
    split_negations,
)
from eightfold.synth.netlist import loads, top_module
from tests.support.hardware.netlist_proof import Netlist, proved

pytestmark = pytest.mark.slow

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


def masked(value: Value, bit: Value) -> Value:
    return Mux(bit, value.as_signed(), 0)


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


def carry_ports(netlist: Netlist, port: str) -> list[list[int | str]]:
    """Return what is at a port of each CCU2C that has it."""
    cells = top_module(netlist)["cells"].values()
    carries = [cell["connections"] for cell in cells if cell["type"] == "CCU2C"]
    return [wires[port] for wires in carries if port in wires]


def fed(netlist: Netlist) -> int:
    """Return how many chains have a carry input from the fabric."""
    inside = [["x"], *carry_ports(netlist, "COUT")]
    return sum(wires not in inside for wires in carry_ports(netlist, "CIN"))


def unread(netlist: Netlist) -> int:
    """Return how many carry outputs have a wire that nothing reads."""
    used = loads(top_module(netlist))
    return sum(wires != ["x"] and not used[wires[0]] for wires in carry_ports(netlist, "COUT"))


@pytest.mark.parametrize("width", [7, 8])
@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.usual(count=5)
def test_the_netlist_is_equivalent(tmp_path: Path, formula: str, width: int) -> None:
    def step(netlist: Netlist) -> dict[str, int]:
        freed = free_carry_chains(netlist)
        drop_unread_carries(netlist)
        return freed

    netlist, freed = proved(tmp_path, Unit(FORMULAS[formula], width), step)
    assert sum(freed.values()) + fed(netlist) == 1
    assert unread(netlist) == 0
    if "carry" in formula or width % 2 == 0:
        assert fed(netlist) == 0


@pytest.mark.parametrize(
    ("formula", "folded"),
    [
        (lambda a, b, carry: a + Mux(carry, b, 0), 7),
        (lambda a, b, carry: Mux(carry, a, 0) + b, 7),
        (lambda a, b, carry: Mux(carry, a, b) - a, 7),
        (lambda a, b, carry: (a & b) + a, 7),
        (lambda a, b, carry: chained(Cat(Const(1, 1), a), Cat(carry & b[0], b ^ carry)), 2),
        (lambda a, b, carry: a + Array([0, b, b << 1, ~b])[a[:2]], 3),
        (lambda a, b, carry: masked(a[1:], a[0]) + masked(b[1:], b[0]), 12),
    ],
    ids=["right mask", "left mask", "choice", "and", "negation", "digit", "two masks"],
)
@pytest.mark.usual(count=3)
def test_luts_move_into_carry_cells(tmp_path: Path, formula: Formula, folded: int) -> None:
    def step(netlist: Netlist) -> dict[str, int]:
        return {"folded": fold_luts(netlist), **free_carry_chains(netlist)}

    _, done = proved(tmp_path, Unit(formula, 7), step)
    assert done["folded"] == folded
    assert done["first"] + done["shifted"] <= 1


def signed_choice(value: Value, digit: Value) -> Value:
    """Return 0, once or twice a value, negated or not, in one's complement."""
    size = Mux(digit[0], value, Mux(digit[1], value << 1, 0))
    return Mux(digit[2], ~size, size)


@pytest.mark.parametrize(
    ("formula", "split"),
    [
        (lambda a, b, carry: signed_choice(a[:4].as_signed(), b) + a, 3),
        (lambda a, b, carry: signed_choice(a[:4].as_signed(), b) + a[4:].as_signed(), 3),
        (lambda a, b, carry: signed_choice(a[:4].as_signed(), b[:3]) ^ b, 0),
    ],
    ids=["with its operand", "with another", "no sum"],
)
@pytest.mark.usual
def test_signs_move_into_carry_cells(tmp_path: Path, formula: Formula, split: int) -> None:
    def step(netlist: Netlist) -> dict[str, int]:
        return {"split": split_negations(netlist), "folded": fold_luts(netlist)}

    netlist, done = proved(tmp_path, Unit(formula, 7), step)
    assert done["split"] == split
    left = [cell["type"] for cell in top_module(netlist)["cells"].values()]
    assert (left.count("PFUMX") == 0) == (split > 0)


def table_of(generate: Callable[[bool, bool, bool], bool]) -> dict:
    """Return a half's truth with three wires, that generates and never propagates."""
    levels = product((False, True), repeat=3)
    return {level: (False, generate(*level)) for level in levels}


def test_what_is_generated_depends_on_the_wires_at_pins_a_and_b() -> None:
    found = half_of((7, 8, 9), table_of(lambda a, b, c: a and not c))
    assert found is not None
    for levels, expected in table_of(lambda a, b, c: a and not c).items():
        assert found.carry_at(dict(zip((7, 8, 9), levels, strict=True))) == expected
    assert half_of((7, 8, 9), table_of(lambda a, b, c: a and b and c)) is None
