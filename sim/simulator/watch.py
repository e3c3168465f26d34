"""What a caller sees of the benches that run, and may ask of one that is run again.

pytest's plugin uses it (`tests/support/simulations.py`): a failing test is run again, and the
simulation that failed in it records waves.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from eightfold.sim.simulator.toolchain import Simulator
from eightfold.sim.simulator.waves import missing_for_fst


@dataclass
class Watch:
    """The simulations of `eightfold.sim.simulator.runner.run_bench` while it is watched.

    Attributes
    ----------
    which
        Number of the simulation that is asked for something, the first one's 0.
    testcase
        The only test of its bench that it runs; None: those that the caller names, or all.
    trace
        Where it records waves, without a suffix, which is that of the best format; None: nowhere.
    count
        Simulations so far.
    written
        The file of waves.
    note
        Why it is no better format: one line, or nothing.
    """

    which: int = 0
    testcase: str | None = None
    trace: Path | None = None
    count: int = field(default=0, init=False)
    written: Path | None = field(default=None, init=False)
    note: str = field(default="", init=False)

    def order(
        self, simulator: Simulator, trace: Path | None, testcase: str | Sequence[str] | None
    ) -> tuple[Path | None, str | Sequence[str] | None]:
        """Return trace and tests of the next simulation, whose caller asks for those given."""
        asked = self.count == self.which
        self.count += 1
        if asked and self.trace is not None and trace is None:
            self.note = missing_for_fst(simulator)
            suffix = ".vcd" if self.note else ".fst"
            trace = self.written = self.trace.with_name(self.trace.name + suffix)
        return trace, (self.testcase if asked and self.testcase else testcase)


_watches: list[Watch] = []


@contextmanager
def watched(watch: Watch) -> Iterator[Watch]:
    """Have ``watch`` see the simulations of this process, in any thread; the innermost one does."""
    _watches.append(watch)
    try:
        yield watch
    finally:
        _watches.remove(watch)


def current() -> Watch:
    """Return the innermost watch, or one that asks for nothing."""
    return _watches[-1] if _watches else Watch()
