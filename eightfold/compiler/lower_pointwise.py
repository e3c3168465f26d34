"""Functions of one byte, ADD, SUB and MUL: their tables and multipliers."""

import numpy as np

from eightfold.compiler.call import Call
from eightfold.compiler.channels import CompileError, pair
from eightfold.compiler.elementwise import Elementwise
from eightfold.compiler.pointwise import Pointwise
from eightfold.execute import quantization_of, run_operator
from eightfold.isa import Combine
from golden.binary import common_scales, multiplication_scale, rescaled_operand
from golden.fixed_point import quantize_multiplier, quantize_multiplier_smaller_than_one


def table(call: Call) -> Pointwise:
    """Lower a function of one byte: a table that the reference arithmetic fills."""
    call.check_int8(0)
    every_byte = np.arange(256, dtype=np.uint8).view(np.int8)
    values = {call.operator.inputs[0]: every_byte}
    entries = run_operator(call.graph, call.operator, values, call.reference)[0]
    return _pointwise(call, Elementwise(tables=(entries.astype(np.int32),)), 1)


def add(call: Call) -> Pointwise:
    """Lower ADD."""
    return _sum(call, Combine.ADD)


def sub(call: Call) -> Pointwise:
    """Lower SUB."""
    return _sum(call, Combine.SUBTRACT)


def _sum(call: Call, combine: Combine) -> Pointwise:
    """Lower ADD and SUB: both operands rescaled by tables, the sum by the requantizer."""
    call.check_int8(0, 1)
    quantizations = [quantization_of(t) for t in (call.input(0), call.input(1), call.output)]
    subtract = combine == Combine.SUBTRACT
    reference = call.reference if subtract else "litert"
    a, b, output = quantizations
    reals = common_scales(a, b, output, reference)
    every_byte = np.arange(256, dtype=np.uint8).view(np.int8)
    tables = tuple(
        rescaled_operand(every_byte, quantization, real)
        for quantization, real in zip(quantizations, reals, strict=False)
    )
    return _binary(call, combine, tables, quantize_multiplier_smaller_than_one(reals[2]))


def mul(call: Call) -> Pointwise:
    """Lower MUL: differences to the zero points by tables, the product by the requantizer."""
    call.check_int8(0, 1)
    quantizations = [quantization_of(t) for t in (call.input(0), call.input(1), call.output)]
    every_byte = np.arange(256, dtype=np.uint8).view(np.int8).astype(np.int64)
    tables = tuple(every_byte - q.per_tensor()[1] for q in quantizations[:2])
    a, b, output = (q.per_tensor()[0] for q in quantizations)
    real = multiplication_scale(a, b, output, call.reference)
    return _binary(call, Combine.MULTIPLY, tables, quantize_multiplier(real))


def _binary(call: Call, combine: Combine, tables, multiplier) -> Pointwise:
    mantissa, shift = (np.array([int(part)]) for part in multiplier)
    fields = pair(mantissa, shift, 1)
    if np.any(fields["right"] > 31):
        raise CompileError(f"the right shift {int(fields['right'][0])} is above 31")
    requantize = {name: int(values[0]) for name, values in fields.items()}
    requantize |= {"bias": 0, **call.layer()}
    return _pointwise(call, Elementwise(combine=combine, tables=tables, requantize=requantize), 2)


def _pointwise(call: Call, operation: Elementwise, operands: int) -> Pointwise:
    sources = [call.input(position) for position in range(operands)]
    return Pointwise(
        operation=operation,
        sources=tuple(source.index for source in sources),
        shapes=tuple(source.shape for source in sources),
        target=call.output.index,
        shape=call.output.shape,
    )
