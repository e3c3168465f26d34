"""Rewriting of mutated models: whatever the model reader accepts is rewritten, or left as it is."""

from typing import get_args

import pytest

from eightfold.compiler.rewrite import rewrite
from eightfold.errors import InputError
from eightfold.golden.quantization import Reference
from eightfold.hostile.mutant import random_mutant
from eightfold.model import Limits, load_model

FOUND = (107, 487, 818)
"""Mutants that an earlier version stumbled over."""


@pytest.mark.parametrize("seeds", [FOUND, range(100), range(1000, 1100)], ids=str)
def test_nothing_stumbles_over_a_mutant(seeds: range | tuple[int, ...]) -> None:
    rewritten = 0
    for seed in seeds:
        try:
            graph = load_model(random_mutant(seed).content, Limits(1 << 28, 1 << 22))
        except InputError:
            continue
        for reference in get_args(Reference):
            found = rewrite(graph, reference)
            assert set(found.graph.inputs) == set(graph.inputs)
            assert found.graph.outputs == graph.outputs
        rewritten += 1
    assert rewritten >= 3
