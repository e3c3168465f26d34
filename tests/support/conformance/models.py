"""Folders of vectors with results, and their judge, for tests."""

import json
from functools import partial
from pathlib import Path

from eightfold.conformance.judge.models.finding import judge_models

judge_without_power = partial(judge_models, power=False)
"""The judge of models, without what cases could not have told."""


def write_right_models(vectors: Path, results: Path) -> None:
    """Write the results of an implementation that is right."""
    for name, entry in json.loads((vectors / "manifest.json").read_text())["cases"].items():
        (results / name).mkdir(parents=True)
        if entry["expect"] == "refused":
            (results / name / "refused.txt").write_text("not for me\n")
        else:
            expected = (vectors / name / "expected.npz").read_bytes()
            (results / name / "results.npz").write_bytes(expected)
