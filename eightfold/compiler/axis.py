"""Kernel geometry along one axis of the input."""

from dataclasses import dataclass

import numpy as np

from golden.windows import Window


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One axis of a convolution; ``before`` is the padding in front of the input."""

    kernel: int
    stride: int = 1
    dilation: int = 1
    before: int = 0
    outputs: int

    @classmethod
    def of(cls, window: Window, axis: int, size: int) -> "Axis":
        """Return axis 0 (vertical) or 1 (horizontal) of ``window`` over ``size`` inputs."""
        return cls(
            kernel=window.kernel[axis],
            stride=window.stride[axis],
            dilation=window.dilation[axis],
            before=window.pads(axis, size)[0],
            outputs=window.output_size(axis, size),
        )

    @property
    def taps(self) -> np.ndarray:
        """Input coordinate of every (output, tap), int64 (outputs, kernel); may lie outside."""
        outputs = np.arange(self.outputs)[:, None] * self.stride - self.before
        return outputs + np.arange(self.kernel)[None, :] * self.dilation
