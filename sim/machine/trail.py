"""A wrong byte of the arena, followed back through the commands that make it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eightfold.isa import Opcode, Space
from eightfold.isa.decode import Decoded
from eightfold.sim.machine.accesses import index_starts, move_starts
from eightfold.sim.machine.explain import explain_matrix, explain_vector
from eightfold.sim.machine.machine import Machine
from eightfold.sim.machine.queues import taken

STEPS = 8
"""Commands that a byte is followed back through, at most."""


@dataclass(frozen=True)
class _Write:
    """The command that writes a byte, how, and the byte that it copies if it does."""

    number: int
    lines: list[str]
    source: tuple[Space, int] | None = None


def explain_arena(
    make: Callable[[type[Machine]], Machine], words: NDArray[np.uint32], offset: int
) -> list[str]:
    """Return which commands make a byte of the arena, the last one first, and its arithmetic.

    Parameters
    ----------
    make
        Returns a machine of the class that it is given, on fresh memory: the stream runs once per
        step back.
    words, offset
        The stream, and the byte's place in the arena.
    """
    lines: list[str] = []
    byte, before = (Space.ARENA, offset), None
    for _ in range(STEPS):
        trail = make(_Trail)
        assert isinstance(trail, _Trail)
        trail.byte, trail.before = byte, before
        trail.run(words)
        found = trail.found
        if found is None:
            return [*lines, f"no command before writes byte {byte[1]} of {byte[0].name}"]
        lines += found.lines
        if found.source is None:
            break
        byte, before = found.source, found.number
    return lines


class _Trail(Machine):
    """Finds the last command, before number ``before``, that writes ``byte``."""

    byte: tuple[Space, int]
    before: int | None = None
    found: _Write | None = None

    def execute(self, command: Decoded) -> None:
        if self.before is None or command.number < self.before:
            self.found = self._write(command) or self.found
        super().execute(command)

    def _write(self, command: Decoded) -> _Write | None:
        space, offset = self.byte
        title = f"command {command.number} {command.opcode.name} writes {space.name}'s {offset}"
        if command.opcode in (Opcode.MOVE, Opcode.GATHER):
            return self._copy(command, title)
        if space != Space.SCRATCHPAD:
            return None
        lines: list[str] = []
        if command.opcode == Opcode.VECTOR:
            state = (self.scratchpad, self.tables, self.row)
            lines = explain_vector(self.config, command.fields, *state, offset)
        elif command.opcode == Opcode.MATRIX:
            need = taken(command)
            weights = list(self.weights)[: need[Opcode.WEIGHTS]]
            banks = list(self.parameters)[: need[Opcode.PARAMETERS]]
            state = (self.scratchpad, iter(weights), iter(banks), self.sums)
            lines = explain_matrix(self.config, command.fields, *state, offset)
        return _Write(command.number, [title, *lines]) if lines else None

    def _copy(self, command: Decoded, title: str) -> _Write | None:
        f, (space, offset) = command.fields, self.byte
        if Space(f["target_space"]) != space:
            return None
        places = move_starts(f, "target")
        hits = np.flatnonzero((places <= offset) & (offset < places + f["run"]))
        if not hits.size:
            return None
        run, source = int(hits[-1]), Space(f["source_space"])
        if source == Space.FILL:
            return _Write(command.number, [f"{title}: fill {f['fill']}"])
        start = int(move_starts(f, "source")[run] + offset - places[run])
        if command.opcode == Opcode.GATHER:
            size = 1 << f["index_size"]
            at = int(index_starts(f)[run])
            index = self.spaces[Space.SCRATCHPAD][at : at + size].tobytes()
            start += int.from_bytes(index, "little", signed=True) * f["step"]
        value = int(self.spaces[source][start].view(np.int8))
        lines = [f"{title}: run {run} copies {source.name}'s {start}, {value}"]
        onward = None if source == Space.MODEL else (source, start)
        return _Write(command.number, lines, onward)
