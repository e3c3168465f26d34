"""Rewriting of mutated models: whatever the model reader accepts is rewritten, or left as it is."""

from collections.abc import Sequence
from typing import get_args

import pytest

from eightfold.common.errors import InputError
from eightfold.compiler.rewrite import rewrite
from eightfold.golden.quantization import Reference
from eightfold.model.mutate import Mutation
from eightfold.operators import Limits, load_model
from lab.hostile.mutant import make_mutant, random_mutant

FOUND = (
    make_mutant(
        "SQUEEZE",
        "LEAKY_RELU",
        107,
        (Mutation("reorder", 5306379205726225823), Mutation("constant", 988826566207091955)),
    ),
    make_mutant("MAXIMUM", "GATHER", 487, (Mutation("option", 8216288782070140321),)),
    make_mutant("CONV_2D", "EQUAL", 818, (Mutation("quantization", 2500455187234598793),)),
)
"""Mutants that an earlier version stumbled over."""


@pytest.mark.parametrize("seeds", [(), range(100), range(1000, 1100)], ids=str)
@pytest.mark.slow
def test_nothing_stumbles_over_a_mutant(seeds: Sequence[int]) -> None:
    rewritten = 0
    for mutant in map(random_mutant, seeds) if seeds else FOUND:
        try:
            graph = load_model(mutant.content, Limits(1 << 28, 1 << 22))
        except InputError:
            continue
        for reference in get_args(Reference):
            try:
                found = rewrite(graph, reference)
            except InputError:  # a computed shape that contradicts the declared one
                continue
            assert set(found.graph.inputs) == set(graph.inputs)
            assert found.graph.outputs == graph.outputs
        rewritten += 1
    assert rewritten >= 3
