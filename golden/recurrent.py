"""Operators with state between inferences: SVDF, and LSTM with int16 cell state.

The functions take the state of before, and return that of after behind their result.
Source: LiteRT ``kernels/internal/reference/svdf.h``, ``kernels/lstm_eval.cc`` (8x8_16),
``portable_tensor_utils.cc``; TFLite Micro ``svdf_common.cc``, ``lstm_eval.cc``.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.arrays import Bias, Codes, Shape
from eightfold.golden.convolution import checked_bias
from eightfold.golden.errors import RejectedError, UndefinedError
from eightfold.golden.fixed_point import (
    Integers,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    rounding_divide_by_pot,
    wrap32,
)
from eightfold.golden.fixed_point_math import logistic, tanh
from eightfold.golden.fully_connected import fully_connected_accumulators
from eightfold.golden.quantization import Quantization, Reference, clamp
from eightfold.golden.remember import read_only

GATES = ("input", "forget", "cell", "output")
"""The gates of an LSTM, in the order of their weights among its inputs."""

_Array16 = NDArray[np.int16]
_Memory = NDArray[np.int8 | np.int16]


def svdf_shape(
    shape: Shape, feature: Shape, time: Shape, state: Shape, rank: int
) -> tuple[int, int]:
    """Return the shape of the result of `svdf`, (n, filters / rank).

    Raises `RejectedError` if a shape does not fit the others, or ``rank`` does not divide the
    number of filters.
    """
    (filters, memory), (batches, size) = time, shape
    if rank < 1 or filters % rank:
        raise RejectedError(f"rank {rank} does not divide {filters} filters")
    wanted = (filters, size), (batches, memory * filters)
    if (feature, state) != wanted:
        raise RejectedError(f"feature weights and state are {feature}, {state}, not {wanted}")
    return batches, filters // rank


def svdf(
    x: Codes,
    feature: Codes,
    time: _Memory,
    bias: Bias,
    state: _Memory,
    *,
    rank: int,
    input_quantization: Quantization,
    feature_quantization: Quantization,
    time_quantization: Quantization,
    state_quantization: Quantization,
    output_quantization: Quantization,
    bias_quantization: Quantization | None = None,
    activation: str = "RELU",
    reference: Reference = "litert",
) -> tuple[Codes, _Memory]:
    """Return SVDF, shape (n, filters / rank), and its state after the inference.

    Each filter remembers what it made of the last ``memory`` inputs, oldest first. ``clamp(MBQM(sum
    of f * (x - z_x), (s_x * s_f) / s_state)) + z_state``, which wraps to the state's type, replaces
    the oldest. Then ``acc = bias + sum over rank and memory of t * (state - z_state)`` in int32;
    the result is ``clamp(MBQM(acc, (s_state * s_t) / s_out) + z_out)``. In LiteRT z_state is 0, and
    products and quotients of scales are in float32; in TFLite Micro they are in float64.
    Raises `RejectedError` if shapes do not fit; with LiteRT if the activation is not RELU, of which
    the kernel wants the name and does nothing; with TFLite Micro if the bias' scale is off by 1e-5.
    Raises `UndefinedError` if ``time`` and ``state`` are of different types, or int8 and the
    reference is LiteRT, whose kernel takes them for int16; if there is no bias and the reference is
    TFLite Micro.

    ``x``, ``feature``: shapes (n, k), (filters, k).
    ``time``, ``state``: shapes (filters, memory), (n, filters * memory); both int16, or with TFLite
        Micro int8.
    """
    shape = svdf_shape(x.shape, feature.shape, time.shape, state.shape, rank)
    real = np.float32 if reference == "litert" else np.float64
    quantizations = (input_quantization, feature_quantization, time_quantization)
    s_in, s_feature, s_time = (real(each.per_tensor()[0]) for each in quantizations)
    (s_state, zero_point), (s_out, out_zero) = (
        state_quantization.per_tensor(),
        output_quantization.per_tensor(),
    )
    with np.errstate(over="ignore", under="ignore"):
        first = float(s_in * s_feature / s_state)
        second = float(real(s_state) * s_time / s_out)
    if time.dtype != state.dtype:
        raise UndefinedError(f"time weights are {time.dtype}, the state {state.dtype}")
    if reference == "litert":
        _check_litert_svdf(time, activation)
        zero_point = 0
    else:
        _check_bias(bias_quantization if bias is not None else None, float(s_state * s_time))
    sums = fully_connected_accumulators(
        x, feature, None, input_zero_point=input_quantization.per_tensor()[1]
    )
    codes = multiply_by_quantized_multiplier(sums, *quantize_multiplier(first))
    limits = np.iinfo(state.dtype)
    after = np.empty((*sums.shape, time.shape[1]), state.dtype)
    after[..., :-1] = state.reshape(after.shape)[..., 1:]
    after[..., -1] = (np.clip(codes, limits.min, limits.max) + zero_point).astype(state.dtype)
    acc = ((after.astype(np.int64) - zero_point) * time).reshape(*shape, -1).sum(-1)
    if bias is not None:
        acc += checked_bias(bias, shape[1])
    scaled = multiply_by_quantized_multiplier(wrap32(acc), *quantize_multiplier(second))
    return clamp(wrap32(scaled + out_zero)), after.reshape(state.shape)


def _check_litert_svdf(time: NDArray, activation: str) -> None:
    if activation != "RELU":
        raise RejectedError(f"LiteRT's SVDF fuses RELU, which clamps nothing, not {activation}")
    if time.dtype != np.int16:
        raise UndefinedError(
            "LiteRT's SVDF takes int8 time weights and state for int16; TFLite Micro "
            "(--reference tflm) computes them"
        )


def _check_bias(quantization: Quantization | None, unit: float) -> None:
    if quantization is None:
        raise UndefinedError("TFLite Micro's SVDF needs a bias, with a scale")
    if abs(float(quantization.scale[0]) - unit) >= 1e-5:
        raise RejectedError(f"the bias scale {quantization.scale[0]} is off {unit} by 1e-5 or more")


@dataclass(frozen=True)
class Weights:
    """Weights of one gate of an LSTM, of the input or of the hidden state."""

    codes: Codes
    """Shape (units, k)."""

    quantization: Quantization
    bias: Bias = None
    """Shape (units,)."""

    def sums(self, x: Codes, quantization: Quantization, reference: Reference) -> Integers:
        """Return ``MBQM(wrap32(sum of w * (x - z) + bias), s_w * s_x * 2^12)``: in Q3.12."""
        (scale, zero_point), (weight_scale, weight_zero) = (
            quantization.per_tensor(),
            self.quantization.per_tensor(),
        )
        real = np.float32 if reference == "litert" else np.float64
        acc = fully_connected_accumulators(
            x,
            self.codes,
            self.bias,
            input_zero_point=zero_point,
            weight_zero_point=weight_zero if reference == "tflm" else 0,
        )
        with np.errstate(over="ignore", under="ignore"):
            product = float(real(scale) * real(weight_scale))
        scaled = multiply_by_quantized_multiplier(acc, *quantize_multiplier(product * 2.0**12))
        return scaled.reshape(*x.shape[:-1], len(self.codes))


def lstm(
    x: Codes,
    gates: Mapping[str, tuple[Weights, Weights]],
    hidden: Codes,
    cell: _Array16,
    *,
    input_quantization: Quantization,
    hidden_quantization: Quantization,
    cell_quantization: Quantization,
    result_quantization: Quantization | None = None,
    cell_clip: float = 0.0,
    time_major: bool = False,
    reference: Reference = "litert",
) -> tuple[Codes, Codes, _Array16]:
    """Return UNIDIRECTIONAL_SEQUENCE_LSTM (8x8_16), and hidden and cell state after it.

    In each time step every gate is sigmoid (the cell gate: tanh) in int16, from Q3.12 to Q0.15, of
    ``clamp16(clamp16(MBQM(W (x - z_x) + bias)) + MBQM(R (h - z_h)))``, the second summand clamped
    too with TFLite Micro. With the gates i, f, g, o, ``c = clip(clamp16(f * c * 2^-15 + i * g *
    2^-30 / s_c))``, each product rounded by itself; ``h = clamp8(MBQM(o * tanh(c), 2^-30 / s_r) +
    z_r)``, which is the result too. LiteRT's sigmoid and tanh are gemmlowp's, products are shifted,
    ties away from zero, and s_r, z_r are those of an intermediate tensor; TFLite Micro interpolates
    in a table, uses MBQM for products, and takes s_h, z_h for s_r, z_r. Products of scales are in
    float32 in LiteRT, in float64 in TFLite Micro.
    Raises `RejectedError` if ``cell_clip`` is negative, or LiteRT has no ``result_quantization``.
    Raises `UndefinedError` if the cell's scale is not what the kernels compute tanh of: for LiteRT
    a power of two, 2^-15 to 2^-9.

    ``x``: shape (n, steps, k), or (steps, n, k) if ``time_major``.
    ``gates``: weights of the input and of the hidden state, by the names of `GATES`.
    ``hidden``, ``cell``: n * units elements.
    ``result_quantization``: of LiteRT's intermediate tensor 4.
    ``cell_clip``: real bound of the cell state; 0: none.
    """
    if cell_clip < 0:
        raise RejectedError(f"cell_clip {cell_clip} is negative")
    if reference == "tflm":
        kernel = _micro_kernel(hidden_quantization, cell_quantization, cell_clip)
    else:
        kernel = _litert_kernel(result_quantization, cell_quantization, cell_clip)
    units = len(gates["output"][0].codes)
    steps = x if time_major else x.swapaxes(0, 1)
    h, c = hidden.reshape(-1, units), cell.reshape(-1, units).astype(np.int64)
    driven = {
        name: _saturated(of_input.sums(steps, input_quantization, reference))
        for name, (of_input, _) in gates.items()
    }
    results = np.empty((*steps.shape[:2], units), np.int8)
    for step in range(len(steps)):
        gate = {}
        for name, (_, of_hidden) in gates.items():
            fed_back = of_hidden.sums(h, hidden_quantization, reference)
            if reference == "tflm":
                fed_back = _saturated(fed_back)
            total = _saturated(wrap32(driven[name][step] + fed_back))
            gate[name] = _looked_up(kernel.tanh if name == "cell" else kernel.sigmoid, total)
        c = kernel.forget(gate["forget"] * c) + kernel.update(gate["input"] * gate["cell"])
        c = np.clip(_saturated(c), -kernel.clip, kernel.clip)
        product = gate["output"] * _looked_up(kernel.cell_tanh, c)
        scaled = multiply_by_quantized_multiplier(product, *quantize_multiplier(kernel.output))
        results[step] = h = clamp(wrap32(scaled + kernel.zero_point))
    result = results if time_major else results.swapaxes(0, 1)
    return result, h.reshape(hidden.shape), c.astype(np.int16).reshape(cell.shape)


@dataclass(frozen=True)
class _Kernel:
    """What the runtimes' kernels of `lstm` have of their own; tables begin at -32768."""

    sigmoid: _Array16
    tanh: _Array16
    cell_tanh: _Array16
    forget: Callable[[Integers], Integers]
    update: Callable[[Integers], Integers]
    output: float
    zero_point: int
    clip: int
    """Bound of the cell state's codes; 2^15: none."""


def _litert_kernel(result: Quantization | None, cell: Quantization, cell_clip: float) -> _Kernel:
    if result is None:
        raise RejectedError("LiteRT's LSTM needs 5 intermediate tensors, the last one quantized")
    (scale, zero_point), cell_scale = result.per_tensor(), cell.per_tensor()[0]
    off, power = _nearest_power(cell_scale)
    if off >= 1e-3 or not -15 <= power <= -9:
        raise UndefinedError(
            f"LiteRT's LSTM computes cell states of scale 2^-15 to 2^-9, not {cell_scale}"
        )
    return _Kernel(
        sigmoid=_fixed_point_table(logistic, 3),
        tanh=_fixed_point_table(tanh, 3),
        cell_tanh=_fixed_point_table(tanh, 15 + power),
        forget=partial(rounding_divide_by_pot, e=15),
        update=partial(rounding_divide_by_pot, e=30 + power),
        output=float(np.float32(2.0**-30 / float(scale))),
        zero_point=zero_point,
        clip=int(min(np.float32(cell_clip) / cell_scale, np.float32(32767))) or 2**15,
    )


def _micro_kernel(hidden: Quantization, cell: Quantization, cell_clip: float) -> _Kernel:
    (scale, zero_point), cell_scale = hidden.per_tensor(), float(cell.per_tensor()[0])
    power = _nearest_power(cell_scale)[1]
    return _Kernel(
        sigmoid=_interpolated_table(None),
        tanh=_interpolated_table(-12),
        cell_tanh=_interpolated_table(power),
        forget=partial(_saturated_product, 2.0**-15),
        update=partial(_saturated_product, 2.0**-30 / cell_scale),
        output=2.0**-30 / float(scale),
        zero_point=zero_point,
        clip=int(min(cell_clip / cell_scale, 32767)) if cell_clip > 0 else 2**15,
    )


def _nearest_power(scale: float | np.float32) -> tuple[float, int]:
    """Return how far the logarithm of a scale is from an integer, and that integer."""
    exponent = math.log2(float(scale))
    power = math.floor(abs(exponent) + 0.5) * (1 if exponent > 0 else -1)
    return abs(exponent - power), power


def _saturated(codes: Integers) -> Integers:
    return np.clip(codes, -32768, 32767)


def _saturated_product(real: float, product: Integers) -> Integers:
    return _saturated(multiply_by_quantized_multiplier(product, *quantize_multiplier(real)))


def _looked_up(table: _Array16, codes: Integers) -> Integers:
    return table[codes + 32768].astype(np.int64)


@lru_cache
def _fixed_point_table(function: Callable[..., Integers], integer_bits: int) -> _Array16:
    """Return gemmlowp's sigmoid or tanh of int16 with these integer bits, in Q0.15."""
    return read_only(function(np.arange(-32768, 32768), integer_bits, 15).astype(np.int16))


@lru_cache
def _interpolated_table(power: int | None) -> _Array16:
    """Return LOGISTIC of int16 in Q3.12, or with ``power`` TANH of scale 2^power, in Q0.15.

    Both interpolate between 2^16 times the sigmoid s of n / 24, n < 256. A chord from n to n + 1
    lies below the concave sigmoid by ``s'' / (8 * 24^2)`` in its middle, so entries are raised by
    half of it, and a chord is as far above as below. The last entry is 65535.
    Raises `UndefinedError` if a code of TANH leaves int32 on its way.
    """
    s = 1 / (1 + np.exp(-np.arange(256) / 24))
    raised = np.rint(2**16 * (s + s * (1 - s) * (2 * s - 1) / (16 * 24**2)))
    entries = np.append(raised[:-1], 65535).astype(np.int64)
    code = 3 * np.arange(-32768, 32768)
    if power is not None:
        shift = power + 12
        if not -31 <= shift <= 14:
            raise UndefinedError(f"tanh of a cell state of scale 2^{power} leaves int32")
        code = code << shift if shift >= 0 else (code + (1 << (-shift - 1))) >> -shift
        code = code << 1  # tanh(x) = 2 sigmoid(2x) - 1
    magnitude = np.abs(code)
    place = np.minimum(magnitude >> 9, 254)
    value = (entries[place] << 9) + (magnitude & 511) * (entries[place + 1] - entries[place])
    most = 0x7FFF << 10 if power is None else 0xFFFF << 9
    value = np.where(magnitude >> 9 >= 255, most, value)
    value = np.where(code < 0, (1 << 25) - 1 - value, value)  # 1 - s, one unit below
    total = value >> 1 if power is None else value - (1 << 24)
    return read_only(((total + 256) >> 9).astype(np.int16))
