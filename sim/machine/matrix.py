"""What a MATRIX command does: `eightfold.isa.MATRIX` in numpy, for a whole command at once."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.golden.requantize import requantize
from eightfold.target.config import AcceleratorConfig

Bank = Mapping[str, NDArray]
"""Requantization parameters of one group: the fields of `isa.REQUANTIZE_LAYOUT` by lane."""


def run_matrix(
    config: AcceleratorConfig,
    command_fields: Mapping[str, int],
    scratchpad: NDArray[np.int8],
    weights: Iterator[NDArray[np.int8]],
    parameters: Iterator[Bank],
    sums: NDArray[np.int32],
) -> int:
    """Carry out one command; ``scratchpad`` and ``sums`` are changed in place.

    A group is read completely before its results are written: a command that writes what it
    still reads is outside of the contract. In a depthwise window, what came before the first
    vector of the pass counts as 0; the hardware leaves it open.

    Parameters
    ----------
    config
        Sizes of the engine.
    command_fields
        Fields of `isa.MATRIX`, as its ``encode`` takes them: those not given are 0. A count of 0
        is 2^16.
    scratchpad
        int8, shape (config.scratchpad,).
    weights
        A buffer for each pass: int8, shape (lanes in the buffer, width). Lanes it has no words
        for have weights 0; the hardware leaves them what they had.
    parameters
        A bank for each group of a command with ``last``: int arrays of shape (lanes in the bank,).
    sums
        Partial sums, int32, shape (config.psum_depth, config.lanes). Position p is in slot
        p modulo psum_depth.

    Returns
    -------
    Number of result vectors that were not written since they leave the scratchpad.

    Raises
    ------
    StopIteration
        If there are too few weights or parameters.
    """
    return MatrixRun(config, command_fields, scratchpad, sums).groups(weights, parameters)


def window_ages(config: AcceleratorConfig, line: int) -> NDArray[np.int64]:
    """Return for each tap how many vectors back its byte is, shape (width,).

    Tap ``s * window_columns + j`` of segment s is ``s * line + j`` vectors back; taps beyond the
    last segment continue it.
    """
    tap = np.arange(config.width)
    segment = np.minimum(tap // config.window_columns, config.window_rows - 1)
    return segment * line + tap - segment * config.window_columns


def group_lanes(config: AcceleratorConfig, depthwise: bool) -> int:
    """Return the channels of a full group: a lane without a byte has none of a depthwise one."""
    return min(config.lanes, config.width) if depthwise else config.lanes


class MatrixRun:
    """One command's fields, and what it works on."""

    def __init__(
        self,
        config: AcceleratorConfig,
        fields: Mapping[str, int],
        scratchpad: NDArray[np.int8],
        sums: NDArray[np.int32],
    ) -> None:
        names = {entry.name for entry in (*isa.HEADER, *isa.MATRIX.fields)}
        if unknown := set(fields) - names:
            raise ValueError(f"not fields of MATRIX: {', '.join(sorted(unknown))}")
        self.config, self.scratchpad, self.sums = config, scratchpad, sums
        self.f = dict.fromkeys(names, 0) | {name: int(value) for name, value in fields.items()}
        self.counts = {n: self.f[n] or 1 << 16 for n in ("groups", "ky", "kx", "kc", "y", "x")}
        y, x = self._firing("y"), self._firing("x")
        self.fire = (y[:, None] & x[None, :]).ravel()
        self.outputs = int(y.sum()), int(x.sum())

    def groups(self, weights: Iterator[NDArray[np.int8]], parameters: Iterator[Bank]) -> int:
        """Do all groups, and return the results left out."""
        counts = self.counts
        faults = 0
        passes = list(np.ndindex(counts["ky"], counts["kx"], counts["kc"]))
        for group in range(counts["groups"]):
            bank = next(parameters) if self.f["last"] else None
            results = []
            for number, (ky, kx, kc) in enumerate(passes):
                dots = self._dots(self._vectors(group, ky, kx, kc), self._weights(next(weights)))
                first = bool(self.f["first"]) and number == 0
                last = bool(self.f["last"]) and number == len(passes) - 1
                results.append(self._accumulate(dots, first, last))
            if bank is not None:
                faults += self._write(group, results[-1], bank)
        return faults

    def _firing(self, axis: str) -> NDArray[np.bool_]:
        ahead = np.arange(self.counts[axis]) - self.f[f"fire_{axis}0"]
        return (ahead >= 0) & (ahead % max(1, self.f[f"fire_{axis}_step"]) == 0)

    def _vectors(self, group: int, ky: int, kx: int, kc: int) -> NDArray[np.int8]:
        """Return a pass's vectors in order without the lead, shape (y * x, width)."""
        f = self.f
        width = self.config.width
        y, x = np.arange(self.counts["y"])[:, None, None], np.arange(self.counts["x"])[:, None]
        row = group * f["group_step"] + ky * f["ky_step"] + y * f["y_step"]
        column = _wrap(f["column0"] + kx * f["kx_step"] + kc * width + x * f["x_step"])
        number = _wrap(f["row0"] + ky * f["ky_rows"] + y * f["y_rows"])
        column = column + np.arange(width)
        inside = (column >= 0) & (column < f["columns"]) & (number >= 0) & (number < f["rows"])
        data = self.scratchpad[(f["base"] + row + column) % self.config.scratchpad]
        return np.where(inside, data, np.int8(f["fill"])).reshape(-1, width)

    def _weights(self, words: NDArray[np.int8]) -> NDArray[np.float64]:
        """Return all lanes' weights, shape (lanes, width); float64 holds any dot product."""
        full = np.zeros((self.config.lanes, self.config.width))
        full[: len(words)] = words
        return full

    def _dots(self, vectors: NDArray[np.int8], weights: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the dot products of the firing vectors, shape (positions, lanes)."""
        if not self.f["depthwise"]:
            return (vectors[self.fire] @ weights.T).astype(np.int64)
        shared = min(self.config.lanes, self.config.width)
        ages = window_ages(self.config, self.f["line"])
        before = np.zeros((ages.max(), shared), np.int8)
        lead = np.full((self.f["lead"], shared), self.f["fill"], np.int8)
        stream = np.concatenate([before, lead, vectors[:, :shared]])
        newest = len(before) + len(lead) + np.flatnonzero(self.fire)
        dots = np.zeros((len(newest), self.config.lanes), np.int64)
        for tap, age in enumerate(ages):
            taps = weights[:shared, tap].astype(np.int64)
            dots[:, :shared] += stream[newest - age] * taps
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
        f = self.f
        final = group == self.counts["groups"] - 1
        lanes = f["last_lanes"] if final else group_lanes(self.config, bool(f["depthwise"]))
        oy, ox = (np.arange(count) for count in self.outputs)
        target = f["target"] + group * f["target_group"]
        target = _wrap((target + oy[:, None] * f["target_y"] + ox * f["target_x"]).ravel())
        return target, lanes

    def _write(self, group: int, acc: NDArray[np.int32], bank: Bank) -> int:
        target, lanes = self.targets(group)
        results = requantize(acc[:, :lanes], **{name: v[:lanes] for name, v in bank.items()})
        inside = (target >= 0) & (target + lanes <= self.config.scratchpad)
        addresses = target[inside, None] + np.arange(lanes)
        self.scratchpad[addresses] = results[inside]
        return int((~inside).sum())


def _wrap(value: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the low `isa.LOCAL_BITS` bits as a signed number."""
    half = 1 << (isa.LOCAL_BITS - 1)
    return (value + half) % (2 * half) - half
