"""Sliding windows over NHWC arrays: output sizes, padding, taps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.arrays import Shape
from eightfold.golden.errors import RejectedError, UndefinedError


@dataclass(frozen=True)
class Window:
    """A window's geometry; pairs are (vertical, horizontal).

    Raises `RejectedError` if a stride or dilation is below 1, or the padding has an unknown name.
    Raises `UndefinedError` if the kernel is empty.
    """

    kernel: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    padding: str = "VALID"
    """"SAME", "VALID", or "EXPLICIT": as `around` says. Models have no other than the first two."""

    around: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0))
    """For "EXPLICIT": positions before and after the input, vertical and horizontal."""

    def __post_init__(self) -> None:
        if min(self.kernel) < 1:
            raise UndefinedError(f"kernel {self.kernel} must be at least 1")
        for name in ("stride", "dilation"):
            if min(getattr(self, name)) < 1:
                raise RejectedError(f"{name} {getattr(self, name)} must be at least 1")
        if self.padding not in ("SAME", "VALID", "EXPLICIT"):
            raise RejectedError(f"padding must be SAME or VALID, not {self.padding!r}")

    def extent(self, axis: int) -> int:
        """Return the input positions a window spans: ``(kernel - 1) * dilation + 1``."""
        return (self.kernel[axis] - 1) * self.dilation[axis] + 1

    def output_size(self, axis: int, size: int) -> int:
        """Return the number of windows along ``axis`` (0 vertical, 1 horizontal).

        SAME: ``ceil(size / stride)``; VALID: ``floor((size - extent) / stride) + 1``; EXPLICIT: as
        VALID for a size that includes `around`.
        Raises `UndefinedError` if there is none: an output without elements.
        """
        stride = self.stride[axis]
        extent = self.extent(axis)
        if self.padding == "SAME":
            return -(-size // stride)
        if self.padding == "EXPLICIT":
            size += sum(self.around[axis])
        if size < extent:
            raise UndefinedError(f"a window of {extent} does not fit into {size}")
        return (size - extent) // stride + 1

    def pads(self, axis: int, size: int) -> tuple[int, int]:
        """Return the positions the windows reach beyond the input: before, after.

        The odd one of SAME goes after. EXPLICIT: `around`, which windows need not all reach.
        """
        if self.padding == "EXPLICIT":
            return self.around[axis]
        needed = (self.output_size(axis, size) - 1) * self.stride[axis] + self.extent(axis)
        total = max(0, needed - size)
        return total // 2, total - total // 2

    def output_sizes(self, shape: Shape) -> tuple[int, int]:
        """Return height and width of the result for an input of ``shape`` (n, h, w, c).

        Raises `RejectedError` if the rank is not 4. Raises `UndefinedError` as `output_size`.
        """
        if len(shape) != 4:
            raise RejectedError(f"the input must have rank 4, not {len(shape)}")
        return self.output_size(0, shape[1]), self.output_size(1, shape[2])

    def taps(self, x: NDArray, fill: int) -> NDArray:
        """Return every window's taps, positions outside the input being ``fill``.

        ``x``: shape (n, h, w, c).
        Result: dtype of ``x``, shape (n, oh, ow, c, kh, kw).
        """
        return self.tap_reader(x.shape, x.dtype, fill)(x)

    def tap_reader(self, shape: Shape, dtype: np.dtype, fill: int) -> Callable[[NDArray], NDArray]:
        """Return `taps` for arrays of one shape, converted to ``dtype``."""
        pad = self.padder(shape, dtype, fill)
        counts = self.output_sizes(shape)
        (sh, sw), (dh, dw) = self.stride, self.dilation
        viewed = (shape[0], *counts, shape[3], *self.kernel)

        def read(x: NDArray) -> NDArray:
            padded = np.asarray(pad(x), order="C")
            sn, sy, sx, sc = padded.strides
            strides = (sn, sy * sh, sx * sw, sc, sy * dh, sx * dw)
            # As numpy's as_strided, which takes ten times as long; the bounds are checked here too.
            taps = np.ndarray(viewed, padded.dtype, padded, strides=strides)
            taps.flags.writeable = False  # taps overlap
            return taps

        return read

    def trimmed(self, shape: Shape) -> tuple["Window", list[tuple[int, int]]]:
        """Return the window without the taps that every output has in the padding, and its pads.

        A window may be millions of times as long as the image that it pads.
        """
        kernel: list[int] = []
        pads: list[tuple[int, int]] = []
        for axis, outputs in enumerate(self.output_sizes(shape)):
            size = shape[1 + axis]
            dilation = self.dilation[axis]
            before, _ = self.pads(axis, size)
            reach = (outputs - 1) * self.stride[axis]  # from the first output to the last
            first = -(-max(0, before - reach) // dilation)
            stop = min(self.kernel[axis], -(-(before + size) // dilation))
            kernel.append(stop - first)
            before -= first * dilation
            pads.append((before, max(0, reach + (stop - first - 1) * dilation + 1 - before - size)))
        return replace(self, kernel=(kernel[0], kernel[1])), pads

    def padder(
        self,
        shape: Shape,
        dtype: np.dtype,
        fill: int,
        pads: Sequence[tuple[int, int]] | None = None,
    ) -> Callable[[NDArray], NDArray]:
        """Return what pads arrays of ``shape`` (n, h, w, c), converted to ``dtype``, with ``fill``.

        By ``pads`` if given, else where the windows reach beyond them.
        """
        if len(shape) != 4:
            raise RejectedError(f"the input must have rank 4, not {len(shape)}")
        n, h, w, c = shape
        (top, bottom), (left, right) = pads or [self.pads(axis, shape[1 + axis]) for axis in (0, 1)]
        if top + bottom + left + right == 0:
            return lambda x: x.astype(dtype, copy=False)
        room = (n, top + h + bottom, left + w + right, c)

        def pad(x: NDArray) -> NDArray:
            padded = np.full(room, fill, dtype=dtype)
            padded[:, top : top + h, left : left + w] = x
            return padded

        return pad

    def shifted(self, padded: NDArray, axis: int, outputs: int) -> list[NDArray]:
        """Return, for each tap along one axis, a view of what all windows see there.

        ``padded``: shape (n, h, w, c), padded along ``axis`` (0 vertical, 1 horizontal).
        ``outputs``: number of windows along the axis.
        """
        step = self.stride[axis]
        reach = (outputs - 1) * self.stride[axis] + 1
        starts = range(0, self.extent(axis), self.dilation[axis])
        if axis == 0:
            return [padded[:, start : start + reach : step] for start in starts]
        return [padded[:, :, start : start + reach : step] for start in starts]
