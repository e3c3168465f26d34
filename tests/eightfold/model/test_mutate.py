"""Mutations of models: repeatable, each kind changes something, and what comes is mostly a file."""

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.model import read_model
from eightfold.model.mutate import KINDS, Mutation, mutate, random_mutations
from eightfold.model.writer import unpack
from eightfold.operators import load_model
from lab.suites.hostile import BASES, base_case, random_mutant
from tests.support.models.single import moved


def test_without_mutations_the_file_is_the_same() -> None:
    model, _ = base_case("CONV_2D", 0)
    assert mutate(model, [], model) == model


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usual(count=9)
def test_each_kind_changes_most_files(kind: str) -> None:
    rng = np.random.default_rng(0)
    donor, _ = base_case("CONCATENATION", 0)
    changed = 0
    for seed in range(40):
        model, _ = base_case(("STRIDED_SLICE", "network")[seed % 2], seed % 5)
        mutation = Mutation(kind, int(rng.integers(1 << 63)))
        changed += mutate(model, [mutation], donor) != model
    assert changed > 10


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_choice_fails(kind: str) -> None:
    # Also of what mutations before have left: no operand, no shape, no option.
    rng = np.random.default_rng(1)
    donor, _ = base_case("ADD", 0)
    for seed in range(60):
        model, _ = base_case(BASES[seed % len(BASES)], 0)
        before = [mutation for _ in range(4) for mutation in random_mutations(rng)]
        mutate(model, [*before, Mutation(kind, int(rng.integers(1 << 63)))], donor)
        mutate(model, [Mutation(kind, 0)], donor)


@pytest.mark.parametrize("kind", ["bytes", "truncation"])
def test_a_file_without_bytes_stays_one(kind: str) -> None:
    model, _ = base_case("ADD", 0)
    assert mutate(model, [Mutation("truncation", 0), Mutation(kind, 5)], model) == b""


def test_a_dimension_stays_in_its_type() -> None:
    choices = (473187742010891137, 4719881055475626697)  # 2^31 - 1, and then more
    model, _ = base_case("REDUCE_MIN", 103971)
    assert mutate(model, [Mutation("shape", choice) for choice in choices], model) != model


@pytest.mark.slow
def test_most_mutants_get_past_the_structure() -> None:
    read = 0
    for seed in range(200):
        try:
            load_model(random_mutant(seed).content)
        except InputError as error:
            read += "truncated" not in str(error)
        else:
            read += 1
    assert read > 150


def test_operands_are_computed_and_subgraphs_added() -> None:
    """Of RESHAPE's operand: an input, results of RESHAPE of it or of a constant, and of SHAPE."""
    model = moved("RESHAPE", (2, 3), (3, 2), [3, 2])
    found = set()
    for choice in range(16):
        graph = read_model(mutate(model, [Mutation("computed", choice)], model))
        first = graph.operators[0]
        known = [graph.tensors[index].data for index in first.inputs]
        turned = len(graph.operators) > 1 and known[0] is not None and known[0].tolist() == [2, 3]
        found.add((first.name, len(graph.operators), len(graph.inputs), turned))
    assert found == {
        ("RESHAPE", 1, 2, False),
        ("RESHAPE", 2, 2, False),
        ("RESHAPE", 2, 1, False),
        ("RESHAPE", 2, 1, True),
        ("SHAPE", 2, 1, False),
    }
    added = [unpack(mutate(model, [Mutation("subgraph", n)], model)).fields for n in range(3)]
    assert [len(fields["Subgraphs"]) for fields in added] == [2, 2, 1]
    assert [len(fields.get("SignatureDefs", ())) for fields in added] == [0, 0, 1]
