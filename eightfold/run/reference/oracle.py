"""A runtime's kernels, run in a child process: what `--compare` compares with.

A failed check inside a kernel (``TFLITE_CHECK``) does not raise an exception, it aborts the whole
process. So the kernels run in a child, which is started once and again after each such end.

Source: the ``BUILTIN_REF`` operator resolver of LiteRT, single-threaded, without delegates, or
TFLite Micro as it is; see docs/numerics.md for why only these kernels are a bit-exact reference.

Where golden deviates from LiteRT on purpose, a whole-model run of LiteRT is no reference: what
follows such an operator would work on other values. `litert_tensors` runs one operator at a time
instead.
"""

from collections.abc import Generator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import tflite

from eightfold.common.child import Child, Closing, NoAnswer, one_line
from eightfold.common.extras import needs_extra, require_module
from eightfold.common.posix import limit_data
from eightfold.model.builder import ModelBuilder
from eightfold.model.graph import Graph, Operator, Tensor
from eightfold.model.schema import OPERATOR_CODES
from eightfold.model.variables import UPDATED
from eightfold.run.reference.runtimes import RUNTIMES

_VAR_HANDLE = OPERATOR_CODES["VAR_HANDLE"]


class OracleError(Exception):
    """The reference gave no result."""


class OracleRejected(OracleError):  # noqa: N818 (says what happened)
    """The interpreter refused the model or its inputs; the message is the interpreter's."""


class OracleAborted(OracleError):  # noqa: N818 (says what happened)
    """The child process died (a check in a kernel failed) or was too slow and was killed.

    The message names the signal and the last line that the child wrote to its standard error.
    """


class Oracle(Closing):
    """A runtime's kernels in a persistent child process.

    Use it as a context manager, or call `close`. The child starts with the first run (about a third
    of a second); a run of a small model then costs about a millisecond. Not for use by several
    threads at once. Raises `InputError` if the runtime is not installed.

    ``runtime``: ``litert`` or ``tflm``, whose kernels, a key of
    `eightfold.run.reference.runtimes.RUNTIMES`; ``timeout``: seconds after which a run is given up
    and the child killed; ``memory``: bytes of data that the child may have: an allocation beyond
    them fails, and the runtime refuses the model or ends.
    """

    @needs_extra("compare", "compare")
    def __init__(
        self, runtime: str = "litert", *, timeout: float = 60.0, memory: int = 2**32
    ) -> None:
        require_module(RUNTIMES[runtime].module)  # the child imports it
        self.runtime = RUNTIMES[runtime]
        self._child = Child(_serve, runtime, memory, timeout=timeout, name="the reference kernels")
        self._model: bytes | None = None

    @property
    def loaded(self) -> str:
        """Name and version of the package whose kernels the child has loaded.

        Raises `OracleAborted` if the child does not start.
        """
        if self._child.greeting is None:
            self._begin()
        return str(self._child.greeting)

    def _begin(self) -> None:
        try:
            self._child.begin()
        except NoAnswer as error:
            raise OracleAborted(str(error)) from None

    def run(
        self, model: bytes, inputs: Mapping[int, np.ndarray], *, next_frame: bool = False
    ) -> dict[int, np.ndarray]:
        """Run a model once and return the tensors of subgraph 0 by their index.

        Running the same bytes again reuses the interpreter, so several input batches of one model
        cost one preparation. A model that keeps state begins with its initial one all the same.
        Raises `OracleRejected` if the interpreter refuses the model or the inputs. Raises
        `OracleAborted` if the child dies or exceeds the timeout, or if the run before has ended so
        and this is to be the next frame. The next run starts a new child.

        ``model``: the bytes of a ``.tflite`` file; ``inputs``: arrays by tensor index, each of the
        tensor's shape and dtype; ``next_frame``: begin with the state that the run before, which
        must have been of the same model, left. What is returned has every tensor that can be read
        after the run: inputs, intermediate tensors, outputs and constants. Tensors that no operator
        uses may be missing.
        """
        repeated = self._child.process is not None and model == self._model
        if next_frame and not repeated:
            raise OracleAborted("the state is lost; reset it")
        if repeated and not next_frame and keeps_state(model):
            repeated = False
        self._begin()
        given = {index: np.asarray(array, order="C") for index, array in inputs.items()}
        try:
            rejected, answer = self._child.ask((None if repeated else bytes(model), given))
        except NoAnswer as error:
            raise OracleAborted(str(error)) from None
        self._model = None if rejected else model  # the child drops an interpreter that failed
        if not rejected:
            return answer
        said = self._child.said() if self.runtime.prints else []
        raise OracleRejected(next(iter(said), answer))

    def close(self) -> None:
        """End the child process, if there is one; the oracle cannot run again."""
        self._child.close()


@lru_cache(maxsize=4)
def keeps_state(model: bytes) -> bool:
    """Return whether a model may leave something for its next run: in variables of either kind."""
    packed = tflite.Model.GetRootAs(model)
    codes = [packed.OperatorCodes(i) for i in range(packed.OperatorCodesLength())]
    if any(code is not None and code.BuiltinCode() == _VAR_HANDLE for code in codes):
        return True
    main = packed.Subgraphs(0)
    tensors = [main.Tensors(i) for i in range(main.TensorsLength())] if main else []
    return any(tensor is not None and tensor.IsVariable() for tensor in tensors)


def _serve(runtime: str, memory: int) -> Generator[Any, Any, None]:
    """Run models: the child's side of `Oracle`.

    Yields what was loaded; then for each model, or None for the one before, and its inputs: whether
    they are refused, and the tensors or the reason.
    """
    limit_data(memory)
    answer: Any = RUNTIMES[runtime].load()
    interpreter = None
    while True:
        model, inputs = yield answer
        try:
            if interpreter is None or model is not None:
                interpreter = None  # first, so that two do not take memory at once
                interpreter = RUNTIMES[runtime].prepare(model)
            answer = False, interpreter.run(inputs)
        except Exception as error:  # whatever the interpreter's binding raises
            interpreter = None
            answer = True, one_line(error)


DEVIATIONS: dict[str, str] = {
    "ELU": "LiteRT has no reference kernel of it; its optimized one looks up a table",
    "SUM": "LiteRT's int8 kernel reads and writes the codes as uint8; its uint8 kernel is right",
}
"""Operators of which no int8 reference kernel is followed, and why."""

FLOAT_STEPS = 4
"""Steps of float32, of a result or of 1 where that is larger in a LOG_SOFTMAX, by which SOFTMAX and
LOG_SOFTMAX in float32 may differ. The runtimes take exp and log from the C library of the machine,
whose results differ from library to library and are one step beside the rounded ones at times."""


def differ(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return where two tensors of one shape differ; NaN equals NaN, as at a float edge."""
    both_nan = (got != got) & (expected != expected)
    return np.asarray((got != expected) & ~both_nan)


def differences(
    graph: Graph, operator: Operator, got: np.ndarray, expected: np.ndarray
) -> np.ndarray:
    """Return where an operator's results differ, as `differ` has it.

    SOFTMAX and LOG_SOFTMAX in float32 may differ by `FLOAT_STEPS`, and nothing else by anything.
    """
    different = differ(got, expected)
    if from_library(graph, operator):
        least = 1.0 if operator.name == "LOG_SOFTMAX" else 0.0
        size = np.maximum(np.abs(expected), np.float32(least))
        different &= ~(np.abs(got - expected) <= FLOAT_STEPS * np.spacing(size))
    return different


def from_library(graph: Graph, operator: Operator) -> bool:
    """Return whether the runtimes compute an operator with the C library of the machine."""
    tensors = [graph.tensors[index] for index in operator.outputs]
    return operator.name in ("SOFTMAX", "LOG_SOFTMAX") and tensors[0].dtype == np.float32


_TO_UINT8 = 128


def deviates(graph: Graph) -> bool:
    """Return whether a model has an operator of `DEVIATIONS`, or one that `from_library` is."""
    return any(op.name in DEVIATIONS or from_library(graph, op) for op in graph.operators)


def with_state(graph: Graph, tensors: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
    """Return tensors of a runtime's run, and what variables hold after it.

    A variable holds what was assigned last, and a variable tensor has its new value. What an
    operator leaves in one that a later operator changes again cannot be read.
    """
    held = {
        operator.outputs[0]: tensors[operator.inputs[0]]
        for operator in graph.operators
        if operator.name == "ASSIGN_VARIABLE" and operator.inputs[0] in tensors
    }
    changed = {each.after: each.before for each in graph.variables if each.after not in held}
    held |= {after: tensors[before] for after, before in changed.items() if before in tensors}
    return {**tensors, **held}


def litert_tensors(
    oracle: Oracle,
    model: bytes,
    graph: Graph,
    inputs: Mapping[int, np.ndarray],
    got: Mapping[int, np.ndarray],
    *,
    next_frame: bool = False,
) -> dict[int, np.ndarray]:
    """Return LiteRT's tensors of a whole model, by index; ``next_frame`` as `Oracle.run` has it.

    Where an operator `deviates`, all that follows it would be wrong too: then each operator runs
    alone, on the tensors ``got`` that the model is known to have. Raises `OracleError` if LiteRT
    refuses the model or ends.
    """
    if not deviates(graph):
        return with_state(graph, oracle.run(model, inputs, next_frame=next_frame))
    expected: dict[int, np.ndarray] = {}
    for operator in graph.operators:
        if operator.name in UPDATED:  # alone, it cannot be given the state that it has changed
            continue
        outputs = litert_outputs(oracle, graph, operator, got)
        expected.update(zip(operator.outputs, outputs, strict=True))
    return expected


def litert_outputs(
    oracle: Oracle, graph: Graph, operator: Operator, values: Mapping[int, np.ndarray]
) -> list[np.ndarray]:
    """Return LiteRT's outputs of one operator alone, with the intended arithmetic.

    SUM runs on uint8 tensors: codes and zero points plus 128, and its output minus 128. A model of
    ELU alone runs with LiteRT's optimized kernel. What variables hold is not asked for: it is the
    operand. ``values`` are the tensors that are no constants, by index. Raises `OracleError` if
    LiteRT refuses the operator or ends.
    """
    if operator.name in ("READ_VARIABLE", "ASSIGN_VARIABLE"):
        return [values[operator.inputs[0]]]
    offset = _TO_UINT8 if operator.name == "SUM" else 0
    builder = ModelBuilder()
    feed: dict[int, np.ndarray] = {}
    places: dict[int, int] = {-1: -1}
    for index in dict.fromkeys(operator.inputs):
        if index < 0:
            continue
        tensor = graph.tensors[index]
        data = tensor.data if tensor.data is not None else values[index]
        array = _moved(data, offset, np.uint8)
        if tensor.data is not None:
            places[index] = builder.constant(array, **_quantization(tensor, offset))
        else:
            fields = _quantization(tensor, offset)
            fields.pop("axis", None)  # an input has one scale
            places[index] = builder.input(array.shape, dtype=array.dtype, **fields)
            feed[places[index]] = array
    results = []
    for index in operator.outputs:
        tensor = graph.tensors[index]
        dtype = np.uint8 if offset and tensor.dtype == np.int8 else tensor.dtype
        results.append(builder.tensor(tensor.shape, dtype=dtype, **_quantization(tensor, offset)))
        builder.output(results[-1])
    inputs = [places[index] for index in operator.inputs]
    builder.operator(operator.name, inputs, results, operator.options)
    expected = oracle.run(builder.build(), feed)
    return [_moved(expected[result], -offset, np.int8) for result in results]


def _moved(array: np.ndarray, offset: int, to: type[np.int8] | type[np.uint8]) -> np.ndarray:
    """Return int8 or uint8 codes as the other type, ``offset`` added; other arrays as they are."""
    if not offset or array.dtype == to or array.dtype not in (np.int8, np.uint8):
        return array
    return (array.astype(np.int16) + offset).astype(to)


def _quantization(tensor: Tensor, offset: int) -> dict:
    if tensor.quantization is None:
        return {}
    return {
        "scale": tensor.quantization.scale,
        "zero_point": tensor.quantization.zero_point + offset,
        "axis": tensor.quantization.axis,
    }
