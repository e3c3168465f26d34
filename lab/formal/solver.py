"""Proofs by z3: claims about formulas, each of which has no counterexample.

A `Symbolic` unit has the formulas: what a signal is in a cycle, by the inputs before.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import z3 as _z3

from eightfold.hw.blocks.component import Component
from eightfold.rtl.verilog import run_yosys, to_rtlil
from eightfold.synth.netlist import Cell, Wire, top_module
from lab.formal.proof import Finding, Proof

z3: Any = _z3

Term = Any
"""A word or a condition of z3."""


class Claim(NamedTuple):
    """What holds wherever what is assumed does, and what it is in words."""

    words: str
    holds: Term
    assumed: Sequence[Term] = ()


@dataclass(frozen=True, kw_only=True)
class Solved(Proof):
    """Claims that hold for all values of all variables."""

    claims: Callable[[], Iterator[Claim]]

    @property
    def method(self) -> str:
        return "for all values, by z3"

    def prove(self) -> Finding:
        for claim in self.claims():
            if (found := self._refuted(claim)) is not None:
                return found
        return Finding("proved", self.method)

    def _refuted(self, claim: Claim) -> Finding | None:
        """Return why a claim is not proved; None if it is."""
        solver = z3.SolverFor("QF_BV")
        solver.set("timeout", 1000 * WALL * self.limit)
        solver.add(*claim.assumed)
        if solver.check() != z3.sat:
            return Finding("refuted", f"{self.method}: nothing fulfils what is assumed")
        solver.add(z3.Not(claim.holds))
        answer = solver.check()
        if answer == z3.unsat:
            return None
        if answer == z3.sat:
            model = solver.model()
            values = sorted(f"{name} = {model[name]}" for name in model.decls())
            return Finding("refuted", f"{self.method}: not {claim.words}", "\n".join(values))
        return Finding("unknown", f"{self.method}: no end in {self.limit} s")


WALL = 10
"""Times its CPU seconds that a proof may take on the clock, which is what z3 looks at."""

SCRIPT = (
    "read_rtlil top.il; proc; flatten; pmuxtree; memory_map; opt_expr; opt_clean; "
    "write_json top.json"
)
"""How Yosys turns a unit into cells on words, and registers without enables."""

Multiply = Callable[[Term, Term, int], Term]
"""Returns a product of two numbers of one width, in so many bits, both signed or not."""


class Symbolic:
    """A unit in cycles 0, 1, ..: inputs are free in each, registers are free before cycle 0.

    ``multiply``: what takes the place of a multiplication; by default z3's. ``free``: signals that
    count as inputs, whatever drives them. Raises KeyError if there is no such signal.
    """

    def __init__(
        self, component: Component, multiply: Multiply | None = None, free: Sequence[str] = ()
    ) -> None:
        self._top = top_module(_netlist(component))
        self._multiply = multiply or (lambda a, b, width: a * b)
        self._drivers: dict[Wire, tuple[str, int]] = {}
        for name, cell in self._top["cells"].items():
            for port, direction in cell["port_directions"].items():
                if direction == "output":
                    for index, bit in enumerate(cell["connections"][port]):
                        self._drivers[bit] = name, index
        ports = self._top["ports"].items()
        inputs = [name for name, port in ports if port["direction"] == "input"]
        self._free = {name: self._top["netnames"][name]["bits"] for name in (*inputs, *free)}
        for name, bits in self._free.items():
            for index, bit in enumerate(bits):
                self._drivers[bit] = name, index
        self.output = cache(self._output)

    def signal(self, name: str, cycle: int) -> Term:
        """Return a signal of the flat netlist in a cycle, such as ``result`` or ``queue.push``."""
        return self._word(self._top["netnames"][name]["bits"], cycle)

    def _word(self, bits: list[Wire], cycle: int) -> Term:
        """Return nets as a word, lowest first; neighbours of one cell stay together."""
        runs: list[tuple[str, int, int]] = []  # a cell, its bits; a constant without one
        for bit in bits:
            name, place = ("", int(bit)) if isinstance(bit, str) else self._drivers[bit]
            if name and runs and (runs[-1][0], runs[-1][2]) == (name, place - 1):
                runs[-1] = (*runs[-1][:2], place)
            else:
                runs.append((name, place, place))
        parts = [
            z3.Extract(last, first, self.output(name, cycle)) if name else z3.BitVecVal(first, 1)
            for name, first, last in runs
        ]
        return z3.simplify(z3.Concat(*reversed(parts)) if len(parts) > 1 else parts[0])

    def _output(self, name: str, cycle: int) -> Term:
        """Return the output of a cell, or an input, in a cycle."""
        if name in self._free:
            return z3.BitVec(f"{name}@{cycle}", len(self._free[name]))
        cell = self._top["cells"][name]
        pins = cell["connections"]
        if cell["type"] in ("$dff", "$sdff"):
            if cycle == 0:
                return z3.BitVec(f"{name}@0", len(pins["Q"]))
            then = self._word(pins["D"], cycle - 1)
            if cell["type"] == "$dff":
                return then
            level, value = (int(cell["parameters"][f"SRST_{n}"], 2) for n in ("POLARITY", "VALUE"))
            reset = self._word(pins["SRST"], cycle - 1) == level
            return z3.If(reset, z3.BitVecVal(value, len(pins["Q"])), then)
        inputs = {pin: self._word(pins[pin], cycle) for pin in ("A", "B", "S") if pin in pins}
        return self._operation(cell, inputs, len(pins["Y"]))

    def _operation(self, cell: Cell, word: dict[str, Any], width: int) -> Term:
        kind = cell["type"]
        a, b = word["A"], word.get("B", word["A"])
        if kind == "$mux":
            return z3.If(word["S"] == 1, b, a)
        if kind in REDUCTIONS:
            return _extended(_bit(REDUCTIONS[kind](a)), width, False)
        signed = int(cell["parameters"]["A_SIGNED"], 2) == 1
        if kind in COMPARISONS:
            common = max(a.size(), b.size())
            a, b = _extended(a, common, signed), _extended(b, common, signed)
            return _extended(_bit(COMPARISONS[kind](a, b, signed)), width, False)
        a = _extended(a, width, signed)
        if kind == "$not":
            return ~a
        if kind == "$mul":
            return self._multiply(a, _extended(b, width, signed), width)
        return OPERATIONS[kind](a, _extended(b, width, signed))


OPERATIONS: Mapping[str, Callable[[Any, Any], Term]] = {
    "$add": lambda a, b: a + b,
    "$sub": lambda a, b: a - b,
    "$and": lambda a, b: a & b,
    "$or": lambda a, b: a | b,
    "$xor": lambda a, b: a ^ b,
}

COMPARISONS: Mapping[str, Callable[[Any, Any, bool], Term]] = {
    "$eq": lambda a, b, signed: a == b,
    "$ne": lambda a, b, signed: a != b,
    "$lt": lambda a, b, signed: a < b if signed else z3.ULT(a, b),
    "$le": lambda a, b, signed: a <= b if signed else z3.ULE(a, b),
    "$gt": lambda a, b, signed: a > b if signed else z3.UGT(a, b),
    "$ge": lambda a, b, signed: a >= b if signed else z3.UGE(a, b),
}

REDUCTIONS: Mapping[str, Callable[[Any], Term]] = {
    "$reduce_or": lambda a: a != 0,
    "$reduce_bool": lambda a: a != 0,
    "$logic_not": lambda a: a == 0,
    "$reduce_and": lambda a: a == -1,
    "$reduce_xor": lambda a: (
        reduce(lambda left, right: left ^ right, [z3.Extract(i, i, a) for i in range(a.size())])
        == 1
    ),
}


def _bit(condition: Term) -> Term:
    return z3.If(condition, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1))


def _extended(word: Term, width: int, signed: bool) -> Term:
    """Return a word cut or extended to a width."""
    if width <= word.size():
        return z3.Extract(width - 1, 0, word)
    return (z3.SignExt if signed else z3.ZeroExt)(width - word.size(), word)


def _netlist(component: Component) -> dict[str, Any]:
    with TemporaryDirectory(prefix="eightfold-") as scratch:
        folder = Path(scratch)
        (folder / "top.il").write_text(to_rtlil(component, "top"), "utf-8")
        run_yosys(SCRIPT, folder)
        return json.loads((folder / "top.json").read_text("utf-8"))
