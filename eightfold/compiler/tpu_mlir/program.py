"""A network of TPU-MLIR's forms as data: read and written, computed by golden, built for a machine.

Values are the inputs, then the result of each form; those of rank 4 are NHWC. A file is ``.npz``:
``program``, JSON in UTF-8, in which an array is told by the name of another entry.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.common.files import npz_bytes, read_arrays
from eightfold.compiler.tpu_mlir.network import TpuMlirNetwork
from eightfold.golden.errors import SpecError
from eightfold.golden.quantization import Quantization
from eightfold.golden.tpu_mlir import elementwise, windows
from eightfold.golden.tpu_mlir.numbers import Code, dequantize, quantize
from eightfold.target.config import AcceleratorConfig

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
    """A network. ``inputs`` counts the values that are given, ``outputs`` are those asked for."""

    values: tuple[Value, ...]
    inputs: int
    outputs: tuple[int, ...]
    forms: tuple[Form, ...]

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> dict[int, NDArray[Any]]:
        """Return the codes of every value by golden, from real inputs by name.

        Raises InputError if an input is missing, unknown, not finite or has another shape.
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
            try:
                found[index] = value.codes(inputs[name])
            except SpecError as error:
                raise InputError(f"input {name}: {error}") from None
            if found[index].shape != value.shape:
                shape = _source_shape(value.shape)
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


def _source_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(shape[axis] for axis in TO_NCHW) if len(shape) == 4 else shape


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
        return arrays[value["array"]]
    if "options" in value:
        return {name: _whole(each, arrays) for name, each in value["options"].items()}
    return Quantization(np.array([value["scale"]]), np.array([value["zero_point"]]))
