"""The C library held against golden; each check raises AssertionError where they differ.

As a program, ``python -m tests.support.golden_c.checks LIBRARY CASES``, all of them with that many
models of each operator: for a library with sanitizers, which a process has to begin with.
"""

import sys
from collections.abc import Mapping
from ctypes import byref
from functools import partial
from itertools import count, islice
from pathlib import Path

import numpy as np

from eightfold.cases.operators import case_rng, random_case
from eightfold.common.errors import InputError
from eightfold.golden import fixed_point_math, unary
from eightfold.golden.errors import UndefinedError
from eightfold.golden.fixed_point import (
    INT32_MAX,
    INT32_MIN,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    rounding_divide_by_pot,
    srdhm,
    wrap32,
)
from eightfold.golden.quantization import Quantization, Reference
from eightfold.golden.rounding import ROUNDINGS, rounding_shift
from eightfold.model.graph import Graph, Operator
from eightfold.operators import load_model, run_operator
from eightfold.sim.benches import requantizer as requantize
from tests.support.golden_c import library as library_types
from tests.support.golden_c.library import FIELDS, RANGES, REFUSED, STATUSES, Library, pointer
from tests.support.golden_c.operators import ACTIVATIONS, RUNNERS, run_in_c

VARIANTS = ("FULLY_CONNECTED", "LOGISTIC", "MUL", "RELU6", "TANH")
"""Operators of which TFLite Micro has another variant."""

CHECKED: list[tuple[str, Reference]] = [
    *((name, "litert") for name in RUNNERS),
    *((name, "tflm") for name in VARIANTS),
]
"""Operators, and whose arithmetic."""

WORDS = np.unique(
    np.concatenate(
        [
            (sign * (1 << np.arange(32)))[:, None] + np.arange(-2, 3)
            for sign in (np.int64(-1), np.int64(1))
        ]
        + [np.arange(-300, 300).reshape(-1, 5)]
    ).clip(INT32_MIN, INT32_MAX)
)
"""int32 numbers next to every power of two, and small ones."""


def check_requantize(library: Library, rng: np.random.Generator) -> None:
    """Corners, ties, powers of two, wraps and random cases, as the hardware's bench has them."""
    for cases in (
        requantize.corner_cases(rng),
        requantize.tie_cases(rng, 20),
        requantize.power_cases(rng),
        requantize.wrap_cases(rng),
        requantize.random_cases(rng, 50_000),
    ):
        expected = requantize.expected_results(cases)
        np.testing.assert_array_equal(library.requantize(cases), expected)


def check_any_arguments(library: Library, rng: np.random.Generator) -> None:
    """The requantizer with one argument in ten out of range, and windows of any numbers."""
    count = 40_000
    wild = {name: rng.choice(WORDS, count) for name in FIELDS}
    legal = np.ones(count, dtype=bool)
    for name, (low, high) in RANGES.items():
        inside = rng.integers(low, high, count, endpoint=True)
        wild[name] = np.where(rng.integers(10, size=count) == 0, wild[name], inside)
        legal &= (low <= wild[name]) & (wild[name] <= high)
    legal &= (wild["right"] <= 31) | (wild["single"] == 1)
    legal &= wild["low"] <= wild["high"]
    result = library.requantize(wild)
    expected = requantize.expected_results({name: wild[name][legal] for name in wild})
    np.testing.assert_array_equal(result[legal], expected)
    np.testing.assert_array_equal(result[~legal], REFUSED)
    for kernel, stride, dilation, size in rng.choice(WORDS, (2000, 4)).tolist():
        axis = byref(library_types.Axis(kernel, stride, dilation))
        outputs = library.count("window_outputs", axis, 0, size)
        legal_axis = min(kernel, stride, dilation, size) >= 1
        assert outputs == (-(-size // stride) if legal_axis else 0)
        assert library.count("window_pad_before", axis, 1, size) == 0  # VALID


def check_wrap_and_shifts(library: Library, rng: np.random.Generator) -> None:
    """`wrap32`, and `rounding_shift` by every distance in every mode."""
    wide = np.concatenate([WORDS, WORDS << 31, WORDS << 32, [-(2**63), 2**63 - 1]])
    wide = np.concatenate([wide, rng.integers(-(2**63), 2**63 - 1, 500, endpoint=True)])
    np.testing.assert_array_equal(library.loop("wrap32", wide), wrap32(wide))
    distances = np.arange(63)[:, None]
    for code in range(len(ROUNDINGS)):
        result = library.loop("rounding_shift", wide, distances, code)
        np.testing.assert_array_equal(result, rounding_shift(wide, distances, code))


def check_products(library: Library, rng: np.random.Generator) -> None:
    """SRDHM and both multiplications by a pair, every shift."""
    words = np.concatenate([WORDS, rng.integers(INT32_MIN, INT32_MAX, 200, endpoint=True)])
    np.testing.assert_array_equal(
        library.loop("srdhm", words[:, None], words), srdhm(words[:, None], words)
    )
    distances = np.arange(32)[:, None]
    np.testing.assert_array_equal(
        library.loop("rounding_divide_by_pot", words, distances),
        rounding_divide_by_pot(words, distances),
    )
    multipliers = np.array([INT32_MIN, -(2**30), -1, 0, 1, 2**30, 2**30 + 1, INT32_MAX])
    multipliers = np.concatenate([multipliers, rng.integers(2**30, INT32_MAX, 4)])[:, None]
    for shift in range(-31, 32):
        for name, single in (("multiply", False), ("multiply_single", True)):
            if single and shift == 31:
                continue
            np.testing.assert_array_equal(
                library.loop(name, words, multipliers, shift),
                multiply_by_quantized_multiplier(words, multipliers, shift, single=single),
            )


def check_quantize_multiplier(library: Library, rng: np.random.Generator) -> None:
    """Powers of two and their neighbours, halves of a unit, all exponents, both signs."""
    powers = 2.0 ** np.arange(-40, 41)
    fractions = [1.0, 1 + 2.0**-30, 1 + 2.0**-31, 1 + 3 * 2.0**-31, 2 - 2.0**-31, 2 - 2.0**-52]
    reals = np.concatenate(
        [powers * fraction for fraction in fractions]
        + [np.nextafter(powers, 0), np.nextafter(powers, np.inf), [0.0, 5e-324, 1.7e308]]
        + [rng.uniform(1, 2, 2000) * 2.0 ** rng.integers(-1022, 1023, 2000)]
    )
    reals = np.concatenate([reals, -reals])
    expected = quantize_multiplier(reals)
    status, multiplier, shift = library.quantize_multiplier(reals)
    assert not status.any()
    np.testing.assert_array_equal(multiplier, expected[0])
    np.testing.assert_array_equal(shift, expected[1])
    status, _, _ = library.quantize_multiplier([np.inf, -np.inf, np.nan])
    assert [STATUSES[code] for code in status.tolist()] == [UndefinedError] * 3


def check_sigmoids(library: Library, rng: np.random.Generator) -> None:
    """LOGISTIC and TANH in fixed point, all 32 bits of them."""
    a = np.concatenate([WORDS, rng.integers(INT32_MIN, INT32_MAX, 20_000, endpoint=True)])
    a = np.maximum(a, -INT32_MAX)  # a code's difference is never scaled to the lowest number
    np.testing.assert_array_equal(
        library.loop("fixed_logistic", a), fixed_point_math.logistic(a, 4)
    )
    np.testing.assert_array_equal(library.loop("fixed_tanh", a), fixed_point_math.tanh(a, 4))


def check_near_ties(library: Library, rng: np.random.Generator) -> None:
    """QUANTIZE and RELU of scales that bring a code within a float's last bit of a tie.

    There the quotient of the scales in float32 and in float64 give different codes.
    """
    every = np.arange(256).astype(np.uint8).view(np.int8)
    table = np.zeros(256, dtype=np.int8)
    for _ in range(1000):
        out = np.float32(rng.uniform(0.01, 1))
        tie = (rng.integers(0, 127) + 0.5) / rng.integers(64, 128)
        pair = [Quantization(np.array([s]), np.array([0])) for s in (np.float32(tie * out), out)]
        scales = {"input_quantization": pair[0], "output_quantization": pair[1]}
        quantize, relu = partial(unary.quantize, **scales), partial(unary.relu, **scales)
        in_c = [byref(library_types.Quantization(float(q.scale[0]), 0)) for q in pair]
        assert library.call("quantize_table", *in_c, pointer(table)) == 0
        np.testing.assert_array_equal(table, quantize(every))
        assert library.call("relu_table", ACTIVATIONS["RELU"], 0, *in_c, pointer(table)) == 0
        np.testing.assert_array_equal(table, relu(every))


def check_operator(library: Library, name: str, reference: Reference, cases: int) -> int:
    """Compare that many random models of an operator; return how many elements they had.

    Models that the reference refuses must be refused for the same reason.
    """
    return sum(islice(filter(None, (_case(library, name, reference, s) for s in count())), cases))


def _case(library: Library, name: str, reference: Reference, seed: int) -> int:
    """Return the number of elements that were compared; 0 if the case is none of the library's."""
    data, inputs = random_case(name, case_rng(name, seed))
    graph = load_model(data)
    (operator,) = graph.operators
    tensors = [
        graph.tensors[index] for index in (*operator.inputs, *operator.outputs) if index >= 0
    ]
    others = any(tensor.dtype in (np.float32, np.uint8) for tensor in tensors)
    if others or (reference == "tflm" and max(len(tensor.shape) for tensor in tensors) > 5):
        return 0
    status, output = run_in_c(library, graph, operator, inputs, reference)
    expected, refusal = _golden(graph, operator, inputs, reference)
    assert STATUSES[status] is refusal, f"{name} {reference} seed {seed}: status {status}"
    if refusal is None:
        np.testing.assert_array_equal(output, expected, err_msg=f"{name} {reference} seed {seed}")
    return output.size


def _golden(
    graph: Graph, operator: Operator, inputs: Mapping[int, np.ndarray], reference: Reference
) -> tuple[np.ndarray | None, type | None]:
    """Return golden's result, or what it raises."""
    try:
        (expected,) = run_operator(graph, operator, inputs, reference)
    except InputError as error:
        return None, type(error.__context__)
    return expected, None


PRIMITIVES = (
    check_wrap_and_shifts,
    check_products,
    check_quantize_multiplier,
    check_requantize,
    check_any_arguments,
    check_sigmoids,
    check_near_ties,
)


def main(path: str, cases: str) -> None:
    """Run all checks on a library."""
    library = Library(Path(path))
    for check in PRIMITIVES:
        check(library, np.random.default_rng(0))
    for name, reference in CHECKED:
        check_operator(library, name, reference, int(cases))
    print(f"{len(PRIMITIVES)} primitives, {len(CHECKED)} operators")


if __name__ == "__main__":
    main(*sys.argv[1:])
