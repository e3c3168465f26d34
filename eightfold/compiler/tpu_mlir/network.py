"""Networks of TPU-MLIR's forms: built form by form, compiled to one command stream.

Tensors are int8 or uint8; the machine holds uint8 as int8 less 128, which
`eightfold.golden.tpu_mlir.numbers.to_int8` makes of inputs, and ``from_int8`` takes back. Those of
rank 4 are NHWC, the layout of the accelerator; filters are TPU-MLIR's OIHW. The ``code`` of a form
is its result's type, without it that of its first operand. Each form equals its function in
`eightfold.golden.tpu_mlir.windows` or `eightfold.golden.tpu_mlir.elementwise`, which have formulas,
parameters and their ranges.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eightfold.common.errors import InputError
from eightfold.compiler.lower.lowering import Lowered
from eightfold.compiler.network import CompileError, compile_operators
from eightfold.compiler.passes import CompiledNetwork, Segment
from eightfold.compiler.steps.elementwise import Shape
from eightfold.compiler.tpu_mlir import lower, windows
from eightfold.compiler.tpu_mlir.lower import StepList
from eightfold.golden.errors import SpecError
from eightfold.golden.tpu_mlir.numbers import Code
from eightfold.golden.tpu_mlir.windows import Pair
from eightfold.model import Graph, Operator, Tensor
from eightfold.target.config import AcceleratorConfig

TEMPORARIES = 1 << 24
"""Numbers of temporaries start here, and again this much higher for each form."""


class TpuMlirNetwork:
    """A network in the order in which its forms are called; each returns its result's number.

    Every form raises InputError if golden refuses its parameters, or they do not fit the tensors:
    the form, and why. So does `compile` if a form's smallest part does not fit the scratchpad.
    """

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        self._shapes: list[Shape] = []
        self._codes: list[Code] = []
        self._inputs: list[int] = []
        self._operators: list[Operator] = []
        self._lowered: dict[int, Lowered] = {}

    @property
    def graph(self) -> Graph:
        """The tensors and forms; results that no form reads are the outputs."""
        kind = np.dtype(np.int8)
        tensors = (Tensor(i, f"t{i}", s, kind, None, None) for i, s in enumerate(self._shapes))
        read = {index for operator in self._operators for index in operator.inputs}
        results = (operator.outputs[0] for operator in self._operators)
        return Graph(
            tensors=tuple(tensors),
            operators=tuple(self._operators),
            inputs=tuple(self._inputs),
            outputs=tuple(index for index in results if index not in read),
            description="TPU-MLIR",
        )

    def compile(self, *, keep: bool = False) -> CompiledNetwork:
        """Return the command stream; with ``keep`` every result stays in the arena."""
        graph = self.graph
        if not graph.operators:
            raise InputError("the network has no forms; add one before it is compiled")
        wanted = {op.outputs[0] for op in graph.operators} if keep else set(graph.outputs)
        try:
            stream = compile_operators(graph, graph.operators, self._lowered, self.config, wanted)
        except CompileError as error:
            raise InputError(f"{error}; use a larger one") from None
        segment = Segment(operators=graph.operators, compiled=stream)
        return CompiledNetwork(segments=(segment,), reasons={}, host={})

    def code(self, tensor: int) -> Code:
        """Return the type of a tensor's codes."""
        return self._codes[tensor]

    def input(self, *shape: int, code: Code = "int8") -> int:
        """Add an input."""
        if not shape or min(shape) < 1:
            raise InputError(f"an input has the shape {shape}; give it sizes of at least 1")
        self._inputs.append(self._tensor(shape, code))
        return self._inputs[-1]

    def convolution(
        self,
        x: int,
        weights: NDArray[np.int8],
        bias: ArrayLike | None,
        fields: Mapping[str, Any],
        *,
        code: Code | None = None,
        **window: Any,
    ) -> int:
        """Add `eightfold.golden.tpu_mlir.windows.convolution`: a MATRIX, whatever the multipliers
        are."""
        given = weights, bias, fields
        return self._add("Convolution", (x,), code, windows.convolution, *given, **window)

    def inner_product(
        self,
        x: int,
        weights: NDArray[np.int8],
        bias: ArrayLike | None,
        fields: Mapping[str, Any],
        *,
        code: Code | None = None,
    ) -> int:
        """Add `eightfold.golden.tpu_mlir.windows.inner_product`: a MATRIX."""
        given = weights, bias, fields
        return self._add("InnerProduct", (x,), code, windows.inner_product, *given)

    def avg_pool(self, x: int, *, code: Code | None = None, **options: Any) -> int:
        """Add `eightfold.golden.tpu_mlir.windows.avg_pool`.

        A depthwise MATRIX with equal weights, if a requantization is found that gives all results.
        Else two, for the high and the low byte of each sum, and a function of two bytes; where the
        sums do not fit two bytes several of these, added up.
        """
        return self._add("AvgPool", (x,), code, windows.avg_pool, **options)

    def add_symmetric(self, a: int, b: int, *, code: Code | None = None, **options: Any) -> int:
        """Add `eightfold.golden.tpu_mlir.elementwise.add_symmetric`: a VECTOR with two tables."""
        return self._add("Add", (a, b), code, lower.add_symmetric, **options)

    def add_asymmetric(self, a: int, b: int, *, code: Code | None = None, **options: Any) -> int:
        """Add `eightfold.golden.tpu_mlir.elementwise.add_asymmetric`: a function of two bytes.

        One VECTOR where two int32 tables exist whose rounded sum is the float32 result for all
        pairs of codes, as they do for most scales; else two more for every 15 rows of pairs where
        the best ones are off by one.
        """
        return self._add("Add", (a, b), code, lower.add_asymmetric, **options)

    def leaky_relu(self, x: int, *, code: Code | None = None, **options: Any) -> int:
        """Add `eightfold.golden.tpu_mlir.elementwise.leaky_relu`: a VECTOR with a table."""
        return self._add("LeakyReLU", (x,), code, lower.leaky_relu, **options)

    def prelu(
        self, x: int, alpha: NDArray[np.int8], *, code: Code | None = None, **options: Any
    ) -> int:
        """Add `eightfold.golden.tpu_mlir.elementwise.prelu`; the channels are the last axis here.

        A VECTOR with RECTIFY, or a table if all channels have the same slope. Where no number is
        shifted to each code from Z_x on, or with more than 256 different slopes: a product and a
        sum for up to 255 slopes.
        """
        return self._add("PReLU", (x,), code, lower.prelu, alpha, **options)

    def pad(
        self, x: int, paddings: ArrayLike, value: float, *, code: Code | None = None, **options: Any
    ) -> int:
        """Add `eightfold.golden.tpu_mlir.elementwise.pad`, pairs in the order of the accelerator's
        axes.

        MOVE: a fill and copies; before it a VECTOR with a table if Z_x is not Z_y.
        """
        return self._add("Pad", (x,), code, lower.pad, paddings, value, **options)

    def max_pool(self, x: int, *, kernel: Pair, **window: Any) -> int:
        """Add `eightfold.golden.tpu_mlir.windows.max_pool`: VECTOR."""
        return self._add("MaxPool", (x,), None, windows.max_pool, kernel=kernel, **window)

    def arrange(self, *tensors: int, order: NDArray[np.int64]) -> int:
        """Add codes in another order, which may join tensors of one type: MOVE.

        ``order`` has the result's shape, and for each element its place among those of all tensors,
        one after the other.
        """
        return self._add("Arrange", tensors, None, lower.arrange, order=order)

    def _tensor(self, shape: Shape, code: Code) -> int:
        self._shapes.append(shape)
        self._codes.append(code)
        return len(self._shapes) - 1

    def _add(
        self,
        name: str,
        tensors: Sequence[int],
        code: Code | None,
        build: Callable[..., Shape],
        *given: Any,
        **options: Any,
    ) -> int:
        """Add a form: ``build`` adds its steps for operands and what is given, and returns the
        result's shape."""
        number = len(self._operators)
        try:
            if unknown := [t for t in tensors if t not in range(len(self._shapes))]:
                raise InputError(f"there is no tensor {unknown[0]}; use what a form returned")
            code = code or self._codes[tensors[0]]
            codes: list[Code] = [*(self._codes[tensor] for tensor in tensors), code]
            steps = StepList(self.config, TEMPORARIES * (number + 1), codes)
            operands = ((tensor, self._shapes[tensor]) for tensor in tensors)
            shape = build(steps, *operands, *given, **options)
        except (SpecError, CompileError, ValueError, InputError) as error:
            raise InputError(f"form {number} {name}: {error}") from None
        result = self._tensor(shape, code)
        self._operators.append(Operator(number, name, tuple(tensors), (result,), {}))
        self._lowered[number] = steps.lowered(result)
        return result
