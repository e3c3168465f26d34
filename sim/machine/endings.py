"""How a run of any words must end, whatever time its commands take.

What a stream has not written of scratchpad and tables itself is whatever was there.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.isa.decode import CommandError, Decoded
from eightfold.sim.machine.accesses import TABLE_BYTES, Accesses, accesses
from eightfold.sim.machine.legality import SEQUENCER, Nature, Refusal, nature, read_words
from eightfold.sim.machine.machine import Machine
from eightfold.sim.machine.tokens import OrderError, Queues, check_order, made, taken
from eightfold.target.config import AcceleratorConfig

TIMEOUT = Refusal(isa.ErrorCode.TIMEOUT, SEQUENCER, None)

_CHOICES = 1 << 20
"""Bytes that a GATHER may choose from, at most, or what it reads is not followed."""

_FARTHEST = 1 << 24
"""Offsets in a space that are followed: a GATHER may choose from bytes far behind the arena."""


@dataclass(frozen=True, kw_only=True)
class Ending:
    """What a run may end with.

    - ``done``: whether END may be reached.
    - ``refusals``: what register ERROR may say instead.
    - ``open``: whether it may also run on: until software resets it.
    - ``free``: whether a rule is broken that is not checked: the run may end with anything, or run
      on.
    - ``arena``: what it leaves in the arena if it is done; None if that is not determined.
    - ``unasked``: whether it reads what nobody takes: constants of no MATRIX, or words behind END.
      If memory answers that with an error, the run may be done before it comes.
    """

    done: bool = False
    refusals: frozenset[Refusal] = frozenset()
    open: bool = False
    free: bool = False
    arena: NDArray[np.uint8] | None = None
    unasked: bool = False

    def allows(self, code: isa.ErrorCode, engine: int, index: int) -> bool:
        """Return whether a run may end with an error."""
        found = (code, engine, index)
        return self.free or any(
            found == (each.code, each.engine, index if each.index is None else each.index)
            for each in self.refusals
        )

    def __str__(self) -> str:
        """Say what is allowed, in a line."""
        if self.free:
            return "anything"
        parts = ["done"] if self.done else []
        order = sorted(self.refusals, key=lambda r: (r.code.value, r.engine, r.index or 0))
        parts += [
            f"{each.code.name} of {each.engine}"
            + ("" if each.index is None else f" in command {each.index}")
            for each in order
        ]
        return " or ".join([*parts, "no end"] if self.open else parts)


def ending(
    config: AcceleratorConfig,
    words: NDArray[np.uint32],
    model: NDArray[np.uint8],
    arena: NDArray[np.uint8],
    determined: bool = True,
) -> Ending:
    """Return how a run of some words may end.

    The first error in time ends a run, and time is not modelled: every error is allowed whose
    command may start before another error has come. One of WEIGHTS or PARAMETERS may also come too
    late, behind END. ``words``: uint32; all that COMMAND_LENGTH counts. ``model``, ``arena``:
    uint8, the regions' contents. ``determined``: whether the results of MATRIX are determined by
    what the stream fetches.
    """
    commands, refusal = read_words(config, words)
    sizes = {
        isa.Space.MODEL: len(model),
        isa.Space.ARENA: len(arena),
        isa.Space.SCRATCHPAD: config.scratchpad,
        isa.Space.TABLES: TABLE_BYTES * config.tables,
    }
    natures = {command.number: nature(config, command, sizes) for command in commands}
    if any(each.free for each in natures.values()):
        return Ending(free=True)
    flows = [_flow(config, commands, refusal, natures, roomy) for roomy in (False, True)]
    merged = Ending(
        done=any(flow.done for flow in flows),
        refusals=frozenset().union(*(flow.refusals for flow in flows)),
        open=any(flow.open for flow in flows),
        unasked=_reads_unasked(config, commands, len(words)),
    )
    certain = merged.done and not merged.open and not any(n.refusal for n in natures.values())
    if not certain:
        return merged
    return _values(config, commands, model, arena, merged, determined)


def _reads_unasked(config: AcceleratorConfig, commands: list[Decoded], words: int) -> bool:
    fetched: Counter[isa.Opcode] = Counter()
    for command in commands:
        if command.opcode in (isa.Opcode.WEIGHTS, isa.Opcode.PARAMETERS):
            fetched[command.opcode] += made(config, command)
        elif command.opcode == isa.Opcode.MATRIX:
            fetched.subtract(taken(command))
    length = sum(isa.COMMANDS[command.opcode].words for command in commands)
    return any(fetched.values()) or length < words


def _flow(
    config: AcceleratorConfig,
    commands: list[Decoded],
    refusal: Refusal | None,
    natures: Mapping[int, Nature],
    roomy: bool,
) -> Ending:
    """Return the endings if queues have just the room that is promised, or any."""
    stops = {number for number, each in natures.items() if each.refusal}
    queues = Queues(config, commands, stops, roomy)
    through = queues.settle() >= len(commands)
    reached = {command.number for command in queues.started} | queues.stopped
    found = {natures[number].refusal for number in reached & stops}
    found |= {each for number in reached for each in natures[number].perhaps}
    found |= {refusal} if through else set()
    certain = {number for number in queues.stopped if natures[number].refusal}
    fetched = {n for n in certain if commands[n].opcode not in isa.ENGINES}
    runs_on = any(natures[number].long for number in reached)
    done = through and refusal is None and certain <= fetched
    sure = bool(certain) or (through and refusal is not None)
    if not sure and not done:
        found.add(TIMEOUT)
    return Ending(
        done=done or (runs_on and refusal is None),
        refusals=frozenset(each for each in found if each),
        open=runs_on,
    )


def _values(
    config: AcceleratorConfig,
    commands: list[Decoded],
    model: NDArray[np.uint8],
    arena: NDArray[np.uint8],
    merged: Ending,
    determined: bool,
) -> Ending:
    """Return the ending with what GATHER finds, and the arena, if both are determined."""
    if not determined or not _is_followed(config, commands):
        return merged
    memory = np.concatenate([model, arena])
    machine = Machine(config, memory, (0, len(model)), (len(model), len(arena)))
    try:
        for command in commands:
            machine.execute(command)
    except CommandError as error:
        if error.code not in (isa.ErrorCode.ADDRESS, isa.ErrorCode.INDEX):
            return merged
        found = Refusal(error.code, isa.Engine.MOVER.value, error.index % (1 << 16))
        return replace(merged, done=False, refusals=frozenset({found}))
    certain = merged.refusals - {
        each for each in merged.refusals if each.engine == isa.Engine.MOVER.value
    }
    return replace(merged, refusals=certain, arena=memory[len(model) :])


def _is_followed(config: AcceleratorConfig, commands: list[Decoded]) -> bool:
    """Return whether every command reads only what is known, and in an order that is certain."""
    if any(_is_vague(command) for command in commands):
        return False
    known = Known(config)
    for command in commands:
        touched = accesses(config, command)
        if not known.covers(touched) or _is_far(touched):
            return False
        known.add(touched)
    queues = Queues(config, commands, roomy=True)
    queues.settle()
    try:
        check_order(config, commands, queues.started)
    except OrderError:
        return False
    return True


def _is_far(touched: Accesses) -> bool:
    """Return whether a command touches offsets that are too large to note each byte before them."""
    every = [*touched.reads.values(), *touched.writes.values()]
    return any(offsets.size and offsets[-1] >= _FARTHEST for offsets in every)


def _is_vague(command: Decoded) -> bool:
    """Return whether a command's results are not what its operands say, or too many to follow."""
    f = command.fields
    if command.opcode == isa.Opcode.GATHER:
        return (f["limit"] if f["step"] else 1) * max(1, f["step"]) > _CHOICES
    if command.opcode != isa.Opcode.VECTOR:
        return False
    row = isa.Row(f["row"])
    extreme = row in (isa.Row.MAXIMUM, isa.Row.MINIMUM)
    several = f["window0"] * f["window1"] > 1
    shifts = f["requantize.left"] > 30 or f["requantize.right"] > (
        62 if f["requantize.single"] else 31
    )
    resumes = row != isa.Row.NONE and bool(f["resume"])
    sums = row == isa.Row.SUM and bool(f["relative"])
    return resumes or sums or shifts or (extreme and several and f["requantize.left"] < 8)


class Known:
    """What is known of scratchpad and tables, from the begin of a stream on: nothing at first.

    ``bytes``: bool by space, one for each byte.
    """

    def __init__(self, config: AcceleratorConfig) -> None:
        sizes = {
            isa.Space.SCRATCHPAD: config.scratchpad,
            isa.Space.TABLES: TABLE_BYTES * config.tables,
        }
        self.bytes = {space: np.zeros(size, np.bool_) for space, size in sizes.items()}

    def covers(self, touched: Accesses) -> bool:
        """Return whether all that a command reads is known, and within its space."""
        return all(
            self._inside(space, offsets) and bool(self.bytes[space][offsets].all())
            for space, offsets in touched.reads.items()
            if space in self.bytes and offsets.size
        )

    def add(self, touched: Accesses) -> None:
        """Note what a command writes within its space."""
        for space, offsets in touched.writes.items():
            if space in self.bytes and self._inside(space, offsets):
                self.bytes[space][offsets] = True

    def _inside(self, space: isa.Space, offsets: NDArray[np.int64]) -> bool:
        return not offsets.size or (offsets[0] >= 0 and offsets[-1] < len(self.bytes[space]))
