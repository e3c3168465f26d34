"""What was made of models, from a folder for each.

A folder has ``results.npz`` with ``tensor_<index>``, or ``output_<place>`` of the model's outputs;
or one of ``refused.txt``, ``crashed.txt`` and ``timeout.txt``, whose first line says why there are
no tensors.
"""

import re
from pathlib import Path

import numpy as np

from eightfold.common.errors import InputError
from eightfold.conformance.answers import Ending, ModelAnswer
from eightfold.conformance.results.columns import read_arrays
from eightfold.model import read_model

ENDINGS: tuple[Ending, ...] = ("refused", "crashed", "timeout")
"""How a model may end in place of tensors, each a file ``.txt``."""

MESSAGE = 300
"""Characters of what a file says that are kept."""

_NAME = re.compile(r"(tensor|output)_(\d+)")


def model_answer(folder: Path, model: bytes) -> ModelAnswer:
    """Return what was made of a model, ``missing`` if the folder has nothing.

    Raises
    ------
    InputError
        If there are several files, or one cannot be read, or an array has no place in the model.
    """
    names = ("results.npz", *(f"{ending}.txt" for ending in ENDINGS))
    found = [name for name in names if (folder / name).is_file()]
    if len(found) > 1:
        raise InputError(f"{folder}: {' and '.join(found)}; a model has one end: leave one of them")
    if not found:
        return ModelAnswer(ending="missing")
    path = folder / found[0]
    if path.suffix == ".npz":
        return ModelAnswer(ending="computed", tensors=_tensors(path, model))
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            message = file.readline(MESSAGE).strip()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; it must be a text") from None
    return ModelAnswer(ending=ENDINGS[names.index(found[0]) - 1], message=message)


def _tensors(path: Path, model: bytes) -> dict[int, np.ndarray]:
    tensors: dict[int, np.ndarray] = {}
    outputs: list[int] | None = None
    for name, array in read_arrays(path).items():
        parts = _NAME.fullmatch(name)
        if parts is None:
            raise InputError(f"{path}: {name!r} is no tensor_<index> or output_<place>")
        index = int(parts[2])
        if parts[1] == "output":
            outputs = _outputs(model) if outputs is None else outputs
            if index >= len(outputs):
                raise InputError(f"{path}: {name}, and the model has {len(outputs)} outputs")
            index = outputs[index]
        if index in tensors:
            raise InputError(f"{path}: {name} is tensor {index}, which is there already")
        tensors[index] = array
    return tensors


def _outputs(model: bytes) -> list[int]:
    try:
        return list(read_model(model).outputs)
    except InputError:  # a model to refuse: which tensors were made of it does not matter
        return list(range(1 << 10))
