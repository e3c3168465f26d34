"""Random operators that pick elements: SLICE, STRIDED_SLICE, GATHER, and the resizes."""

from collections.abc import Callable

import numpy as np

from eightfold.cases.models.movement import Copy
from eightfold.cases.models.tensors import Case, Random, choose, random_shape

MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def _slice(rng: Random) -> Case:
    model = Copy(rng)
    codes, source = model.source(random_shape(rng, range(1, 8), 4))
    dtype = np.int32 if rng.integers(2) else np.int64
    begin = rng.integers(0, codes.shape)
    size = rng.integers(1, np.array(codes.shape) - begin, endpoint=True)
    asked = np.where(
        (begin + size == codes.shape) & (rng.integers(2, size=size.size) == 0), -1, size
    )
    model.other_pair()
    inputs = [source, model.given(begin.astype(dtype)), model.given(asked.astype(dtype))]
    return model.copy("SLICE", inputs, size.tolist())


def _entry(rng: Random, size: int, shrink: bool, exact: bool) -> tuple[tuple[int, int, int], int]:
    """Return begin, end, stride of a dimension, of at least one element, and their number.

    ``exact``: the end is a position, rather than counted from the end or clamped.
    """
    taken = range(size)
    start = int(rng.integers(size))
    if shrink:
        return (start - size * int(rng.integers(2)), int(rng.integers(-9, 9)), 1), 1
    stride = int(rng.choice([1, 1, 2, 3, -1, -2]))
    if exact and start == 0:
        stride = abs(stride)
    room = size - start if stride > 0 else start + (not exact)
    span = int(rng.integers(1, room, endpoint=True))
    end = start + span if stride > 0 else start - span
    count = len(taken[start : None if end < 0 else end : stride])
    begin = start - size * int(rng.integers(2))
    if exact:
        return (begin, end, stride), count
    if end < 0:
        end = -size - int(rng.integers(1, 4))  # clamped to before the first
    elif end == size:
        end += int(rng.integers(0, 4))
    elif rng.integers(2):
        end -= size
    return (begin, end, stride), count


def _strided_slice(rng: Random) -> Case:
    model = Copy(rng)
    codes, source = model.source(random_shape(rng, (1, 2, 3, 4, 5), 6))
    entries: list[tuple[int, int, int]] = []
    shape: list[int] = []
    masks = dict.fromkeys(MASKS, 0)
    dims = 0
    rank = codes.ndim
    offset = rng.integers(4) == 0
    # The whole stands for dimensions without an entry, at the end or behind an ellipsis.
    given = rank if offset else int(rng.integers(0, rank, endpoint=True))
    ellipsis = (
        int(rng.integers(0, given, endpoint=True)) if rng.integers(2) and not offset else None
    )
    given = min(given, rank - 1) if ellipsis is not None else given
    ellipsis = min(ellipsis, given) if ellipsis is not None else None
    for place in range(given + 1):
        if rng.integers(6) == 0 and dims < rank and not offset:
            masks["new_axis_mask"] |= 1 << len(entries)
            entries.append((int(rng.integers(-3, 3)), 0, 1))
            shape.append(1)
        if place == ellipsis:
            masks["ellipsis_mask"] |= 1 << len(entries)
            entries.append((0, 0, 1))
            shape += codes.shape[dims : dims + rank - given]
            dims += rank - given
        if place == given:
            break
        bit = 1 << len(entries)
        size = codes.shape[dims]
        shrink = rng.integers(5) == 0
        (begin, end, stride), count = _entry(rng, size, bool(shrink), offset)
        if not shrink and not offset and rng.integers(4) == 0:
            masks["begin_mask"] |= bit
            begin = int(rng.integers(-9, 9))
            start = 0 if stride > 0 else size - 1
            stop = len(range(size)) if stride > 0 else -1
            masks["end_mask"] |= bit
            count = len(range(start, stop, stride))
        masks["shrink_axis_mask"] |= bit * int(shrink)
        entries.append((begin, end, stride))
        shape += [] if shrink else [count]
        dims += 1
    shape += codes.shape[dims:]
    if not entries:
        masks["ellipsis_mask"] = 1
        entries = [(0, 0, 1)]
    columns = np.array(entries, np.int32).T
    if offset:  # ends count from begin
        sizes = np.array(codes.shape[: columns.shape[1]])
        columns[1] -= np.where(columns[0] < 0, columns[0] + sizes, columns[0])
    model.other_pair()
    begin, end, strides = (np.asarray(column, order="C") for column in columns)
    # Where ends count from begin, LiteRT ends if they are computed and strides are not.
    ends = model.builder.constant(end) if offset else model.given(end)
    inputs = [source, model.given(begin), ends, model.given(strides)]
    return model.copy("STRIDED_SLICE", inputs, shape, masks | {"offset": bool(offset)})


def _gather(rng: Random) -> Case:
    model = Copy(rng)
    codes, source = model.source(random_shape(rng, (1, 2, 3, 4), 5))
    axis = int(rng.integers(codes.ndim))
    batch = int(rng.integers(axis, endpoint=True)) if rng.integers(2) else 0
    own = random_shape(rng, (0, 1, 2), 4)
    dtype = [np.int16, np.int32, np.int64][rng.integers(3)]
    lead = list(codes.shape[:batch])
    indices = rng.integers(0, codes.shape[axis], [*lead, *own]).astype(dtype)
    shape = [*codes.shape[:axis], *own, *codes.shape[axis + 1 :]]
    options = {"axis": axis - codes.ndim * int(rng.integers(2)), "batch_dims": batch}
    if indices.ndim and batch < indices.ndim and rng.integers(2):
        options["batch_dims"] -= indices.ndim
    model.other_pair()
    return model.copy("GATHER", [source, model.given(indices)], shape, options)


def _resize(operator: str) -> Callable[[Random], Case]:
    def make(rng: Random) -> Case:
        model = Copy(rng)
        codes, source = model.source([choose(rng, 1, 2), *random_shape(rng, (2,), 9), 3])
        # From 55 on a ratio can be one that reads beyond the end.
        size = rng.integers(1, 50, 2, endpoint=True)
        if rng.integers(2):
            size = np.array(codes.shape[1:3]) * rng.integers(1, 5, 2)
        corners, centers = (bool(flag) for flag in rng.integers(2, size=2))
        if operator == "RESIZE_BILINEAR" and corners:
            centers = False
        options = {"align_corners": corners, "half_pixel_centers": centers}
        model.other_pair()
        inputs = [source, model.given(size.astype(np.int32))]
        return model.copy(operator, inputs, [codes.shape[0], *size.tolist(), 3], options)

    return make


INDEXING: dict[str, Callable[[Random], Case]] = {
    "GATHER": _gather,
    "RESIZE_BILINEAR": _resize("RESIZE_BILINEAR"),
    "RESIZE_NEAREST_NEIGHBOR": _resize("RESIZE_NEAREST_NEIGHBOR"),
    "SLICE": _slice,
    "STRIDED_SLICE": _strided_slice,
}
