"""The suite of mutants: what it plans, one that a test catches, and what reports say of them."""

import json
from pathlib import Path

import pytest

from eightfold.campaign.folder import Folder
from eightfold.campaign.records import Unit
from eightfold.campaign.report import holds, summary, write_report
from eightfold.campaign.report.as_json import MutantsJson
from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT
from lab.mutants.judge import How, Judgement
from lab.mutants.mutator import mutants
from lab.suites import mutants as suite
from lab.suites.mutants import case_of
from tests.support.campaign.folders import ended_campaign
from tests.support.campaign.units import units_of
from tests.support.documented import check_fields


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
    single = names(planned_of("hw/blocks/skid.py:3", "hw/ports.py:0"))
    assert single == ["hw/blocks/skid.py:3", "hw/ports.py:0"]


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
        suite.SUITE.run(unit, tmp_path / "waves.vcd")


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
    (case,) = suite.SUITE.run(planned_of(f"{path}:{number}")[0], None).cases
    assert case.verdict == "passed", case
    assert ": caught: tests/hw/blocks/test_skid.py::" in case.message


FOUND: list[tuple[str, str, How]] = [
    ("hw/a.py", "mux", "caught"),
    ("hw/a.py", "mux", "caught"),
    ("hw/a.py", "reset", "equivalent"),
    ("hw/b.py", "reset", "accepted"),
    ("hw/b.py", "slice", "invalid"),
    ("hw/b.py", "mux", "survived"),
]


def campaign(path: Path, found: list[tuple[str, str, How]]) -> Folder:
    ended = []
    for seed, (file, kind, how) in enumerate(found):
        unit = Unit(suite="mutants", operator=file, first=seed, count=1, backend="tests")
        ended.append((unit, [case_of(seed, file, Judgement(kind, 7, how, "why", "-x\n+y"))]))
    return ended_campaign(path, {"suites": ["mutants"], "seed": 0}, ended)


def test_a_survivor_fails_the_campaign(tmp_path):
    folder = campaign(tmp_path / "a", FOUND)
    assert not holds(folder)
    assert summary(folder) == (
        "failed: Of 6 cases in 1 column, 1 failed, 3 were refused (nothing to compare) and 2 "
        "passed; of 6 mutants 4 are valid, and tests caught 2 of those (50.0%)."
    )


def test_an_accepted_one_does_not(tmp_path):
    folder = campaign(tmp_path / "a", FOUND[:-1])
    assert holds(folder)
    assert summary(folder).endswith(
        "of 5 mutants 3 are valid, and tests caught 2 of those (66.6%)."
    )


def test_reports_count_by_kind_and_by_file(tmp_path):
    folder = campaign(tmp_path / "a", FOUND)
    html, path = tmp_path / "page.html", tmp_path / "report.json"
    write_report(folder, html=html, junit=None, json=path)
    report = json.loads(path.read_text("utf-8"))["mutants"]
    check_fields(report, MutantsJson)
    kinds = {
        each["kind"]: (each["drawn"], each["valid"], each["share"]) for each in report["kinds"]
    }
    assert kinds == {"mux": (3, 3, 2 / 3), "reset": (2, 1, 0.0), "slice": (1, 0, None)}
    files = {each["file"]: each["survived"] for each in report["files"]}
    assert list(files.items()) == [("hw/b.py", 1), ("hw/a.py", 0)]
    text = html.read_text("utf-8")
    assert "<td>mux</td>" in text
    assert "<td>hw/b.py</td>" in text
    assert "50.0%" in text
    assert "+y" in text  # the survivor's diff


@pytest.mark.parametrize("how", ["caught", "survived", "accepted", "equivalent", "invalid"])
def test_a_message_says_the_judgement(how: How):
    found = Judgement("mux", 7, how, "of: a\nreason")
    assert Judgement.from_message(found.message) == found


@pytest.mark.parametrize("text", ["", "mux in line 7: lost: x", "ValueError: in line 7: caught: x"])
def test_other_messages_are_no_judgements(text):
    assert Judgement.from_message(text) is None
