"""Cascades that are forced: wherever a program can have them, in strips that a test chooses."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from eightfold.cases.builder import SeededNetwork
from eightfold.compiler import Compiled
from eightfold.compiler.cascade.schedule import Choice, Impossible
from eightfold.compiler.cascade.step import Cascade
from eightfold.compiler.emit.memory import Overfull
from eightfold.compiler.network import OperatorError
from eightfold.compiler.step_program import Chains, Proposal
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import MemoryTiming

CHOICES = ("kept", "again", "ahead", "again ahead", "spare", "ahead spare")


@dataclass
class Forced:
    """A strategy: every run of steps that can be a cascade is one, if its buffers fit.

    ``height``: rows of the last result in a strip. ``words`` of `CHOICES`: what becomes of halos,
    and whether work is ahead. ``outside``: keep what cascades read and write out of the scratchpad.
    ``made``: the cascades.
    """

    height: int
    words: str = "kept"
    outside: bool = False
    made: list[Cascade] = field(default_factory=list)

    def choice(self, chains: Chains, steps: range) -> Choice:
        """Return how some steps are cut into strips."""
        places = chains.chain(steps, frozenset()).images
        return Choice(
            self.height,
            frozenset(places) if "again" in self.words else frozenset(),
            "ahead" in self.words,
            2 * ("spare" in self.words),
        )

    def runs(self, chains: Chains) -> list[range]:
        """Return the steps that are to be cascades: the longest runs of two at least."""
        found = []
        first = 0
        for behind in range(1, len(chains.parts) + 1):
            if behind == len(chains.parts) or not chains.is_feasible(range(first, behind + 1)):
                if behind - first > 1 and chains.is_feasible(range(first, behind)):
                    found.append(range(first, behind))
                first = behind
        return found

    def __call__(
        self,
        chains: Chains,
        config: AcceleratorConfig,
        attempt: Callable[[Proposal], Compiled],
        memory: MemoryTiming,
    ) -> Compiled:
        """Return the program with its cascades."""
        cascades: dict[int, Cascade] = {}
        for steps in self.runs(chains):
            cascade = chains.cascade(steps, self.choice(chains, steps))
            if _fits(cascade, config):
                cascades[steps.start] = cascade
        places = (place for cascade in cascades.values() for place in cascade.uses)
        outside = frozenset(place for place in places if self.leaves(place))
        try:
            compiled = attempt(Proposal(cascades, outside))
        except (OperatorError, Overfull):  # another step needs what was kept outside
            return attempt(Proposal())
        self.made += cascades.values()
        return compiled

    def leaves(self, place: int) -> bool:
        """Return whether a tensor is to be outside."""
        return self.outside


@dataclass
class AtRandom(Forced):
    """Cascades of random runs of steps, each in random strips."""

    random: Random = field(default_factory=Random)

    def choice(self, chains: Chains, steps: range) -> Choice:
        """Return random strips."""
        chain = chains.chain(steps, frozenset())
        rows = chain.images[chain.steps[-1].target].rows
        again = frozenset(place for place in chain.images if self.random.random() < 0.4)
        ahead = self.random.random() < 0.5
        return Choice(self.random.randint(1, rows), again, ahead, self.random.randint(0, 2))

    def runs(self, chains: Chains) -> list[range]:
        """Return parts of the longest runs."""
        found = []
        for run in super().runs(chains):
            first = run.start
            while first < run.stop - 1:
                steps = range(first, self.random.randint(first + 2, run.stop))
                found.append(steps)
                first = steps.stop
        return found

    def leaves(self, place: int) -> bool:
        """Return whether a tensor is to be outside: half of them."""
        return self.random.random() < 0.5


def _fits(cascade: Cascade, config: AcceleratorConfig) -> bool:
    everything = frozenset(cascade.uses)
    try:
        rooms = [cascade.room_beside(config, each) for each in (frozenset(), everything)]
    except Impossible:
        return False
    return max(rooms) <= config.scratchpad


def block_model(images: int = 1) -> bytes:
    """Return a chain with what cascades must do: windows of several strides and paddings, an ADD
    around them, a constant per channel, channels side by side, a pool, columns of zeros."""
    net = SeededNetwork("a chain for cascades", seed=22)
    same = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    x = net.graph_input((images, 13, 6, 3), 1 / 64, 5)
    x = net.weighted("CONV_2D", x, (4, 3, 3, 3), same)
    y = net.weighted("CONV_2D", x, (8, 1, 1, 4), same)
    deep = {**same, "depth_multiplier": 1}
    y = net.weighted("DEPTHWISE_CONV_2D", y, (1, 5, 3, 8), deep)
    y = net.weighted("CONV_2D", y, (4, 1, 1, 8), same)
    x = net.add("ADD", [x, y], (0.3, -3))
    x = net.add("MUL", [x, net.codes((1, 1, 1, 4), 0.02)], (0.4, 9))
    pool = {**same, "filter_height": 3, "filter_width": 2}
    y = net.add("MAX_POOL_2D", [x], x, pool)
    if images == 1:
        x = net.add("CONCATENATION", [x, y], x, {"axis": 3})
        x = net.add("PAD", [x, net.integers([[0, 0], [1, 2], [1, 0], [0, 0]])], x)
    else:
        x = y
    half = {**deep, "padding": "VALID", "stride_h": 2, "stride_w": 2}
    net.weighted("DEPTHWISE_CONV_2D", x, (1, 3, 3, x.shape[3]), half)
    return net.build()
