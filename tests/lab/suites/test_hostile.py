"""The suite of mutated models: each ends well, what becomes of verdicts, and what reports say.

pytest's ``--hostile`` sets the number of files (600), ``--seed`` draws others.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from eightfold.campaign.campaign import repeat
from eightfold.campaign.folder import Folder
from eightfold.campaign.records import Case, Unit
from eightfold.campaign.report import summary, write_report
from eightfold.campaign.report.as_json import HostileJson
from eightfold.campaign.suite import suites
from eightfold.cases.operators import OPERATORS
from eightfold.common.files import IMPORT_ROOT
from eightfold.model.mutate import DRAWN, Mutation
from lab.hostile.trial import GOOD, Verdict
from lab.suites import hostile as suite
from lab.suites.hostile import BASES, Mutant, make_mutant, random_mutant
from lab.suites.shrink import Budget
from tests.support.browser import Browser
from tests.support.campaign.folders import ended_campaign
from tests.support.campaign.units import evidence_of, units_of
from tests.support.documented import check_fields

SEVERAL = next(seed for seed in range(1000) if len(random_mutant(seed).mutations) == 4)
"""A file with as many mutations as there are at most."""


def unit(first: int = 0, count: int = 1) -> Unit:
    (only,) = units_of("hostile", cases=count, seed=first)
    return only


def run(given: Unit) -> Sequence[Case]:
    return suites()["hostile"].run(given, None).cases


def judge_by(monkeypatch: pytest.MonkeyPatch, *needed: int, kind: str = "different") -> list[int]:
    """Let a file fail that has some of the mutations of `SEVERAL`; return numbers of mutations."""
    asked = []
    mutations = random_mutant(SEVERAL).mutations

    def judged(mutant: Mutant) -> Verdict:
        asked.append(len(mutant.mutations))
        bad = all(mutations[number] in mutant.mutations for number in needed)
        return Verdict(kind if bad else "equal", "stream", "tensor 3: 1 of 8 differ")

    monkeypatch.setattr(suite, "_judged", judged)
    return asked


@pytest.mark.parametrize("needed", [(2,), (0, 3), (0, 1, 2)])
def test_a_finding_is_shrunk_to_the_mutations_that_it_needs(
    monkeypatch: pytest.MonkeyPatch, needed: tuple[int, ...]
) -> None:
    asked = judge_by(monkeypatch, *needed)
    (case,) = run(unit(SEVERAL))
    whole = random_mutant(SEVERAL)
    assert (case.verdict, case.operator) == ("failed", whole.base)
    assert case.message == "different, stream: tensor 3: 1 of 8 differ"
    evidence = evidence_of(case)
    small = make_mutant(
        whole.base, whole.donor, SEVERAL, tuple(whole.mutations[number] for number in needed)
    )
    assert evidence.model == small.content
    assert evidence.files == {"whole.tflite": whole.content}
    assert f"shrunk to {len(needed)} of 4 mutations" in evidence.log
    for number, mutation in enumerate(whole.mutations):
        assert evidence.log.count(str(mutation)) == 1 + (number in needed)
    assert asked[0] == 4
    assert 4 not in asked[1:]


def test_a_finding_that_needs_all_is_kept_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    judge_by(monkeypatch, 0, 1, 2, 3)
    (case,) = run(unit(SEVERAL))
    evidence = evidence_of(case)
    assert evidence.model == random_mutant(SEVERAL).content
    assert not evidence.files
    assert "shrunk" not in evidence.log


def test_another_fault_of_fewer_mutations_is_not_the_finding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def judged(mutant: Mutant) -> Verdict:
        kind = "time" if len(mutant.mutations) < 4 else "different"
        return Verdict(kind, "golden", "")

    monkeypatch.setattr(suite, "_judged", judged)
    (case,) = run(unit(SEVERAL))
    assert not evidence_of(case).files


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [("refused", "passed"), ("equal", "passed"), ("tolerated", "refused"), ("accepted", "failed"),
     ("different", "failed"), ("traceback", "failed"), ("unsaid", "failed"), ("died", "failed")],
)  # fmt: skip
def test_a_verdict_is_told_by_the_case(
    monkeypatch: pytest.MonkeyPatch, kind: str, verdict: str
) -> None:
    message = "Didn't find op for builtin opcode 'ADD' version '9'."
    monkeypatch.setattr(suite, "_judged", lambda mutant: Verdict(kind, "golden", message))
    (case,) = run(unit())
    assert case.verdict == verdict
    said = Verdict.from_line(case.message)
    assert said is not None
    assert (said.kind, said.step) == (kind, "golden")
    rule = "LiteRT refuses a version of an operator that this LiteRT does not register"
    assert said.message == (rule if kind == "tolerated" else message)


def test_lines_that_are_no_verdicts() -> None:
    assert Verdict.from_line("ValueError: a, b") is None
    equal = Verdict("equal", "stream+golden", "")
    assert Verdict.from_line(str(equal)) == equal


def test_the_folder_of_a_finding_has_the_file_as_it_was(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    judge_by(monkeypatch, 1)
    only = unit(SEVERAL)
    (case,) = run(only)
    folder = ended_campaign(tmp_path / "campaign", {}, [(only, [case])])
    kept = folder.failures / f"hostile-{SEVERAL}-golden"
    whole = random_mutant(SEVERAL).content
    assert (kept / "whole.tflite").read_bytes() == whole
    assert (kept / "model.tflite").read_bytes() != whole
    again, how = repeat(folder, kept.name)
    assert how == "alone"
    assert (again.verdict, again.message) == (case.verdict, case.message)
    assert evidence_of(again).model == (kept / "model.tflite").read_bytes()


@pytest.mark.slow
def test_the_seed_alone_makes_the_file() -> None:
    for seed in range(len(BASES)):
        first, second = random_mutant(seed), random_mutant(seed)
        assert first.content == second.content
        assert str(first) == str(second)
        for index, array in first.given.items():
            np.testing.assert_array_equal(array, second.given[index])
    assert random_mutant(0).content != random_mutant(len(BASES)).content


SLOW, LARGE = hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large
CHOICES = st.binary(min_size=8, max_size=8).map(lambda digits: int.from_bytes(digits, "little"))
MUTATIONS = st.lists(st.builds(Mutation, st.sampled_from(DRAWN), CHOICES), min_size=1, max_size=2)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.4, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("base", BASES)
@pytest.mark.usual(count=24)
def test_mutants_are_refused_or_run_as_in_litert(
    base: str, share: float, first_seed: int, request: pytest.FixtureRequest
) -> None:
    count = share * request.config.option.hostile

    @hypothesis.seed(first_seed)
    @hypothesis.settings(
        max_examples=int(-(-count // len(BASES))),
        database=None,
        suppress_health_check=(SLOW, LARGE),
    )
    @hypothesis.given(st.sampled_from(OPERATORS), st.integers(0, 99), MUTATIONS)
    def check(donor: str, number: int, mutations: list[Mutation]) -> None:
        mutant = make_mutant(base, donor, number, tuple(mutations))
        verdict = suite._judged(mutant)
        assert verdict.kind in GOOD, f"{mutant}: {verdict}"

    check()


@pytest.mark.slow
def test_files_end_as_they_should_whenever_they_run() -> None:
    first, second = (run(unit(count=40)) for _ in range(2))
    assert first == second
    assert {case.verdict for case in first} == {"passed"}
    kinds = {said.kind for case in first if (said := Verdict.from_line(case.message))}
    assert kinds == {"refused", "equal"}


ENDS = [
    Verdict("refused", "load", "operator 0 ADD: 1 operands; it takes 2"),
    Verdict("refused", "load", "operator 0 SUB: 1 operands; it takes 2"),
    Verdict("equal", "stream+golden", ""),
    Verdict("tolerated", "golden", "Did not get tensors in subgraph 0"),
    Verdict("different", "stream", "tensor 2: 1 of 4 differ, 3, not 2 (golden)"),
]
OTHERS = next(seed for seed in range(1000) if len(random_mutant(seed).mutations) == 3)


def campaign(path: Path, ends: list[Verdict], monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.setattr(suite, "_judged", lambda mutant: ends[-1])
    unit = Unit(suite="hostile", operator="", first=OTHERS, count=len(ends), backend="golden")
    cases = [
        suite.case_of(random_mutant(seed), end, Budget())
        for seed, end in zip(unit.seeds, ends, strict=True)
    ]
    return ended_campaign(path, {"suites": ["hostile"], "seed": OTHERS}, [(unit, cases)])


def test_the_sentence_counts_what_they_came_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert summary(campaign(tmp_path / "a", ENDS, monkeypatch)) == (
        "failed: Of 5 cases in 1 column, 1 failed, 1 was refused (nothing to compare) and 3 "
        "passed; of 5 mutated models 2 refused, 1 equal, 1 tolerated, 1 wrong."
    )
    assert summary(campaign(tmp_path / "b", ENDS[:3], monkeypatch)) == (
        "passed: All 3 cases in 1 column passed; of 3 mutated models 2 refused, 1 equal."
    )


@pytest.mark.slow
def test_reports_count_by_kind_and_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = campaign(tmp_path / "a", ENDS, monkeypatch)
    html, path = tmp_path / "page.html", tmp_path / "report.json"
    write_report(folder, html=html, junit=None, json=path)
    report = json.loads(path.read_text("utf-8"))["hostile"]
    check_fields(report, HostileJson)
    assert [(end["kind"], end["step"], end["files"]) for end in report["ends"]] == [
        ("different", "stream", 1),
        ("refused", "load", 2),
        ("equal", "stream+golden", 1),
        ("tolerated", "golden", 1),
    ]


@pytest.mark.slow
def test_a_finding_that_was_shrunk_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = campaign(tmp_path / "a", ENDS, monkeypatch)
    html = tmp_path / "page.html"
    write_report(folder, html=html, junit=None, json=None)
    browser = Browser.find(tmp_path / "browser")
    text = browser.dom(html) if browser else html.read_text("utf-8")
    if browser:
        assert browser.console(html) == []
    assert f"shrunk to 0 of {len(random_mutant(OTHERS + 4).mutations)} mutations" in text
    assert "whole.tflite" in text
    assert f"eightfold campaign repeat {folder.path} hostile-{OTHERS + 4}-golden" in text
    assert "stream and golden" in text


def test_every_kind_has_a_meaning() -> None:
    source = (IMPORT_ROOT / "lab" / "hostile" / "trial.py").read_text("utf-8")
    kinds = source.partition("    kind: str\n")[2].partition("    step: str")[0]
    assert set(re.findall(r"``(\w+)``", kinds)) - {"check"} == set(suite.MEANINGS)
