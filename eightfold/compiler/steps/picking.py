"""Bytes put in another order by the matrix engine: weights are 1 for the byte that a lane gets.

The sum of a lane is that byte alone, q in [-128, 127]. `IDENTITY` makes q * 2^30 / 2^30 = q of it,
in 64 bits without a remainder to round, and clamps to [-128, 127]: all 256 codes stay as they are.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eightfold.compiler.emit.emitter import Emitter
from eightfold.compiler.emit.loops import Loop
from eightfold.compiler.steps.axis import LONGEST
from eightfold.compiler.steps.dense import positions
from eightfold.compiler.steps.elementwise import IDENTITY
from eightfold.isa import Matrix, Space
from eightfold.isa.issued import Interval
from eightfold.target.config import AcceleratorConfig

COMMAND = 50
"""Cycles of a MATRIX beside those of its vectors, about."""


@dataclass(frozen=True)
class Block:
    """Result vectors that take the same lanes from the same windows.

    Lane l of position (i, j) gets byte ``places[l]`` behind where the loops ``y`` and ``x``, of
    (count, source step, target step), have come from ``start``, (source, target). Windows are
    ``pitch`` bytes apart; a lane's byte is among the first ``width`` ones of one of them.
    """

    places: NDArray[np.int64]
    pitch: int
    start: tuple[int, int]
    y: Loop
    x: Loop

    @property
    def windows(self) -> int:
        """Vectors that are read for one that is written."""
        return int(self.places.max()) // self.pitch + 1

    def commands(self, config: AcceleratorConfig) -> Iterator[tuple[range, range]]:
        """Yield the positions of each command: as many as there are partial sums."""
        whole = (range(self.y[0]), range(self.x[0]))
        return positions(whole, LONGEST if self.windows == 1 else config.psum_depth)

    def cycles(self, config: AcceleratorConfig) -> int:
        """Return the cycles of all commands, about; weights take one per lane."""
        sizes = (len(rows) * len(columns) for rows, columns in self.commands(config))
        return sum(COMMAND + self.windows * max(size, config.lanes) for size in sizes)

    def emit(self, emitter: Emitter, source: int, target: int) -> None:
        """Emit all commands; ``source`` and ``target`` are scratchpad addresses."""
        windows, taps = np.divmod(self.places, self.pitch)
        lanes = len(self.places)
        weights = np.zeros((self.windows, lanes, emitter.config.width), dtype=np.int8)
        weights[windows, np.arange(lanes), taps] = 1
        parameters = {name: np.full(lanes, value) for name, value in IDENTITY.items()}
        for rows, columns in self.commands(emitter.config):
            emitter.weights(weights)
            emitter.parameters(parameters)
            begin, into = (
                address + start + rows.start * y + columns.start * x
                for address, start, y, x in zip(
                    (source, target), self.start, self.y[1:], self.x[1:], strict=True
                )
            )
            self._emit(emitter, begin, into, len(rows), len(columns), int(taps.max()) + 1)

    def _emit(self, emitter: Emitter, source: int, target: int, y: int, x: int, reach: int) -> None:
        """Emit y x x positions; of the furthest window ``reach`` bytes are read."""
        adjoining = self.pitch == emitter.config.width
        width = int(self.places.max()) + 1 if adjoining else reach
        columns = (x - 1) * self.x[1] + width
        command = Matrix(
            groups=1,
            last_lanes=len(self.places),
            ky=1 if adjoining else self.windows,
            kx=1,
            kc=self.windows if adjoining else 1,
            y=y,
            x=x,
            base=source,
            ky_step=self.pitch,
            y_step=self.y[1],
            x_step=self.x[1],
            columns=columns,
            rows=1,
            target=target,
            target_y=self.y[2],
            target_x=self.x[2],
            first=True,
            last=True,
        )
        down = (command.ky - 1) * self.pitch
        run = (x - 1) * self.x[2] + len(self.places)
        emitter.matrix(
            command,
            Interval(Space.SCRATCHPAD, source, source + (y - 1) * self.y[1] + down + columns),
            Interval(Space.SCRATCHPAD, target, target + (y - 1) * self.y[2] + run, self.y[2], run),
        )
