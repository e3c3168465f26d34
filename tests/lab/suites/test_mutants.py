"""The suite of mutants: what it plans, and a mutant of the hardware that a test catches."""

import pytest

from eightfold.campaign.records import Unit
from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT
from lab.mutants.mutator import mutants
from lab.suites import mutants as suite
from tests.support.campaign.units import units_of


def planned_of(*files: str, count: int = 4, seed: int = 0) -> list[Unit]:
    return units_of("mutants", files=files, cases=count, seed=seed)


def names(units: list[Unit]) -> list[str]:
    return [f"{unit.operator}:{unit.first}" for unit in units]


@pytest.mark.slow
def test_a_seed_draws_from_all_the_hardware_and_more_begin_with_the_same():
    few, many = names(planned_of()), names(planned_of(count=200))
    assert many[:4] == few
    assert len(set(many)) == 200
    assert {name.split("/")[1] for name in many} >= {"array", "control", "matrix", "vector"}
    assert names(planned_of(seed=1)) != few


def test_files_and_folders_are_chosen_and_single_mutants_by_their_numbers():
    drawn = names(planned_of("hw/memory", "hw/blocks/skid.py", count=30))
    assert {name.rpartition("/")[0] for name in drawn} == {"hw/memory", "hw/blocks"}
    assert names(planned_of("hw/blocks/skid.py:3", "hw/ports.py:0")) == [
        "hw/blocks/skid.py:3",
        "hw/ports.py:0",
    ]


def test_a_case_is_called_by_its_mutant():
    (unit,) = planned_of("hw/blocks/skid.py:3")
    assert unit.case_name(3) == "mutants-hw_blocks_skid.py-3-tests"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["hw/nothing.py", "sim/bench", "hw/blocks/skid.py:100000", "hw/blocks/skid.py:x", ".."]
)
def test_what_is_no_file_of_the_hardware_is_refused(name):
    with pytest.raises(InputError, match=f"--files {name}"):
        planned_of(name)


def test_an_installed_package_has_no_tests_to_run(tmp_path, monkeypatch):
    monkeypatch.setattr(suite, "IMPORT_ROOT", tmp_path)
    with pytest.raises(InputError, match="runs in a checkout of Eightfold"):
        planned_of()


def test_mutants_have_no_waves(tmp_path):
    (unit,) = planned_of("hw/blocks/skid.py:3")
    with pytest.raises(InputError, match="without --trace"):
        suite.run(unit, tmp_path / "waves.vcd")


@pytest.mark.long  # tests/lab/mutants/test_judge.py has a small unit
def test_a_bypass_that_gives_its_word_twice_is_caught():
    path = "hw/blocks/skid.py"
    every = mutants(path, (IMPORT_ROOT / path).read_text("utf-8"))
    number = next(
        mutant.number
        for mutant in every
        if mutant.kind == "inversion"
        and "class Bypass" in "".join(mutant.before.splitlines()[: mutant.line])
    )
    (case,) = suite.run(planned_of(f"{path}:{number}")[0], None).cases
    assert case.verdict == "passed", case
    assert ": caught: tests/hw/blocks/test_skid.py::" in case.message
