"""Models as runtimes answer them: adapters asked, folders of results, and their judge."""

import json
from collections.abc import Sequence
from pathlib import Path
from shutil import copytree

from eightfold.conformance.adapters.adapter import ModelRunner, load_adapter
from eightfold.conformance.answers import ModelAnswer
from eightfold.conformance.vectors.models import OperatorCase


def answers_of(name: str, cases: Sequence[OperatorCase]) -> Sequence[ModelAnswer]:
    """Return what an adapter answers, which is named as at the command line."""
    adapter = load_adapter(name)
    assert isinstance(adapter, ModelRunner)
    with adapter:
        return adapter.answer_all([(case.model, case.inputs) for case in cases])


def copies(written: tuple[Path, Path], folder: Path) -> tuple[Path, Path]:
    """Return copies of folders of vectors and results, which a test may break."""
    vectors, results = written
    return Path(copytree(vectors, folder / "vectors")), Path(copytree(results, folder / "results"))


def write_right_models(vectors: Path, results: Path) -> None:
    """Write the results of an implementation that is right."""
    for name, entry in json.loads((vectors / "manifest.json").read_text())["cases"].items():
        (results / name).mkdir(parents=True)
        if entry["expect"] == "refused":
            (results / name / "refused.txt").write_text("not for me\n")
        else:
            expected = (vectors / name / "expected.npz").read_bytes()
            (results / name / "results.npz").write_bytes(expected)
