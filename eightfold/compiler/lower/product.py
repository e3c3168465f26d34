"""BATCH_MATMUL: by weights if the second operand is one constant matrix, else by vectors."""

from math import prod

import numpy as np

from eightfold.compiler.emit.nest import Nest
from eightfold.compiler.exact import CompileError, folded_bias, one_pair, pair
from eightfold.compiler.lower.call import Call
from eightfold.compiler.lower.movement import transposed
from eightfold.compiler.lower.windowed import of_rows
from eightfold.compiler.steps.elementwise import CODES, broadcast_steps, collapsed
from eightfold.compiler.steps.product import Product
from eightfold.compiler.steps.reduction import factors
from eightfold.compiler.steps.step import Step
from eightfold.compiler.steps.transposition import Swap
from eightfold.golden.fully_connected import integer_multipliers
from eightfold.isa import Requantize
from eightfold.model import Tensor


def batch_matmul(call: Call) -> tuple[Step, ...]:
    """Lower BATCH_MATMUL of (m, k) by (k, n): as rows by weights, or as a `Product`."""
    x, y, target = call.input(0), call.input(1), call.output
    rows, columns = target.shape[-2:]
    depth = prod(x.shape[-2:]) // rows
    zeros = call.zero_point(0), call.zero_point(1)
    multiplier = integer_multipliers(*call.quantizations())
    adjoint = call.options["adj_x"]
    if y.data is not None and prod(y.shape[:-2]) == 1:
        weights = y.data.reshape(y.shape[-2:]).astype(np.int64) - zeros[1]
        weights = weights if call.options["adj_y"] else weights.T
        before, source = _operand(call, x, turned=adjoint)
        fields = pair(*multiplier, columns)
        parameters = call.channels({"bias": folded_bias(weights, None, zeros[0]), **fields})
        count = prod(x.shape) // depth
        return (*before, of_rows(source, target.index, count, weights, parameters))
    if not factors(depth):
        raise CompileError(f"{depth} products to sum are no window of two loops")
    before, second = _operand(call, y, turned=call.options["adj_y"])
    sizes = ((x.shape, rows * depth), (y.shape, depth * columns), (target.shape, rows * columns))
    batch = target.shape[:-2]
    steps = [[size * n for n in broadcast_steps(shape[:-2], batch)] for shape, size in sizes]
    outer = collapsed(zip(batch, *steps, strict=True))
    row_step, depth_step = (1, rows) if adjoint else (depth, 1)
    inner = (rows, row_step, 0, columns), (columns, 0, 1, 1), (depth, depth_step, columns, 0)
    product = Product(
        target=target.index,
        sources=(x.index, second),
        whole=Nest((0, 0, 0), (*outer, *inner)),
        tables=tuple(CODES - zero for zero in zeros),
        requantize=Requantize.of(one_pair(*multiplier) | call.layer()),
    )
    return (*before, product)


def _operand(call: Call, tensor: Tensor, *, turned: bool) -> tuple[tuple[Step, ...], int]:
    """Return what transposes an operand's matrices if they are to be ``turned``, and its tensor."""
    *outer, rows, columns = tensor.shape
    if not turned or 1 in (rows, columns):
        return (), tensor.index
    if tensor.data is not None:
        content = np.asarray(tensor.data.swapaxes(-1, -2), order="C").tobytes()
        return (), call.temporary(prod(tensor.shape), content)
    target = call.temporary(prod(tensor.shape))
    swap = Swap(prod(outer), rows, columns, 1)
    return (transposed(tensor.index, target, swap, call.config),), target
