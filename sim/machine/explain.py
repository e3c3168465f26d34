"""The arithmetic of one result as lines of text: what a failing bench shows of the model.

A wrong byte of the arena is followed back through the commands that make it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.rounding import ROUNDINGS
from eightfold.golden.steps import explain_requantize, step_lines
from eightfold.isa import REQUANTIZE_LAYOUT, Combine, Matrix, Opcode, Operand, Reduce, Row, Space
from eightfold.isa.decode import Decoded
from eightfold.sim.machine.accesses import copied_to
from eightfold.sim.machine.beats import ArrayModel, Program
from eightfold.sim.machine.machine import Machine
from eightfold.sim.machine.matrix import Bank, MatrixRun
from eightfold.sim.machine.tokens import taken
from eightfold.sim.machine.vector import RowState, VectorRun, addresses_a, targets
from eightfold.target.config import AcceleratorConfig

SHOWN = 8
"""Positions of a window that are written out."""


def requantize_lines(acc: int, fields: Mapping[str, Any]) -> list[str]:
    """Return the inputs of a requantization in one line, and its steps.

    ``fields`` are those of `eightfold.isa.REQUANTIZE_LAYOUT`, one number each.
    """
    numbers = {name: int(fields[name]) for name, _ in REQUANTIZE_LAYOUT}
    shown = numbers | {"rounding": f"{numbers['rounding']} ({ROUNDINGS[numbers['rounding']]})"}
    inputs = ", ".join(f"{name} {value}" for name, value in shown.items())
    steps = explain_requantize(int(acc), **numbers)
    return [f"inputs: acc {int(acc)}, {inputs}", *step_lines(steps)]


def explain_beats(config: AcceleratorConfig, program: Program, index: int, lane: int) -> list[str]:
    """Return the arithmetic of a lane's byte in a result vector of a MAC array.

    ``config``, ``program``: as `eightfold.sim.machine.beats.results` takes them. ``index``,
    ``lane``: number of the result vector, and of the byte in it.
    """
    model = _WatchedArray(config, program, lane)
    beat = -1
    while len(model.sums) <= index:
        beat += 1
        model.beat(beat)
    fields = {name: values[lane] for name, values in model.used[index].items()}
    return [
        f"result of activation beat {beat}, lane {lane}",
        *model.dots,
        *requantize_lines(model.sums[index][lane], fields),
    ]


class _WatchedArray(ArrayModel):
    """Keeps a line for each dot product that is in a lane's latest sum."""

    def __init__(self, config: AcceleratorConfig, program: Program, lane: int) -> None:
        super().__init__(config, program)
        self.lane = lane
        self.slots: dict[int, list[str]] = {}
        self.dots: list[str] = []
        self.number = 0

    def beat(self, index: int) -> None:
        self.number = index
        super().beat(index)

    def _accumulate(self, beat: Mapping[str, NDArray]) -> None:
        operands = self.operands[self.lane]
        weights = self.weights[self.lane]
        slot = int(beat["slot"])
        before = [] if beat["first"] else self.slots.get(slot, ["+ a sum of before"])
        line = _dot_line(f"beat {self.number}, slot {slot}", operands, weights)
        self.dots = self.slots[slot] = [*before, line]
        super()._accumulate(beat)


def _dot_line(where: str, operands: Sequence[int], weights: Sequence[int]) -> str:
    x, w = [int(a) for a in operands], [int(b) for b in weights]
    return f"{where}: {x} . weights {w} = {sum(a * b for a, b in zip(x, w, strict=True))}"


def explain_matrix(
    config: AcceleratorConfig,
    matrix: Matrix,
    scratchpad: NDArray[np.int8],
    weights: Iterable[NDArray[np.int8]],
    parameters: Iterable[Bank],
    sums: NDArray[np.int32],
    address: int,
) -> list[str]:
    """Return the arithmetic of the byte that a MATRIX command writes to ``address``.

    The other parameters are those of `eightfold.sim.machine.matrix.MatrixRun` before the command;
    scratchpad and sums are left as they are. Empty if it writes nothing there.
    """
    run = _WatchedMatrix(config, matrix, scratchpad.copy(), sums.copy())
    run.address = address
    run.run(weights, parameters)
    return run.lines


class _WatchedMatrix(MatrixRun):
    """Keeps the passes of the current group, and lines of the byte at ``address``."""

    address: int
    lines: list[str]
    passes: list[tuple[NDArray[np.int8], NDArray[np.float64]]]

    def run(self, weights: Iterable[NDArray[np.int8]], parameters: Iterable[Bank]) -> int:
        self.lines, self.passes = [], []
        return super().run(weights, parameters)

    def _dots(self, vectors: NDArray[np.int8], weights: NDArray[np.float64]) -> NDArray[np.int64]:
        self.passes.append((vectors, weights))
        return super()._dots(vectors, weights)

    def _write(self, group: int, acc: NDArray[np.int32], bank: Bank) -> int:
        passes, self.passes = self.passes, []
        target, lanes = self.targets(group)
        hit = (target <= self.address) & (self.address < target + lanes)
        for position in np.flatnonzero(hit).tolist():
            lane = self.address - int(target[position])
            self.lines = [
                f"result {position} of group {group}, lane {lane}",
                *(
                    _dot_line(f"pass {n}", self._taps(vectors, position, lane), weights[lane])
                    for n, (vectors, weights) in enumerate(passes)
                ),
                *self._carried(len(acc), len(passes)),
                *requantize_lines(acc[position, lane], {k: v[lane] for k, v in bank.items()}),
            ]
        return super()._write(group, acc, bank)

    def _carried(self, positions: int, passes: int) -> list[str]:
        """Return a line for what the accumulator holds besides the passes."""
        if positions > self.config.psum_depth and passes > 1:
            return [
                f"{positions} positions share {self.config.psum_depth} sums: some of others, too"
            ]
        return [] if self.matrix.first else ["+ the sum that the command before has left"]

    def _taps(self, vectors: NDArray[np.int8], position: int, lane: int) -> list[int]:
        """Return what meets the lane's weights: one weight of 1 at a time takes it out."""
        shape = (self.config.lanes, self.config.width)
        ones = [np.zeros(shape) for _ in range(self.config.width)]
        for tap, one in enumerate(ones):
            one[:, tap] = 1
        return [int(super(_WatchedMatrix, self)._dots(vectors, o)[position, lane]) for o in ones]


def explain_vector(
    command_fields: Mapping[str, int],
    scratchpad: NDArray[np.int8],
    tables: NDArray[np.int32],
    state: RowState,
    address: int,
) -> list[str]:
    """Return the arithmetic of the byte that a VECTOR command writes to ``address``.

    The other parameters are those of `eightfold.sim.machine.vector.run_vector` before the command;
    none is changed. Empty if it writes nothing there.
    """
    run = VectorRun(command_fields, scratchpad, tables, copy(state))
    values, parameters = run.values()
    target = targets(run.f, values.shape[-1])
    places = np.argwhere(target == address)
    if not len(places):
        return []
    place = tuple(int(at) for at in places[-1])  # the last one that is written there stays
    fields = {
        name: np.broadcast_to(value, values.shape)[place] for name, value in parameters.items()
    }
    i2, i1, i0, element = place
    return [
        f"element {element} of run i2={i2}, i1={i1}, i0={i0}",
        *_operand_lines(run, place),
        *requantize_lines(values[place], fields),
    ]


def _operand_lines(run: VectorRun, place: tuple[int, ...]) -> list[str]:
    field = run.f
    row = Row(field["row"])
    combine = Combine(field["combine"])
    if row != Row.NONE:
        a = run.row_operands()[place[:3]].ravel()
        shown = ", ".join(map(str, a[: 4 * SHOWN].tolist()))
        return [f"row {row.name} of {a.size} bytes: {shown}{', ...' * (a.size > 4 * SHOWN)}"]
    lines = [f"{combine.name}, reduced by {Reduce(field['reduce']).name} over the window"]
    positions = list(np.ndindex(field["window1"], field["window0"]))
    for w1, w0 in positions[:SHOWN]:
        a = np.broadcast_to(run.operand_a(w1, w0), _shape(field))[place]
        at = np.broadcast_to(addresses_a(field, w1, w0), _shape(field))[place]
        line = f"window ({w1}, {w0}): a {a} (of {at % len(run.scratchpad)})"
        if field.get("lookup_a", 0):
            line += f", looked up {run.tables[field.get('table_a', 0)][a & 255]}"
        if combine != Combine.A:
            b = np.broadcast_to(run.operand_b(w1, w0), _shape(field))[place]
            line += f", b ({Operand(field['operand_b']).name}) {b}"
        lines.append(line)
    return lines + [f"... {len(positions)} positions in all"] * (len(positions) > SHOWN)


def _shape(field: Mapping[str, int]) -> tuple[int, ...]:
    return (field["count2"], field["count1"], field["count0"], field["run"])


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

    ``make``: returns a machine of the class that it is given, on fresh memory: the stream runs once
    per step back. ``words``, ``offset``: the stream, and the byte's place in the arena.
    """
    lines: list[str] = []
    byte = (Space.ARENA, offset)
    before = None
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
            lines = explain_vector(command.fields, *state, offset)
        elif command.opcode == Opcode.MATRIX:
            need = taken(command)
            weights = list(self.weights)[: need[Opcode.WEIGHTS]]
            banks = list(self.parameters)[: need[Opcode.PARAMETERS]]
            state = (self.scratchpad, weights, banks, self.sums)
            lines = explain_matrix(self.config, Matrix(**command.fields), *state, offset)
        return _Write(command.number, [title, *lines]) if lines else None

    def _copy(self, command: Decoded, title: str) -> _Write | None:
        f = command.fields
        found = copied_to(f, *self.byte, self.spaces[Space.SCRATCHPAD])
        if found is None:
            return None
        run, start = found
        source = Space(f["source_space"])
        if source == Space.FILL:
            return _Write(command.number, [f"{title}: fill {f['fill']}"])
        value = int(self.spaces[source][start].view(np.int8))
        lines = [f"{title}: run {run} copies {source.name}'s {start}, {value}"]
        onward = None if source == Space.MODEL else (source, start)
        return _Write(command.number, lines, onward)
