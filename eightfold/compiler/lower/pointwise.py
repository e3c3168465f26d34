"""Element by element: functions of one byte and of two; their tables and multipliers."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from eightfold.compiler.emit.regions import broadcast_loops
from eightfold.compiler.exact import CompileError, StepFunction, one_pair
from eightfold.compiler.lower.call import Call
from eightfold.compiler.steps.elementwise import (
    CODES,
    EVERY_BYTE,
    IDENTITY,
    Elementwise,
    Pointwise,
)
from eightfold.compiler.steps.movement import Copy, Gather, Movement, strided
from eightfold.compiler.steps.reduction import Reduction, grouped
from eightfold.compiler.steps.step import Step
from eightfold.golden.binary import (
    broadcast_shape,
    common_scales,
    multiplication_scale,
    rescaled_operand,
)
from eightfold.golden.comparison import compared_operand, sliced_condition
from eightfold.golden.fixed_point import (
    INT32_MAX,
    quantize_multiplier,
    quantize_multiplier_smaller_than_one,
)
from eightfold.golden.rectifiers import prelu_scales
from eightfold.golden.requantize import requantize
from eightfold.isa import Combine, Reduce

OF_ONE_BYTE = (
    "ABS",
    "ELU",
    "EXP",
    "GELU",
    "HARD_SWISH",
    "LEAKY_RELU",
    "LOG",
    "LOGISTIC",
    "NEG",
    "QUANTIZE",
    "RELU",
    "RELU6",
    "RELU_0_TO_1",
    "RELU_N1_TO_1",
    "RSQRT",
    "SQRT",
    "TANH",
)
"""Operators that are functions of one byte, which `table` lowers."""

FROM_ZERO_POINT = frozenset({"RSQRT", "SQRT"})
"""Those of which golden refuses codes below the zero point: the table has the zero point's result
there, for a table refuses nothing."""


def table(call: Call) -> Pointwise:
    """Lower a function of one byte: a table that the reference arithmetic fills.

    Bytes that are uint8 for the operator are looked up and given as the int8 of the same bits.
    """
    codes = EVERY_BYTE.view(call.input(0).dtype)
    if call.operator.name in FROM_ZERO_POINT:
        codes = np.maximum(codes, codes.dtype.type(call.zero_point(0)))
    entries = call.golden(codes).view(np.int8)
    return _pointwise(call, Elementwise(tables=(entries.astype(np.int32),)))


def cast(call: Call) -> Step | tuple[Step, ...]:
    """Lower CAST of integers and truth values.

    Low bytes move, and before those of a longer integer 0, or a sign that is looked up in the
    source's bytes. So is whether a byte is not 0: the largest of a number's says it of the number.
    """
    source, target = call.input(0), call.output
    for tensor in (source, target):
        if tensor.dtype == np.float32:
            raise CompileError(f"{tensor} is float32, which the accelerator does not have")
    count, have, wanted = prod(source.shape), source.dtype.itemsize, target.dtype.itemsize
    truth = target.dtype == np.bool_
    if truth and have == 1:
        return table(call)
    low = Copy(source.index, 0, 0, min(have, wanted), ((count, have, wanted),))
    if not truth and (have >= wanted or source.dtype.kind != "i"):
        zeros = Copy(None, 0, 0, count * wanted)
        copies = (low,) if have >= wanted else (zeros, low)
        return Movement(target=target.index, copies=copies)
    between = call.temporary(count * have)
    entries = EVERY_BYTE != 0 if truth else EVERY_BYTE >> 7
    looked_up = Pointwise(
        operation=Elementwise(tables=(entries.astype(np.int32),)),
        operands=((source.index, (count * have,)),),
        target=between,
        shape=(count * have,),
    )
    if truth:
        bytes_ = {"whole": grouped((count, have), (1,)), "reduce": Reduce.MAXIMUM}
        return looked_up, Reduction(source=between, target=target.index, **bytes_)
    loops = ((count, have, wanted),)
    signs = [Copy(between, have - 1, byte, 1, loops) for byte in range(have, wanted)]
    return looked_up, Movement(target=target.index, copies=(low, *signs))


def stated_table(call: Call) -> Pointwise:
    """Lower TABLE, which only rewriting makes: its entries are an option, by ascending code."""
    entries = call.options["table"][CODES + 128]
    return _pointwise(call, Elementwise(tables=(entries.astype(np.int32),)))


EXTREMES = {
    **dict.fromkeys(("LOGICAL_OR", "MAXIMUM"), Combine.MAXIMUM),
    **dict.fromkeys(("LOGICAL_AND", "MINIMUM"), Combine.MINIMUM),
}
"""Operators that take the larger or the smaller byte, as it is: of truth values, 0 or 1."""


def extreme(call: Call) -> Pointwise:
    """Lower MAXIMUM, MINIMUM, LOGICAL_OR and LOGICAL_AND."""
    return _pointwise(call, Elementwise(combine=EXTREMES[call.operator.name]))


def comparison(call: Call) -> Pointwise:
    """Lower the six comparisons: EQUAL and NOT_EQUAL, or the difference, clamped to [0, 1].

    Of integers, ``a > b`` is ``clamp(a - b, 0, 1)`` and ``a >= b`` is ``clamp(a - b + 1, 0, 1)``.
    """
    name = call.operator.name
    order = (1, 0) if name in ("LESS", "LESS_EQUAL") else (0, 1)
    tables = tuple(compared_operand(EVERY_BYTE, call.quantization(position)) for position in order)
    combine = {"EQUAL": Combine.EQUAL, "NOT_EQUAL": Combine.NOT_EQUAL}.get(name, Combine.SUBTRACT)
    inclusive = name in ("GREATER_EQUAL", "LESS_EQUAL")
    requantize = IDENTITY | {"bias": int(inclusive), "low": 0, "high": 1}
    operation = Elementwise(combine=combine, tables=tables, requantize=requantize)
    return _pointwise(call, operation, order)


def select(call: Call) -> Pointwise | tuple[Pointwise, ...]:
    """Lower SELECT and SELECT_V2: products with the condition, 0 or 1, and their sum.

    ``a * c + b * (1 - c)``: of the terms one is 0, so that each is a byte. With an operand that is
    one code k for all, ``(a - k) * c + k`` is one operation.
    """
    condition, *operands = map(call.input, range(3))
    if operands[0].dtype.itemsize > 1:
        raise CompileError(f"{operands[0]} is {operands[0].dtype}, not int8 or bool")
    shape = condition.shape
    if call.operator.name == "SELECT":
        shape = sliced_condition(shape, operands[0].shape, operands[1].shape)
    kept = np.minimum(np.arange(256), 1), (np.arange(256) == 0).astype(np.int64)
    found = [() if operand.data is None else np.unique(operand.data) for operand in operands]

    def product(number: int, code: int, target: int, result: tuple[int, ...]) -> Pointwise:
        return Pointwise(
            operation=Elementwise(
                combine=Combine.MULTIPLY,
                tables=(CODES - code, kept[number]),
                requantize=IDENTITY | {"bias": code},
            ),
            operands=((operands[number].index, operands[number].shape), (condition.index, shape)),
            target=target,
            shape=result,
        )

    target = call.output
    for number, codes in enumerate(reversed(found)):
        if len(codes) == 1:
            return product(number, int(codes[0]), target.index, target.shape)
    parts = []
    for number, operand in enumerate(operands):
        result = broadcast_shape(operand.shape, shape)
        parts.append(product(number, 0, call.temporary(prod(result)), result))
    return (
        *parts,
        Pointwise(
            operation=Elementwise(combine=Combine.ADD),
            operands=tuple((part.target, part.shape) for part in parts),
            target=target.index,
            shape=target.shape,
        ),
    )


def add(call: Call) -> Pointwise:
    """Lower ADD and SUB: both operands rescaled by tables, the sum by the requantizer."""
    combine = Combine.SUBTRACT if call.operator.name == "SUB" else Combine.ADD
    quantizations = call.quantizations()
    reals = common_scales(*quantizations)
    tables = tuple(
        rescaled_operand(EVERY_BYTE, quantization, real)
        for quantization, real in zip(quantizations, reals, strict=False)
    )
    requantize = _requantize(call, quantize_multiplier_smaller_than_one(reals[2]))
    return _pointwise(call, Elementwise(combine=combine, tables=tables, requantize=requantize))


def mul(call: Call) -> Pointwise:
    """Lower MUL: differences to the zero points by tables, the product by the requantizer."""
    quantizations = call.quantizations()
    tables = tuple(CODES - q.per_tensor()[1] for q in quantizations[:2])
    a, b, output = (q.per_tensor()[0] for q in quantizations)
    real = multiplication_scale(a, b, output, call.reference)
    requantize = _requantize(call, quantize_multiplier(real))
    operation = Elementwise(combine=Combine.MULTIPLY, tables=tables, requantize=requantize)
    return _pointwise(call, operation)


def of_two_bytes(call: Call) -> tuple[Pointwise | Movement | Gather, ...]:
    """Lower DIV and SQUARED_DIFFERENCE: GATHER looks up a table with the result of every pair.

    An index is 4 bytes: a's, b's, 0 and 0. The zero point of DIV's divisor, which golden refuses,
    gets the row behind the table's last one: a stream that meets it ends with the error INDEX.
    """
    a, b = call.input(0), call.input(1)
    target = call.output
    shape = target.shape
    size = prod(shape)
    first = call.zero_point(1) + 1 if call.operator.name == "DIV" else -128
    count = 255 if call.operator.name == "DIV" else 256
    codes = np.roll(np.arange(-128, 128), -128 - first)[:count].astype(np.int8)
    table = call.golden(EVERY_BYTE, codes[:, None])
    rows = Pointwise(
        operation=Elementwise(tables=((CODES - first).astype(np.int8),)),
        operands=((b.index, b.shape),),
        target=call.temporary(prod(b.shape)),
        shape=b.shape,
    )
    indices = call.temporary(4 * size)
    pairs = []
    for byte, (tensor, own) in enumerate([(a.index, a.shape), (rows.target, b.shape)]):
        loops = broadcast_loops([own, shape], shape)
        into = [(size, step, 4 * place) for size, step, place in loops]
        pairs.append(strided(tensor, 0, byte, 1, into))
    return (
        rows,
        Movement(target=indices, copies=(Copy(None, 0, 0, 4 * size), *pairs)),
        Gather(
            source=call.temporary(table.size, table.tobytes()),
            indices=indices,
            target=target.index,
            length=table.size,
            chosen=size,
            run=1,
            index_bytes=4,
        ),
    )


def prelu(call: Call) -> Pointwise | tuple[Pointwise, Pointwise]:
    """Lower PRELU: RECTIFY where the two sides' multipliers allow it, else two operations.

    RECTIFY multiplies the codes x below the zero point z by the differences of alpha; from z on it
    takes what is looked up, the least number that the same multiplier takes to golden's result p.
    A multiplier above 1 leaves results out; then there is one operation for each side:

    ``n = clamp(round(min(x - z, 0) * (alpha - z_alpha) * slope) + z_out)``, then
    ``clamp(t[x] + n)`` with ``t[x] = 0`` for x below z, and ``p - z_out`` with golden's result p
    from z on, where it does not depend on alpha. Below z that is n, golden's result. From z on
    the product is 0, which rounds to 0, so that n is z_out and the sum is p. Both are int8, so the
    second clamp changes nothing.
    """
    source, target = call.input(0), call.output
    quantizations = call.quantizations()
    zeros = [quantization.per_tensor()[1] for quantization in quantizations]
    _, slope = prelu_scales(*quantizations, call.reference)
    scaling = _requantize(call, quantize_multiplier(slope))
    result = call.golden(EVERY_BYTE, np.zeros(1, np.int8)).astype(np.int64)
    sources = least_sources(scaling, result)
    below = zeros[0] > CODES
    if sources is not None:
        tables = np.where(below, CODES - zeros[0], sources), CODES - zeros[1]
        rectify = Elementwise(combine=Combine.RECTIFY, tables=tables, requantize=scaling)
        return _pointwise(call, rectify)
    negative = Elementwise(
        combine=Combine.MULTIPLY,
        tables=(np.minimum(CODES - zeros[0], 0), CODES - zeros[1]),
        requantize=scaling,
    )
    positive = result - zeros[2]
    both = Elementwise(combine=Combine.ADD, tables=(np.where(below, 0, positive),))
    between = call.temporary(prod(target.shape))
    return (
        replace(_pointwise(call, negative), target=between),
        replace(
            _pointwise(call, both),
            operands=((source.index, source.shape), (between, target.shape)),
        ),
    )


def least_sources(parameters: dict[str, int], results: np.ndarray) -> np.ndarray | None:
    """Return the least numbers from 0 on that ``parameters`` requantize to ``results``.

    None if there are none for some, or if a left shift may wrap. Without one the results do not
    decrease. Those below that of 0 do not matter: 0.
    """
    if parameters["left"]:
        return None
    function = StepFunction.of(lambda n: requantize(n, **parameters), -129, 127, 0, INT32_MAX)
    least = np.minimum(np.array(function.steps)[results + 128], INT32_MAX)
    found = requantize(least, **parameters) == np.maximum(results, requantize(0, **parameters))
    return least if found.all() else None


def _requantize(call: Call, multiplier: Sequence[int | np.ndarray]) -> dict[str, int]:
    """Return the result's requantization by a multiplier and its shift."""
    fields = one_pair(*map(int, multiplier))
    if fields["right"] > 31:
        raise CompileError(f"the right shift {fields['right']} is above 31")
    return fields | {"bias": 0, **call.layer()}


def _pointwise(call: Call, operation: Elementwise, order: Sequence[int] = (0, 1)) -> Pointwise:
    """Return the operation on the inputs in this order, as many as it has operands."""
    sources = [call.input(position) for position in order[: operation.operands]]
    return Pointwise(
        operation=operation,
        operands=tuple((source.index, source.shape) for source in sources),
        target=call.output.index,
        shape=call.output.shape,
    )
