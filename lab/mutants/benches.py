"""Which tests may notice a mutant of a file: the smallest first, wider ones after."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lab.mutants.imports import Imports, module_of

Share = Literal["quick", "slow"]

SHARES: Mapping[Share, str] = {"quick": "not slow and not long", "slow": "slow and not long"}
"""Parts of a file with tests, by the markers that choose them: mostly Amaranth's own simulator, and
what is compiled for Verilator. What repeats at larger sizes is left out."""

TESTING = "not catch and not variant"
"""Chooses tests by their names: not the controls, which have hardware that is wrong already, and
show that a bench notices it."""

UNKNOWN: Mapping[Share, float] = {"quick": 5.0, "slow": 40.0}
"""Seconds that the tests of a file are taken for that has not been measured."""

TESTS = (
    "tests/hw/**/test_*.py",
    "tests/eightfold/estimate/test_timing.py",
    "tests/sim/system/test_small_program.py",
    "tests/sim/system/test_faults.py",
    "tests/sim/system/test_registers_in_runs.py",
)
"""Files that test the hardware: its units; sizes and latencies that others rely on; whole runs,
with errors of the bus and resets."""

AT_MOST = 200.0
"""Measured seconds of all that runs for one mutant; the first bench runs whatever it takes."""

SECONDS_FILE = Path(__file__).with_name("seconds.json")
"""Seconds of CPU by file and share, with models at -O0; `lab.mutants.measure` writes it."""


@dataclass(frozen=True)
class Bench:
    """The quick or the slow tests of a file.

    Attributes
    ----------
    path
        The file, such as ``tests/hw/blocks/test_skid.py``.
    share
        Which of its tests.
    seconds
        CPU time that they take where nothing is wrong.
    """

    path: str
    share: Share
    seconds: float

    @property
    def limit(self) -> int:
        """CPU seconds after which a process of it counts as one that hangs: one of several."""
        return round(20 + 2 * self.seconds)

    def __str__(self) -> str:
        return f"{self.path} ({self.share} tests)"


def every_bench(root: Path, measured: Mapping[str, Mapping[str, float]]) -> Iterator[Bench]:
    """Yield the benches of a checkout; a file that was measured has the shares that it had then."""
    for path in sorted({path for tests in TESTS for path in root.glob(tests)}):
        name = path.relative_to(root).as_posix()
        known = measured.get(name, UNKNOWN)
        for share in SHARES:
            if share in known:
                yield Bench(name, share, known[share])


def benches_for(path: str, imports: Imports, every: Sequence[Bench]) -> list[Bench]:
    """Return what is run for mutants of a file, in this order.

    Those first whose file imports the mutated one over the fewest modules, of these the quickest;
    as many as fit into `AT_MOST` seconds, but one at least.
    """
    module = module_of(path)
    distances = {bench.path: imports.distances(module_of(bench.path)) for bench in every}
    reaching = [bench for bench in every if module in distances[bench.path]]
    reaching.sort(key=lambda each: (distances[each.path][module], each.seconds, each.path))
    chosen: list[Bench] = []
    for bench in reaching:
        if not chosen or sum(each.seconds for each in chosen) + bench.seconds <= AT_MOST:
            chosen.append(bench)
    return chosen


def measured_seconds() -> dict[str, dict[str, float]]:
    """Return what `SECONDS_FILE` says."""
    return json.loads(SECONDS_FILE.read_text("utf-8"))
