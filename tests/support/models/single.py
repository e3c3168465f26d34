"""Models of one operator, written down rather than drawn: one rule or extreme at a time."""

from typing import Any

import numpy as np

from eightfold.cases.draws import Case
from eightfold.model.builder import ModelBuilder
from eightfold.operators import load_model

WINDOW = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
NINE = [(1,) * 8 + (2,), (1,) * 9]


def weights_of(shape: tuple[int, ...], scale: Any = 0.5, zero_point=0, axis: int = 0) -> tuple:
    return (np.ones(shape, np.int8), scale, zero_point, axis)


def biases(count: int, dtype: type = np.int32, scale: float | None = 0.25, zero_point=0) -> tuple:
    return (np.zeros(count, dtype), scale, zero_point, 0)


def one_operator(
    name: str,
    shapes: list[tuple[int, ...]],
    output: tuple[int, ...] | None,
    *,
    scales: tuple[float, ...] = (0.5, 0.5, 0.5),
    zero_points: tuple[int, ...] = (0, 0, 0),
    options: dict | None = None,
    constants: tuple = (),
    order: tuple[int, ...] | None = None,
    dtype: type = np.int8,
    outputs: int = 1,
    source_dtype: type = np.int8,
    computed: list[tuple[int, ...]] = [],  # noqa: B006
    result_name: str | None = None,
) -> bytes:
    """Build ``name`` on inputs of ``shapes``; the last scale and zero point are the outputs'.

    Inputs of int32, of shapes ``computed``, and ``constants`` follow: arrays, or (array, scale,
    zero point, axis). ``order`` permutes them all. Only outputs of 8 bits are quantized.
    """
    builder = ModelBuilder()
    inputs = [
        builder.input(shape, scale=scales[i], zero_point=zero_points[i], dtype=source_dtype)
        for i, shape in enumerate(shapes)
    ]
    inputs += [builder.input(shape, dtype=np.int32) for shape in computed]
    for constant in constants:
        if isinstance(constant, tuple):
            array, scale, zero_point, axis = constant
            inputs.append(builder.constant(array, scale=scale, zero_point=zero_point, axis=axis))
        else:
            inputs.append(builder.constant(constant))
    scale = scales[-1] if dtype in (np.int8, np.uint8) else None
    results = [
        builder.tensor(
            output, scale=scale, zero_point=zero_points[-1], dtype=dtype, name=result_name
        )
        for _ in range(outputs)
    ]
    builder.operator(name, [inputs[i] for i in order or range(len(inputs))], results, options)
    for result in results:
        builder.output(result)
    return builder.build()


def binary(name: str, scales: tuple[float, float, float], **more) -> bytes:
    return one_operator(name, [(2, 2), (2, 2)], (2, 2), scales=scales, **more)


def unary(name: str, scales: tuple[float, float], zero_points=(0, 0), **more) -> bytes:
    return one_operator(name, [(2, 4)], (2, 4), scales=scales, zero_points=zero_points, **more)


def convolution(
    *,
    name: str = "CONV_2D",
    weights: tuple = weights_of((2, 1, 1, 3)),
    bias: tuple | None = biases(2),
    depth: int = 3,
    outputs: int = 2,
    **options: int,
) -> bytes:
    return one_operator(
        name,
        [(1, 2, 2, depth)],
        (1, 2, 2, outputs),
        constants=(weights,) if bias is None else (weights, bias),
        options=WINDOW | options,
    )


def dense(
    *,
    weights: tuple = weights_of((2, 4)),
    bias: tuple = biases(2),
    inputs: int = 4,
    **options: str | bool,
) -> bytes:
    return one_operator(
        "FULLY_CONNECTED", [(1, inputs)], (1, 2), constants=(weights, bias), options=options
    )


def product(x: tuple[int, ...], y: tuple[int, ...], **more) -> bytes:
    return one_operator("BATCH_MATMUL", [x, y], (*x[:-1], y[-1]), **more)


def softmax(scale: float = 0.1, length: int = 4, out: float = 1 / 256, zero_point: int = -128):
    return one_operator(
        "SOFTMAX",
        [(1, length)],
        (1, length),
        scales=(scale, out),
        zero_points=(0, zero_point),
        options={"beta": 1.0},
    )


def pool(name: str, **options: int) -> bytes:
    window = WINDOW | {"filter_height": 2, "filter_width": 2} | options
    return one_operator(name, [(1, 3, 3, 1)], (1, 2, 2, 1), options=window)


def depthwise(
    *, weights: tuple = weights_of((1, 1, 1, 3)), bias: tuple | None = None, **options: int
) -> bytes:
    return convolution(name="DEPTHWISE_CONV_2D", weights=weights, bias=bias, outputs=3, **options)


def moved(name: str, shape: tuple[int, ...], output: tuple[int, ...], *constants, **more) -> bytes:
    """Build an operator on one input; lists among ``constants`` are int32."""
    arrays = [np.array(c, np.int32) if isinstance(c, (list, int)) else c for c in constants]
    return one_operator(name, [shape], output, constants=tuple(arrays), **more)


def transposed(
    result: tuple[int, ...] = (1, 3, 3, 1),
    *,
    source: tuple[int, ...] = (1, 2, 2, 1),
    weights: tuple = weights_of((1, 2, 2, 1)),
    bias: tuple | None = None,
    shape: np.ndarray | None = None,
    **options: int | str,
) -> bytes:
    given = np.array(result, np.int32) if shape is None else shape
    constants = (given, weights) if bias is None else (given, weights, bias)
    order = (1, 2, 0) if bias is None else (1, 2, 0, 3)
    return one_operator(
        "TRANSPOSE_CONV",
        [source],
        result,
        constants=constants,
        order=order,
        options=WINDOW | options,
    )


def widened(case: Case, dtype: type[np.signedinteger], rng: np.random.Generator) -> Case:
    """Return the model with ``dtype`` for int8, without quantization, and other random values."""
    model, inputs = case
    graph = load_model(model)
    limits = np.iinfo(dtype)
    builder = ModelBuilder()
    values = dict[int, np.ndarray]()
    for tensor in graph.tensors:
        moved = tensor.dtype == np.int8
        kind = dtype if moved else tensor.dtype
        random = rng.integers(limits.min, limits.max, tensor.shape, dtype, endpoint=True)
        if tensor.data is not None:
            place = builder.constant(random if moved else tensor.data)
        elif tensor.index in graph.inputs:
            place = builder.input(tensor.shape, dtype=kind)
            values[place] = random if moved else inputs[tensor.index]
        else:
            place = builder.tensor(tensor.shape, dtype=kind)
        assert place == tensor.index
    for operator in graph.operators:
        builder.operator(operator.name, operator.inputs, operator.outputs, operator.options)
    for output in graph.outputs:
        builder.output(output)
    return builder.build(), values
