"""Copies between blocks of pixels and channels or batches."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.arrays import Codes, Shape
from eightfold.golden.errors import RejectedError, shortened
from eightfold.golden.quantization import Quantization, Reference, check_same


def space_to_depth(x: NDArray, block_size: int) -> NDArray:
    """Return SPACE_TO_DEPTH: ``out[n, y, x, (dy*B + dx)*C + c] = in[n, y*B + dy, x*B + dx, c]``.

    Equals LiteRT and TFLite Micro; scales and zero points have no effect.
    Raises `RejectedError` if the rank is not 4, or the block does not divide height and width.
    """
    n, h, w, c = _four(x, block_size)
    if h % block_size or w % block_size:
        raise RejectedError(f"blocks of {block_size} do not divide {h} x {w}")
    rows, columns = h // block_size, w // block_size
    blocks = x.reshape(n, rows, block_size, columns, block_size, c)
    return blocks.transpose(0, 1, 3, 2, 4, 5).reshape(n, rows, columns, c * block_size**2)


def depth_to_space(x: NDArray, block_size: int) -> NDArray:
    """Return DEPTH_TO_SPACE, the inverse of `space_to_depth`.

    Raises `RejectedError` if the rank is not 4, or the block's pixels do not divide the channels.
    """
    n, h, w, c = _four(x, block_size)
    if c % block_size**2:
        raise RejectedError(f"{c} channels are no multiple of {block_size}^2")
    blocks = x.reshape(n, h, w, block_size, block_size, c // block_size**2)
    pixels = blocks.transpose(0, 1, 3, 2, 4, 5)
    return pixels.reshape(n, h * block_size, w * block_size, c // block_size**2)


def _four(x: NDArray, block_size: int) -> tuple[int, int, int, int]:
    if x.ndim != 4 or block_size < 1:
        raise RejectedError(f"rank must be 4, not {x.ndim}; block at least 1, not {block_size}")
    n, h, w, c = x.shape
    return n, h, w, c


def space_to_batch_nd(
    x: Codes,
    block: Sequence[int],
    paddings: NDArray[np.integer],
    *,
    input_quantization: Quantization,
    output_quantization: Quantization,
    reference: Reference = "litert",
) -> Codes:
    """Return SPACE_TO_BATCH_ND, after padding with the zero point, or (``tflm``) with the code 0.

    ``out[(dy*Bw + dx)*N + n, y, x, c] = in[n, y*Bh + dy, x*Bw + dx, c]``. A negative padding crops.
    TFLite Micro never sets the code that it pads with: it is what its arena held before, and so 0
    in an arena that was all zeros.
    Raises `RejectedError` if the rank is not 3 or 4, scale or zero point of input and output
    differ, numbers do not fit, or a block does not divide the padded size.

    ``x``: shape (n, h, w, c) or (n, h, c).
    ``block``: one size per spatial dimension.
    ``paddings``: shape (spatial dimensions, 2): before, after.
    """
    check_same("SPACE_TO_BATCH_ND", input_quantization, output_quantization)
    space_to_batch_shape(x.shape, block, paddings)
    fill = 0 if reference == "tflm" else output_quantization.per_tensor()[1]
    grown = np.maximum(paddings, 0).tolist()
    padded = np.pad(x, [(0, 0), *grown, (0, 0)], constant_values=fill)
    padded = _cropped(padded, -np.minimum(paddings, 0))
    for axis, size in reversed([*enumerate(block, start=1)]):
        # The last dimension's phase varies fastest, just above the old batch.
        n = padded.shape[0]
        whole = padded.shape
        rows = padded.reshape(*whole[:axis], whole[axis] // size, size, *whole[axis + 1 :])
        phases = np.moveaxis(rows, axis + 1, 0)
        padded = phases.reshape(size * n, *phases.shape[2:])
    return padded


def space_to_batch_shape(
    shape: Shape, block: Sequence[int], paddings: NDArray[np.integer]
) -> Shape:
    """Return the shape of the result of `space_to_batch_nd`; raises as it about shapes."""
    _check_numbers(shape, block, paddings)
    sizes = []
    for size, length, (before, after) in zip(block, shape[1:-1], paddings.tolist(), strict=True):
        left = before + length + after
        if left < 0 or left % size:
            raise RejectedError(f"blocks of {size} do not divide {left}")
        sizes.append(left // size)
    return (shape[0] * math.prod(block), *sizes, shape[-1])


def batch_to_space_nd(
    x: Codes,
    block: Sequence[int],
    crops: NDArray[np.integer],
    *,
    input_quantization: Quantization,
    output_quantization: Quantization,
) -> Codes:
    """Return BATCH_TO_SPACE_ND: the inverse of `space_to_batch_nd`, cropped afterwards.

    Equals LiteRT and TFLite Micro. Parameters as `space_to_batch_nd`.
    Raises `RejectedError` if the rank is not 3 or 4, scale or zero point of input and output
    differ, numbers do not fit, the blocks do not divide the batch, or a crop is negative or too
    large.
    """
    check_same("BATCH_TO_SPACE_ND", input_quantization, output_quantization)
    batch_to_space_shape(x.shape, block, crops)
    batches = x
    for axis, size in enumerate(block, start=1):
        n = batches.shape[0] // size
        whole = batches.shape
        rows = np.moveaxis(batches.reshape(size, n, *whole[1:]), 0, axis + 1)
        batches = rows.reshape(n, *whole[1:axis], whole[axis] * size, *whole[axis + 1 :])
    return _cropped(batches, crops)


def batch_to_space_shape(shape: Shape, block: Sequence[int], crops: NDArray[np.integer]) -> Shape:
    """Return the shape of the result of `batch_to_space_nd`; raises as it about shapes."""
    _check_numbers(shape, block, crops)
    if np.any(crops < 0):
        raise RejectedError("crops must not be negative")
    if shape[0] % math.prod(block):
        raise RejectedError(f"blocks of {shortened(block)} do not divide {shape[0]} batches")
    sizes = []
    for size, length, (before, after) in zip(block, shape[1:-1], crops.tolist(), strict=True):
        if before + after > length * size:
            raise RejectedError(f"crops {[before, after]} of {length * size}")
        sizes.append(length * size - before - after)
    return (shape[0] // math.prod(block), *sizes, shape[-1])


def _check_numbers(shape: Shape, block: Sequence[int], margins: NDArray[np.integer]) -> None:
    rank = len(shape)
    if rank not in (3, 4):
        raise RejectedError(f"the input must have rank 3 or 4, not {rank}")
    if len(block) != rank - 2 or margins.shape != (rank - 2, 2) or min(block) < 1:
        raise RejectedError(f"{rank - 2} blocks from 1 and as many pairs are needed")


def _cropped(x: NDArray, crops: NDArray[np.integer]) -> NDArray:
    kept = [
        slice(before, size - after)
        for size, (before, after) in zip(x.shape[1:-1], crops.tolist(), strict=True)
    ]
    return x[:, *kept]
