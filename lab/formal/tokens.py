"""Tokens: none is lost, and no more are taken than were given.

By induction, a cycle at a time, because the state is a number: what a counter is after a cycle is
claimed of any number before it.
"""

from collections.abc import Iterator

from eightfold.hw.control.tokens import ENGINES, TokenCounter, Tokens
from lab.formal.proof import Break, Proof
from lab.formal.solver import Claim, Solved, Term, z3
from lab.formal.symbolic import Symbolic


def counter() -> Iterator[Claim]:
    """Claim what a counter is after a cycle, and after a reset."""
    unit = Symbolic(TokenCounter())
    before, after = (unit.signal("count", cycle) for cycle in (0, 1))
    consistent = [
        (unit.signal("available", cycle) == 1) == (unit.signal("count", cycle) != 0)
        for cycle in (0, 1)
    ]
    give, take, reset = (unit.signal(name, 0) == 1 for name in ("give", "take", "rst"))
    most = 2**TokenCounter.BITS - 1
    assumed = [consistent[0], z3.Implies(take, before != 0)]
    more = z3.If(z3.And(give, z3.Not(take), before != most), before + 1, before)
    counted = z3.If(z3.And(take, z3.Not(give)), before - 1, more)
    yield Claim(
        "a count of what is given and not taken", after == z3.If(reset, 0, counted), assumed
    )
    yield Claim("a token where the count is not 0", consistent[1], assumed)


def grants() -> Iterator[Claim]:
    """Claim who is granted, and what each counter gives and takes for it."""
    unit = Symbolic(Tokens())

    def bit(name: str, place: int) -> Term:
        return z3.Extract(place, place, unit.signal(name, 0)) == 1

    for taker in range(ENGINES):
        waits = [bit("wait", ENGINES * taker + giver) for giver in range(ENGINES)]
        available = [bit(f"from{giver}_to{taker}.available", 0) for giver in range(ENGINES)]
        every = [z3.Implies(*each) for each in zip(waits, available, strict=True)]
        granted = bit("grant", taker)
        yield Claim("a grant of all or none", granted == z3.And(bit("request", taker), *every))
        for giver in range(ENGINES):
            name = f"from{giver}_to{taker}"
            yield Claim(
                f"what {name} takes", bit(f"{name}.take", 0) == z3.And(granted, waits[giver])
            )
            yield Claim(
                f"what {name} is given",
                bit(f"{name}.give", 0) == bit("give", ENGINES * giver + taker),
            )


FILE = "hw/control/tokens.py"

PROOFS: tuple[Proof, ...] = (
    Solved(
        name="token-counter",
        file=FILE,
        text="`TokenCounter`: its count is that of the tokens given and not taken, up to its "
        "highest value, where it stays; a token is available where it is not 0; by induction",
        assumed="a token is taken only if there is one, which the next proof shows",
        claims=counter,
        breaks=(
            Break("available.eq(count != 1)", "available.eq(count != 2)"),
            Break("& ~count.all()", ""),
            Break("m.Elif(self.take & ~self.give)", "m.Elif(self.take)"),
        ),
    ),
    Solved(
        name="token-grants",
        file=FILE,
        text="`Tokens`: a command is granted if a token is there from each engine that it waits "
        "for, and takes those alone; a token that is given reaches its own counter",
        claims=grants,
        breaks=(
            Break("(~wait | Cat(*available)).all()", "(~wait | Cat(*available))[1:].all()"),
            Break("counter.take.eq(self.grant[taker] & waits)", "counter.take.eq(waits)"),
            Break("Value.cast(self.give[giver])[taker]", "Value.cast(self.give[taker])[giver]"),
        ),
    ),
)
