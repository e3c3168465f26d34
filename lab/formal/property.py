"""What must hold of a unit, as hardware around it: Amaranth's own assertions."""

from abc import ABC, abstractmethod

from amaranth.hdl import Assert, Assume, Cover, Module, ShapeLike, Signal, Value


class Property(ABC):
    """A unit, what drives it, and what must hold in each cycle.

    What drives it is free: `free` returns inputs that have any value in any cycle, and the reset is
    such an input, of the unit and of the property. Memories and registers begin with their initial
    values. A subclass has `build`, which is called once.
    """

    def __init__(self) -> None:
        self.module = Module()
        """What `build` has made."""
        self.ports: list[Signal] = []
        """The inputs, but for clock and reset."""
        self.goals: list[str] = []
        """What is met in some cycle of some run, in words."""
        self._registers = 0
        self.build(self.module)

    @abstractmethod
    def build(self, m: Module) -> None:
        """Add the unit, and say what must hold."""

    def free(self, name: str, shape: ShapeLike = 1) -> Signal:
        """Return an input that may have any value in any cycle."""
        self.ports.append(Signal(shape, name=name))
        return self.ports[-1]

    def always(self, condition: Value) -> None:
        """Claim that a condition holds in every cycle, or in those that a ``with`` around says."""
        self.module.d.comb += Assert(condition.any(), None)

    def assume(self, condition: Value) -> None:
        """Look only at runs in which a condition holds in every cycle."""
        self.module.d.comb += Assume(condition.any(), None)

    def reaches(self, words: str, condition: Value) -> None:
        """Claim that a condition is met in some run: that not everything is ruled out."""
        self.module.d.comb += Cover(condition.any(), None)
        self.goals.append(words)

    def before(self, value: Value, init: int = 0) -> Signal:
        """Return a value of the cycle before, and ``init`` after a reset."""
        self._registers += 1
        past = Signal(value.shape(), name=f"before{self._registers}", init=init)
        self.module.d.sync += past.eq(value)
        return past

    def stable(self, valid: Value, ready: Value, payload: Value) -> Value:
        """Return whether a word that is offered stays, and stays the same, until it is taken."""
        waited = self.before(valid & ~ready)
        return implies(waited, valid & (self.before(payload) == payload))


def implies(condition: Value, then: Value) -> Value:
    """Return whether ``then`` holds if ``condition`` does."""
    return ~condition.any() | then.any()
