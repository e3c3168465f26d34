"""Mutated models of every operator and of networks: no wrong step, and LiteRT agrees.

pytest's ``--hostile`` sets the number of files (600), ``--seed`` draws others.
"""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from eightfold.cases.operators import OPERATORS
from eightfold.model.mutate import DRAWN, Mutation
from lab.hostile.mutant import BASES, make_mutant
from lab.hostile.trial import GOOD, Trial

CHOICES = st.binary(min_size=8, max_size=8).map(lambda digits: int.from_bytes(digits, "little"))
MUTATIONS = st.lists(st.builds(Mutation, st.sampled_from(DRAWN), CHOICES), min_size=1, max_size=2)


@pytest.fixture(scope="module")
def trial() -> Iterator[Trial]:
    with Trial() as each:
        yield each


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.4, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("base", BASES)
@pytest.mark.usual(count=24)
def test_mutants_are_refused_or_run_as_in_litert(
    trial: Trial, base: str, share: float, first_seed: int, request: pytest.FixtureRequest
) -> None:
    count = share * request.config.option.hostile

    @seed(first_seed)
    @settings(
        max_examples=int(-(-count // len(BASES))),
        database=None,
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
    )
    @given(st.sampled_from(OPERATORS), st.integers(0, 99), MUTATIONS)
    def check(donor: str, number: int, mutations: list[Mutation]) -> None:
        mutant = make_mutant(base, donor, number, tuple(mutations))
        verdict = trial.judge(mutant.content, mutant.given)
        assert verdict.kind in GOOD, f"{mutant}: {verdict}"

    check()
