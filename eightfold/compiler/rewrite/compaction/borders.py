"""At which outputs a window has which of its taps inside the image."""

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.windows import Window

MOST = 1 << 20
"""Taps of all outputs along an axis that are looked at; beyond, nothing is known."""


def patterns(window: Window, axis: int, size: int) -> NDArray[np.bool_] | None:
    """Return which taps of a window along an axis lie inside, for each way that there is.

    bool, shape (ways, kernel): output o has tap k inside if
    ``0 <= o * stride - before + k * dilation < size``. None if there are more than `MOST` taps.
    """
    outputs, kernel = window.output_size(axis, size), window.kernel[axis]
    if outputs * kernel > MOST:
        return None
    starts = np.arange(outputs) * window.stride[axis] - window.pads(axis, size)[0]
    taps = starts[:, None] + np.arange(kernel) * window.dilation[axis]
    return np.unique((taps >= 0) & (taps < size), axis=0)
