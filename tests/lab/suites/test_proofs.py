"""The suite of proofs: what it plans, and how a proof's end becomes a case's."""

import shutil

import pytest

from eightfold.campaign.records import Unit
from eightfold.common.errors import InputError
from lab.formal.proof import Finding
from lab.formal.proofs import PROOFS
from lab.formal.solver import Solved
from lab.suites import proofs as suite
from tests.support.campaign.units import units_of


def planned_of(*files: str) -> list[Unit]:
    return units_of("proofs", files=files)


def test_every_proof_is_planned_and_files_and_numbers_choose() -> None:
    assert len(planned_of()) == sum(map(len, PROOFS.values()))
    assert {unit.operator for unit in planned_of("hw/blocks")} == {
        file for file in PROOFS if file.startswith("hw/blocks/")
    }
    (unit,) = planned_of("hw/blocks/skid.py:2")
    assert (unit.operator, list(unit.seeds)) == ("hw/blocks/skid.py", [2])


@pytest.mark.parametrize("name", ["hw/ports.py", "hw/block", "hw/blocks:0", "hw/blocks/skid.py:99"])
def test_what_has_no_proof_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"--files {name}: there is no such proof"):
        planned_of(name)


@pytest.mark.parametrize(
    ("how", "verdict"),
    [("proved", "passed"), ("refuted", "failed"), ("unknown", "failed"), ("skipped", "refused")],
)
def test_the_end_of_a_proof_is_the_verdict_of_its_case(how, verdict, monkeypatch) -> None:
    monkeypatch.setattr(Solved, "prove", lambda self: Finding(how, "by magic", "a=1"))
    (case,) = suite.SUITE.run(planned_of("hw/requantizer.py")[0], None).cases
    assert (case.operator, case.verdict) == ("hw/requantizer.py", verdict)
    assert case.message == f"{how}: by magic: requantizer"
    assert how == "proved" or (case.evidence and "a=1" in case.evidence.log)


def test_without_abc_its_proofs_are_skipped(monkeypatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None)
    (case,) = suite.SUITE.run(planned_of("hw/blocks/skid.py:0")[0], None).cases
    assert case.verdict == "refused"
    assert "berkeley-abc is not installed" in case.message


def test_proofs_have_no_waves(tmp_path) -> None:
    with pytest.raises(InputError, match="without --trace"):
        suite.SUITE.run(planned_of("hw/blocks/skid.py:0")[0], tmp_path / "waves.vcd")
