"""The steps of an element end in golden's element, for every operator."""

import numpy as np
import pytest

from eightfold.cases.operators import OPERATORS, case_rng, random_case
from eightfold.common.errors import InputError
from eightfold.operators import explain_element, load_model, run_operator
from tests.support.models.single import moved, one_operator

MODELS, ELEMENTS = 8, 4


def last_value(lines):
    return lines[-1].rpartition(" = ")[2]


@pytest.mark.slow
@pytest.mark.parametrize("reference", ["litert", "tflm"])
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.usual("operator")
def test_last_step_is_goldens_element(operator, reference):
    compared = 0
    for seed in range(MODELS):
        rng = case_rng(operator, seed)
        model, values = random_case(operator, rng)
        graph = load_model(model)
        (op,) = graph.operators
        values = graph.initial_state() | values
        try:
            results = run_operator(graph, op, values, reference)
        except InputError:
            assert reference == "tflm", "only there a model of LiteRT's may be undefined"
            continue
        for _ in range(ELEMENTS):
            output = int(rng.integers(len(results)))
            if not results[output].size:
                continue
            index = tuple(int(rng.integers(size)) for size in results[output].shape)
            known = values | dict(zip(op.outputs, results, strict=True))
            lines = explain_element(graph, op, known, output, index, reference)
            expected = repr(results[output][index].item())
            assert last_value(lines) == expected, (seed, index, lines)
            assert all(" = " in line for line in lines[1:])
            compared += 1
    assert compared >= MODELS or reference == "tflm"


def test_an_interpolated_pixel_as_it_reads():
    graph = load_model(moved("RESIZE_BILINEAR", (1, 2, 2, 1), (1, 4, 4, 1), [4, 4]))
    values = {0: np.array([10, 20, 30, 45], np.int8).reshape(1, 2, 2, 1)}
    assert explain_element(graph, graph.operators[0], values, 0, (0, 1, 1, 0)) == [
        "operator 0 RESIZE_BILINEAR, output 0, element [0, 1, 1, 0]:",
        "row 1 lies between rows 0 and 1 of tensor 0 'tensor_0', in parts of 1/1024 = 512",
        "column 1 lies between columns 0 and 1 of tensor 0 'tensor_0', in parts of 1/1024 = 512",
        "row 0: 10 * (1024 - 512) + 20 * 512 = 15360",
        "row 1: 30 * (1024 - 512) + 45 * 512 = 38400",
        "15360 * (1024 - 512) + 38400 * 512 = 27525120",
        "27525120 / 2^20 rounded, ties away from zero = 26",
    ]


def convolution():
    """Return a graph and values: 2x2 taps of two channels, the last of them outside the input."""
    weights = np.arange(-4, 4, dtype=np.int8).reshape(1, 2, 2, 2)
    model = one_operator(
        "CONV_2D",
        [(1, 2, 2, 2)],
        (1, 2, 2, 1),
        scales=(0.5, 1.0),
        zero_points=(-3, 7),
        constants=((weights, 0.25, 0, 0), (np.array([100], np.int32), 0.125, 0, 0)),
        options={"padding": "SAME", "stride_h": 1, "stride_w": 1},
    )
    return load_model(model), {0: np.arange(1, 9, dtype=np.int8).reshape(1, 2, 2, 2)}


def test_a_convolution_as_it_reads():
    graph, values = convolution()
    assert explain_element(graph, graph.operators[0], values, 0, (0, 0, 1, 0)) == [
        "operator 0 CONV_2D, output 0, element [0, 0, 1, 0]:",
        "products of (w - 0) and (x - zero point -3), taps inside the input = 2",
        "w[0, 0, 0] by x[0, 0, 1, 0:2]: -4*6 + -3*7 = -45",
        "w[0, 1, 0] by x[0, 1, 1, 0:2]: 0*10 + 1*11 = 11",
        "sum of [-45, 11] = -34",
        "wrap32(-34 + bias 100) = 66",
        "scale 0.5 * 0.25 / 1.0 = 0.125 as 1073741824 * 2^(-2 - 31) = 0.125",
        "SRDHM(66, multiplier 1073741824) = 33",
        "rounding_shift(33, right 2, half_away) = 8",
        "wrap32(8 + zero point 7) = 15",
        "clamp(15, low -128, high 127) = 15",
    ]


@pytest.mark.parametrize(
    ("output", "index", "message"),
    [
        *((0, index, ": .* has no element") for index in ((0, 0, 2, 0), (0, 0, 0), (0, 0, -1, 0))),
        (1, (0, 0, 0, 0), ".*has 1 outputs, none of number 1"),
    ],
)
def test_what_is_not_there_is_refused(output, index, message):
    graph, values = convolution()
    with pytest.raises(InputError, match=rf"operator 0 CONV_2D{message}"):
        explain_element(graph, graph.operators[0], values, output, index)
