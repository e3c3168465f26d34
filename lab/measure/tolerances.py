"""How far runtimes are from the reference, row by row: ``python -m lab.measure.tolerances``.

Each is asked models of one operator within the spec, which are drawn as those of the conformance
kit. The file that is written holds what `eightfold.conformance.judge.models.tolerances` needs.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import click
import numpy as np

from eightfold.common.extras import installed_versions
from eightfold.common.files import write_file
from eightfold.common.program import one_line_errors
from eightfold.common.progress import tell
from eightfold.common.terminal import terminal_progress
from eightfold.conformance.adapters.adapter import ModelRunner, load_adapter
from eightfold.conformance.answers import ModelAnswer
from eightfold.conformance.judge.models.tolerances import FILE, VOTERS
from eightfold.conformance.profile import OPERATORS, PROFILES
from eightfold.conformance.vectors.models import OperatorCase, model_cases
from eightfold.conformance.verdict import KIT
from eightfold.operators import load_model
from eightfold.run.reference.oracle import differ

RUNTIMES = (*VOTERS, "openvino")
PACKAGES = (
    *("ai-edge-litert", "tflite-micro", "tosa-converter-for-tflite", "tosa-tools", "openvino"),
    "numpy",
)
LEVEL = "full"


def deviation(cases: Sequence[OperatorCase], answers: Sequence[ModelAnswer]) -> dict[str, int]:
    """Return how far answers are from what is expected of models.

    Returns ``models`` that were asked, and how many are ``computed``: there are results of the
    right shapes and types; of their outputs the ``elements``, how many are ``deviating``, and the
    ``largest`` difference: of codes, of integers, of booleans as 0 and 1.
    """
    computed = elements = deviating = largest = 0
    for case, answer in zip(cases, answers, strict=True):
        pairs = [
            (case.tensors[index], answer.tensors.get(index))
            for index in load_model(case.model).outputs
            if index in case.tensors
        ]
        if answer.ending != "computed" or not all(
            theirs is not None and (theirs.shape, theirs.dtype) == (right.shape, right.dtype)
            for right, theirs in pairs
        ):
            continue
        computed += 1
        for right, theirs in pairs:
            assert theirs is not None
            wrong = differ(theirs, right)
            elements += wrong.size
            deviating += int(wrong.sum())
            far = np.abs(theirs.astype(np.int64) - right.astype(np.int64))
            largest = max(largest, int(far.max(initial=0)))
    return {
        "models": len(cases),
        "computed": computed,
        "elements": elements,
        "deviating": deviating,
        "largest": largest,
    }


def processor() -> str:
    """Return which of the instruction sets this machine has that kernels are chosen by."""
    info = Path("/proc/cpuinfo")
    words = set(info.read_text(encoding="utf-8").split()) if info.is_file() else set()
    known = ("avx2", "avx512f", "avx_vnni", "avx512_vnni", "amx_int8", "asimd", "asimddp")
    return ", ".join(name for name in known if name in words) or "unknown"


@click.command(help=(__doc__ or "").partition("\n\n")[0])
@click.option("--count", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--operators", default=",".join(OPERATORS), metavar="NAMES")
@click.option("-o", "--output", type=click.Path(path_type=Path), default=FILE)
def main(count: int, seed: int, operators: str, output: Path) -> None:
    rows: dict[str, dict[str, dict[str, int]]] = {}
    runners = {name: cast(ModelRunner, load_adapter(name)) for name in RUNTIMES}
    names = operators.split(",")
    with terminal_progress("measuring") as on_progress:
        for done, operator in enumerate(names):
            tell(on_progress, operator, done, len(names))
            cases = list(model_cases(operator, PROFILES["tflite"], LEVEL, seed, count=count))
            asked = [(case.model, case.inputs) for case in cases]
            rows[operator] = {
                name: deviation(cases, runner.answer_all(asked)) for name, runner in runners.items()
            }
    for runner in runners.values():
        runner.close()
    found = {
        "kit": KIT,
        "level": LEVEL,
        "count": count,
        "seed": seed,
        "processor": processor(),
        "versions": installed_versions(PACKAGES),
        "rows": rows,
    }
    write_file(output, json.dumps(found, indent=1) + "\n")
    click.echo(output)


if __name__ == "__main__":
    one_line_errors(main)
