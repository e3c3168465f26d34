"""An executable that computes models: a run for each, by files.

The words ``{model}``, ``{inputs}`` and ``{outputs}`` of its command become paths: a ``.tflite``
file, what it reads, and what it must write. In the form

``npz``
    ``{inputs}`` and ``{outputs}`` are ``.npz`` files of numpy: an array ``tensor_<index>`` for each
    input of the graph; at least one for each output, others as it likes.
``raw``
    They are folders of `eightfold.conformance.tensors`: ``tensors.txt`` has the inputs, or the
    graph's outputs, in their order. The outputs must be written like this; other tensors may.

It ends with exit status 0 when it has computed the model, with 3 for a model that it does not take;
the last line that it has printed then says why. Every other status, and a signal, is a crash.
"""

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from eightfold.common.child import ending
from eightfold.common.errors import InputError
from eightfold.common.posix import limit_data, require_posix
from eightfold.conformance.answers import ModelAnswer
from eightfold.conformance.tensors import LIST, read_known, tensor_files, tensor_line
from eightfold.model import Graph, Tensor, read_model

REFUSES = 3
"""Exit status for a model that is not taken."""


@dataclass(frozen=True)
class Executable:
    """A command, and how it is run; see `eightfold.conformance.adapters.model.ModelAdapter`."""

    command: Sequence[str]
    form: Literal["npz", "raw"]
    timeout: float
    memory: int

    def answer(self, model: bytes, inputs: Mapping[int, np.ndarray]) -> ModelAnswer:
        """Return what it makes of a model.

        Raises
        ------
        InputError
            If there is no such command or form.
        """
        if self.form not in ("npz", "raw"):
            raise InputError(f"form must be npz or raw, not {self.form!r}")
        require_posix("an executable's process")
        graph = _graph(model)
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
                arrays = {f"tensor_{index}": array for index, array in inputs.items()}
                np.savez(paths["{inputs}"], allow_pickle=False, **arrays)
            else:
                _write_raw(paths["{inputs}"], paths["{outputs}"], inputs, graph)
            failed = self._run(paths)
            if failed is not None:
                return failed
            read = _read_npz if self.form == "npz" else _read_raw
            return read(paths["{outputs}"], graph)

    def _run(self, paths: Mapping[str, Path]) -> ModelAnswer | None:
        """Return what went wrong; None if it says that it has computed the model."""
        words = [_filled(word, paths) for word in self.command]
        with tempfile.TemporaryFile() as streams:
            try:
                process = subprocess.Popen(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=streams,
                    stderr=streams,
                    start_new_session=True,
                    preexec_fn=lambda: limit_data(self.memory),
                )
            except (OSError, subprocess.SubprocessError) as error:
                reason = getattr(error, "strerror", None) or error
                raise InputError(f"command {words[0]}: {reason}; name an executable") from None
            try:
                status = process.wait(self.timeout)
            except subprocess.TimeoutExpired:
                message = f"{words[0]} took longer than {self.timeout:g} s"
                return ModelAnswer(ending="timeout", message=message)
            finally:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            if status == 0:
                return None
            streams.seek(0)
            text = streams.read().decode("utf-8", "replace")
        said = next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
        if status == REFUSES:
            return ModelAnswer(ending="refused", message=said or "without a reason")
        message = f"{words[0]} ended with {ending(status)}" + (f": {said}" if said else "")
        return ModelAnswer(ending="crashed", message=message)


def _filled(word: str, paths: Mapping[str, Path]) -> str:
    for name, path in paths.items():
        word = word.replace(name, str(path))
    return word


def _graph(model: bytes) -> Graph | None:
    """Return the model's graph, as it is in the file; None of what is no model."""
    try:
        return read_model(model)
    except InputError:
        return None


def _outputs(graph: Graph | None) -> list[Tensor]:
    return [] if graph is None else [graph.tensors[index] for index in graph.outputs]


def _write_raw(
    inputs: Path, outputs: Path, arrays: Mapping[int, np.ndarray], graph: Graph | None
) -> None:
    for folder in (inputs, outputs):
        folder.mkdir()
    for name, content in tensor_files(arrays).items():
        (inputs / name).write_bytes(content)
    lines = (tensor_line(each.index, each.dtype, each.shape) for each in _outputs(graph))
    (outputs / LIST).write_text("".join(lines))


def _read_npz(path: Path, graph: Graph | None) -> ModelAnswer:
    if not path.is_file():
        return ModelAnswer(ending="missing", message="the file of outputs was not written")
    tensors = {}
    try:
        with np.load(path, allow_pickle=False) as archive:
            for name in archive.files:
                tensors[int(name.removeprefix("tensor_"))] = archive[name]
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
