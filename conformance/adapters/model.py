"""Anything that computes whole models: a Python method or an executable, in a process of its own.

What it does wrong - it raises, aborts, hangs, never starts, forgets an output - is an answer.
"""

import contextlib
import inspect
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import tflite

from eightfold.common.child import Child, NoAnswer, ending, lines_of, one_line, run_alone
from eightfold.common.errors import InputError
from eightfold.common.posix import limit_data, require_posix
from eightfold.conformance.adapters.adapter import Inputs, ModelRunner, adapter_class, raised
from eightfold.conformance.answers import Ending, ModelAnswer
from eightfold.conformance.tensors import (
    LIST,
    npz_of,
    read_known,
    read_npz,
    tensor_files,
    tensor_line,
)
from eightfold.model import Graph, Tensor, read_model

REFUSES = 3
"""Exit status for a model that is not taken."""


def _outputs(graph: Graph | None) -> list[Tensor]:
    return [] if graph is None else [graph.tensors[index] for index in graph.outputs]


def _write_raw(inputs: Path, outputs: Path, arrays: Inputs, graph: Graph | None) -> None:
    for folder in (inputs, outputs):
        folder.mkdir()
    for name, content in tensor_files(arrays).items():
        (inputs / name).write_bytes(content)
    lines = (tensor_line(each.index, each.dtype, each.shape) for each in _outputs(graph))
    (outputs / LIST).write_text("".join(lines))


def _read_npz(path: Path, graph: Graph | None) -> ModelAnswer:
    if not path.is_file():
        return ModelAnswer(ending="missing", message="the file of outputs was not written")
    try:
        tensors = read_npz(path)
    except Exception as error:  # numpy and zipfile raise all kinds of errors
        text = f"the file of outputs cannot be read: {type(error).__name__}"
        return ModelAnswer(ending="missing", message=text)
    return _complete(tensors, graph)


def _read_raw(folder: Path, graph: Graph | None) -> ModelAnswer:
    try:
        tensors = read_known(folder, graph.tensors if graph is not None else ())
    except ValueError as error:
        return ModelAnswer(ending="missing", message=str(error))
    return _complete(tensors, graph)


def _complete(tensors: dict[int, np.ndarray], graph: Graph | None) -> ModelAnswer:
    for tensor in _outputs(graph):
        if tensor.index not in tensors:
            message = f"output tensor_{tensor.index} is missing"
            return ModelAnswer(ending="missing", tensors=tensors, message=message)
    return ModelAnswer(ending="computed", tensors=tensors)


GIVE_UP = 5
"""Models in a row without an answer in time, after which no further one is asked."""


class Refused(Exception):  # noqa: N818 (says what happened)
    """Raised by `ModelAdapter.run` for a model that it does not take; the message says why."""


class ModelAdapter(ModelRunner):
    """What computes whole models: write `run`, or name an executable in `command`.

    It works in a process of its own, which is started with the first model, and again when it has
    died. The file that the class stands in is imported there, and the class made without arguments:
    what an ``__init__`` loads, it loads once. That file's folder is on Python's path.

    What goes wrong is an answer: an exception, a signal, no answer in time, an output that is not
    there, each with a message of one line. What is printed does no harm.
    """

    command: ClassVar[Sequence[str]] = ()
    """An executable and its arguments, in place of `run`: it is run once for each model, by files.

    The words ``{model}``, ``{inputs}`` and ``{outputs}`` become paths: a ``.tflite`` file, what it
    reads, and what it must write. It ends with exit status 0 when it has computed the model, with 3
    for a model that it does not take; the last line that it has printed then says why. Every other
    status, and a signal, is a crash."""

    form: ClassVar[Literal["npz", "raw"]] = "npz"
    """The form of an executable's inputs and outputs.

    ``npz``
        ``{inputs}`` and ``{outputs}`` are ``.npz`` files of numpy: an array ``tensor_<index>`` for
        each input of the graph; at least one for each output, others as it likes.
    ``raw``
        They are folders of `eightfold.conformance.tensors`: ``tensors.txt`` has the inputs, or the
        graph's outputs, in their order. The outputs must be written like this; other tensors may.
    """

    files: ClassVar[Sequence[str | Path]] = ()
    """What it loads or runs besides Python modules in its folder: libraries, tables, scripts.

    Paths are relative to the file that the class stands in. A run is of them as they were when it
    began, as it is of that file and of the executable."""

    timeout: ClassVar[float] = 60.0
    """Seconds for one model, and for the start of the process."""

    memory: ClassVar[int] = 2**33
    """Bytes of data that the process may have."""

    restart_after: ClassVar[int | None] = None
    """Models after which the process is started anew; None: it goes on as long as it lives."""

    _child: "Child | None" = None
    _answered = 0
    _late = 0
    _broken: "ModelAnswer | None" = None

    def run(
        self, model: bytes, inputs: dict[int, np.ndarray]
    ) -> Mapping[int, np.ndarray] | Sequence[np.ndarray]:
        """Return what a model computes.

        ``model``: the bytes of a ``.tflite`` file. ``inputs``: an array for each of the graph's
        inputs, by tensor index.

        Results are tensors by index, the graph's outputs at least: with the others, the operator of
        a network that is wrong is found. Or the graph's outputs in its order.

        Raises Refused for a model that it does not take.
        """
        raise NotImplementedError(f"{type(self).__name__} has neither a run method nor a command")

    def made_of(self) -> Iterable[Path]:
        """Return the executable, the words of `command` that are files, and `files`."""
        words = [Path(shutil.which(word) or word) for word in self.command]
        found = [path.resolve() for path in words if path.is_file()]
        for name in self.files:
            path = Path(inspect.getfile(type(self))).resolve().parent / name
            if not path.is_file():
                raise InputError(f"{type(self).__name__}.files: no file {str(path)!r}")
            found.append(path)
        return found

    def answer(self, model: bytes, inputs: Inputs) -> ModelAnswer:
        """Return what it makes of a model; see `run`. Raises InputError if the class cannot be
        found again in its file."""
        if self._broken is not None:
            return self._broken
        found = (self._executed if self.command else self._asked)(model, inputs)
        self._late = self._late + 1 if found.ending == "timeout" else 0
        if self._late == GIVE_UP:
            self._broken = ModelAnswer(
                ending="timeout", message=f"not asked after {GIVE_UP} models without an answer"
            )
        return found

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None

    def _executed(self, model: bytes, inputs: Inputs) -> ModelAnswer:
        """Return what `command` makes of a model. Raises InputError if there is no such command or
        form."""
        if self.form not in ("npz", "raw"):
            raise InputError(f"form must be npz or raw, not {self.form!r}")
        require_posix("an executable's process")
        graph = None
        with contextlib.suppress(InputError):  # of what is no model
            graph = read_model(model)
        with tempfile.TemporaryDirectory(prefix="eightfold-") as name:
            folder = Path(name)
            end = ".npz" if self.form == "npz" else ""
            paths = {
                "{model}": folder / "model.tflite",
                "{inputs}": folder / f"inputs{end}",
                "{outputs}": folder / f"outputs{end}",
            }
            paths["{model}"].write_bytes(model)
            if self.form == "npz":
                paths["{inputs}"].write_bytes(npz_of(inputs))
            else:
                _write_raw(paths["{inputs}"], paths["{outputs}"], inputs, graph)
            failed = self._failure(paths)
            if failed is not None:
                return failed
            read = _read_npz if self.form == "npz" else _read_raw
            return read(paths["{outputs}"], graph)

    def _failure(self, paths: Mapping[str, Path]) -> ModelAnswer | None:
        """Return what went wrong; None if it says that it has computed the model."""
        words = [*self.command]
        for name, path in paths.items():
            words = [word.replace(name, str(path)) for word in words]
        limit = partial(limit_data, self.memory)
        try:
            status, text = run_alone(words, self.timeout, preexec_fn=limit)
        except (OSError, subprocess.SubprocessError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"command {words[0]}: {reason}; name an executable") from None
        if status == 0:
            return None
        if status is None:
            message = f"{words[0]} took longer than {self.timeout:g} s"
            return ModelAnswer(ending="timeout", message=message)
        said = "".join(lines_of(text)[-1:])
        if status == REFUSES:
            return ModelAnswer(ending="refused", message=said or "without a reason")
        message = f"{words[0]} ended with {ending(status)}" + (f": {said}" if said else "")
        return ModelAnswer(ending="crashed", message=message)

    def _asked(self, model: bytes, inputs: Inputs) -> ModelAnswer:
        if self.restart_after is not None and self._answered >= self.restart_after:
            self.close()
        self._answered += 1
        if self._child is None:
            self._answered = 1
            name = type(self).__name__
            place = _place(type(self))
            self._child = Child(_serve, *place, self.memory, timeout=self.timeout, name=name)
        child = self._child
        try:
            child.begin()
            if child.greeting:
                child.stop()
                self._broken = ModelAnswer(ending="crashed", message=child.greeting)
                return self._broken
            given = {index: np.asarray(array, order="C") for index, array in inputs.items()}
            answer = child.ask((model, given))
        except NoAnswer as error:
            how: Ending = "timeout" if error.status is None else "crashed"
            return ModelAnswer(ending=how, message=str(error))
        if answer.ending == "refused" and not answer.message:
            return replace(answer, message=next(iter(child.said()), "without a reason"))
        return answer


def _place(kind: type) -> tuple[str, str]:
    """Return the file of an adapter's class and its name there."""
    name = kind.__qualname__
    if "." in name:
        raise InputError(f"{name}: an adapter must stand at the top level of its file")
    try:
        return inspect.getfile(kind), name
    except (OSError, TypeError):
        raise InputError(f"{name}: an adapter must stand in a file") from None


def output_indices(model: bytes) -> list[int]:
    """Return the tensor indices of a graph's outputs; none of what is no model."""
    try:
        graph = tflite.Model.GetRootAs(model).Subgraphs(0)
        return [] if graph is None else [graph.Outputs(i) for i in range(graph.OutputsLength())]
    except Exception:  # bytes at random have any offsets
        return []


_KINDS = "biuf"
"""Kinds of the arrays that can be sent: booleans, integers, floats."""


def _serve(file: str, name: str, memory: int) -> Generator[Any, Any, None]:
    """Ask the adapter of a class in a file: the child's side of `ModelAdapter`.

    Yields why it does not start, None if it does; then for each model and its inputs the answer.
    """
    limit_data(memory)
    sys.path.insert(0, str(Path(file).resolve().parent))
    try:
        adapter = adapter_class(file, name)()
    except BaseException as error:
        yield _short(f"{name} does not start: {raised(error, file)}")
        return
    assert isinstance(adapter, ModelAdapter)
    answer = None
    while True:
        model, inputs = yield answer
        try:
            answer = _checked(adapter.run(model, inputs), output_indices(model))
        except Refused as error:
            answer = ModelAnswer(ending="refused", message=_short(one_line(error)))
        except Exception as error:
            answer = ModelAnswer(ending="crashed", message=_short(raised(error, file)))


def _short(text: str) -> str:
    """Return the begin of a text, as what can be written as UTF-8."""
    return text.encode("utf-8", "replace").decode()[:4000]


def _checked(results: Any, wanted: Sequence[int]) -> ModelAnswer:
    """Return the answer that `ModelAdapter.run` has returned, in which outputs may be missing."""
    if isinstance(results, Mapping):
        items = results.items()
    elif isinstance(results, Sequence) and not isinstance(results, str | bytes):
        items = enumerate(results)
    else:
        raise TypeError(
            f"run returned {type(results).__name__}, not a dict of arrays or a list of them"
        )
    tensors = {}
    for index, value in items:
        array = np.asarray(value)
        if not isinstance(index, int | np.integer) or array.dtype.kind not in _KINDS:
            raise TypeError(
                f"run returned {type(value).__name__} {array.dtype} for tensor {index!r}, "
                "not an array of numbers for the tensor's index"
            )
        tensors[int(index)] = array
    if not isinstance(results, Mapping):
        if len(tensors) != len(wanted):
            message = f"returned {len(tensors)} arrays, and the model has {len(wanted)} outputs"
            return ModelAnswer(ending="missing", message=message)
        tensors = {index: tensors[place] for place, index in enumerate(wanted)}
    if missing := [index for index in wanted if index not in tensors]:
        message = f"output {missing[0]} is missing among tensors {sorted(tensors)[:20]}"
        return ModelAnswer(ending="missing", tensors=tensors, message=message)
    return ModelAnswer(ending="computed", tensors=tensors)
