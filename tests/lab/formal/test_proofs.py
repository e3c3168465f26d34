"""Proofs hold of the hardware and refute faults; what a checker makes of properties that do not."""

import json
import re
import shutil
from collections.abc import Iterator
from functools import partial

import pytest
from amaranth.hdl import Module, Signal

from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT
from lab.formal.checker import COMMAND, Checked, Property, abc_version
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
    text = (IMPORT_ROOT / proof.file).read_text("utf-8")
    mutant = Mutant(proof.file, 0, "break", 1, text, fault.applied(text))
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
            fault.applied((IMPORT_ROOT / proof.file).read_text("utf-8"))


needs_abc = pytest.mark.skipif(shutil.which(COMMAND) is None, reason=f"{COMMAND} is not installed")


def count(p: Property, m: Module, most: int = 4, reached: int = 4, never: bool = False) -> None:
    """A count of a free input from 0 to 4, and not further."""
    step = p.free("step")
    count = Signal(4)
    with m.If(step & (count < 4)):
        m.d.sync += count.eq(count + 1)
    if never:
        p.assume(~step)
    p.always(count <= most)
    p.reaches("it is reached", count == reached)


def checked(depth: int | None = None, **options) -> Checked:
    return Checked(name="", file="", text="", build=partial(count, **options), depth=depth)


@needs_abc
def test_what_holds_is_proved_and_what_does_not_has_an_example() -> None:
    assert checked().prove().how == "proved"
    found = checked(most=2).prove()
    assert (found.how, found.message.rpartition(": ")[2]) == ("refuted", "does not hold in cycle 3")
    assert found.log.splitlines()[:3] == [f"cycle {cycle}: step=0x1" for cycle in range(3)]


@needs_abc
def test_a_depth_says_no_more_than_that() -> None:
    assert checked(depth=3, most=2).prove().how == "proved"
    assert checked(depth=4, most=2).prove().how == "refuted"


@needs_abc
@pytest.mark.parametrize("options", [{"reached": 5}, {"never": True}])
def test_what_is_never_reached_is_refuted(options) -> None:
    found = checked(**options).prove()
    assert (found.how, found.message) == (
        "refuted",
        "1 of these never come in 30 cycles: it is reached",
    )


def test_a_break_replaces_one_text() -> None:
    assert Break("a", "b").applied("cat") == "cbt"
    for text in ("dog", "banana"):
        with pytest.raises(InputError, match="a break replaces one text"):
            Break("a", "b").applied(text)


@needs_abc
def test_abc_says_which_one_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert re.match(r"ABC \d", abc_version())
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert abc_version() == "none"
