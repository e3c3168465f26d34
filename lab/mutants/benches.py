"""Which tests may notice a mutant of a file: the smallest first, wider ones after."""

import ast
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

UNITS = "eightfold.hw.units"
"""Imports a unit when it is built: what it names counts where a unit is asked for by its name."""


class Imports:
    """The imports among the modules of a checkout, read from their text.

    ``root``: the checkout's folder, with ``eightfold``, ``hw``, ``sim``, ``golden`` and ``tests``.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._imported = cache(self._read)
        self.units = dict(_units(self._tree(UNITS)))
        """The module of each unit by the unit's name, smallest unit first."""

    def distances(self, module: str, without: Collection[str] = ()) -> dict[str, int]:
        """Return every module that one imports, and over how many imports; itself at 0.

        A bench that is named in a text, as the simulations take it, counts as imported, and so does
        the unit that ``Unit("mover", ...)`` names. What is imported through those that it is
        to do ``without`` does not count.
        """
        found = {module: 0}
        reached = [module]
        for each in reached:  # which grows
            for other in self._imported(each) - {*found, *without}:
                found[other] = found[each] + 1
                reached.append(other)
        return found

    def units_with(self, path: str) -> list[str]:
        """Return the names of the units that contain a file, such as ``hw/blocks/skid.py``."""
        module = module_of(path)
        return [unit for unit, of in self.units.items() if module in self.distances(of)]

    def units_enough(self, path: str) -> list[str]:
        """Return those of `units_with` in which every other one has all that it has of a file.

        Units are made of a configuration alone. So one that has the file only in a smaller unit has
        nothing more of it; nor has one that is part of a larger unit with more of it.
        """
        module = module_of(path)
        chosen = self.units_with(path)

        def more(unit: str, smaller: list[str]) -> bool:
            inside = {self.units[each] for each in smaller}
            return module in self.distances(self.units[unit], inside)

        having = [unit for place, unit in enumerate(chosen) if more(unit, chosen[:place])]
        return [
            unit
            for place, unit in enumerate(having)
            if not any(
                self.units[unit] in self.distances(self.units[each]) for each in having[place + 1 :]
            )
        ]

    def _read(self, module: str) -> frozenset[str]:
        if module == UNITS:
            return frozenset()
        names: set[str] = set()
        for node in ast.walk(_for_running(self._tree(module))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                members = {f"{node.module}.{alias.name}" for alias in node.names}
                found = {member for member in members if self._path(member)}
                names |= found if found == members else {node.module, *found}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                names |= {node.value} if node.value.startswith("eightfold.") else set()
            elif _is_unit(node):
                names |= {self.units[unit] for unit in _texts(node) if unit in self.units}
        return frozenset(name for name in names if self._path(name))

    def _tree(self, module: str) -> ast.Module:
        path = self._path(module)
        return ast.parse(path.read_text("utf-8") if path else "")

    def _path(self, module: str) -> Path | None:
        """Return a module's file, or None if it is not of the checkout."""
        if not module.startswith(("eightfold.", "tests.")):
            return None
        place = self._root.joinpath(*module.split("."))
        choices = (place.with_suffix(".py"), place / "__init__.py")
        return next((path for path in choices if path.is_file()), None)


def module_of(path: str) -> str:
    """Return what a file of the checkout is imported as."""
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return module if module.startswith(("eightfold.", "tests.")) else f"eightfold.{module}"


def _for_running(tree: ast.Module) -> ast.Module:
    """Leave out what is imported for types alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
    return tree


def _is_unit(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Unit"


def _texts(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value


def _units(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield names and modules of ``UNITS = {"lane": _unit("array.lane", "Lane"), ...}``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if key is not None and isinstance(value, ast.Call):
                    yield next(_texts(key)), f"eightfold.hw.{next(_texts(value))}"


Share = Literal["quick", "slow"]

SHARES: Mapping[Share, str] = {
    "quick": "not slow and not long",
    "slow": "(slow and not long) or (usual and long)",
}
"""Parts of a file with tests, by the markers that choose them: mostly Amaranth's own simulator, and
what is compiled for Verilator. Cases that `make test` leaves out of a test are among them: a fault
may show at a few sizes alone. What only repeats at larger ones is not."""

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
"""Seconds of CPU by file and share, with models at -O0; `lab.mutants.judge` writes it."""


@dataclass(frozen=True)
class Bench:
    """The quick or the slow tests of a file.

    ``path``: the file, such as ``tests/hw/blocks/test_skid.py``. ``seconds``: CPU time that they
    take where nothing is wrong.
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
