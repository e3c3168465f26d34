"""Random and mutated command streams on the RTL, disturbed, a good run behind each.

A legal program leaves in the arena what the machine model computes. What a mutated stream may end
with is what `eightfold.sim.machine.endings` says. Whatever a stream does, no rule of AXI is broken,
nothing outside of its regions is read or written, every request is answered, and the good run
behind it is right in as many cycles as the first one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.campaign.records import Case, Evidence, Unit, error_case
from eightfold.campaign.suite import Result, Suite
from eightfold.isa import ErrorCode, Opcode, Space
from eightfold.isa.decode import CommandError, listing
from eightfold.sim.machine.endings import Ending, ending
from eightfold.sim.machine.legality import Refusal
from eightfold.sim.simulator.runner import BenchFailed
from eightfold.sim.simulator.system import Place, Run, RunResult, run_system
from eightfold.sim.stimuli.commands import BEGIN, END, Mutation, mutated, random_mutation
from eightfold.sim.stimuli.programs import BEHIND, WINDOW, Item, Program, ProgramRandom, stream
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import MemoryTiming
from lab.suites import common
from lab.suites.shrink import Budget, shrink

TOGETHER = 100
"""Streams of a simulation."""

WORDS = "commands.bin"
"""The file of a stream's words among those of a case that failed."""

TIMEOUT = 2000
"""Cycles without progress that a run may have: none has as many that goes on."""

PATIENCE = 60_000
"""Cycles in which a run ends, if it must end."""

LONGEST = 6000
"""Cycles after which a soft reset comes, at most."""

STALLS = "stalls"
"""Begins the text of a disturbance of the memory that breaks no rule."""

CONSTANTS = (Opcode.WEIGHTS, Opcode.PARAMETERS, Opcode.MATRIX)
"""What determines the results of MATRIX together."""


@dataclass(frozen=True)
class Disturbance:
    """Something that happens in the run; ``change`` are fields of `Run`."""

    text: str
    change: tuple[tuple[str, object], ...]

    def __str__(self) -> str:
        return self.text


Part = tuple[int, Item] | Mutation | Disturbance
"""What a stream is made of: a command with its place, or what is wrong."""


@dataclass(frozen=True)
class StreamCase:
    """A stream: a program, and what is wrong with it and its run."""

    config: AcceleratorConfig
    seed: int
    program: Program
    parts: tuple[Part, ...]

    def only(self, parts: Sequence[Part]) -> "StreamCase":
        return replace(self, parts=tuple(parts))

    def stalled(self, stall: float) -> "StreamCase":
        """Return the same with a probability of its run's stalls."""
        kept = [part for part in self.parts if getattr(part, "text", "")[:6] != STALLS]
        return self.only([*kept, Disturbance(f"{STALLS} {stall}", (("stall", stall),))])

    @property
    def items(self) -> dict[int, Item]:
        """Commands by their place in the whole program."""
        return dict(part for part in self.parts if isinstance(part, tuple))

    @property
    def mutations(self) -> list[Mutation]:
        return [part for part in self.parts if isinstance(part, Mutation)]

    @property
    def disturbances(self) -> list[Disturbance]:
        return [part for part in self.parts if isinstance(part, Disturbance)]

    @cached_property
    def words(self) -> NDArray[np.uint32]:
        items = self.items
        pieces = stream(self.config, list(items.values()), np.random.default_rng(self.seed))
        return mutated(dict(zip([BEGIN, *items, END], pieces, strict=True)), self.mutations)

    @cached_property
    def run(self) -> Run:
        changes = {}
        for disturbance in self.disturbances:
            changes |= dict(disturbance.change)
        registers = {"ARENA_SIZE": len(self.program.arena), "TIMEOUT": TIMEOUT}
        run = Run(
            inputs={0: self.program.arena},
            words=self.words,
            model=self.program.model,
            registers=registers | changes.pop("registers", {}),
            patience=PATIENCE,
            stall=0.0,
            seed=self.seed,
        )
        return replace(run, **changes)

    @cached_property
    def ending(self) -> Ending:
        length = self.run.registers.get("COMMAND_LENGTH", 4 * len(self.words))
        kept = {place: item for place, item in self.items.items() if item.opcode in CONSTANTS}
        items = [item for item in self.program.items if item.opcode in CONSTANTS]
        whole = list(kept.values()) == items
        untouched = not any(mutation.place in kept for mutation in self.mutations)
        return ending(
            self.config,
            self.words[: length // 4],
            np.frombuffer(self.program.model, np.uint8),
            self.program.arena,
            determined=whole and untouched,
        )

    @property
    def kind(self) -> str:
        if self.mutations:
            return "mutated"
        names = [part.text.partition(" at")[0].partition(" after")[0] for part in self.disturbances]
        names = [name for name in names if not name.startswith(STALLS)]
        return names[0] if names else "legal program"

    def listing(self) -> str:
        """Return the commands in lines, up to the first that is none."""
        lines = [str(part) for part in self.parts if not isinstance(part, tuple)]
        try:
            for text in listing(self.words):
                lines.append(text)  # noqa: PERF402 - those before the error stay
        except CommandError as error:
            lines.append(str(error))
        return "\n".join(lines)


def random_case(config: AcceleratorConfig, seed: int) -> StreamCase:
    rng = np.random.default_rng([0x57EA, seed])
    program = ProgramRandom(config, rng).program(int(rng.integers(1, 7)))
    parts: list[Part] = list(enumerate(program.items, start=1))
    draw = rng.random()
    case = StreamCase(config, seed, program, tuple(parts))
    if rng.random() < 0.5:
        parts.append(_stalls(rng))
    if 0.25 <= draw < 0.7:
        opcodes = {BEGIN: Opcode.BEGIN, END: Opcode.END}
        opcodes |= {place: item.opcode for place, item in case.items.items()}
        sizes = {
            Space.MODEL: len(program.model),
            Space.ARENA: len(program.arena),
            Space.SCRATCHPAD: config.scratchpad,
        }
        count = int(rng.choice([1, 1, 1, 2, 3]))
        parts += [random_mutation(rng, opcodes, sizes) for _ in range(count)]
    if draw >= 0.7 or rng.random() < 0.1:
        parts.append(_disturbance(rng, case.only(parts)))
    return case.only(parts)


def _stalls(rng: np.random.Generator) -> Disturbance:
    stall = float(rng.choice([0.0, 0.1, 0.4, 0.7]))
    latency = int(rng.choice([1, 20, 100]))
    text = f"{STALLS} {stall}, latency {latency}"
    return Disturbance(text, (("stall", stall), ("timing", MemoryTiming(latency=latency))))


def _disturbance(rng: np.random.Generator, case: StreamCase) -> Disturbance:
    sizes = {
        "commands": 4 * len(case.words),
        "model": len(case.program.model),
        "arena": len(case.program.arena),
    }
    match rng.choice(["read", "write", "reset", "registers", "length"]):
        case "read":
            return _bus_error(rng, "read_error", sizes, case.config.port)
        case "write":
            arena = {"arena": sizes["arena"]}
            return _bus_error(rng, "write_error", arena, case.config.port)
        case "reset":
            after = int(rng.integers(int(rng.choice([30, 300, LONGEST]))))
            return Disturbance(f"soft reset after {after} cycles", (("reset_after", after),))
        case "registers":
            writes = tuple(_writes(rng))
            text = ", ".join(f"{name} = {value:#x} {wait} later" for wait, name, value in writes)
            return Disturbance(f"register writes at once: {text}", (("writes", writes),))
        case _:
            length = int(rng.integers(sizes["commands"] + 1))
            registers = {"COMMAND_LENGTH": length}
            return Disturbance(f"short stream at byte {length}", (("registers", registers),))


def _bus_error(
    rng: np.random.Generator, kind: str, sizes: dict[str, int], port: int
) -> Disturbance:
    """Return that one beat of a region, or a few, are answered with an error."""
    name = str(rng.choice([name for name, size in sizes.items() if size] or ["arena"]))
    first = int(rng.integers(max(1, sizes[name] - port + 1)))
    place = cast(Place, (name, first, first + port * int(rng.choice([1, 1, 8]))))
    return Disturbance(f"{kind.replace('_', ' ')} at byte {first} of {name}", ((kind, place),))


def _writes(rng: np.random.Generator) -> Iterator[tuple[int, str, int]]:
    """Yield writes of what the doorbell copies, and a doorbell in the run's first cycles."""
    if rng.random() < 0.3:
        yield 0, "CONTROL", 1
    for _ in range(int(rng.integers(1, 9))):
        name = str(rng.choice(isa.AT_DOORBELL))
        yield int(rng.integers(60)), name, int(rng.integers(1 << 32)) >> int(rng.integers(32))


def wrong_run(case: StreamCase, result: RunResult) -> str:
    """Return what is wrong with a stream's run in a line; empty if nothing is."""
    if found := wrong_on_the_bus(result):
        return found
    if case.run.reset_after is not None:
        return ""
    allowed = replace(case.ending, refusals=case.ending.refusals | _disturbed(case))
    if not result.ended:
        if allowed.open or allowed.free:
            return ""
        return f"no end in {PATIENCE} cycles, in place of {allowed}"
    if result.error != ErrorCode.NONE:
        if allowed.allows(result.error, result.engine, result.index):
            return ""
        got = f"{result.error.name} of {result.engine} in command {result.index}"
        return f"ended {got}, in place of {allowed}"
    if not result.done or not (allowed.done or allowed.free):
        return f"ended without an error, done {result.done}, in place of {allowed}"
    if result.bus_errors and not (allowed.free or allowed.unasked):
        return f"done, and {result.bus_errors} errors on the bus are hidden"
    if allowed.arena is None or result.bus_errors:
        return ""
    return _difference(result.arena[: len(allowed.arena)], allowed.arena)


def _disturbed(case: StreamCase) -> frozenset[Refusal]:
    """Return what bus errors add to how a run may end."""
    errors = {
        ErrorCode.AXI_READ: case.run.read_error,
        ErrorCode.AXI_WRITE: case.run.write_error,
    }
    engines = (0, 1, 2, 253, 254, 255)
    return frozenset(Refusal(code, n, None) for code, at in errors.items() if at for n in engines)


def wrong_on_the_bus(result: RunResult) -> str:
    """Return what no run may do."""
    if result.reads_outside:
        return f"{result.reads_outside} bursts read outside of commands, model and arena"
    if result.unanswered:
        return f"{result.unanswered} bursts were not answered when it was over"
    return ""


def wrong_good_run(case: StreamCase, result: RunResult, cycles: int) -> str:
    """Return what is wrong with the good run behind a stream; it takes so many cycles."""
    if found := wrong_on_the_bus(result):
        return found
    if not result.done:
        return f"ended {result.error.name}"
    assert case.ending.arena is not None
    if found := _difference(result.arena[: len(case.ending.arena)], case.ending.arena):
        return found
    return "" if result.cycles == cycles else f"takes {result.cycles} cycles, not {cycles}"


def _difference(got: NDArray[np.uint8], expected: NDArray[np.uint8]) -> str:
    wrong = np.flatnonzero(got != expected)
    if not wrong.size:
        return ""
    first = int(wrong[0])
    return (
        f"arena: {wrong.size} bytes differ, the first at {first}: {got[first]}, "
        f"expected {expected[first]}"
    )


@cache
def good_case(config: AcceleratorConfig) -> StreamCase:
    """Return the run that comes behind every stream: a program of all engines."""
    seed = 0
    while True:
        rng = np.random.default_rng([0x600D, seed])
        program = ProgramRandom(config, rng).program(6)
        case = StreamCase(config, 0, program, tuple(enumerate(program.items, start=1)))
        found = {item.opcode for item in program.items}
        if found >= {*isa.ENGINES, *CONSTANTS} and len(program.items) < 14:
            return case
        seed += 1


ARENA = WINDOW + BEHIND
"""Bytes of every program's arena."""


def run(unit: Unit, trace: Path | None = None) -> Result:
    """Run the streams of a unit in one simulation; those that fail are shrunk."""
    cases, drawn = [], []
    for seed in unit.seeds:
        try:
            case = random_case(unit.configuration(), seed)
            _ = case.ending
            drawn.append(case if unit.stall is None else case.stalled(unit.stall))
        except Exception as error:
            cases.append(error_case(seed, "", error))
    budget = Budget()
    found = zip(drawn, judged(unit, drawn, trace), strict=True)
    cases += [_case(unit, case, *ended, budget) for case, ended in found]
    return Result(sorted(cases, key=lambda case: case.seed))


def judged(
    unit: Unit, cases: Sequence[StreamCase], trace: Path | None = None
) -> list[tuple[str, RunResult | None]]:
    """Return what is wrong with each of some streams, or nothing, and how its run ended.

    If what the simulation watches ends it, each stream runs alone.
    """
    if not cases:
        return []
    good = good_case(unit.configuration())
    runs = [good.run, *(each for case in cases for each in (case.run, good.run))]
    try:
        first, *done = run_system(
            good.config,
            unit.simulator,
            words=good.words,
            model=good.program.model,
            arena_bytes=ARENA,
            runs=runs,
            timeout=TIMEOUT,
            limit=PATIENCE,
            trace=trace,
        )
    except BenchFailed as error:
        if len(cases) == 1:
            return [(" ".join(str(error).split()), None)]
        return [judged(unit, [case])[0] for case in cases]
    found = []
    for case, result, behind in zip(cases, done[::2], done[1::2], strict=True):
        wrong = wrong_run(case, result)
        if not wrong and (after := wrong_good_run(good, behind, first.cycles)):
            wrong = f"the good run behind it: {after}"
        found.append((wrong, result))
    return found


def _case(
    unit: Unit, case: StreamCase, wrong: str, result: RunResult | None, budget: Budget
) -> Case:
    if not wrong and result is not None:
        return Case(seed=case.seed, verdict="passed", message=f"{case.kind}: {_end(case, result)}")
    small = smallest(unit, case, wrong, budget)
    lines = [
        f"{case.kind}: {wrong}",
        f"may end: {case.ending}",
        "",
        f"shrunk to {len(small.parts)} of {len(case.parts)} commands, mutations and disturbances, "
        f"which fail in the same way; whole.bin has the words of all",
        f"{WORDS} may end: {small.ending}",
        "",
        small.listing(),
    ]
    files = {
        WORDS: small.words.astype("<u4").tobytes(),
        "whole.bin": case.words.astype("<u4").tobytes(),
        "model.bin": case.program.model,
        "arena.bin": case.program.arena.tobytes(),
    }
    return Case(
        seed=case.seed,
        verdict="failed",
        message=f"{case.kind}: {wrong}"[:500],
        evidence=Evidence(log="\n".join(lines), files=files),
    )


def _end(case: StreamCase, result: RunResult) -> str:
    if not result.ended:
        return "reset"
    if result.error != ErrorCode.NONE:
        return f"ended {result.error.name}"
    return "done" if case.ending.arena is None else "done, every byte as computed"


def smallest(unit: Unit, case: StreamCase, wrong: str, budget: Budget) -> StreamCase:
    """Return the stream with the fewest parts that are wrong in the same way."""

    def fails(parts: list[Part]) -> bool:
        fewer = case.only(parts)
        try:
            return _way(judged(unit, [fewer])[0][0]) == _way(wrong)
        except Exception:  # what cannot be run makes no sense without the others
            return False

    return case.only(shrink(case.parts, fails, budget))


def _way(wrong: str) -> str:
    """Return the first words of what is wrong, numbers apart."""
    words = "".join(" " if letter.isdigit() else letter for letter in wrong).split()
    return " ".join(words[:3])


SUITE = Suite(
    name="streams",
    text="random and mutated command streams, disturbed, a good run behind each",
    run=run,
    plan=common.plan_in_units("streams", TOGETHER),
    options=(common.SEED, common.BACKEND, common.CONFIG, common.STALL),
    cases=400,
    backends=("verilator", "icarus"),
    designs=common.accelerator_designs,
)
