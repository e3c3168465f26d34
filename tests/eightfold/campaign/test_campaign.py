"""A campaign's units: in which order they run."""

from pathlib import Path

import pytest

from eightfold.campaign.campaign import begin
from eightfold.campaign.folder import Folder
from lab.suites.operators import SOON
from tests.support.campaign.units import units_of

OPERATORS = ("ADD", "SOFTMAX", "CONV_2D", "MEAN", "TRANSPOSE")


@pytest.mark.parametrize("backend", ["golden", "verilator"])
def test_every_operator_runs_before_one_runs_again(tmp_path: Path, backend: str) -> None:
    units = units_of("operators", operators=",".join(OPERATORS), cases=500, backend=backend)
    units += units_of("networks", cases=25, backend=backend)
    begin(Folder(tmp_path / "campaign"), {}, units)
    with Folder(tmp_path / "campaign").store() as store:
        order = [unit for _, unit in store.waiting()]
    assert sorted(unit.name for unit in order) == sorted(unit.name for unit in units)
    first = order[: len(OPERATORS) + 1]
    assert {unit.operator for unit in first} == {*OPERATORS, ""}
    for suite, operator in {(unit.suite, unit.operator) for unit in units}:
        seeds = [unit.first for unit in order if (unit.suite, unit.operator) == (suite, operator)]
        assert seeds == sorted(seeds)


@pytest.mark.parametrize("seed", [0, 150], ids="seed={}".format)
def test_the_first_models_of_an_operator_in_rtl_are_few(seed: int) -> None:
    units = units_of("operators", operators="ADD", cases=300, backend="verilator", seed=seed)
    assert units[0].count == SOON
    assert sum(unit.count for unit in units) == 300
    assert [s for unit in units for s in unit.seeds] == list(range(seed, seed + 300))
