"""Random MATRIX commands: convolutions of all kinds as a compiler makes them, and odder ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eightfold.isa import MATRIX, MIN_LINE, Matrix
from eightfold.isa.shapes import pack
from eightfold.isa.streams import parameter_layout, weight_layout
from eightfold.sim.machine.explain import explain_matrix
from eightfold.sim.machine.matrix import Bank, MatrixRun, group_lanes, window_ages
from eightfold.sim.stimuli.beats import requantize_fields
from eightfold.target.config import AcceleratorConfig

Kinds = Sequence[str]
KINDS: Kinds = ("dense", "dense", "accumulating", "fully_connected", "depthwise", "depthwise")


@dataclass(frozen=True)
class MatrixJob:
    """A command with the weights and parameters that it uses up.

    ``weights``: a buffer for each pass, int8, shape (lanes in it, width). ``parameters``: a bank
    for each group, by the names of `eightfold.isa.REQUANTIZE_LAYOUT`.
    """

    fields: dict[str, int]
    weights: list[NDArray[np.int8]]
    parameters: list[Bank]

    @cached_property
    def matrix(self) -> Matrix:
        """The command."""
        return Matrix(**self.fields)

    def weight_words(self, config: AcceleratorConfig) -> list[int]:
        taps = np.concatenate(self.weights)
        return pack(weight_layout(config), {"taps": taps, "last": _ends(self.weights)})

    def parameter_words(self) -> list[int]:
        if not self.parameters:
            return []
        names = list(self.parameters[0])
        values = {
            f"requantize.{name}": np.concatenate([bank[name] for bank in self.parameters])
            for name in names
        }
        ends = _ends([bank[names[0]] for bank in self.parameters])
        return pack(parameter_layout(), {**values, "last": ends})

    def run(
        self, config: AcceleratorConfig, scratchpad: NDArray[np.int8], sums: NDArray[np.int32]
    ) -> int:
        """Carry the command out on the model; return the number of faults."""
        run = MatrixRun(config, self.matrix, scratchpad, sums)
        return run.run(self.weights, self.parameters)

    def explain(
        self,
        config: AcceleratorConfig,
        scratchpad: NDArray[np.int8],
        sums: NDArray[np.int32],
        address: int,
    ) -> list[str]:
        """Return the arithmetic of the byte that it writes to an address; see `explain_matrix`."""
        constants = (self.weights, self.parameters)
        return explain_matrix(config, self.matrix, scratchpad, *constants, sums, address)


def _ends(parts: Sequence[NDArray]) -> NDArray[np.int64]:
    """Return a mark for the last word of each part."""
    return np.concatenate([np.arange(len(part)) == len(part) - 1 for part in parts]).astype(int)


class MatrixRandom:
    """Draws commands that read the scratchpad's lower half and write parts of the upper one."""

    def __init__(self, config: AcceleratorConfig, rng: np.random.Generator) -> None:
        self.config, self.rng = config, rng
        # Drawn apart, so that the programs of a seed are else the same with and without pairs.
        (self._pairs,) = rng.spawn(1)
        self.low = 0  # nothing below this address is read
        self._target = 0

    def jobs(self, count: int, kinds: Kinds = KINDS) -> list[MatrixJob]:
        """Return ``count`` commands, or one more, whose results do not overlap."""
        self._target = self.config.scratchpad // 2
        jobs = []
        while len(jobs) < count:
            jobs += getattr(self, str(self.rng.choice(list(kinds))))()
        return jobs

    def dense(self) -> list[MatrixJob]:
        return [self._job(self._convolution())]

    def accumulating(self) -> list[MatrixJob]:
        """A convolution in two commands, the sums of the first of which stay in the array."""
        second = self._convolution()
        second["groups"] = 1
        first = second | {"last": 0, "ky": self._up_to(3), "kc": self._up_to(2)}
        return [self._job(first), self._job(second | {"first": 0})]

    def fully_connected(self) -> list[MatrixJob]:
        """A pass for each part of a long vector."""
        kc = self._up_to(5)
        lanes = self.config.lanes
        fields = self._defaults() | {"kc": kc, "groups": self._up_to(4)}
        fields |= {"rows": 1, "columns": kc * self.config.width - self._up_to(3) + 1}
        fields |= {"target_group": lanes, "base": self.low + self._up_to(200)}
        return [self._job(self._placed(fields))]

    def depthwise(self) -> list[MatrixJob]:
        """Windows that slide over an image."""
        shared = group_lanes(self.config, True)
        channels = self._up_to(2 * shared)
        fields = self._image(channels)
        line = max(fields["x"], MIN_LINE)
        if self.rng.random() < 0.2:
            line = int(self.rng.integers(MIN_LINE, self.config.line_depth + 1))
        fields |= {"depthwise": 1, "line": line, "lead": int(self.rng.integers(4)), "kc": 1}
        if self.config.pixel and self._pairs.random() < 0.4:
            fields["pairs"] = 1
        if self.rng.random() < 0.3:  # every window is in the pass
            oldest = int(window_ages(self.config, line, bool(fields["pairs"])).max())
            fields["lead"] = oldest + int(self.rng.integers(2))
        fields |= {"group_step": shared, "groups": -(-channels // shared), "ky": self._up_to(2)}
        fields |= {"last_lanes": (channels - 1) % shared + 1, "target_group": shared}
        fields |= self._fire(fields)
        return [self._job(self._placed(fields))]

    def job(self, fields: dict[str, int]) -> MatrixJob:
        """Draw what a given command needs; fields not given are 0, counts and steps 1."""
        return self._job(self._defaults() | {"last_lanes": 1} | fields)

    def _convolution(self) -> dict[str, int]:
        fields = self._image(self._up_to(2 * self.config.width))
        fields |= {"kc": self._up_to(3), "ky": self._up_to(3), "kx": self._up_to(3)}
        fields |= {"groups": self._up_to(3), "group_step": int(self.rng.choice([0, 0, 5]))}
        if self.rng.random() < 0.3:
            fields |= self._fire(fields)
        return self._placed(fields)

    def _defaults(self) -> dict[str, int]:
        ones = ("groups", "ky", "kx", "kc", "first", "last", "y", "x", "fire_y_step", "fire_x_step")
        fields = {entry.name: 0 for entry in MATRIX.fields} | dict.fromkeys(ones, 1)
        fields["last_lanes"] = self._up_to(self.config.lanes)
        fields["fill"] = int(self.rng.integers(-128, 128))
        return fields

    def _image(self, channels: int) -> dict[str, int]:
        """Return the walk over an image with padding, strides and dilations."""
        height, width, stride, dilation = (self._up_to(n) for n in (6, 7, 2, 2))
        y, x = self._up_to(5), self._up_to(6)
        above, left = (int(self.rng.integers(3)) for _ in range(2))
        pitch = width * channels + int(self.rng.integers(3))  # rows may have gaps
        # Later groups read a little behind the image.
        beyond = self.config.scratchpad // 2 - height * pitch - 4 * self.config.vector
        start = int(self.rng.integers(self.low, beyond))
        return self._defaults() | {
            "y": y,
            "x": x,
            "base": start - above * pitch,
            "ky_step": dilation * pitch,
            "y_step": stride * pitch,
            "column0": -left * channels,
            "kx_step": dilation * channels,
            "x_step": stride * channels,
            "columns": width * channels,
            "row0": -above,
            "rows": height,
            "ky_rows": dilation,
            "y_rows": stride,
        }

    def _fire(self, fields: dict[str, int]) -> dict[str, int]:
        """Return a choice of vectors that fire, at least one."""
        return {
            "fire_y0": int(self.rng.integers(fields["y"])),
            "fire_x0": int(self.rng.integers(fields["x"])),
            "fire_y_step": self._up_to(3),
            "fire_x_step": self._up_to(3),
        }

    def _placed(self, fields: dict[str, int]) -> dict[str, int]:
        """Add a target behind the former ones: results by position, or by channel, or spread."""
        f = fields
        lanes = group_lanes(self.config, bool(fields["depthwise"]))
        height, width = (-(-(f[a] - f[f"fire_{a}0"]) // f[f"fire_{a}_step"]) for a in "yx")
        groups = f["groups"]
        f["last_lanes"] = min(f["last_lanes"], lanes)
        order = self.rng.permutation(3)
        sizes = {"target_group": groups, "target_y": height, "target_x": width}
        step = lanes
        for name in (list(sizes)[i] for i in order):
            f[name] = step
            step = step * sizes[name] + int(self.rng.integers(3))
        f["target"] = self._target + int(self.rng.integers(9))
        self._target = f["target"] + step + lanes
        assert self._target <= self.config.scratchpad
        return fields

    def _job(self, fields: dict[str, int]) -> MatrixJob:
        """Draw the weights and parameters of a command."""
        depthwise = bool(fields["depthwise"])
        lanes = group_lanes(self.config, depthwise)
        width = self.config.width
        passes = fields["ky"] * fields["kx"] * fields["kc"]
        weights = []
        parameters = []
        for group in range(fields["groups"]):
            final = group == fields["groups"] - 1
            words = fields["last_lanes"] if final and self.rng.random() < 0.5 else lanes
            for _ in range(passes):
                taps = self.rng.integers(-128, 128, (words, width), dtype=np.int8)
                if depthwise:
                    taps[:, self._undefined(fields)] = 0
                weights.append(taps)
            if fields["last"]:
                parameters.append(requantize_fields(self.rng, words))
        return MatrixJob(fields, weights, parameters)

    def _undefined(self, fields: dict[str, int]) -> NDArray[np.bool_]:
        """Return the taps that reach back before the pass for the first window that fires."""
        number = fields["lead"] + fields["fire_y0"] * fields["x"] + fields["fire_x0"]
        return window_ages(self.config, fields["line"], bool(fields["pairs"])) > number

    def _up_to(self, limit: int) -> int:
        return int(self.rng.integers(1, limit + 1))
