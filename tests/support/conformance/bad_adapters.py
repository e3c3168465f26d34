"""Adapters that go wrong, each in its own way, and one of a runtime that is right."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from eightfold.conformance.adapters.model import ModelAdapter, Refused
from eightfold.operators import load_model, run_graph

HERE = Path(__file__).resolve()


def in_the_child() -> bool:
    """Return whether this is not the process of the test."""
    return "pytest" not in sys.modules


class Right(ModelAdapter):
    """Golden, outputs in order, with chatter."""

    def run(self, model: bytes, inputs: dict[int, np.ndarray]) -> list[np.ndarray]:
        print("garbage on stdout")
        sys.stdout.flush()
        graph = load_model(model)
        tensors = run_graph(graph, inputs)
        return [tensors[index] for index in graph.outputs]


class Core3x3(Right):
    """Right of CONV_2D with square windows up to 3x3 alone."""

    def run(self, model: bytes, inputs: dict[int, np.ndarray]) -> list[np.ndarray]:
        if not takes_3x3(model):
            raise Refused("no square window up to 3x3")
        return super().run(model, inputs)


def takes_3x3(model: bytes, batches: tuple[int, ...] = (1,)) -> bool:
    """Return whether a core takes a CONV_2D that has no windows but square ones up to 3x3."""
    graph = load_model(model)
    (conv,) = graph.operators
    x, weights = (graph.tensors[index].shape for index in conv.inputs[:2])
    strides = conv.options["stride_h"], conv.options["stride_w"]
    dilations = conv.options["dilation_h_factor"], conv.options["dilation_w_factor"]
    square = weights[1] == weights[2] <= 3 and strides in [(1, 1), (2, 2)]
    return square and dilations == (1, 1) and x[3] == weights[3] and x[0] in batches


class Refuses(ModelAdapter):
    def run(self, model: bytes, inputs: dict[int, np.ndarray]) -> Any:
        raise Refused("only on\nSundays")


class Raises(ModelAdapter):
    def run(self, model: bytes, inputs: dict[int, np.ndarray]) -> Any:
        return [] if inputs is None else {}["nothing"]


class Aborts(ModelAdapter):
    def run(self, model: bytes, inputs: dict[int, np.ndarray]) -> Any:
        print("check failed: 1 == 2", file=sys.stderr, flush=True)
        os.abort()


class Hangs(ModelAdapter):
    timeout = 1.5

    def run(self, model: bytes, inputs: dict[int, np.ndarray]) -> Any:
        subprocess.run(["sleep", "1000"], check=False)  # that ends with it


class HangsSoon(Hangs):
    timeout = 0.01


class NeverStarts(ModelAdapter):
    def __init__(self) -> None:
        if in_the_child():
            raise OSError("no licence")


class StartsSlowly(ModelAdapter):
    timeout = 1.0

    def __init__(self) -> None:
        if in_the_child():
            time.sleep(1000)


class DiesAtTheStart(ModelAdapter):
    def __init__(self) -> None:
        if in_the_child():
            os.kill(os.getpid(), signal.SIGSEGV)


def _running(name: str, run: Callable[[], Any], **fields: Any) -> type[ModelAdapter]:
    """Return an adapter of a name that does the same with every model."""
    fields |= {"run": lambda self, model, inputs: run(), "__module__": __name__}
    return type(name, (ModelAdapter,), fields)


Exits = _running("Exits", lambda: os._exit(7))
Forgets = _running("Forgets", lambda: {99: np.zeros(3, np.int8)})
Counts = _running("Counts", lambda: [np.zeros(3, np.int8)] * 2)
Objects = _running("Objects", lambda: [object()])
Text = _running("Text", lambda: "a tensor")
Hungry = _running("Hungry", lambda: [np.ones(2**32, np.int8)], memory=2**31)


class Nothing(ModelAdapter):
    pass


class RightExecutable(ModelAdapter):
    command: ClassVar = (sys.executable, str(HERE), "npz", "{model}", "{inputs}", "{outputs}")


class RawExecutable(ModelAdapter):
    form = "raw"
    command: ClassVar = (sys.executable, str(HERE), "raw", "{model}", "{inputs}", "{outputs}")


def _executable(end: str) -> type[ModelAdapter]:
    words = (sys.executable, "-c", end, "{outputs}")
    return type("Executable", (ModelAdapter,), {"command": words, "timeout": 2.0})


ExecutableRefuses = _executable("print('no dilation'); raise SystemExit(3)")
ExecutableFails = _executable("raise ValueError(5)")
ExecutableAborts = _executable("import os; os.abort()")
ExecutableHangs = _executable("import time; time.sleep(100)")
ExecutableForgets = _executable("")
ExecutableGarbles = _executable("import sys; open(sys.argv[1], 'w').write('nothing')")


class NoExecutable(ModelAdapter):
    command = ("/no/such/file",)


def _main(form: str, model: Path, inputs: Path, outputs: Path) -> None:
    """Be an executable: golden, by files."""
    content = model.read_bytes()
    graph = load_model(content)
    if form == "npz":
        given = {int(name[7:]): array for name, array in np.load(inputs).items()}
    else:
        given = {}
        for line in (inputs / "tensors.txt").read_text().splitlines():
            index, dtype, *sizes = line.split()
            array = np.fromfile(inputs / f"tensor_{index}.bin", dtype)
            given[int(index)] = array.reshape([int(size) for size in sizes])
    tensors = run_graph(graph, given)
    if form == "npz":
        np.savez(outputs, allow_pickle=False, **{f"tensor_{i}": tensors[i] for i in graph.outputs})
        return
    for line in (outputs / "tensors.txt").read_text().splitlines():
        index = int(line.split()[0])
        tensors[index].tofile(outputs / f"tensor_{index}.bin")


if __name__ == "__main__":
    _main(sys.argv[1], *map(Path, sys.argv[2:]))


class Anew(ModelAdapter):
    """Tells the number of its process, which is another one after every two models."""

    restart_after = 2

    def run(self, model: bytes, inputs: dict[int, np.ndarray]) -> list[np.ndarray]:
        raise Refused(str(os.getpid()))
