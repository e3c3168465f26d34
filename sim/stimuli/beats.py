"""Random programs for the MAC array: every kind of pass that the compiler can make, and chaos."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from eightfold.isa import MIN_LINE, REQUANTIZE_LAYOUT
from eightfold.isa.shapes import pack
from eightfold.sim.machine.beats import Program
from eightfold.target.config import AcceleratorConfig

FLAGS = ("depthwise", "fire", "first", "last", "next_weights", "next_parameters")


class ProgramBuilder:
    """Collects passes; weights and parameters are drawn when a beat asks for them.

    ``partial``: probability that a weight buffer or parameter bank is for some of the lanes only; 0
    also means that ``last`` is never set.
    """

    def __init__(
        self, config: AcceleratorConfig, rng: np.random.Generator, partial: float = 0.0
    ) -> None:
        self.config, self.rng, self.partial = config, rng, partial
        self.flags = (*FLAGS, "pairs") if config.pixel else FLAGS
        self._beats: list[dict[str, int]] = []
        self._lengths: dict[str, list[int]] = {"weights": [], "parameters": []}

    def beat(self, **fields: int) -> None:
        """Append an activation beat; flags not given are 0, its bytes are drawn at the end."""
        self._beats.append({"slot": 0, "line": 0, **dict.fromkeys(self.flags, 0), **fields})
        for flag, stream in (("next_weights", "weights"), ("next_parameters", "parameters")):
            if fields.get(flag):
                lanes = self.config.lanes
                partial = self.rng.random() < self.partial
                length = int(self.rng.integers(1, lanes + 1)) if partial else lanes
                self._lengths[stream].append(length)

    def initialize(self) -> None:
        """Write all weights, banks, lines, operands, slots: no result depends on the past."""
        partial, self.partial = self.partial, 0.0
        for index in range(self.config.parameter_banks):
            self.beat(next_weights=int(index == 0), next_parameters=1)
        for _ in range(2 * self.config.line_depth):
            self.beat(depthwise=1)
        for slot in range(self.config.psum_depth):
            self.beat(fire=1, first=1, slot=slot)
        self.partial = partial

    def dense(self, pixels: int, chunks: int, permute: bool = False) -> None:
        """A tile of a convolution: every chunk of K visits every pixel's slot."""
        base = int(self.rng.integers(self.config.psum_depth))
        for chunk in range(chunks):
            order = self.rng.permutation(pixels) if permute else np.arange(pixels)
            for index, pixel in enumerate(order):
                self.beat(
                    fire=1,
                    first=int(chunk == 0),
                    last=int(chunk == chunks - 1),
                    next_weights=int(index == 0),
                    next_parameters=int(chunk == 0 and index == 0),
                    slot=int(base + pixel) % self.config.psum_depth,
                )

    def depthwise(self, rows: int, outputs: int, stride: int) -> None:
        """Windows that slide along a row: fill, then one output every ``stride`` beats."""
        base = int(self.rng.integers(self.config.psum_depth))
        line = self._line()
        pairs = {"pairs": int(self.rng.integers(2))} if self.config.pixel else {}
        for row in range(rows):
            for index in range(self.config.width - 1):
                start = int(index == 0)
                self.beat(
                    depthwise=1,
                    **pairs,
                    line=line,
                    next_weights=start,
                    next_parameters=start * int(row == rows - 1),
                )
            for index in range(outputs * stride):
                self.beat(
                    depthwise=1,
                    **pairs,
                    line=line,
                    fire=int(index % stride == 0),
                    first=int(row == 0),
                    last=int(row == rows - 1),
                    slot=(base + index) % self.config.psum_depth,
                )

    def chaos(self, beats: int) -> None:
        """Beats with random flags on few slots: nothing that a compiler would do."""
        slots = self.rng.integers(self.config.psum_depth, size=3)
        for _ in range(beats):
            likely = [0.3, 0.8, 0.3, 0.4, 0.1, 0.1, 0.5][: len(self.flags)]
            drawn = self.rng.random(len(self.flags)) < likely
            flags = dict(zip(self.flags, drawn.astype(int).tolist(), strict=True))
            self.beat(**flags, slot=int(self.rng.choice(slots)), line=self._line())

    def _line(self) -> int:
        """Return a line that the hardware allows; its depth is 0."""
        depth = self.config.line_depth
        line = int(self.rng.integers(MIN_LINE, depth + 1))
        return int(self.rng.choice([MIN_LINE, line, line, depth])) % depth

    def build(self) -> Program:
        """Draw the data and return the program."""
        width = self.config.width
        rng = self.rng
        beats = {name: np.array([b[name] for b in self._beats]) for name in self._beats[0]}
        weights = sum(self._lengths["weights"])
        parameters = self._lengths["parameters"]
        taps = {"taps": _bytes(rng, (weights, width)), "last": self._last(self._lengths["weights"])}
        fields = requantize_fields(rng, sum(parameters))
        banks = {f"requantize.{name}": values for name, values in fields.items()}
        return Program(
            weights=taps,
            parameters={**banks, "last": self._last(parameters)},
            activations={"bytes": _bytes(rng, (len(self._beats), width)), **beats},
        )

    def _last(self, lengths: list[int]) -> NDArray:
        marks: list[int] = []
        for length in lengths:
            # The last lane needs no mark, and may have one.
            needed = length < self.config.lanes
            mark = needed or (self.partial > 0 and self.rng.random() < 0.5)
            marks += [0] * (length - 1) + [int(mark)]
        return np.array(marks, dtype=np.int64)


def random_program(config: AcceleratorConfig, rng: np.random.Generator, passes: int) -> Program:
    """Return a program of random passes that does not depend on what the array did before."""
    builder = ProgramBuilder(config, rng, partial=0.2)
    builder.initialize()
    for kind in rng.choice(["dense", "fully_connected", "depthwise", "chaos"], passes):
        if kind == "dense":
            pixels = int(rng.integers(1, min(24, config.psum_depth) + 1))
            builder.dense(pixels, int(rng.integers(1, 5)), permute=bool(rng.integers(2)))
        elif kind == "fully_connected":
            builder.dense(1, int(rng.integers(1, 7)))
        elif kind == "depthwise":
            rows, stride = rng.integers(1, 4, size=2).tolist()
            builder.depthwise(rows, int(rng.integers(1, 12)), stride)
        else:
            builder.chaos(int(rng.integers(1, 40)))
    return builder.build()


def requantize_fields(rng: np.random.Generator, count: int) -> dict[str, NDArray]:
    """Return parameters over their full ranges, by field; most keep results within int8."""
    usual = rng.random(count) < 0.7
    single = rng.integers(0, 2, count)
    free_right = rng.integers(0, np.where(single, 63, 32))
    bounds = np.sort(rng.integers(-128, 128, (2, count)), axis=0)
    wide = rng.random(count) < 0.7
    return {
        "bias": np.where(
            usual, rng.integers(-5000, 5000, count), rng.integers(-(1 << 31), 1 << 31, count)
        ),
        "left": np.where(usual, 0, rng.integers(0, 31, count)),
        "multiplier": np.where(
            usual, rng.integers(1 << 30, 1 << 31, count), rng.integers(0, 1 << 31, count)
        ),
        "single": single,
        "right": np.where(usual, rng.integers(6, 11, count) + 31 * single, free_right),
        "rounding": rng.integers(0, 7, count),
        "zero_point": rng.integers(-128, 128, count),
        "low": np.where(wide, -128, bounds[0]),
        "high": np.where(wide, 127, bounds[1]),
    }


def records(fields: Mapping[str, NDArray]) -> bytes:
    """Return parameters as memory has them: a record of 16 bytes each."""
    return b"".join(word.to_bytes(16, "little") for word in pack(REQUANTIZE_LAYOUT, fields))


def _bytes(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray:
    """Return int8 values; every eighth row is of extremes only."""
    values = rng.integers(-128, 128, shape)
    extremes = rng.choice([-128, -1, 0, 127], shape)
    return np.where(rng.random((shape[0], 1)) < 0.125, extremes, values)
