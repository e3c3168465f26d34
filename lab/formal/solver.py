"""Proofs by z3: claims about formulas, each of which has no counterexample."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import z3 as _z3

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
