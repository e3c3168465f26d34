"""What the MAC array must answer: the contract of its streams in numpy, beat by beat."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.golden.requantize import requantize
from eightfold.isa import streams
from eightfold.isa.shapes import Layout, pack
from eightfold.target.config import AcceleratorConfig

Fields = Mapping[str, NDArray]
"""The fields of a stream's words, as `eightfold.isa.shapes.pack` takes them, one row per word."""


@dataclass(frozen=True)
class Program:
    """Words of the three streams that feed a MAC array, by field."""

    weights: Fields
    parameters: Fields
    activations: Fields

    def packed(self, config: AcceleratorConfig) -> dict[str, list[int]]:
        """Return the words of each stream as integers."""
        layouts: dict[str, tuple[Layout, Fields]] = {
            "weights": (streams.weight_layout(config), self.weights),
            "parameters": (streams.parameter_layout(), self.parameters),
            "activations": (streams.activation_layout(config), self.activations),
        }
        return {
            name: pack(layout, fields) if len(fields["last"]) else []
            for name, (layout, fields) in layouts.items()
        }


def buffers(last: NDArray, lanes: int) -> list[slice]:
    """Return which words fill each buffer: up to ``last``, or one per lane."""
    ends = []
    start = 0
    for index, is_last in enumerate(last):
        if is_last or index - start == lanes - 1:
            ends.append(slice(start, index + 1))
            start = index + 1
    return ends


def results(config: AcceleratorConfig, program: Program) -> NDArray[np.int8]:
    """Return the result vectors that a MAC array in its initial state sends for a program.

    Every activation beat takes effect in this order: with ``next_weights`` the next buffer of the
    weight stream replaces the weights of the lanes it has words for; with ``next_parameters`` the
    next bank of the ring becomes current; the operands of lane l become the bytes, or with
    ``depthwise`` move up by one tap, and byte l of a vector enters at the first of each segment of
    ``window_columns`` taps (0 in lanes from ``width`` on): segment 0 takes this beat's vector, and
    each other one what the segment before it took ``line`` depthwise beats ago, 0 if there were
    fewer. With ``pairs`` the byte of the vector's other pixel, half of the lanes away, enters in
    the middle of each segment. With ``fire``, each lane's dot product is added, wrapping to int32,
    to the sum in ``slot``, or to 0 with ``first``; the sum goes back to ``slot``, or with ``last``
    through the requantizer to the results. Lanes without words in a bank keep what was in that bank
    of the ring before. Returns int8, shape (beats with fire and last, lanes). Raises IndexError if
    the beats ask for more weights or parameters than there are.
    """
    model = ArrayModel(config, program)
    for index in range(len(program.activations["fire"])):
        model.beat(index)
    if not model.sums:
        return np.zeros((0, config.lanes), np.int8)
    fields = {name: np.array([p[name] for p in model.used]) for name in model.used[0]}
    return requantize(np.array(model.sums), **fields)


class ArrayModel:
    """The array's state between two beats.

    ``sums``, ``used``: of each result vector so far, the lanes' accumulators and parameters of
    requantization.
    """

    def __init__(self, config: AcceleratorConfig, program: Program) -> None:
        self.config, self.program = config, program
        lanes, width = config.lanes, config.width
        self.weights = np.zeros((lanes, width), np.int64)
        self.operands = np.zeros((lanes, width), np.int64)
        before = [np.zeros(width, np.int64)] * config.line_depth
        self.entered = [[*before] for _ in range(config.window_rows)]
        self.psums = np.zeros((config.psum_depth, lanes), np.int32)
        names = [name for name, _ in isa.REQUANTIZE_LAYOUT]
        self.banks = {name: np.zeros((config.matrix_banks, lanes), np.int64) for name in names}
        self.bank = config.matrix_banks - 1
        self.next_weights = iter(buffers(program.weights["last"], lanes))
        self.next_parameters = iter(buffers(program.parameters["last"], lanes))
        self.sums: list[NDArray] = []
        self.used: list[dict[str, NDArray]] = []

    def beat(self, index: int) -> None:
        """Do what one activation beat says."""
        beat = {name: values[index] for name, values in self.program.activations.items()}
        if beat["next_weights"]:
            words = _take(self.next_weights, "weights")
            taps = self.program.weights["taps"][words]
            self.weights[: len(taps)] = taps
        if beat["next_parameters"]:
            self._advance_bank()
        self._move(beat)
        if beat["fire"]:
            self._accumulate(beat)

    def _advance_bank(self) -> None:
        words = _take(self.next_parameters, "parameters")
        self.bank = (self.bank + 1) % self.config.matrix_banks
        for name, bank in self.banks.items():
            values = self.program.parameters[f"requantize.{name}"][words]
            bank[self.bank, : len(values)] = values

    def _move(self, beat: Fields) -> None:
        if not beat["depthwise"]:
            self.operands[:] = beat["bytes"]
            return
        self.operands[:, 1:] = self.operands[:, :-1].copy()
        shared = min(self.config.lanes, self.config.width)
        line = int(beat["line"]) or self.config.line_depth
        vector = beat["bytes"]
        for segment, entered in enumerate(self.entered):
            tap = segment * self.config.window_columns
            self.operands[:, tap] = 0
            self.operands[:shared, tap] = vector[:shared]
            if beat.get("pairs"):
                middle = tap + self.config.window_columns // 2
                self.operands[:, middle] = 0
                self.operands[:shared, middle] = np.roll(vector[:shared], self.config.pixel)
            entered.append(vector)
            vector = entered[-1 - line]

    def _accumulate(self, beat: Fields) -> None:
        total = (self.operands * self.weights).sum(axis=1)
        if not beat["first"]:
            total += self.psums[beat["slot"]]
        acc = total.astype(np.int32)  # wraps
        if beat["last"]:
            self.sums.append(acc)
            self.used.append({name: bank[self.bank].copy() for name, bank in self.banks.items()})
        else:
            self.psums[beat["slot"]] = acc


def _take(ready, stream: str) -> slice:
    words = next(ready, None)
    if words is None:
        raise IndexError(f"a beat asks for {stream} that the program does not have")
    return words
