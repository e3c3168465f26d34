"""The runtimes that an oracle may run, each as the child process prepares and asks it.

Both keep every tensor of a run, so that a comparison sees intermediate tensors too. Their packages
are loaded in the child only; `loaded_from` says which installed package they came from, whatever
else is installed.
"""

import base64
import contextlib
import hashlib
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Protocol

import numpy as np
import tflite

_RELEASE = re.compile(r"[\d.]+")


class Interpreter(Protocol):
    """One model, prepared for the kernels of a runtime."""

    def run(self, inputs: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
        """Return the tensors of subgraph 0 after a run, by index; inputs by index as well."""
        ...


@dataclass(frozen=True)
class Runtime:
    """A runtime whose kernels Eightfold equals."""

    title: str
    """What reports call it."""

    package: str
    """The package that brings it, unless another one lies over it."""

    module: str
    """The package's module."""

    binding: str
    """The module within it that the child imports."""

    prepare: Callable[[bytes], Interpreter]
    """Takes the bytes of a model; raises whatever the binding raises if the runtime refuses it."""

    prints: bool = False
    """Whether it prints the reason of a refusal, rather than raising it."""

    lacks: frozenset[str] = frozenset()
    """Operators that golden has and the runtime has not."""

    released: bool = True
    """Whether its versions are releases. Arithmetic may change from one development version to the
    next, so that a result is nothing without the version."""

    def load(self) -> str:
        """Load it into this process, and return name and version of the package that it is from."""
        import_module(self.binding)
        return loaded_from(self.module)

    def version(self, loaded: str) -> str:
        """Return what a report says of what `load` gave: the version alone of `package`."""
        return loaded.removeprefix(f"{self.package} ")

    def kernels(self, version: str | None) -> str:
        """Return what reports call its kernels of a version, as `version` gave it."""
        if self.released and (version is None or _RELEASE.fullmatch(version)):
            return f"{self.title}'s reference kernels"
        named = version if version is None or " " in version else f"{self.package} {version}"
        return f"{self.title}'s kernels ({named or self.package})"


class LiteRT:
    """LiteRT, single-threaded, with the kernels of an operator resolver.

    ``model``: the bytes of a ``.tflite`` file; ``resolver``: ``BUILTIN_REF``, the reference
    kernels, but for a model of ELU alone, of which there is only an optimized one;
    ``BUILTIN_WITHOUT_DEFAULT_DELEGATES``, the optimized ones; ``AUTO``, those and XNNPACK for what
    it takes, as without an argument. ``keep``: keep intermediate tensors, which a delegate such as
    XNNPACK does not write.
    """

    def __init__(self, model: bytes, resolver: str = "BUILTIN_REF", *, keep: bool = True) -> None:
        from ai_edge_litert import interpreter

        if resolver == "BUILTIN_REF" and _operators(model) == {tflite.BuiltinOperator.ELU}:
            resolver = "BUILTIN_WITHOUT_DEFAULT_DELEGATES"
        self._interpreter = interpreter.Interpreter(
            model_content=model,
            experimental_op_resolver_type=interpreter.OpResolverType[resolver],
            experimental_preserve_all_tensors=keep,
            num_threads=1,
        )
        self._interpreter.allocate_tensors()
        subgraph = _subgraph(model)
        # Kernels append scratch tensors of their own, which are no tensors of the model.
        self._read = (
            _readable(subgraph)
            if keep
            else [subgraph.Outputs(place) for place in range(subgraph.OutputsLength())]
        )

    def run(self, inputs: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
        for index, array in inputs.items():
            self._interpreter.set_tensor(index, array)
        self._interpreter.invoke()
        tensors = {}
        for index in self._read:
            with contextlib.suppress(ValueError):  # no data: not used, or not kept
                tensors[index] = self._interpreter.get_tensor(index)
        return tensors


class TFLiteMicro:
    """TFLite Micro with all its operators, in an arena that keeps every tensor."""

    ARENA = 2**30
    """Bytes of address space: pages that nothing is written to take no memory."""

    def __init__(self, model: bytes) -> None:
        from tflite_micro.python.tflite_micro import runtime

        subgraph = _subgraph(model)
        self._read = _readable(subgraph)
        self._places = {subgraph.Inputs(place): place for place in range(subgraph.InputsLength())}
        self._interpreter = runtime.Interpreter.from_bytes(
            model,
            arena_size=self.ARENA,
            intrepreter_config=runtime.InterpreterConfig.kPreserveAllTensors,
        )

    def run(self, inputs: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
        for index, array in inputs.items():
            self._interpreter.set_input(array, self._places[index])
        self._interpreter.invoke()
        return {index: self._interpreter.GetTensor(index, 0)["tensor_data"] for index in self._read}


def _subgraph(model: bytes) -> tflite.SubGraph:
    packed = tflite.Model.GetRootAs(model).Subgraphs(0)
    assert packed is not None, "the model has no subgraph"
    return packed


def _operators(model: bytes) -> set[int]:
    """Return the codes of the builtin operators that a file lists."""
    packed = tflite.Model.GetRootAs(model)
    codes = (packed.OperatorCodes(number) for number in range(packed.OperatorCodesLength()))
    return {code.BuiltinCode() for code in codes if code is not None}


def _readable(subgraph: tflite.SubGraph) -> list[int]:
    """Return the tensors that have elements; handles of variables have not, and are not asked."""
    tensors = [subgraph.Tensors(index) for index in range(subgraph.TensorsLength())]
    handles = (tflite.TensorType.RESOURCE, tflite.TensorType.VARIANT)
    return [i for i, each in enumerate(tensors) if each is not None and each.Type() not in handles]


RUNTIMES = {
    "litert": Runtime(
        title="LiteRT",
        package="ai-edge-litert",
        module="ai_edge_litert",
        binding="ai_edge_litert.interpreter",
        prepare=LiteRT,
    ),
    "tflm": Runtime(
        title="TFLite Micro",
        package="tflite-micro",
        module="tflite_micro",
        binding="tflite_micro.python.tflite_micro.runtime",
        prepare=TFLiteMicro,
        prints=True,
        lacks=frozenset(
            {"EXP", "GELU", "LOG", "NEG", "REDUCE_ANY", "RELU_0_TO_1", "RELU_N1_TO_1"}
            | {"SCATTER_ND", "SELECT", "SQRT", "TILE"}
        ),
        released=False,
    ),
}
"""The runtimes by the names that ``reference`` has everywhere."""


_MAPS = Path("/proc/self/maps")
"""Lists the shared libraries of this process, on Linux."""


def loaded_from(module: str) -> str:
    """Return the package that a loaded module is from, such as ``ai-edge-litert 2.3.0``.

    Packages may bring a module of the same name, as ``ai-edge-litert`` and
    ``ai-edge-litert-nightly`` do, and the last one installed lies over the others. So a package is
    known by its ``RECORD``: it must name every loaded file of the module, its shared libraries too,
    by the content that each has. If the files are no package's as it was installed, the result is
    the module's name with its ``__version__`` and the beginning of the files' SHA-256.
    """
    files = _loaded_files(module)
    for package in distributions():
        # All of a package's files are read only where it has such a module.
        if f"{module}/" in (package.read_text("RECORD") or "") and files <= _intact(package, files):
            name = re.sub(r"[-_.]+", "-", package.metadata["Name"]).lower()
            return f"{name} {package.version}"
    version = getattr(sys.modules[module], "__version__", "of no known version")
    content = "".join(sorted(map(_digest, files)))
    return f"{module} {version}, SHA-256 {hashlib.sha256(content.encode()).hexdigest()[:12]}"


def _loaded_files(module: str) -> set[str]:
    """Return the files of a module and all within it that this process has loaded."""
    names = [name for name in sys.modules if f"{name}.".startswith(f"{module}.")]
    found = {getattr(sys.modules[name], "__file__", None) for name in names}
    files = {os.path.realpath(file) for file in found if file}
    places = map(os.path.realpath, getattr(sys.modules[module], "__path__", ()))
    folders = tuple(f"{place}{os.sep}" for place in places)
    with contextlib.suppress(OSError):
        mapped = (line.split(maxsplit=5) for line in _MAPS.read_text("utf-8").splitlines())
        files |= {words[5] for words in mapped if len(words) == 6 and words[5].startswith(folders)}
    return files


def _intact(package: Distribution, files: set[str]) -> set[str]:
    """Return those of some files that a package has brought, and that are as it brought them."""
    found = set()
    for file in package.files or ():
        path = os.path.realpath(str(package.locate_file(file)))
        if path in files and (file.hash is None or file.hash.value == _digest(path)):
            found.add(path)
    return found


@cache
def _digest(path: str) -> str:
    """Return the SHA-256 of a file as ``RECORD`` writes it."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
