"""The C library refuses what golden refuses, for the same reason."""

from collections.abc import Callable, Sequence
from ctypes import byref, c_float, c_int32
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from eightfold.golden import binary, convolution, fully_connected, pooling, rectifiers, unary
from eightfold.golden.errors import RejectedError, SpecError, UndefinedError
from eightfold.golden.quantization import Quantization
from eightfold.golden.reduction import mean
from eightfold.golden.windows import Window
from tests.support.golden_c import library as c
from tests.support.golden_c.library import STATUSES, Library, pointer
from tests.support.golden_c.operators import ACTIVATIONS, REFERENCES, window_in_c

UNSUPPORTED = 4

X = np.array([-128, -3, 0, 127], dtype=np.int8)
IMAGE = np.arange(-8, 8, dtype=np.int8).reshape(1, 2, 2, 4)
WINDOW = Window((1, 1))


def q(scale: float = 1.0, zero_point: int = 0) -> Quantization:
    return Quantization(np.array([scale], dtype=np.float32), np.array([zero_point]))


UNIT: dict[str, Any] = {"input_quantization": q(), "output_quantization": q()}


def scales(*quantizations: Quantization) -> list[Any]:
    """Return quantizations as arguments, unchecked, as a C program may have them."""
    return [
        byref(c.Quantization(float(each.scale[0]), int(each.zero_point[0])))
        for each in quantizations
    ]


def refused_by_golden(compute: Callable[[], object]) -> type[SpecError] | None:
    try:
        compute()
    except SpecError as error:
        return type(error)
    return None


@pytest.mark.parametrize(
    ("name", "a", "b", "out"),
    [
        ("add", q(), q(), q()),
        ("add", q(), q(), q(2.0**-19)),
        ("add", q(), q(), q(2.0**-20)),
        ("add", q(), q(), q(2.0**-19 * (1 + 2.0**-23))),
        ("sub", q(), q(), q(2.0**-19)),
        ("sub", q(), q(), q(2.0**-19 * (1 - 2.0**-23))),
        ("sub", q(1.0, 128), q(), q()),
        ("sub", q(), q(), q(1.0, -129)),
        ("mul", q(2.0**20), q(2.0**10), q()),
        ("mul", q(2.0**20), q(2.0**11), q()),
        ("mul", q(2.0**100), q(2.0**100), q()),
    ],
)
def test_binary(
    name: str, a: Quantization, b: Quantization, out: Quantization, library: Library
) -> None:
    compute = getattr(binary, name)
    arguments = {"a_quantization": a, "b_quantization": b, "output_quantization": out}
    expected = refused_by_golden(lambda: compute(X, X, **arguments))
    which = ("add", "sub", "mul").index(name)
    status = library.call("prepare_binary", byref(c.Binary()), which, 0, *scales(a, b, out), 0)
    assert STATUSES[status] is expected


@pytest.mark.parametrize("name", ["RELU", "RELU6"])
@pytest.mark.parametrize("scale", [2.0**-27, 2.0**-29, 2.0**-140])
def test_fused_bounds(name: str, scale: float, library: Library) -> None:
    arguments = {"a_quantization": q(), "b_quantization": q(), "output_quantization": q(scale)}
    expected = refused_by_golden(
        lambda: binary.mul(X, X, **arguments, activation=name)  # pyright: ignore[reportArgumentType]
    )
    status = library.call(
        "prepare_binary", byref(c.Binary()), 2, 0, *scales(q(), q(), q(scale)), ACTIVATIONS[name]
    )
    assert (STATUSES[status] is None) == (expected is None)


@pytest.mark.parametrize(
    ("name", "first", "inputs", "out"),
    [
        ("quantize", {}, q(2.0**30), q()),
        ("quantize", {}, q(2.0**31), q()),
        ("relu", {"activation": "RELU6"}, q(), q(2.0**-29)),
        ("relu", {"activation": "RELU_N1_TO_1"}, q(2.0**-32), q(2.0**-32)),
        ("relu", {"activation": "RELU"}, q(2.0**120), q(2.0**-120)),
        ("logistic", {"reference": "litert"}, q(), q(1 / 256)),
        ("logistic", {"reference": "litert"}, q(), q(1 / 128)),
        ("logistic", {"reference": "tflm"}, q(2.0**-28), q()),
        ("logistic", {"reference": "tflm"}, q(2.0**-29), q()),
        ("logistic", {"reference": "tflm"}, q(2.0**-58), q()),
        ("logistic", {"reference": "tflm"}, q(2.0**-61), q()),
        ("logistic", {"reference": "tflm"}, q(2.0**30), q()),
        ("tanh", {"reference": "litert"}, q(), q(2.0**-32)),
        ("tanh", {"reference": "litert"}, q(), q(2.0**-31)),
        ("tanh", {"reference": "litert"}, q(2.0**126), q(1 / 128)),
        ("leaky_relu", {"alpha": float("inf")}, q(), q()),
        ("leaky_relu", {"alpha": -(2.0**31)}, q(), q()),
        ("leaky_relu", {"alpha": -(2.0**30)}, q(), q()),
    ],
)
def test_tables(
    name: str, first: dict[str, Any], inputs: Quantization, out: Quantization, library: Library
) -> None:
    """Refusals, and the tables where there is none."""
    every = np.arange(256).astype(np.uint8).view(np.int8)
    module = rectifiers if name == "leaky_relu" else unary
    results: list[np.ndarray] = []
    arguments = {"input_quantization": inputs, "output_quantization": out, **first}
    expected = refused_by_golden(lambda: results.append(getattr(module, name)(every, **arguments)))
    words: list[Any] = [c_float(first["alpha"])] if "alpha" in first else []
    words += [ACTIVATIONS[first["activation"]]] if "activation" in first else []
    if name not in ("quantize", "leaky_relu"):
        words.append(REFERENCES[first.get("reference", "litert")])
    table = np.zeros(256, dtype=np.int8)
    status = library.call(f"{name}_table", *words, *scales(inputs, out), pointer(table))
    assert STATUSES[status] is expected
    for result in results:
        np.testing.assert_array_equal(table, result)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("inf"), float("nan")])
def test_scales_of_activations(scale: float, library: Library) -> None:
    wrong = byref(c.Quantization(scale, 0))
    table = np.zeros(256, dtype=np.int8)
    for pair in ((wrong, *scales(q())), (*scales(q()), wrong)):
        status = library.call("quantize_table", *pair, pointer(table))
        assert STATUSES[status] is UndefinedError


def test_zero_points_outside_int8_are_not_supported(library: Library) -> None:
    table = np.zeros(256, dtype=np.int8)
    for zero_point in (-129, 128, 2**31 - 1, -(2**31)):
        wrong = scales(q(1.0, zero_point), q())
        assert library.call("quantize_table", *wrong, pointer(table)) == UNSUPPORTED


def weighted(
    library: Library,
    name: str,
    first: Sequence[object],
    weights: np.ndarray,
    scale: ArrayLike = (1.0,),
    zero_point: int = 0,
    bias: np.ndarray | None = None,
    last: Sequence[object] = (0,),
) -> int:
    """Return the status of an operator with a filter on the first codes of `IMAGE`.

    ``first`` are its arguments before the input, ``last`` those after the bias.
    """
    factors = np.array(scale, dtype=np.float32)
    sizes = (weights.shape[0], weights.shape[-1])
    in_c = byref(c.Filter(pointer(weights), *sizes, pointer(factors), factors.size, zero_point))
    output = np.zeros(64, dtype=np.int8)
    arguments = (*first, pointer(IMAGE), *scales(q()), in_c, pointer(bias), *last, *scales(q()))
    return library.call(name, *arguments, pointer(output))


@pytest.mark.parametrize(
    ("change", "outputs"),
    [
        ({}, 2),
        ({"depth": 3}, 2),
        ({"depth": 8}, 2),
        ({"depth": 2}, 3),
        ({"zero_point": 1}, 2),
        ({"bias": None}, 2),
        ({"scale": [1, 1, 1]}, 2),
        ({"scale": [2.0**40]}, 2),
        ({"window": Window((2, 2), padding="VALID")}, 2),
        ({"window": Window((3, 1), padding="VALID")}, 2),
        ({"window": Window((3, 3), (2, 2), (5, 5), padding="SAME")}, 2),
    ],
)
def test_conv_2d(change: dict[str, Any], outputs: int, library: Library) -> None:
    window = change.get("window", WINDOW)
    weights = np.ones((outputs, *window.kernel, change.get("depth", 4)), dtype=np.int8)
    scale = np.array(change.get("scale", [1.0]), dtype=np.float32)
    bias = change.get("bias", np.zeros(outputs, dtype=np.int32))
    filter_quantization = Quantization(
        scale, np.full(scale.shape, change.get("zero_point", 0)), axis=0 if scale.size > 1 else None
    )
    expected = refused_by_golden(
        lambda: convolution.conv_2d(
            IMAGE, weights, bias, **UNIT, weight_quantization=filter_quantization, window=window
        )
    )
    last = (byref(window_in_c(window)), 0)
    status = weighted(
        library, "conv_2d", [byref(c.Image(*IMAGE.shape))], weights, scale,
        change.get("zero_point", 0), bias, last,
    )  # fmt: skip
    assert STATUSES[status] is expected


@pytest.mark.parametrize("reference", ["litert", "tflm"])
@pytest.mark.parametrize("value", [0, 1])
def test_fully_connected(reference: Any, value: int, library: Library) -> None:
    scale = 2.0**40
    weights = np.full((1, 4), value, dtype=np.int8)
    expected = refused_by_golden(
        lambda: fully_connected.fully_connected(
            IMAGE[0, 0, :1],
            weights,
            None,
            **UNIT,
            weight_quantization=q(scale),
            reference=reference,
        )
    )
    status = weighted(library, "fully_connected", [REFERENCES[reference], 1], weights, [scale])
    assert STATUSES[status] is expected


@pytest.mark.parametrize("kernel", [(2, 2), (2, 3)])
def test_pools(kernel: tuple[int, int], library: Library) -> None:
    window = Window(kernel)
    expected = refused_by_golden(
        lambda: pooling.average_pool_2d(IMAGE, window=window, output_quantization=q())
    )
    output = np.zeros(64, dtype=np.int8)
    arguments = (byref(c.Image(*IMAGE.shape)), pointer(IMAGE), byref(window_in_c(window)), 0)
    status = library.call("average_pool_2d", *arguments, *scales(q()), pointer(output))
    assert STATUSES[status] is expected


@pytest.mark.parametrize(
    ("shape", "axes", "scale"),
    [([4], [0], 1.0), ([4], [1], 1.0), ([4], [], 2.0**31), ([4], [0], 2.0**31)],
)
def test_mean(shape: Sequence[int], axes: Sequence[int], scale: float, library: Library) -> None:
    expected = refused_by_golden(
        lambda: mean(X, axes, input_quantization=q(scale), output_quantization=q())
    )
    output = np.zeros(4, dtype=np.int8)
    bits = sum(1 << axis for axis in axes)
    sizes = (c_int32 * len(shape))(*shape)
    status = library.call(
        "mean", len(shape), sizes, bits, pointer(X), *scales(q(scale), q()), pointer(output)
    )
    assert STATUSES[status] is expected


def test_shapes(library: Library) -> None:
    """Broadcasting that does not fit, and ranks beyond the limits."""
    plan = c.Binary()
    assert library.call("prepare_binary", byref(plan), 0, 0, *scales(q(), q(), q()), 0) == 0
    output = np.zeros(16, dtype=np.int8)

    def broadcast(a: Sequence[int], b: Sequence[int]) -> type[SpecError] | None:
        shapes = [(c_int32 * len(each))(*each) for each in (a, b)]
        operands = [word for shape in shapes for word in (shape, pointer(X))]
        status = library.call("binary_broadcast", byref(plan), len(a), *operands, pointer(output))
        return STATUSES[status]

    for a, b in (([4, 1], [1, 4]), ([2, 2], [2, 1]), ([4], [3]), ([1] * 9, [1] * 8 + [2])):
        expected = refused_by_golden(lambda a=a, b=b: binary.broadcast_shape(tuple(a), tuple(b)))
        assert broadcast(a, b) is expected
    assert library.call("mean", 9, None, 0, pointer(X), *scales(q(), q()), pointer(output)) == (
        UNSUPPORTED
    )


def test_what_a_model_cannot_say(library: Library) -> None:
    """Arguments that a structure of C can have, and that golden's types or the gate exclude."""
    image, out = byref(c.Image(*IMAGE.shape)), np.zeros(64, dtype=np.int8)
    without_stride = window_in_c(WINDOW)
    without_stride.vertical.stride = 0
    for window in (window_in_c(Window((1, 1), dilation=(1, 2))), without_stride):
        arguments = (image, pointer(IMAGE), byref(window), 0, *scales(q()), pointer(out))
        for name in ("average_pool_2d", "max_pool_2d"):
            assert STATUSES[library.call(name, *arguments)] is RejectedError
    connect = partial(weighted, library, "fully_connected", [0, 1], np.ones((2, 4), np.int8))
    assert connect() == 0
    assert STATUSES[connect(last=[ACTIVATIONS["RELU_0_TO_1"]])] is RejectedError
    assert STATUSES[connect([1.0, 1.0, 1.0])] is RejectedError
    assert STATUSES[connect([-1.0])] is UndefinedError
    assert connect(zero_point=128) == UNSUPPORTED
    depthwise = partial(
        weighted, library, "depthwise_conv_2d", [image], last=[byref(window_in_c(WINDOW)), 0]
    )
    assert depthwise(np.ones((8, 1), np.int8)) == 0
    assert STATUSES[depthwise(np.ones((6, 1), np.int8))] is RejectedError
