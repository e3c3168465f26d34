"""What a MATRIX command does: `eightfold.isa.MATRIX` in numpy, for a whole command at once.

Its weights and requantization parameters are as the fetchers hand them to the engine.
"""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.golden.requantize import requantize
from eightfold.isa.decode import CommandError, Decoded
from eightfold.isa.instructions import RECORD
from eightfold.isa.shapes import number
from eightfold.sim.machine.vector import wrap_local
from eightfold.target.config import AcceleratorConfig

Bank = Mapping[str, NDArray]
"""Requantization parameters of one group: the fields of `isa.REQUANTIZE_LAYOUT` by lane."""


def window_ages(config: AcceleratorConfig, line: int, pairs: bool = False) -> NDArray[np.int64]:
    """Return for each tap how many vectors back its byte is, shape (width,).

    Tap ``s * window_columns + j`` of segment s is ``s * line + j`` vectors back; taps beyond the
    last segment continue it. With ``pairs`` it is less by what is in `beside`.
    """
    segment, column = _window_places(config)
    return segment * line + column - beside(config, pairs) * (config.window_columns // 2)


def beside(config: AcceleratorConfig, pairs: bool) -> NDArray[np.bool_]:
    """Return which taps have a byte of the vector's other pixel, shape (width,)."""
    return pairs & (_window_places(config)[1] >= config.window_columns // 2)


def _window_places(config: AcceleratorConfig) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the segment of each tap, and its number within that."""
    tap = np.arange(config.width)
    segment = np.minimum(tap // config.window_columns, config.window_rows - 1)
    return segment, tap - segment * config.window_columns


def group_lanes(config: AcceleratorConfig, depthwise: bool) -> int:
    """Return the channels of a full group: a lane without a byte has none of a depthwise one."""
    return min(config.lanes, config.width) if depthwise else config.lanes


class MatrixRun:
    """A command, and what it works on, which it changes in place.

    - ``matrix``: the command, whose counts are at least 1.
    - ``scratchpad``: int8, shape (config.scratchpad,).
    - ``sums``: partial sums, int32, shape (config.psum_depth, config.lanes). Position p is in slot
      p modulo psum_depth.
    """

    def __init__(
        self,
        config: AcceleratorConfig,
        matrix: isa.Matrix,
        scratchpad: NDArray[np.int8],
        sums: NDArray[np.int32],
    ) -> None:
        self.config, self.matrix, self.scratchpad, self.sums = config, matrix, scratchpad, sums
        fire = np.zeros((matrix.y, matrix.x), np.bool_)
        fire[np.ix_(matrix.firing_rows, matrix.firing_columns)] = True
        self.fire = fire.ravel()

    def run(self, weights: Iterable[NDArray[np.int8]], parameters: Iterable[Bank]) -> int:
        """Carry the command out; return how many results leave the scratchpad and are not written.

        A group is read completely before its results are written: a command that writes what it
        still reads is outside of the contract. In a depthwise window, what came before the first
        vector of the pass counts as 0; the hardware leaves it open.

        - ``weights``: a buffer for each pass: int8, shape (lanes in the buffer, width). Lanes it
          has no words for have weights 0; the hardware leaves them what they had.
        - ``parameters``: a bank for each group of a command with ``last``: int arrays of shape
          (lanes in the bank,).

        Raises StopIteration if there are too few weights or parameters.
        """
        m = self.matrix
        buffers, banks = iter(weights), iter(parameters)
        faults = 0
        passes = list(np.ndindex(m.ky, m.kx, m.kc))
        for group in range(m.groups):
            bank = next(banks) if m.last else None
            results = []
            for index, (ky, kx, kc) in enumerate(passes):
                dots = self._dots(self._vectors(group, ky, kx, kc), self._weights(next(buffers)))
                first = bool(m.first) and index == 0
                last = bool(m.last) and index == len(passes) - 1
                results.append(self._accumulate(dots, first, last))
            if bank is not None:
                faults += self._write(group, results[-1], bank)
        return faults

    def _vectors(self, group: int, ky: int, kx: int, kc: int) -> NDArray[np.int8]:
        """Return a pass's vectors in order without the lead, shape (y * x, width)."""
        m = self.matrix
        width = self.config.width
        y, x = np.arange(m.y)[:, None, None], np.arange(m.x)[:, None]
        row = group * m.group_step + ky * m.ky_step + y * m.y_step
        column = wrap_local(m.column0 + kx * m.kx_step + kc * width + x * m.x_step)
        number = wrap_local(m.row0 + ky * m.ky_rows + y * m.y_rows)
        column = column + np.arange(width)
        inside = (column >= 0) & (column < m.columns) & (number >= 0) & (number < m.rows)
        data = self.scratchpad[(m.base + row + column) % self.config.scratchpad]
        return np.where(inside, data, np.int8(m.fill)).reshape(-1, width)

    def _weights(self, words: NDArray[np.int8]) -> NDArray[np.float64]:
        """Return all lanes' weights, shape (lanes, width); float64 holds any dot product."""
        full = np.zeros((self.config.lanes, self.config.width))
        full[: len(words)] = words
        return full

    def _dots(self, vectors: NDArray[np.int8], weights: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the dot products of the firing vectors, shape (positions, lanes)."""
        m = self.matrix
        if not m.depthwise:
            return (vectors[self.fire] @ weights.T).astype(np.int64)
        shared = min(self.config.lanes, self.config.width)
        pairs = bool(m.pairs)
        ages = window_ages(self.config, m.line, pairs)
        before = np.zeros((ages.max(), shared), np.int8)
        lead = np.full((m.lead, shared), m.fill, np.int8)
        stream = np.concatenate([before, lead, vectors[:, :shared]])
        newest = len(before) + len(lead) + np.flatnonzero(self.fire)
        dots = np.zeros((len(newest), self.config.lanes), np.int64)
        other = np.roll(stream, self.config.pixel, axis=1)
        for tap, (age, far) in enumerate(zip(ages, beside(self.config, pairs), strict=True)):
            taps = weights[:shared, tap].astype(np.int64)
            dots[:, :shared] += (other if far else stream)[newest - age] * taps
        return dots

    def _accumulate(self, dots: NDArray[np.int64], first: bool, last: bool) -> NDArray[np.int32]:
        """Add the stored sums, or 0; store the new ones unless they leave."""
        depth = self.config.psum_depth
        done = []
        for start in range(0, len(dots), depth):  # two positions of a part never share a slot
            part = dots[start : start + depth]
            slots = slice(0, len(part))
            total = (part if first else part + self.sums[slots]).astype(np.int32)  # wraps
            if not last:
                self.sums[slots] = total
            done.append(total)
        return np.concatenate([*done, np.zeros((0, self.config.lanes), np.int32)])

    def targets(self, group: int) -> tuple[NDArray[np.int64], int]:
        """Return the address of each result of a group, and the lanes that it has."""
        m = self.matrix
        final = group == m.groups - 1
        lanes = m.last_lanes if final else group_lanes(self.config, bool(m.depthwise))
        oy, ox = (np.arange(len(firing)) for firing in (m.firing_rows, m.firing_columns))
        target = m.target + group * m.target_group
        target = wrap_local((target + oy[:, None] * m.target_y + ox * m.target_x).ravel())
        return target, lanes

    def _write(self, group: int, acc: NDArray[np.int32], bank: Bank) -> int:
        target, lanes = self.targets(group)
        results = requantize(acc[:, :lanes], **{name: v[:lanes] for name, v in bank.items()})
        inside = (target >= 0) & (target + lanes <= self.config.scratchpad)
        addresses = target[inside, None] + np.arange(lanes)
        self.scratchpad[addresses] = results[inside]
        return int((~inside).sum())


def weight_buffers(
    config: AcceleratorConfig, command: Decoded, model: NDArray[np.uint8], rng: np.random.Generator
) -> Iterator[NDArray[np.int8]]:
    """Yield the buffers of a WEIGHTS: int8, shape (lanes, width); unused lanes hold random bytes.

    Raises CommandError: ADDRESS, if the command leaves the model region.
    """
    f = command.fields
    address = f["address"]
    kinds = (f["full"], config.lanes), (f["partial"], f["partial_lanes"])
    for count, lanes in kinds:
        stored = _part(command, model, address, count * lanes * config.weight_word)
        words = stored.view(np.int8).reshape(count, lanes, config.weight_word)
        taps = words[:, :, : config.width]
        buffers = rng.integers(-128, 128, (count, config.lanes, config.width), dtype=np.int8)
        buffers[:, :lanes] = taps
        yield from buffers
        address += len(stored)


def parameter_banks(
    config: AcceleratorConfig, command: Decoded, model: NDArray[np.uint8], rng: np.random.Generator
) -> Iterator[dict[str, NDArray[np.int64]]]:
    """Yield the banks of a PARAMETERS: int64 fields of `isa.REQUANTIZE_LAYOUT`, shape (lanes,).

    Lanes without a channel repeat a random channel of the command. Raises CommandError: ADDRESS, if
    the command leaves the model region. ILLEGAL_COMMAND, if a record has bits set that are not
    used.
    """
    banks = isa.Parameters(**command.fields)
    channels, record = banks.channels, RECORD
    stored = _part(command, model, banks.address, banks.size)
    records = stored[: record if banks.shared else None].reshape(-1, record)
    fields = _unpacked(command, records)
    if banks.shared:
        fields = {name: np.repeat(values, channels) for name, values in fields.items()}
        fields["bias"] = stored[record:].view("<i4").astype(np.int64)
    groups = -(-channels // config.lanes)
    chosen = rng.integers(0, channels, groups * config.lanes)
    chosen[:channels] = np.arange(channels)
    for group in chosen.reshape(groups, config.lanes):
        yield {name: values[group] for name, values in fields.items()}


def _part(command: Decoded, model: NDArray[np.uint8], address: int, size: int) -> NDArray[np.uint8]:
    if address + size > len(model):
        text = f"reads MODEL byte {address + size - 1}, of {len(model)}"
        raise CommandError(isa.ErrorCode.ADDRESS, command.number, text)
    return np.asarray(model[address : address + size], order="C")


def _unpacked(command: Decoded, records: NDArray[np.uint8]) -> dict[str, NDArray[np.int64]]:
    """Return the fields of records, each of shape (records,)."""
    words = np.array([int.from_bytes(record.tobytes(), "little") for record in records], object)
    if np.any(words >> isa.REQUANTIZE_LAYOUT.size):
        text = "a record's highest bits are set"
        raise CommandError(isa.ErrorCode.ILLEGAL_COMMAND, command.number, text)
    fields = {}
    for name, place in isa.REQUANTIZE_LAYOUT:
        values = (words >> place.offset & ((1 << place.width) - 1)).astype(np.int64)
        if number(place.shape).signed:
            values -= (values >> (place.width - 1)) << place.width
        fields[name] = values
    return fields
