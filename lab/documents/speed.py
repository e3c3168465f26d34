"""Time golden against LiteRT's reference kernels: ``python -m lab.documents.speed
MODEL.tflite...``.

The graph is loaded and prepared once, as LiteRT's interpreter is. Both compute the same inference,
alternately, on one thread of one process. Times are CPU times of that thread: on a busy machine
they do not count what other programs do in between.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import click

from eightfold.common.child import lines_of, python_path, run_to_end
from eightfold.common.errors import InputError
from eightfold.common.extras import needs_extra, require_module
from eightfold.common.files import IMPORT_ROOT
from eightfold.common.markers import markdown
from eightfold.common.program import one_line_errors

_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_CHILD = "from lab.documents.speed import measure_here; measure_here()"


@dataclass(frozen=True)
class Speed:
    """Medians of the CPU time of one inference, in milliseconds.

    ``golden``: numpy; every tensor is kept, as always. ``litert``: LiteRT's ``invoke`` with
    ``BUILTIN_REF``, which reuses the memory of dead tensors; ``litert_keeping``: with every tensor
    kept, as `eightfold.run.reference.oracle` runs it.
    """

    model: str
    operators: int
    golden: float
    litert: float
    litert_keeping: float

    @property
    def ratio(self) -> float:
        """Return golden's time over LiteRT's (not keeping tensors); at most 1: as fast."""
        return self.golden / self.litert


def measure(model: str | Path, repeats: int = 21, seed: int = 0, batch: int = 1) -> Speed:
    """Measure one model in a child process, with BLAS limited to one thread.

    ``repeats``: measurements of each, after two that are not counted: golden checks in its first
    run and prepares the graph in its second. ``seed``: of the random inputs; inference i of a batch
    takes seed + i. ``batch``: inferences per measurement, and by which its time is divided. Raises
    InputError if LiteRT is not installed, or the model cannot be run. The child may die (a failed
    check in a kernel aborts).
    """
    with needs_extra("compare", "speed"):
        require_module("ai_edge_litert")
    # BLAS reads its number of threads when numpy is imported: so a new process.
    one_thread = dict.fromkeys(_ONE_THREAD, "1")
    environment = {**os.environ, "PYTHONPATH": python_path(IMPORT_ROOT), **one_thread}
    words = map(str, (model, repeats, seed, batch))
    child = run_to_end([sys.executable, "-c", _CHILD, *words], env=environment)
    if child.returncode:
        reason = [f"exit status {child.returncode}", *lines_of(child.stderr)][-1]
        raise InputError(f"{model}: cannot be measured: {reason}")
    return Speed(**json.loads(child.stdout.splitlines()[-1]))


def measure_here() -> None:
    """Measure the model of the command line and print the `Speed` as JSON.

    This is the child's side of `measure`; nothing else calls it.
    """
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    from eightfold.model.inputs import random_inputs
    from eightfold.operators import load_model, run_graphs

    model = sys.argv[1]
    repeats, seed, batch = map(int, sys.argv[2:5])
    graph = load_model(model)
    inputs = [random_inputs(graph, seed + i) for i in range(batch)]

    def golden() -> None:
        run_graphs(graph, inputs)

    def litert(keep: bool) -> Callable[[], None]:
        interpreter = Interpreter(
            model_path=model,
            experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
            experimental_preserve_all_tensors=keep,
            num_threads=1,
        )
        interpreter.allocate_tensors()
        for index, array in inputs[0].items():
            interpreter.set_tensor(index, array)

        def invoke() -> None:
            # Always the same inputs: setting others is not part of what is measured.
            for _ in range(batch):
                interpreter.invoke()

        return invoke

    totals = _alternating([golden, litert(False), litert(True)], repeats)
    times = [time / batch for time in totals]
    print(json.dumps(asdict(Speed(model, len(graph.operators), *times))))


def _alternating(runs: Sequence[Callable[[], None]], repeats: int) -> list[float]:
    """Return the median CPU time of each in milliseconds; one call of each in turn."""
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(repeats + 2):
        for run, measured in zip(runs, times, strict=True):
            started = time.thread_time()
            run()
            measured.append(1e3 * (time.thread_time() - started))
    return [median(measured[2:]) for measured in times]


def speed_table(speeds: Sequence[Speed]) -> str:
    """Return a row per model, as docs/golden-speed.md has them."""
    rows = [
        (
            Path(speed.model).name,
            str(speed.operators),
            *(f"{time:.3f}" for time in (speed.golden, speed.litert, speed.litert_keeping)),
            f"{speed.ratio:.2f}",
        )
        for speed in speeds
    ]
    head = ("model", "operators", "golden ms", "LiteRT ms", "keeping all ms", "ratio")
    return markdown(head, rows, text=1)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("models", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--repeats", type=click.IntRange(1), default=21, show_default=True)
@click.option("--seed", default=0, show_default=True, help="Of the random inputs.")
@click.option(
    "--batch", type=click.IntRange(1), default=1, show_default=True, help="Inferences at once."
)
def speed(models: tuple[Path, ...], repeats: int, seed: int, batch: int) -> None:
    """Time an inference of each of MODELS: golden, and LiteRT's reference kernels.

    With --batch N golden computes N inferences at once, LiteRT N times one; times are per
    inference.
    """
    click.echo(speed_table([measure(model, repeats, seed, batch) for model in models]), nl=False)


if __name__ == "__main__":
    one_line_errors(speed)
