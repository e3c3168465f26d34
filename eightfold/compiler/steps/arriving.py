"""How a convolution proceeds while its input arrives from memory: part by part, behind the mover.

The first rows are computed on the input itself, few at the beginning, then more and more at a time.
The others may be computed on strips of patches (`eightfold.compiler.steps.convolution`) that the
mover makes meanwhile, straight from memory: that takes fewer vectors, but the mover longer.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from eightfold.compiler.emit.emitter import Emitter
from eightfold.estimate.estimate import estimate_last
from eightfold.isa import Instruction
from eightfold.isa.issued import Issued, hoist_tables
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import MemoryTiming

PipelinePart = tuple[Callable[[], None], Callable[[], None]]
"""Emits what brings the operands of a part, and what computes it."""

FOLLOWING = 16
"""Commands behind a convolution that are estimated with it: their constants are fetched ahead."""

PROMISING = 1.15
"""Plans that take up to so many times the cycles of the best one are followed."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How many parts, and of what.

    The first ``direct`` output rows are computed on the input itself, in parts of about ``first``
    positions, then of twice as many, up to ``most``; the others on strips, ``strip`` positions at a
    time, 0 if there are none. Operands are brought ``ahead`` parts before they are needed. Those of
    the first ``near`` parts on strips are copied within the scratchpad: where memory is busy with
    weights, runs of few bytes wait there.
    """

    direct: int
    first: int
    most: int
    strip: int = 0
    ahead: int = 0
    near: int = 0


Options = Mapping[str, Sequence[int]]
"""Values to try, by the field of a plan."""


def growing(whole: range, first: int, most: int) -> Iterator[range]:
    """Yield consecutive ranges that cover ``whole``, of ``first``, then twice as many numbers."""
    start = whole.start
    size = first
    while start < whole.stop:
        yield range(start, min(start + size, whole.stop))
        start += size
        size = min(2 * size, most)


def emit_pipelined(parts: Sequence[PipelinePart], ahead: int) -> None:
    """Emit all parts; what they need comes ``ahead`` parts before."""
    brought = 0
    for number, (_, compute) in enumerate(parts):
        for bring, _ in parts[brought : number + ahead + 1]:
            bring()
        brought = max(brought, number + ahead + 1)
        compute()


@dataclass
class Search:
    """Looks for the plan with the fewest cycles by the estimate.

    ``memory`` is the one for which they are estimated; ``emit`` emits a convolution's commands by a
    plan; ``following`` are commands behind them.
    """

    config: AcceleratorConfig
    memory: MemoryTiming
    emit: Callable[[Emitter, Plan], None]
    following: Sequence[Issued]

    def __post_init__(self) -> None:
        self._cycles: dict[Plan, int] = {}
        self._measured: dict[tuple[Instruction, ...], int] = {}

    def best(
        self, starts: Sequence[Plan], options: Options, known: Sequence[Plan] = ()
    ) -> list[Plan]:
        """Return the best of the plans that are tried, behind a rival if there is one.

        From each of ``starts`` on, one field after the other gets the best of its ``options``.
        With ``known`` plans, which are good with other memories, only from the promising ones. The
        rival is then what is found from the best of the known plans and the starts: it may be
        better for the network, of which the search sees little.
        """
        if not known:
            return [self._found(starts, options)]
        near = self._descend(min((*known, *starts), key=self.cycles), options)
        most = PROMISING * min(map(self.cycles, starts))
        best = self._found([start for start in starts if self.cycles(start) <= most], options)
        rivals = best != near and self.cycles(best) <= self.cycles(near)
        return [near, best] if rivals else [near]

    def _found(self, starts: Iterable[Plan], options: Options) -> Plan:
        """Return the best of what plans become, the first of equal ones."""
        return min((self._descend(start, options) for start in starts), key=self.cycles)

    def _descend(self, plan: Plan, options: Options) -> Plan:
        """Return what a plan becomes if one field after the other gets the best of its options."""
        for name, values in options.items():
            if name in ("strip", "near") and not plan.strip:
                continue
            candidates = [plan, *(replace(plan, **{name: value}) for value in values)]
            plan = min(candidates, key=self.cycles)
        return plan

    def cycles(self, plan: Plan) -> int:
        """Return the cycles from the doorbell to the convolution's last result."""
        if plan not in self._cycles:
            emitter = Emitter(self.config)
            emitter.begin()
            self.emit(emitter, plan)
            # Different plans may be the same commands.
            commands = tuple(command.instruction for command in emitter.issued)
            if commands not in self._measured:
                own = {id(command) for command in emitter.issued}
                issued = hoist_tables([*emitter.issued, *self.following[:FOLLOWING]])
                wanted = [
                    n
                    for n, each in enumerate(issued)
                    if each.engine is not None and id(each) in own
                ]
                self._measured[commands] = estimate_last(self.config, issued, self.memory, wanted)
            self._cycles[plan] = self._measured[commands]
        return self._cycles[plan]
