"""Networks of TPU-MLIR's forms: compiled to one command stream, and as data that golden computes.

Tensors are int8 or uint8; the machine holds uint8 as int8 less 128, which
`eightfold.golden.tpu_mlir.numbers.to_int8` makes of inputs, and ``from_int8`` takes back. Those of
rank 4 are NHWC, the layout of the accelerator; filters are TPU-MLIR's OIHW. Each form equals its
function in `eightfold.golden.tpu_mlir.windows` or `eightfold.golden.tpu_mlir.elementwise`, which
have formulas, parameters and their ranges.

A file is ``.npz``: ``program``, JSON in UTF-8, in which an array is told by the name of another
entry.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partialmethod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.common.files import npz_bytes, read_arrays
from eightfold.compiler.lower.lowering import Lowered
from eightfold.compiler.network import CompileError, compile_operators
from eightfold.compiler.passes import CompiledNetwork, Segment
from eightfold.compiler.steps.elementwise import Shape
from eightfold.compiler.tpu_mlir import lower
from eightfold.compiler.tpu_mlir import windows as lower_windows
from eightfold.golden.errors import SpecError
from eightfold.golden.quantization import Quantization
from eightfold.golden.tpu_mlir import elementwise, windows
from eightfold.golden.tpu_mlir.numbers import Code, dequantize, quantize
from eightfold.model import Graph, Operator, Tensor
from eightfold.target.config import AcceleratorConfig

TEMPORARIES = 1 << 24
"""Numbers of temporaries start here, and again this much higher for each form."""


class TpuMlirNetwork:
    """A network in the order in which its forms are called; each returns its result's number.

    A form takes its operands, then the parameters of golden's function, and as ``code`` its
    result's type, without it that of its first operand. It raises InputError if golden refuses its
    parameters, or they do not fit the tensors: the form, and why. So does `compile` if a form's
    smallest part does not fit the scratchpad.
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
        if not shape or min(shape) < 1:
            raise InputError(f"an input has the shape {shape}; give it sizes of at least 1")
        self._inputs.append(self._tensor(shape, code))
        return self._inputs[-1]

    def _tensor(self, shape: Shape, code: Code) -> int:
        self._shapes.append(shape)
        self._codes.append(code)
        return len(self._shapes) - 1

    def _add(
        self,
        name: str,
        count: int,
        build: Callable[..., Shape],
        *given: Any,
        code: Code | None = None,
        **options: Any,
    ) -> int:
        """Add a form of ``count`` operands: ``build`` adds its steps for them and what else is
        given, and returns the result's shape."""
        number = len(self._operators)
        tensors: Sequence[int] = given[:count]
        try:
            if unknown := [t for t in tensors if t not in range(len(self._shapes))]:
                raise InputError(f"there is no tensor {unknown[0]}; use what a form returned")
            code = code or self._codes[tensors[0]]
            codes: list[Code] = [*(self._codes[tensor] for tensor in tensors), code]
            steps = lower.StepList(self.config, TEMPORARIES * (number + 1), codes)
            operands = ((tensor, self._shapes[tensor]) for tensor in tensors)
            shape = build(steps, *operands, *given[count:], **options)
        except (SpecError, CompileError, ValueError, InputError) as error:
            raise InputError(f"form {number} {name}: {error}") from None
        result = self._tensor(shape, code)
        self._operators.append(Operator(number, name, tuple(tensors), (result,), {}))
        self._lowered[number] = steps.lowered(result)
        return result

    convolution = partialmethod(_add, "Convolution", 1, lower_windows.convolution)
    """`eightfold.golden.tpu_mlir.windows.convolution` of x, weights, bias (None: 0) and fields: a
    MATRIX, whatever the multipliers are."""

    inner_product = partialmethod(_add, "InnerProduct", 1, lower_windows.inner_product)
    """`eightfold.golden.tpu_mlir.windows.inner_product` of the same operands: a MATRIX."""

    avg_pool = partialmethod(_add, "AvgPool", 1, lower_windows.avg_pool)
    """`eightfold.golden.tpu_mlir.windows.avg_pool`.

    A depthwise MATRIX with equal weights, if a requantization is found that gives all results. Else
    two, for the high and the low byte of each sum, and a function of two bytes; where the sums do
    not fit two bytes several of these, added up."""

    add_symmetric = partialmethod(_add, "Add", 2, lower.add_symmetric)
    """`eightfold.golden.tpu_mlir.elementwise.add_symmetric`: a VECTOR with two tables."""

    add_asymmetric = partialmethod(_add, "Add", 2, lower.add_asymmetric)
    """`eightfold.golden.tpu_mlir.elementwise.add_asymmetric`: a function of two bytes.

    One VECTOR where two int32 tables exist whose rounded sum is the float32 result for all pairs of
    codes, as they do for most scales; else two more for every 15 rows of pairs where the best ones
    are off by one."""

    leaky_relu = partialmethod(_add, "LeakyReLU", 1, lower.leaky_relu)
    """`eightfold.golden.tpu_mlir.elementwise.leaky_relu`: a VECTOR with a table."""

    prelu = partialmethod(_add, "PReLU", 1, lower.prelu)
    """`eightfold.golden.tpu_mlir.elementwise.prelu` of x and alpha, with channels as last axis.

    A VECTOR with RECTIFY, or a table if all channels have the same slope. Where no number is
    shifted to each code from Z_x on, or with more than 256 different slopes: a product and a sum
    for up to 255 slopes."""

    pad = partialmethod(_add, "Pad", 1, lower.pad)
    """`eightfold.golden.tpu_mlir.elementwise.pad` of x, paddings, pairs in the order of the
    accelerator's axes, and the value.

    MOVE: a fill and copies; before it a VECTOR with a table if Z_x is not Z_y."""

    max_pool = partialmethod(_add, "MaxPool", 1, lower_windows.max_pool)
    """`eightfold.golden.tpu_mlir.windows.max_pool`: a VECTOR."""

    def arrange(self, *tensors: int, order: NDArray[np.int64]) -> int:
        """Add codes in another order, which may join tensors of one type: MOVE.

        ``order`` has the result's shape, and for each element its place among those of all tensors,
        one after the other.
        """
        return self._add("Arrange", len(tensors), lower.arrange, *tensors, order=order)


Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False, kw_only=True)
class Value:
    """A tensor: its name in the source, and what its codes stand for."""

    name: str
    shape: tuple[int, ...]
    code: Code
    scale: float
    zero_point: int

    @property
    def quantization(self) -> Quantization:
        """``real = scale * (q - zero_point)``."""
        return Quantization(np.array([self.scale]), np.array([self.zero_point]))

    def codes(self, real: NDArray[Any]) -> NDArray[Any]:
        """Return the codes of real values as the source has them."""
        x = np.asarray(real, dtype=np.float32)
        return quantize(x.transpose(TO_NHWC) if x.ndim == 4 else x, self.quantization, self.code)

    def real(self, codes: NDArray[Any]) -> NDArray[np.float32]:
        """Return the real values of codes, as the source has them."""
        real = dequantize(codes, self.quantization)
        return real.transpose(TO_NCHW) if real.ndim == 4 else real


@dataclass(frozen=True, eq=False)
class Form:
    """A form: a method of `TpuMlirNetwork` by its name, the values that it reads, its options."""

    name: str
    operands: tuple[int, ...]
    options: dict[str, Any]


TO_NHWC, TO_NCHW = (0, 2, 3, 1), (0, 3, 1, 2)


def _images(form: Callable[..., NDArray[Any]]) -> Callable[..., NDArray[Any]]:
    def of_nhwc(x: NDArray[Any], **options: Any) -> NDArray[Any]:
        return form(x.transpose(TO_NCHW), **options).transpose(TO_NHWC)

    return of_nhwc


def _prelu(x: NDArray[Any], alpha: NDArray[np.int8], **options: Any) -> NDArray[Any]:
    return np.moveaxis(elementwise.prelu(np.moveaxis(x, -1, 1), alpha, **options), 1, -1)


GOLDEN: Mapping[str, Callable[..., NDArray[Any]]] = {
    "convolution": _images(windows.convolution),
    "inner_product": windows.inner_product,
    "avg_pool": _images(windows.avg_pool),
    "max_pool": _images(windows.max_pool),
    "add_symmetric": elementwise.add_symmetric,
    "add_asymmetric": elementwise.add_asymmetric,
    "leaky_relu": elementwise.leaky_relu,
    "prelu": _prelu,
    "pad": elementwise.pad,
    "arrange": lambda *tensors, order: np.concatenate([x.reshape(-1) for x in tensors])[order],
}
"""What a form computes, of NHWC."""


@dataclass(frozen=True, eq=False)
class Program:
    """A network as data: ``values`` are its inputs, so many, then the result of each form.

    ``outputs`` are those asked for.
    """

    values: tuple[Value, ...]
    inputs: int
    outputs: tuple[int, ...]
    forms: tuple[Form, ...]

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> dict[int, NDArray[Any]]:
        """Return the codes of every value by golden, from real inputs by name.

        Raises InputError if an input is missing, unknown, not finite, not of real numbers or has
        another shape.
        """
        values = self.codes(inputs)
        for number, form in enumerate(self.forms, self.inputs):
            operands = [values[index] for index in form.operands]
            values[number] = GOLDEN[form.name](*operands, **form.options)
        return values

    def codes(self, inputs: Mapping[str, NDArray[Any]]) -> dict[int, NDArray[Any]]:
        """Return the codes of the inputs; raises as `run`."""
        wanted = {value.name: value for value in self.values[: self.inputs]}
        if set(wanted) != set(inputs):
            raise InputError(f"inputs are {', '.join(wanted)}, not {', '.join(inputs)}")
        found = {}
        for index, (name, value) in enumerate(wanted.items()):
            if inputs[name].dtype.kind not in "biuf":
                raise InputError(f"input {name}: is {inputs[name].dtype}; give real numbers")
            try:
                found[index] = value.codes(inputs[name])
            except SpecError as error:
                raise InputError(f"input {name}: {error}") from None
            if found[index].shape != value.shape:
                shape = value.shape
                shape = tuple(shape[axis] for axis in TO_NCHW) if len(shape) == 4 else shape
                raise InputError(f"input {name}: has the shape {inputs[name].shape}, not {shape}")
        return found

    def network(self, config: AcceleratorConfig) -> TpuMlirNetwork:
        """Return the network of a machine, whose tensors have the numbers of the values."""
        network = TpuMlirNetwork(config)
        for value in self.values[: self.inputs]:
            network.input(*value.shape, code=value.code)
        for form in self.forms:
            getattr(network, form.name)(*form.operands, **form.options)
        return network

    def save(self) -> bytes:
        """Return the content of a file."""
        arrays: Arrays = {}
        table = {
            "values": [vars(value) for value in self.values],
            "inputs": self.inputs,
            "outputs": self.outputs,
            "forms": [
                [form.name, form.operands, _plain(form.options, arrays)] for form in self.forms
            ],
        }
        text = json.dumps(table).encode()
        return npz_bytes({"program": np.frombuffer(text, np.uint8), **arrays}, compressed=True)

    @classmethod
    def load(cls, path: Path) -> "Program":
        """Return the network of a file; raises InputError if it cannot be read, or is none."""
        arrays = read_arrays(path)
        try:
            table = json.loads(arrays["program"].tobytes())
            values = tuple(
                Value(**value | {"shape": tuple(value["shape"])}) for value in table["values"]
            )
            forms = tuple(
                Form(name, tuple(operands), _whole(options, arrays))
                for name, operands, options in table["forms"]
            )
            if unknown := [form.name for form in forms if form.name not in GOLDEN]:
                raise InputError(f"{path}: there is no form {unknown[0]}")
            return cls(values, table["inputs"], tuple(table["outputs"]), forms)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{path}: is no network that eightfold import --spec tpu-mlir writes: {error}"
            ) from None


def _plain(value: Any, arrays: Arrays) -> Any:
    """Return what JSON holds: arrays and quantizations as their names among ``arrays``."""
    if isinstance(value, Quantization):
        scale, zero_point = value.per_tensor()
        return {"scale": float(scale), "zero_point": zero_point}
    if isinstance(value, Mapping):
        return {"options": {name: _plain(each, arrays) for name, each in value.items()}}
    if isinstance(value, np.ndarray):
        arrays[f"array_{len(arrays)}"] = value
        return {"array": f"array_{len(arrays) - 1}"}
    if isinstance(value, list | tuple):
        return [_plain(each, arrays) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def _whole(value: Any, arrays: Arrays) -> Any:
    """Return what `_plain` was made of."""
    if isinstance(value, list):
        return tuple(_whole(each, arrays) for each in value)
    if not isinstance(value, dict):
        return value
    if "array" in value:
        if (array := arrays[value["array"]]).dtype.kind not in "biuf":
            raise TypeError(f"{value['array']} is {array.dtype}, not of real numbers")
        return array
    if "options" in value:
        return {name: _whole(each, arrays) for name, each in value["options"].items()}
    return Quantization(np.array([value["scale"]]), np.array([value["zero_point"]]))
