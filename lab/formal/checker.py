"""Proofs of properties by ABC: Yosys writes the circuit, its `pdr` finds an invariant by itself."""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from amaranth.back import rtlil  # pyright: ignore[reportAttributeAccessIssue] - not in the stubs
from amaranth.hdl import Assert, Assume, Cover, Module, ShapeLike, Signal, Value

from eightfold.common.child import ending, one_line, run_to_end
from eightfold.common.extras import how_to_install
from eightfold.rtl.verilog import run_yosys
from eightfold.sim.simulator.limits import limited, ran_out
from lab.formal.proof import Finding, Proof


class Property:
    """A unit, what drives it, and what must hold in each cycle: what ``build`` makes of it.

    What drives it is free: `free` returns inputs that have any value in any cycle, and the reset is
    such an input, of the unit and of the property. Memories and registers begin with their initial
    values.
    """

    def __init__(self, build: "Build") -> None:
        self.module = Module()
        """What ``build`` has made."""
        self.ports: list[Signal] = []
        """The inputs, but for clock and reset."""
        self.goals: list[str] = []
        """What is met in some cycle of some run, in words."""
        self._registers = 0
        build(self, self.module)

    def free(self, name: str, shape: ShapeLike = 1) -> Signal:
        """Return an input that may have any value in any cycle."""
        self.ports.append(Signal(shape, name=name))
        return self.ports[-1]

    def drive(self, name: str, port: Any) -> Signal:
        """Return such an input that drives a port of the unit."""
        driver = self.free(name, Value.cast(port).shape())
        self.module.d.comb += Value.cast(port).eq(driver)
        return driver

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

    def before(self, value: Value) -> Signal:
        """Return a value of the cycle before, and 0 after a reset."""
        self._registers += 1
        past = Signal(value.shape(), name=f"before{self._registers}")
        self.module.d.sync += past.eq(value)
        return past

    def stable(self, valid: Value, ready: Value, payload: Value) -> Value:
        """Return whether a word that is offered stays, and stays the same, until it is taken."""
        waited = self.before(valid & ~ready)
        return implies(waited, valid & (self.before(payload) == payload))


Build = Callable[[Property, Module], None]
"""Adds the unit, and says what must hold."""


def implies(condition: Value, then: Value) -> Value:
    """Return whether ``then`` holds if ``condition`` does."""
    return ~condition.any() | then.any()


COMMAND = "berkeley-abc"
"""The command of ABC, as Debian's package of the same name installs it."""

SCRIPT = r"""
read_rtlil top.il
proc
flatten
chformal -lower
async2sync
memory_map
opt -fast
techmap t:$shr t:$shl t:$shift t:$shiftx t:$neg
simplemap
opt -fast -nosdff
dffunmap
setundef -anyseq
aigmap
design -save both
chformal -cover -remove
opt_clean
write_aiger -B -zinit -no-startoffset -map holds.aim holds.aig
design -load both
chformal -assert -remove
techmap -map goals.v
opt_clean
simplemap
aigmap
write_aiger -B -zinit -no-startoffset goals.aig
"""
"""How Yosys turns a property into AIGER, what must hold and the goals apart: memories into
registers; what is undefined is free."""

GOALS = r"""
(* techmap_celltype = "$cover" *)
module goal(input A, EN);
  \$assert _TECHMAP_REPLACE_ (.A(!A), .EN(EN));
endmodule
"""
"""Turns a goal into the claim that it is never met, whose counterexample meets it."""


@dataclass(frozen=True, kw_only=True)
class Checked(Proof):
    """A `Property` that holds in all cycles of all runs, or in the first ``depth`` cycles of each.

    Each goal of the property has to be reached within ``reach`` cycles: a unit that never does
    anything, or assumptions that rule everything out, are refuted.
    """

    build: Build
    depth: int | None = None
    reach: int = 30

    @property
    def method(self) -> str:
        return "unbounded, by pdr" if self.depth is None else f"to depth {self.depth}, by bmc3"

    def prove(self) -> Finding:
        if shutil.which(COMMAND) is None:
            return Finding("skipped", f"{COMMAND} is not installed: {how_to_install(COMMAND)}")
        with TemporaryDirectory(prefix="eightfold-") as scratch:
            folder = Path(scratch)
            checked = Property(self.build)
            _write(checked, folder)
            return self._holds(folder) or self._reached(checked.goals, folder)

    def _holds(self, folder: Path) -> Finding | None:
        """Return why it does not hold; None if it does."""
        engine = "pdr" if self.depth is None else f"bmc3 -F {self.depth}"
        said = _ask("holds", f"{engine}; write_cex -n example", self.limit, folder)
        if said is None:
            return Finding("unknown", f"{self.method}: no end in {self.limit} s")
        if found := _ASSERTED.search(said):
            where = f"does not hold in cycle {found[1]}"
            return Finding("refuted", f"{self.method}: {where}", _example(folder))
        if not _HOLDS.search(said):
            return Finding("unknown", f"{self.method}: no answer of ABC", said)
        return None

    def _reached(self, goals: list[str], folder: Path) -> Finding:
        """Return whether the goals are reached, of a proof that holds else."""
        missing = 0
        for number in range(len(goals)):
            engine = f"cone -s -O {number}; bmc3 -F {self.reach}"
            said = _ask("goals", engine, self.limit, folder)
            missing += not (said and _ASSERTED.search(said))
        if missing:
            text = f"{missing} of these never come in {self.reach} cycles: {'; '.join(goals)}"
            return Finding("refuted", text)
        return Finding("proved", self.method)


def abc_version() -> str:
    """Return what ABC calls itself, such as ``ABC 1.01 (compiled ...)``; ``none`` without it."""
    if shutil.which(COMMAND) is None:
        return "none"
    said = run_to_end([COMMAND, "-c", "version"]).stdout
    found = re.search(r"\bABC \d.*", said)
    return one_line(found[0] if found else said)


_ASSERTED = re.compile(r"was asserted in frame (\d+)")
_HOLDS = re.compile(r"^(?:Property proved\.|No output asserted in \d+ frames\.)", re.MULTILINE)
_INPUT = re.compile(r"^pi(\d+)@(\d+)=([01])$", re.MULTILINE)


def _write(checked: Property, folder: Path) -> None:
    """Write what must hold and the goals as circuits, each output of which must stay 0."""
    text = rtlil.convert(checked.module, name="top", ports=checked.ports, emit_src=False)
    (folder / "top.il").write_text(text, "utf-8")
    (folder / "goals.v").write_text(GOALS, "utf-8")
    run_yosys("; ".join(SCRIPT.strip().splitlines()), folder)


def _ask(name: str, engine: str, seconds: int, folder: Path) -> str | None:
    """Run one of ABC's engines and return what it said; None if its time was over."""
    commands = f"read_aiger {name}.aig; fold; strash; {engine}"
    ended = run_to_end(limited([COMMAND, "-c", commands], seconds), cwd=folder)
    if ran_out(ended.returncode):
        return None
    if ended.returncode:
        raise ChildProcessError(f"{COMMAND} ended with {ending(ended.returncode)} in: {commands}")
    return ended.stdout


def _example(folder: Path) -> str:
    """Return the counterexample: the inputs that are not 0, by cycle."""
    names: dict[int, tuple[str, int]] = {}
    for line in (folder / "holds.aim").read_text("utf-8").splitlines():
        kind, number, bit, name = line.split(maxsplit=3)
        if kind == "input":
            names[int(number)] = name, int(bit)
    cycles: dict[int, dict[str, int]] = {}
    for number, cycle, value in _INPUT.findall((folder / "example").read_text("utf-8")):
        name, bit = names.get(int(number), ("undefined", 0))
        inputs = cycles.setdefault(int(cycle), {})
        inputs[name] = inputs.get(name, 0) | int(value) << bit
    return "\n".join(
        " ".join(
            [f"cycle {cycle}:", *(f"{name}={value:#x}" for name, value in inputs.items() if value)]
        )
        for cycle, inputs in cycles.items()
    )
