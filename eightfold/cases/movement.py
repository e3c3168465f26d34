"""Operators that copy codes into another shape, join or take tensors apart."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from eightfold.cases import draws
from eightfold.cases.builder import Value


class CopyModel(draws.SingleOperator):
    """An operator whose output has the input's scale and zero point, mostly."""

    def __init__(self, rng: draws.Random) -> None:
        super().__init__(rng)
        self.pair = self.scale(), draws.random_zero_point(rng)

    def source(self, shape: list[int]) -> tuple[np.ndarray, int]:
        """Add an input of a shape; return its codes and index."""
        codes = draws.random_codes(self.rng, shape)
        return codes, self.operand(codes, *self.pair)

    def other_pair(self) -> None:
        """In a quarter of the models, another scale and zero point: accepted, not rescaled."""
        if draws.beyond(self.rng, 4):
            self.pair = self.scale(), draws.random_zero_point(self.rng)

    def copy(
        self, operator: str, inputs: Sequence[int], options: Mapping[str, Any] | None = None
    ) -> draws.Case:
        """Add the operator, and return the model and its inputs."""
        return self.finish(operator, inputs, self.pair, options)


def _copied(
    operator: str,
    operand: Callable[[draws.Random, Sequence[int]], np.ndarray],
    ranks: Sequence[int] = (1, 2, 3, 4, 5),
    limit: int = 4,
) -> Callable[[draws.Random], draws.Case]:
    """Return a maker of copies that a second operand rules, which is drawn for the shape."""

    def make(rng: draws.Random) -> draws.Case:
        model = CopyModel(rng)
        codes, source = model.source(draws.random_shape(rng, ranks, limit))
        second = operand(rng, codes.shape)
        model.other_pair()
        return model.copy(operator, [source, model.given(second)])

    return make


def _paddings(rng: draws.Random, shape: Sequence[int]) -> np.ndarray:
    return rng.integers(0, 3, (len(shape), 2), endpoint=True).astype(draws.index_dtype(rng))


def _padv2(rng: draws.Random) -> draws.Case:
    model = CopyModel(rng)
    codes, source = model.source(draws.random_shape(rng, (1, 2, 3, 4, 5), 4))
    paddings = _paddings(rng, codes.shape)
    model.other_pair()
    value = draws.random_codes(rng, [(), (1,)][rng.integers(2)])
    fill = model.coded(value, *model.pair, bool(rng.integers(2)))
    return model.copy("PADV2", [source, model.given(paddings), fill])


def _mirror_pad(rng: draws.Random) -> draws.Case:
    model = CopyModel(rng)
    codes, source = model.source(draws.random_shape(rng, (1, 2, 3, 4, 5), 4))
    mode = ("REFLECT", "SYMMETRIC")[rng.integers(2)]
    most = np.array(codes.shape)[:, None] - (mode == "REFLECT")
    paddings = rng.integers(0, most, (codes.ndim, 2), endpoint=True).astype(draws.index_dtype(rng))
    if rng.integers(2):  # often none along some axes
        paddings[rng.integers(2, size=codes.ndim) == 0] = 0
    return model.copy("MIRROR_PAD", [source, model.given(paddings)], {"mode": mode})


def _multiples(rng: draws.Random, shape: Sequence[int]) -> np.ndarray:
    return rng.integers(1, 3, len(shape), endpoint=True).astype(draws.index_dtype(rng))


def _broadcast_to(rng: draws.Random) -> draws.Case:
    model = CopyModel(rng)
    sizes = np.array(draws.random_shape(rng, (1, 2, 3, 4, 5), 4))
    own = np.where(rng.integers(2, size=sizes.size), sizes, 1)[rng.integers(sizes.size + 1) :]
    _, source = model.source(own.tolist())
    model.other_pair()
    return model.copy("BROADCAST_TO", [source, model.given(sizes.astype(draws.index_dtype(rng)))])


def _neighbours(rng: draws.Random, shape: Sequence[int]) -> np.ndarray:
    """Return axes that lie next to each other."""
    first, last = np.sort(rng.integers(0, len(shape), 2))
    axes = rng.permutation(np.arange(first, last + 1))
    return (axes - len(shape) * rng.integers(0, 2, axes.size)).astype(np.int32)


def _reshape(rng: draws.Random) -> draws.Case:
    model = CopyModel(rng)
    codes, source = model.source(draws.random_shape(rng, (1, 2, 3, 4, 5)))
    first = draws.choose(rng, *(n for n in range(1, codes.size + 1) if codes.size % n == 0))
    shape = [first, codes.size // first, *([1] if rng.integers(2) else [])]
    asked = list(shape)
    if rng.integers(2):
        asked[rng.integers(2)] = -1
    if rng.integers(2):
        return model.copy("RESHAPE", [source, model.given(np.array(asked, np.int32))])
    return model.copy("RESHAPE", [source], {"new_shape": asked})


def _squeeze(rng: draws.Random) -> draws.Case:
    model = CopyModel(rng)
    shape = [1 if rng.integers(2) else size for size in draws.random_shape(rng, range(1, 9), 3)]
    _, source = model.source(shape)
    chosen = [d for d, size in enumerate(shape) if size == 1 and rng.integers(2)]
    model.other_pair()
    dims = [d - len(shape) * int(rng.integers(2)) for d in chosen]
    return model.copy("SQUEEZE", [source], {"squeeze_dims": dims})


def _expand_dims(rng: draws.Random) -> draws.Case:
    model = CopyModel(rng)
    codes, source = model.source(draws.random_shape(rng, (1, 2, 3, 4, 5)))
    axis = int(rng.integers(-codes.ndim - 1, codes.ndim, endpoint=True))
    given = np.array(axis, draws.index_dtype(rng)).reshape([(), (1,)][rng.integers(2)])
    return model.copy("EXPAND_DIMS", [source, model.given(given)])


def _permutation(rng: draws.Random, shape: Sequence[int]) -> np.ndarray:
    rank = len(shape)
    return (rng.permutation(rank) - rank * rng.integers(0, 2, rank)).astype(np.int32)


def _shape(rng: draws.Random) -> draws.Case:
    model = CopyModel(rng)
    _, source = model.source(draws.random_shape(rng, range(1, 9), 3))
    options = {"out_type": np.dtype(draws.index_dtype(rng)).name.upper()}
    return model.finish("SHAPE", [source], options=options)


def _concatenation(rng: draws.Random) -> draws.Case:
    model = CopyModel(rng)
    shape = draws.random_shape(rng, (1, 2, 3, 4, 5, 6), 4)
    axis = int(rng.integers(len(shape)))
    inputs = []
    for _ in range(rng.integers(1, 5)):
        shape[axis] = int(rng.integers(1, 5))
        constant = bool(inputs) and draws.is_constant(rng, mostly=False)
        inputs.append(model.coded(draws.random_codes(rng, shape), *model.pair, constant))
    return model.copy("CONCATENATION", inputs, {"axis": axis - len(shape) * int(rng.integers(2))})


def _pack(rng: draws.Random) -> draws.Case:
    model = CopyModel(rng)
    shape = draws.random_shape(rng, (0, 1, 2, 3, 4), 5)
    count = int(rng.integers(1, 5))
    inputs = [model.source(shape)[1] for _ in range(count)]
    axis = int(rng.integers(len(shape) + 1))
    signed = axis - (len(shape) + 1) * int(rng.integers(2))
    return model.copy("PACK", inputs, {"values_count": count, "axis": signed})


def _unpack(rng: draws.Random) -> draws.Case:
    model = CopyModel(rng)
    codes, source = model.source(draws.random_shape(rng, (1, 2, 3, 4), 5))
    axis = int(rng.integers(codes.ndim))
    options = {"num": codes.shape[axis], "axis": axis - codes.ndim * int(rng.integers(2))}
    return model.copy("UNPACK", [source], options)


def _split(rng: draws.Random) -> draws.Case:
    model = CopyModel(rng)
    shape = draws.random_shape(rng, (1, 2, 3, 4, 5), 4)
    axis = int(rng.integers(len(shape)))
    count = int(rng.integers(1, 5))
    whole = [*shape[:axis], shape[axis] * count, *shape[axis + 1 :]]
    _, source = model.source(whole)
    given = np.array(axis - len(shape) * int(rng.integers(2)), np.int32)
    inputs = [model.given(given.reshape([(), (1,)][rng.integers(2)])), source]
    model.other_pair()
    return model.copy("SPLIT", inputs, {"num_splits": count})


def _split_v(rng: draws.Random) -> draws.Case:
    model = CopyModel(rng)
    sizes = rng.integers(1, 5, rng.integers(1, 5)).astype(draws.index_dtype(rng))
    shape = draws.random_shape(rng, (1, 2, 3, 4, 5), 4)
    axis = int(rng.integers(len(shape)))
    shape[axis] = int(sizes.sum())
    _, source = model.source(shape)
    if rng.integers(2):
        sizes[rng.integers(len(sizes))] = -1
    given = np.array(axis - len(shape) * int(rng.integers(2)), np.int32)
    given = given.reshape([(), (1,)][rng.integers(2)])
    model.other_pair()
    inputs = [source, model.given(sizes), model.given(given)]
    return model.copy("SPLIT_V", inputs, {"num_splits": len(sizes)})


def _blocks(operator: str, rng: draws.Random) -> draws.Case:
    model = CopyModel(rng)
    n, h, w, c = draws.random_shape(rng, (4,), 4)
    block = draws.choose(rng, 1, 2, 2, 3)
    pixels = operator == "SPACE_TO_DEPTH"
    shape = [n, h * block, w * block, c] if pixels else [n, h, w, c * block**2]
    _, source = model.source(shape)
    model.other_pair()
    return model.copy(operator, [source], {"block_size": block})


def _batches(operator: str, rng: draws.Random) -> draws.Case:
    model = CopyModel(rng)
    n, c = draws.choose(rng, 1, 2, 3), draws.choose(rng, 1, 2, 3)
    spatial = int(rng.integers(1, 3))
    block, small = rng.integers(1, 4, spatial), rng.integers(1, 4, spatial)
    whole = block * small
    if operator == "SPACE_TO_BATCH_ND":
        margins = rng.integers(-1 if rng.integers(4) == 0 else 0, 3, (spatial, 2))
        sizes = whole - margins.sum(axis=1)
        margins[:, 1] -= np.where(sizes < 1, 1 - sizes, 0)
        _, source = model.source([n, *np.maximum(sizes, 1).tolist(), c])
    else:
        before = rng.integers(0, whole)
        margins = np.stack([before, rng.integers(0, whole - before)], axis=1)
        _, source = model.source([n * int(block.prod()), *small.tolist(), c])
    inputs = [source, model.given(block.astype(np.int32)), model.given(margins.astype(np.int32))]
    return model.copy(operator, inputs)


_OPEN = frozenset({"SHAPE", "STRIDED_SLICE", "PACK"})
"""Operators of a RESHAPE whose batch is open."""


def _extend_reshape(net: draws.GrowingNetwork) -> None:
    x = net.pick(draws.any_rank)
    if x.shape and net.operators >= _OPEN and net.rng.integers(2):
        _reshape_open(net, x)
        return
    size = prod(x.shape)
    first = draws.choose(net.rng, *(n for n in range(1, size + 1) if size % n == 0))
    second = draws.choose(net.rng, *(n for n in range(1, 9) if (size // first) % n == 0))
    third = draws.choose(net.rng, *(n for n in range(1, 9) if (size // first // second) % n == 0))
    four = [1, second, third, size // second // third]
    ranks = [four, [first, size // first], [first, second, size // first // second]]
    # Away from rank 4 half the time, back to it otherwise: most operators need it.
    shape = ranks[net.rng.integers(1, 3)] if len(x.shape) == 4 else four
    asked = list(shape)
    if net.rng.integers(2):
        asked[net.rng.integers(len(asked))] = -1
    if net.rng.integers(2):
        net.add("RESHAPE", [x, net.integers(asked)], net.kept(x))
    else:
        net.add("RESHAPE", [x], net.kept(x), {"new_shape": asked})


def _reshape_open(net: draws.GrowingNetwork, x: Value) -> None:
    """Add what Keras writes for Flatten of an open batch: one size is read, a scalar."""
    axis = int(net.rng.integers(len(x.shape)))
    size = x.shape[axis]
    rest = prod(x.shape) // size
    first = draws.choose(net.rng, *(n for n in range(1, rest + 1) if rest % n == 0))
    others = [rest] if net.rng.integers(2) else [first, rest // first]
    sizes = net.add("SHAPE", [x], options={"out_type": "INT32"})
    bounds = [net.integers([entry]) for entry in (axis, axis + 1, 1)]
    read = net.add("STRIDED_SLICE", [sizes, *bounds], options={"shrink_axis_mask": 1})
    parts = [read, *(net.integers(other) for other in others)]
    packed = net.add("PACK", parts, options={"values_count": len(parts), "axis": 0})
    net.assume(packed.index, np.array([size, *others]))
    net.add("RESHAPE", [x, packed], net.kept(x))


def _extend_pad(name: str, net: draws.GrowingNetwork) -> None:
    x = net.pick(lambda value: 1 <= len(value.shape) <= 5)
    inputs = [x, net.integers(net.rng.integers(0, 2, (len(x.shape), 2), endpoint=True))]
    scale, zero_point = net.kept(x)
    if name == "PADV2":
        fill = draws.random_codes(net.rng, [])
        inputs.append(net.constant(fill, scale=scale, zero_point=zero_point))
    net.add(name, inputs, (scale, zero_point))


def _extend_mirror_pad(net: draws.GrowingNetwork) -> None:
    x = net.pick(lambda value: 1 <= len(value.shape) <= 5)
    mode = ("REFLECT", "SYMMETRIC")[net.rng.integers(2)]
    room = [[min(size - (mode == "REFLECT"), 1)] for size in x.shape]
    amounts = net.integers(net.rng.integers(0, room, (len(x.shape), 2), endpoint=True))
    net.add("MIRROR_PAD", [x, amounts], x, {"mode": mode})


def _extend_tile(net: draws.GrowingNetwork) -> None:
    x = net.pick()
    multiples = np.ones(len(x.shape), np.int64)
    multiples[net.rng.integers(len(x.shape))] = net.rng.integers(1, 3, endpoint=True)
    net.add("TILE", [x, net.integers(multiples)], net.kept(x))


def _extend_broadcast_to(net: draws.GrowingNetwork) -> None:
    x = net.pick(lambda value: len(value.shape) < 5)
    sizes = [draws.choose(net.rng, 1, 2, 4) if size == 1 else size for size in x.shape]
    if net.rng.integers(4) == 0:
        sizes.insert(0, int(net.rng.integers(1, 3)))
    net.add("BROADCAST_TO", [x, net.integers(sizes)], net.kept(x))


def _extend_reverse_v2(net: draws.GrowingNetwork) -> None:
    x = net.pick()
    first, last = np.sort(net.rng.integers(0, len(x.shape), 2))
    net.add("REVERSE_V2", [x, net.integers(np.arange(first, last + 1))], net.kept(x))


def _extend_concatenation(net: draws.GrowingNetwork) -> None:
    a = net.pick()
    axis = int(net.rng.integers(len(a.shape)))

    def others(value: Value) -> tuple[int, ...]:
        return (len(value.shape), *value.shape[:axis], *value.shape[axis + 1 :])

    parts = [
        net.pick(lambda value: others(value) == others(a))
        for _ in range(draws.choose(net.rng, 1, 2))
    ]
    inputs = [a, *(net.equalized(part, a) for part in parts)]  # the kernel does not rescale
    signed = axis - len(a.shape) * int(net.rng.integers(2))
    net.add("CONCATENATION", inputs, a, {"axis": signed})


def _extend_transpose(net: draws.GrowingNetwork) -> None:
    x = net.pick()
    order = net.rng.permutation(len(x.shape)).tolist()
    net.add("TRANSPOSE", [x, net.integers(order)], net.kept(x))


def _extend_squeeze(net: draws.GrowingNetwork) -> None:
    x = net.pick(lambda value: 1 in value.shape)
    ones = [axis for axis, size in enumerate(x.shape) if size == 1]
    count = net.rng.integers(1, len(ones), endpoint=True)
    axes = net.rng.choice(ones, count, replace=False).tolist()
    net.add("SQUEEZE", [x], net.kept(x), {"squeeze_dims": axes})


def _extend_blocks(name: str, net: draws.GrowingNetwork) -> None:
    x = net.pick(draws.is_image)
    _, h, w, c = x.shape
    pixels = name == "SPACE_TO_DEPTH"
    fits = (b for b in (1, 2, 3) if not (h % b or w % b if pixels else c % (b * b)))
    net.add(name, [x], net.kept(x), {"block_size": draws.choose(net.rng, *fits)})


def _extend_space_to_batch_nd(net: draws.GrowingNetwork) -> None:
    x = net.pick(draws.is_image)
    blocks = [
        draws.choose(net.rng, *(n for n in (1, 2, 3) if size % n == 0)) for size in x.shape[1:3]
    ]
    pads = [[block * int(net.rng.integers(2)), 0] for block in blocks]
    net.add("SPACE_TO_BATCH_ND", [x, net.integers(blocks), net.integers(pads)], x)


def _extend_batch_to_space_nd(net: draws.GrowingNetwork) -> None:
    x = net.pick(lambda value: len(value.shape) == 4 and value.shape[0] > 1)
    n, h, w, _ = x.shape
    first = draws.choose(net.rng, *(b for b in (1, 2, 3) if n % b == 0))
    second = draws.choose(net.rng, *(b for b in (1, 2, 3) if n // first % b == 0))
    whole = (h * first, w * second)
    crops = [[int(net.rng.integers(2)) if size > 1 else 0, 0] for size in whole]
    net.add("BATCH_TO_SPACE_ND", [x, net.integers([first, second]), net.integers(crops)], x)


def _extend_expand_dims(net: draws.GrowingNetwork) -> None:
    x = net.pick(lambda value: len(value.shape) < 5)
    axis = int(net.rng.integers(len(x.shape) + 1))
    net.add("EXPAND_DIMS", [x, net.integers(axis)], x)


def _extend_pack(net: draws.GrowingNetwork) -> None:
    a = net.pick(lambda value: len(value.shape) < 5)
    others = [net.pick(lambda value: value.shape == a.shape) for _ in range(net.rng.integers(3))]
    axis = int(net.rng.integers(len(a.shape) + 1))
    inputs = [a, *(net.equalized(other, a) for other in others)]
    net.add("PACK", inputs, a, {"values_count": len(inputs), "axis": axis})


def _extend_split(net: draws.GrowingNetwork) -> None:
    x = net.pick()
    axis = int(net.rng.integers(len(x.shape)))
    count = draws.choose(net.rng, *(n for n in (1, 2, 3, 4) if x.shape[axis] % n == 0))
    net.add_several("SPLIT", [net.integers(axis), x], net.kept(x), {"num_splits": count})


def _extend_split_v(net: draws.GrowingNetwork) -> None:
    x = net.pick(lambda value: max(value.shape, default=0) > 1)
    axis = draws.choose(net.rng, *(a for a, size in enumerate(x.shape) if size > 1))
    first = int(net.rng.integers(1, x.shape[axis]))
    sizes = [first, -1 if net.rng.integers(2) else x.shape[axis] - first]
    inputs = [x, net.integers(sizes), net.integers(axis)]
    net.add_several("SPLIT_V", inputs, net.kept(x), {"num_splits": 2})


def _extend_unpack(net: draws.GrowingNetwork) -> None:
    x = net.pick(lambda value: len(value.shape) > 1 and min(value.shape) <= 4)
    axis = draws.choose(net.rng, *(a for a, size in enumerate(x.shape) if size <= 4))
    net.add_several("UNPACK", [x], x, {"num": x.shape[axis], "axis": axis})


def _extend_shape(net: draws.GrowingNetwork) -> None:
    net.add("SHAPE", [net.pick()], options={"out_type": "INT32"})


MOVEMENT: dict[str, draws.Maker] = {
    "BATCH_TO_SPACE_ND": draws.Maker(
        partial(_batches, "BATCH_TO_SPACE_ND"), _extend_batch_to_space_nd
    ),
    "BROADCAST_TO": draws.Maker(_broadcast_to, _extend_broadcast_to),
    "CONCATENATION": draws.Maker(_concatenation, _extend_concatenation),
    **draws.makers(_blocks, _extend_blocks, "DEPTH_TO_SPACE", "SPACE_TO_DEPTH"),
    "EXPAND_DIMS": draws.Maker(_expand_dims, _extend_expand_dims),
    "MIRROR_PAD": draws.Maker(_mirror_pad, _extend_mirror_pad),
    "PACK": draws.Maker(_pack, _extend_pack),
    "PAD": draws.Maker(_copied("PAD", _paddings), partial(_extend_pad, "PAD")),
    "PADV2": draws.Maker(_padv2, partial(_extend_pad, "PADV2")),
    "RESHAPE": draws.Maker(_reshape, _extend_reshape),
    "REVERSE_V2": draws.Maker(_copied("REVERSE_V2", _neighbours), _extend_reverse_v2),
    "SHAPE": draws.Maker(_shape, _extend_shape),
    "SPACE_TO_BATCH_ND": draws.Maker(
        partial(_batches, "SPACE_TO_BATCH_ND"), _extend_space_to_batch_nd
    ),
    "SPLIT": draws.Maker(_split, _extend_split),
    "SPLIT_V": draws.Maker(_split_v, _extend_split_v),
    "SQUEEZE": draws.Maker(_squeeze, _extend_squeeze),
    "TILE": draws.Maker(_copied("TILE", _multiples), _extend_tile),
    "TRANSPOSE": draws.Maker(_copied("TRANSPOSE", _permutation, range(1, 9), 3), _extend_transpose),
    "UNPACK": draws.Maker(_unpack, _extend_unpack),
}
"""By the operator's name."""
