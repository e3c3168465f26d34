"""Every proof holds of the hardware as it is, and refutes the faults that stand beside it."""

import json
from collections.abc import Iterator

import pytest

from eightfold.common.files import IMPORT_ROOT
from lab.formal.proof import Break, Finding, Proof
from lab.formal.proofs import BY_NAME, PROOFS
from lab.mutants.mutator import Mutant
from lab.mutants.scratch import Scratch


def marked(proof: Proof) -> list[pytest.MarkDecorator]:
    return [pytest.mark.long if proof.long else pytest.mark.slow]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scratch]:
    with Scratch(IMPORT_ROOT, tmp_path_factory.mktemp("scratch")) as copy:
        yield copy


@pytest.mark.parametrize(
    "proof", [pytest.param(proof, id=proof.name, marks=marked(proof)) for proof in BY_NAME.values()]
)
@pytest.mark.usual(count=8)
def test_it_holds(proof: Proof) -> None:
    found = proof.prove()
    if found.how == "skipped":
        pytest.skip(found.message)
    assert found.how == "proved", f"{found.message}\n{found.log}"


@pytest.mark.parametrize(
    ("proof", "fault"),
    [
        pytest.param(proof, fault, id=f"{proof.name}-{number}", marks=marked(proof))
        for proof in BY_NAME.values()
        for number, fault in enumerate(proof.breaks)
    ],
)
@pytest.mark.usual(count=5)
def test_it_refutes(proof: Proof, fault: Break, scratch: Scratch) -> None:
    path = fault.file or proof.file
    text = (IMPORT_ROOT / path).read_text("utf-8")
    mutant = Mutant(path, 0, "break", 1, text, fault.applied(text))
    with scratch.mutated(mutant):
        ended = scratch.python(["-m", "lab.formal.proofs", proof.name], 4 * proof.limit)
    assert ended.status == 0, ended.output
    found = Finding(**json.loads(ended.output))
    if found.how == "skipped":
        pytest.skip(found.message)
    assert found.how == "refuted", f"{found}\n{mutant.diff}"


def test_every_family_can_fail() -> None:
    every = {proof.family or proof.name for proofs in PROOFS.values() for proof in proofs}
    assert every == {proof.family or proof.name for proof in BY_NAME.values() if proof.breaks}


def test_names_are_unique_and_files_are_there() -> None:
    assert len(BY_NAME) == sum(map(len, PROOFS.values()))
    assert all((IMPORT_ROOT / file).is_file() for file in PROOFS)


def test_what_breaks_replace_is_there_once() -> None:
    for proof in BY_NAME.values():
        for fault in proof.breaks:
            fault.applied((IMPORT_ROOT / (fault.file or proof.file)).read_text("utf-8"))
