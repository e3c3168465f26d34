"""One mutant from its text to its judgement: is it hardware, is it other hardware, is it caught.

Mutants that no test catches, and that is known: ``accepted.toml`` has a reason for each.
"""

import difflib
import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate, product
from pathlib import Path
from typing import Literal, cast, get_args

from eightfold.common.child import Closing, lines_of
from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT
from eightfold.sim.simulator.cache import cached, content_key
from lab.mutants import equivalence
from lab.mutants.benches import SHARES, TESTING, Bench, Imports, benches_for, every_bench
from lab.mutants.mutator import Mutant
from lab.mutants.scratch import Ended, Scratch

FILE = Path(__file__).with_name("accepted.toml")


@dataclass(frozen=True)
class Accepted:
    """A mutant that may survive; it is known by what it changes, wherever the line is by now.

    ``before``, ``after``: the lines that it changes, without the spaces around them. ``reason``:
    why no test has to catch it. ``equivalent``: whether nothing that anyone can see differs, though
    no proof says so: such a mutant counts as equivalent, any other as valid and not caught.
    """

    file: str
    kind: str
    before: str
    after: str
    reason: str
    equivalent: bool = False

    def is_of(self, mutant: Mutant) -> bool:
        change = (self.before.strip(), self.after.strip())
        return (self.file, self.kind) == (mutant.path, mutant.kind) and change == changed(mutant)


def changed(mutant: Mutant) -> tuple[str, str]:
    """Return the lines that a mutant changes, before and after, each without spaces around it."""
    before = mutant.before.splitlines()
    after = mutant.after.splitlines()
    lines: tuple[list[str], list[str]] = ([], [])
    for tag, i, j, k, m in difflib.SequenceMatcher(None, before, after, False).get_opcodes():
        if tag != "equal":
            lines[0].extend(before[i:j])
            lines[1].extend(after[k:m])
    old, new = ("\n".join(line.strip() for line in each) for each in lines)
    return old, new


@cache
def every_accepted() -> tuple[Accepted, ...]:
    table = tomllib.loads(FILE.read_text("utf-8"))
    return tuple(Accepted(**each) for each in table.get("mutant", ()))


How = Literal["caught", "survived", "accepted", "equivalent", "invalid"]
"""A test fails; none does; none does, which is accepted for a reason; it is the same hardware; it
is no hardware."""

HOW: tuple[How, ...] = get_args(How)


@dataclass(frozen=True)
class Judgement:
    """How a mutant ended.

    ``text``: more of it: by which test, or why. ``log``: what was run, for who wants to know what a
    survivor has survived.
    """

    kind: str
    line: int
    how: How
    text: str
    log: str = ""

    @property
    def message(self) -> str:
        """The judgement in one line, which `from_message` reads."""
        return f"{self.kind} in line {self.line}: {self.how}: {self.text}"

    @classmethod
    def from_message(cls, message: str) -> "Judgement | None":
        """Return the judgement of a line; None if it is another line."""
        found = re.fullmatch(r"(\w+) in line (\d+): (\w+): (.*)", message, re.DOTALL)
        if found is None or found[3] not in HOW:
            return None
        return cls(found[1], int(found[2]), cast(How, found[3]), found[4])


CONFIGS = ("nano", "small", "base")
"""Presets at which a mutant has to be the same hardware to be equivalent."""

PROVING = 60
"""CPU seconds of tests behind which a proof is tried, which takes about as long."""

ELABORATING = 120
"""CPU seconds for a unit, of which the largest takes ten."""

NOTHING_TO_RUN = 5
FAILED = (1, 2)
"""Exit statuses of pytest: no tests; a test failed, a module with tests could not be imported."""


class Judge(Closing):
    """Judges mutants of the hardware of a checkout, one after the other.

    ``accepted``: mutants that may survive. ``measured``: seconds of the tests, see
    `lab.mutants.benches.SECONDS_FILE`. ``configs``: presets at which units are compared.
    """

    def __init__(
        self,
        root: Path,
        accepted: Sequence[Accepted],
        measured: Mapping[str, Mapping[str, float]],
        configs: Sequence[str] = CONFIGS,
        place: Path | None = None,
    ) -> None:
        self._scratch = Scratch(root, place)
        self._accepted = accepted
        self._measured = measured
        self._configs = configs
        # Its first run on a machine compiles it, for longer than some tests may take.
        self._scratch.python(["-c", equivalence.PROGRAM, "-V"], ELABORATING)

    def close(self) -> None:
        self._scratch.close()

    @cached_property
    def _imports(self) -> Imports:
        return Imports(self._scratch.tree)

    @cached_property
    def _benches(self) -> list[Bench]:
        return list(every_bench(self._scratch.tree, self._measured))

    def judge(self, mutant: Mutant) -> Judgement:
        """Return what a mutant is.

        Raises InputError if a test fails on the hardware as it is: it can tell nothing of mutants;
        TimeoutError if a child waits for something that does not come.
        """

        def judged(how: How, text: str, log: str = "") -> Judgement:
            return Judgement(mutant.kind, mutant.line, how, text, log)

        if known := next((each for each in self._accepted if each.is_of(mutant)), None):
            return judged("equivalent" if known.equivalent else "accepted", known.reason)
        with self._scratch.builds_dropped():
            found = self._as_hardware(mutant)
            if found is not None:
                return judged(*found)
            log = [mutant.diff]
            chosen = benches_for(mutant.path, self._imports, self._benches)
            proof = _place_of_proof(chosen)
            for place, bench in enumerate(chosen, 1):
                if (by := self._caught(mutant, bench)) is not None:
                    return judged("caught", by)
                log.append(f"not caught by {bench}")
                if place == proof and self._proved(mutant):
                    return judged("equivalent", "Yosys proves that it computes the same")
        runs = f"no test fails in {len(chosen)} runs of tests that import the file"
        text = runs if chosen else "no test imports the file"
        return judged("survived", text, "\n".join(log))

    def _as_hardware(self, mutant: Mutant) -> tuple[How, str] | None:
        """Return why a mutant is not worth a test; None if it is other hardware."""
        units = self._imports.units_with(mutant.path)
        if not units:
            return "equivalent", "it is in no unit"
        enough = self._imports.units_enough(mutant.path)
        # The smallest one first: most mutants show there that they are other hardware.
        tried = dict.fromkeys([(self._configs[0], units[0]), *product(self._configs, enough)])
        for config, unit in tried:
            original = self._original(unit, config)
            with self._scratch.mutated(mutant):
                ended, netlist = self._elaborate(unit, config)
            if ended.hung:
                return "invalid", f"{unit} of {config} has no end of elaborating"
            if ended.status:
                return "invalid", f"{unit} of {config} does not elaborate: {_last(ended)}"
            if netlist != original:
                return None
        listed, configs = ", ".join(enough), ", ".join(self._configs)
        return "equivalent", f"the netlist is the same in {listed} of {configs}"

    def _proved(self, mutant: Mutant) -> bool:
        """Return whether a mutant is proved to compute the same in all units that have it."""
        done: set[tuple[str, ...]] = set()
        for config, unit in product(self._configs, self._imports.units_enough(mutant.path)):
            gold = self._original(unit, config)
            with self._scratch.mutated(mutant):
                ended, gate = self._elaborate(unit, config)
            pairs = None if ended.status else equivalence.different(gold, gate)
            if pairs is None:
                return False
            (self._scratch.tree / "gold.il").write_text(gold, "utf-8")
            (self._scratch.tree / "gate.il").write_text(gate, "utf-8")
            for pair in pairs:
                key = pair.key if pair.key[1] else (config, unit, *pair.key)
                if key not in done and not self._proved_module(pair.name):
                    return False
                done.add(key)
        return True

    def _proved_module(self, name: str) -> bool:
        script = self._scratch.tree / "proof.ys"
        script.write_text(equivalence.SCRIPT.format(module=name), "utf-8")
        arguments = ["-c", equivalence.PROGRAM, "-q", "-s", script.name]
        return self._scratch.python(arguments, equivalence.SECONDS).status == 0

    def _original(self, unit: str, config: str) -> str:
        def make(folder: Path) -> None:
            ended, netlist = self._elaborate(unit, config)
            if ended.status:
                raise InputError(f"{unit} of {config} does not elaborate: {_last(ended)}")
            (folder / "netlist.il").write_text(netlist, "utf-8")

        key = content_key(self._scratch.key, unit, config)
        return (cached("mutants-netlist", key, make) / "netlist.il").read_text("utf-8")

    def _elaborate(self, unit: str, config: str) -> tuple[Ended, str]:
        file = self._scratch.tree / "netlist.il"
        file.unlink(missing_ok=True)
        arguments = ["-m", "lab.mutants.equivalence", unit, config, str(file)]
        ended = self._scratch.python(arguments, ELABORATING)
        return ended, "" if ended.status else file.read_text("utf-8")

    def _caught(self, mutant: Mutant, bench: Bench) -> str | None:
        """Return which test catches a mutant, or None."""
        self._check(bench)
        with self._scratch.mutated(mutant):
            ended = self.run(bench)
        if ended.hung:
            return f"{bench} has no end"
        if ended.status in FAILED:
            return _first_failed(ended) or str(bench)
        _expect_passed(bench, ended)
        return None

    def _check(self, bench: Bench) -> None:
        """Raise InputError unless tests pass on the hardware as it is."""

        def make(folder: Path) -> None:
            _expect_passed(bench, self.run(bench))

        key = content_key(self._scratch.key, bench.path, SHARES[bench.share], TESTING)
        cached("mutants-bench", key, make)

    def run(self, bench: Bench) -> Ended:
        options = ["-x", "-q", "-p", "no:cacheprovider", "-m", SHARES[bench.share], "-k", TESTING]
        return self._scratch.python(["-m", "pytest", *options, bench.path], bench.limit)

    def measure(self) -> Iterator[tuple[Bench, float]]:
        """Yield the CPU seconds of all benches on the hardware as it is, those that have tests."""
        for bench in every_bench(self._scratch.tree, {}):
            with self._scratch.builds_dropped():
                ended = self.run(Bench(bench.path, bench.share, ELABORATING))
            _expect_passed(bench, ended)
            if ended.status != NOTHING_TO_RUN:
                yield bench, ended.seconds


def _place_of_proof(benches: Sequence[Bench]) -> int:
    """Return behind how many benches a proof is tried: most mutants are caught, and need none."""
    spent = accumulate(bench.seconds for bench in benches)
    return next((place for place, all_ in enumerate(spent, 1) if all_ >= PROVING), len(benches))


def _expect_passed(bench: Bench, ended: Ended) -> None:
    if ended.status not in (0, NOTHING_TO_RUN):
        raise InputError(
            f"{bench}: fails on the hardware as it is, so that it tells nothing of mutants: "
            f"{_first_failed(ended) or _last(ended)}"
        )


def _first_failed(ended: Ended) -> str:
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", ended.output, re.MULTILINE)
    return found[1] if found else ""


def _last(ended: Ended) -> str:
    return [f"exit status {ended.status}", *lines_of(ended.output)][-1][:300]


def main() -> None:
    """Run the tests of the hardware one after the other; print CPU seconds by file and share."""
    found: dict[str, dict[str, float]] = {}
    with Judge(IMPORT_ROOT, (), {}) as judge:
        for bench, seconds in judge.measure():
            found.setdefault(bench.path, {})[bench.share] = round(seconds, 1)
            print(f"{seconds:6.1f} s {bench}", file=sys.stderr)
    json.dump(found, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
