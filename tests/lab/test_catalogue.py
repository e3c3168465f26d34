"""The one table of operators, `eightfold.operators.OPERATORS`: every other place has what it has.

What is forgotten when an operator is added fails here, by the operator's name and the place; so
does what is left behind when one is removed. docs/add-an-operator.md walks through the places.
"""

import re
from collections.abc import Callable, Collection

import pytest

from eightfold.cases.networks import EXTENSIONS
from eightfold.cases.operators import MAKERS
from eightfold.cli.operator_list import records
from eightfold.common.files import IMPORT_ROOT
from eightfold.compiler.lower.lowering import GOLDEN_ALONE, METHODS
from eightfold.operators import OPERATORS, load_model
from examples.operators import operators_model
from lab.coverage import POINTS
from lab.measure.models import REQUIREMENTS, SIZES
from lab.measure.series import CATALOGUE, COMPUTING, SERIES
from tests.golden.test_mutations import MUTATIONS, VARIANTS

HARDWARE = OPERATORS.keys() - GOLDEN_ALONE.keys()

SAME_ARITHMETIC = {
    "GREATER": "LESS",
    "GREATER_EQUAL": "LESS",
    "LESS_EQUAL": "LESS",
    "NOT_EQUAL": "EQUAL",
    "RELU": "RELU_N1_TO_1",
    "RELU_0_TO_1": "RELU_N1_TO_1",
}
"""Operators whose function in golden is that of another one, of which there is a mutation."""

CODES_ALONE = {
    *("ARG_MAX", "ARG_MIN", "MAXIMUM", "MINIMUM", "REDUCE_MAX", "REDUCE_MIN"),
    *("LOGICAL_AND", "LOGICAL_NOT", "LOGICAL_OR", "REDUCE_ALL", "REDUCE_ANY"),
    *("SELECT", "SELECT_V2"),
}
"""Operators that compare or choose codes: there is no arithmetic to get wrong."""

MUTATED = COMPUTING.keys() - SAME_ARITHMETIC.keys() - CODES_ALONE


def text_of(document: str) -> str:
    return (IMPORT_ROOT / document).read_text(encoding="utf-8")


PLACES: dict[str, tuple[Callable[[], Collection[str]], Collection[str]]] = {
    "eightfold/cases": (lambda: MAKERS, OPERATORS),
    "eightfold/compiler/lower/lowering.py": (lambda: METHODS, HARDWARE),
    "lab/measure/series.py": (lambda: CATALOGUE, HARDWARE),
    "eightfold/cli/operators.json, by python -m lab.measure": (records, HARDWARE),
    "eightfold/cases, to extend a network": (lambda: EXTENSIONS, HARDWARE | {"DEQUANTIZE"}),
    "lab/coverage": (lambda: POINTS, HARDWARE),
    "examples/operators.py": (
        lambda: [operator.name for operator in load_model(operators_model()).operators],
        HARDWARE,
    ),
    "tests/golden/test_mutations.py": (
        lambda: {*VARIANTS, *(each.operator for each in MUTATIONS.values())} & COMPUTING.keys(),
        MUTATED,
    ),
    "docs/numerics.md": (
        lambda: OPERATORS.keys() & set(re.findall(r"\w+", text_of("docs/numerics.md"))),
        OPERATORS,
    ),
}
"""What has something for every operator, how to ask it, and the operators that it must have."""


def missing(place: str) -> str:
    """Return in words which operators a place lacks, or has too many; empty if none."""
    ask, wanted = PLACES[place]
    found = set(ask())
    words = [f"{place} has nothing for {name}" for name in sorted(set(wanted) - found)]
    words += [f"{place} has {name}, no row of the table" for name in sorted(found - set(wanted))]
    return "; ".join(words)


@pytest.mark.parametrize("place", PLACES)
def test_every_place_has_every_operator(place: str) -> None:
    words = missing(place)
    assert not words, words


@pytest.mark.parametrize("place", PLACES)
def test_what_is_forgotten_is_named(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ask, wanted = PLACES[place]
    others = [name for name in ask() if name != "ADD"]
    monkeypatch.setitem(PLACES, place, (lambda: others, wanted))
    assert missing(place) == f"{place} has nothing for ADD"
    monkeypatch.setitem(PLACES, place, (lambda: [*wanted, "CEIL"], wanted))
    assert missing(place) == f"{place} has CEIL, no row of the table"


def test_operators_that_golden_alone_computes_have_rows_and_reasons() -> None:
    assert sorted(GOLDEN_ALONE.keys() - OPERATORS.keys()) == []
    assert all(GOLDEN_ALONE.values())


@pytest.mark.parametrize("name", SERIES)
def test_operators_with_weights_count_their_macs(name: str) -> None:
    case = SERIES[name][0].case(SIZES[0], inside=False)
    operands = {case.graph.tensors[index].name for index in case.operator.inputs}
    assert (case.macs > 0) == ("weights" in operands)


@pytest.mark.parametrize("name", CATALOGUE)
def test_requirements_are_listed(name: str) -> None:
    requirement = CATALOGUE[name].requirement
    assert requirement is None or requirement in REQUIREMENTS, (
        f"lab/measure/models.py: REQUIREMENTS lacks that of {name}"
    )


def test_the_readme_counts_them() -> None:
    number = f"all 38 operators of the spec and {len(HARDWARE) - 38} more"
    assert number in text_of("README.md"), f"README.md does not say: {number}"


def test_the_walkthrough_names_files_that_exist() -> None:
    text = text_of("docs/add-an-operator.md")
    paths = set(re.findall(r"\b(?:eightfold|golden|lab|tests|examples)/[\w/]*(?:\.\w+)?", text))
    assert len(paths) > 20
    assert [path for path in sorted(paths) if not (IMPORT_ROOT / path).exists()] == []
