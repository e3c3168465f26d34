"""Runs of the conformance kit: cases in shares, answers kept, all of them judged."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eightfold.campaign.campaign import begin, repeat
from eightfold.campaign.folder import Folder
from eightfold.campaign.records import Case, Result
from eightfold.campaign.suite import suites
from eightfold.common.errors import InputError
from eightfold.conformance import suite as conformance
from eightfold.conformance.answers import (
    MISSING,
    UNKNOWN,
    ModelAnswer,
    UnitAnswers,
    _pack,
    join_units,
    pack_models,
    pack_unit,
    unpack_models,
    unpack_unit,
)
from eightfold.conformance.profile import Profile
from eightfold.conformance.runs import adapter_name, claims_of, judge_run, planned
from eightfold.conformance.suite import Task
from eightfold.conformance.verdict import NETWORKS
from eightfold.conformance.verdict import CaseOutcome as Shown
from tests.support.campaign.folders import answer, asked_of

ADAPTERS = """
import numpy as np

from eightfold.conformance.adapters.adapter import ModelRunner, UnitAdapter
from eightfold.conformance.answers import ModelAnswer, UnitAnswers
from eightfold.conformance.judge.forms import FORMS, cases_of
from eightfold.operators import run_graph
from eightfold.operators import load_model


class Right(UnitAdapter):
    def answer(self, cases, *, simulator, seed=0, trace=None):
        results = FORMS["tflite"].results(cases_of("tflite", cases))
        return UnitAnswers(results={"result": self.change(results)})

    def change(self, results):
        return results


class Wrong(Right):
    def change(self, results):
        return np.where(results == 127, 126, results)


class Raises(Right):
    def change(self, results):
        raise RuntimeError("out of\\n paper")


class Models(ModelRunner):
    def answer(self, model, inputs):
        try:
            graph = load_model(model)
        except Exception as error:
            return ModelAnswer(ending="refused", message=str(error))
        tensors = run_graph(graph, inputs)
        changed = {index: self.change(tensor) for index, tensor in tensors.items()}
        return ModelAnswer(ending="computed", tensors=changed)

    def change(self, tensor):
        return tensor


class Few(Models):
    def answer_all(self, cases):
        return super().answer_all(cases)[1:]


class Torn(Models):
    def answer_all(self, cases):
        raise RuntimeError("no paper \\udc80")


class Broken(Models):
    def change(self, tensor):
        return tensor ^ 1 if tensor.dtype == np.int8 else tensor
"""

PROFILE = Profile.from_dict(
    {"name": "mine", "claims": ["requantizer", "ADD", "MAXIMUM", "networks"]}
)


@pytest.fixture
def adapters(tmp_path: Path) -> Path:
    path = tmp_path / "adapters.py"
    path.write_text(ADAPTERS)
    return path


def ask(path: Path, adapter: Path, name: str, claims: Sequence[str] = ()) -> Folder:
    """Return the folder of a run that has ended, without workers."""
    return answer(planned_run(path, adapter, name, claims))


def planned_run(path: Path, adapter: Path, name: str, claims: Sequence[str] = ()) -> Folder:
    task = Task.of(adapter_name(f"{adapter}:{name}"), PROFILE, "smoke", 3)
    units = planned(task, claims_of(task.load(), PROFILE, claims), None)
    folder = Folder(path)
    begin(folder, asked_of(units), units)
    return folder


@pytest.fixture(params=[20_000, 300])
def share(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Cases of a share: one for all, and so few that there are several."""
    monkeypatch.setattr(conformance, "SHARE", request.param)
    return request.param


@pytest.mark.slow
def test_a_right_unit_conforms_in_any_number_of_shares(
    tmp_path: Path, adapters: Path, share: int
) -> None:
    folder = ask(tmp_path / "run", adapters, "Right")
    with folder.store() as results:
        assert sum(results.counts().values()) == (1 if share == 20_000 else -(-2569 // share))
    judged = judge_run(folder)
    (finding,) = judged.statement.findings
    assert finding.right
    assert finding.counts[Shown.EXACT] > 2000
    told = f"no deviation found in {finding.cases} cases, which could not have told 3 of 71"
    assert f"requantizer: {told}" in judged.statement.line()
    assert judged.statement.subject == "Right"


@pytest.mark.slow
def test_a_wrong_unit_deviates_as_often_in_any_number_of_shares(
    tmp_path: Path, adapters: Path, share: int
) -> None:
    folder = ask(tmp_path / "run", adapters, "Wrong")
    (finding,) = judge_run(folder).statement.findings
    task = Task.of(adapter_name(f"{adapters}:Wrong"), PROFILE, "smoke", 3)
    expected = task.unit_cases("requantizer").results["result"]
    assert finding.counts[Shown.OFF_BY_ONE] == (expected == 127).sum()
    assert finding.counts[Shown.EXACT] == (expected != 127).sum()
    with folder.store() as results:
        counted = [int(re.findall(r"(\d+) of", row.message)[0]) for row in results.rows("failed")]
        assert sum(counted) == finding.counts[Shown.OFF_BY_ONE]


def test_an_adapter_that_raises_is_a_verdict(tmp_path: Path, adapters: Path) -> None:
    (finding,) = judge_run(ask(tmp_path / "run", adapters, "Raises")).statement.findings
    assert not finding.right
    assert finding.counts[Shown.CRASHED] == finding.cases
    assert "the adapter raised RuntimeError: out of paper" in " ".join(finding.diagnosis)


@pytest.mark.slow
def test_models_are_asked_and_judged_claim_by_claim(tmp_path: Path, adapters: Path) -> None:
    statement = judge_run(ask(tmp_path / "run", adapters, "Models")).statement
    assert [finding.claim for finding in statement.findings] == ["ADD", "MAXIMUM", NETWORKS]
    assert statement.holds
    assert "networks, ADD, MAXIMUM: no deviation found in 12 cases" in statement.line()


def test_models_that_differ_are_kept_whole(tmp_path: Path, adapters: Path) -> None:
    folder = ask(tmp_path / "run", adapters, "Broken", ["MAXIMUM"])
    judged = judge_run(folder)
    (finding,) = judged.statement.findings
    assert finding.counts == {Shown.OFF_BY_ONE: 4}
    with folder.store() as results:
        (name,) = {row.operator for row in results.rows("failed")}
        assert name == "MAXIMUM"


def test_an_answer_for_each_model_or_a_word_why_not(tmp_path: Path, adapters: Path) -> None:
    with pytest.raises(InputError, match="gave 3 answers to 4 models; return one for each"):
        ask(tmp_path / "few", adapters, "Few", ["MAXIMUM"])
    (finding,) = judge_run(ask(tmp_path / "torn", adapters, "Torn", ["MAXIMUM"])).statement.findings
    assert finding.counts == {Shown.CRASHED: 4}
    assert "the adapter raised RuntimeError: no paper" in " ".join(finding.diagnosis)


def test_claims_that_wait_are_incomplete(tmp_path: Path, adapters: Path) -> None:
    folder = planned_run(tmp_path / "run", adapters, "Models")
    answer(folder, [0])
    found = judge_run(folder).statement
    counts = [(each.claim, each.cases, each.waiting) for each in found.findings]
    assert counts == [("ADD", 4, 0), ("MAXIMUM", 0, 4), (NETWORKS, 0, 4)]
    assert (found.standing, found.holds) == ("incomplete", False)


@pytest.mark.slow
@pytest.mark.parametrize("places", [[0], [1]], ids=str)
def test_a_wrong_operator_deviates_by_any_of_its_units(
    places: list[int], tmp_path: Path, adapters: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ask(tmp_path / "whole", adapters, "Broken", ["MAXIMUM"])
    (whole,) = judge_run(asked).statement.findings
    monkeypatch.setattr(conformance, "TOGETHER", 2)
    folder = planned_run(tmp_path / "run", adapters, "Broken", ["MAXIMUM"])
    answer(folder, places)
    judged = judge_run(folder)
    (finding,) = judged.statement.findings
    answered = [str(number) for place in places for number in (2 * place, 2 * place + 1)]
    assert judged.names["MAXIMUM"] == answered
    assert (finding.cases, finding.waiting) == (len(answered), 4 - len(answered))
    expected = [each for each in whole.failed if each.name in answered]
    assert list(finding.failed) == expected
    assert judged.statement.standing == ("deviates" if expected else "incomplete")


@pytest.mark.slow
@pytest.mark.parametrize("places", [[3], [8, 2]], ids=str)
def test_cases_of_a_unit_keep_their_numbers_when_others_wait(
    places: list[int], tmp_path: Path, adapters: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = judge_run(ask(tmp_path / "whole", adapters, "Wrong")).statement.findings[0]
    monkeypatch.setattr(conformance, "SHARE", 300)
    folder = planned_run(tmp_path / "run", adapters, "Wrong")
    answer(folder, places)
    (finding,) = judge_run(folder).statement.findings
    answered = {
        n for place in places for n in range(300 * place, min(300 * place + 300, whole.asked))
    }
    assert (finding.cases, finding.asked) == (len(answered), whole.asked)
    expected = [each for each in whole.failed if int(each.name) in answered]
    assert list(finding.failed) == expected != []
    assert finding.smallest[0].startswith(tuple(f"case {each.name}:" for each in expected))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "claim"), [("Right", "requantizer"), ("Models", "ADD")])
def test_what_was_lost_counts_as_crashed(
    tmp_path: Path, adapters: Path, name: str, claim: str
) -> None:
    folder = planned_run(tmp_path / "run", adapters, name, [claim])
    with folder.store(writable=True) as store:
        for number, unit in store.waiting():
            cases = tuple(Case(seed=seed, verdict="lost", operator=claim) for seed in unit.seeds)
            store.keep(number, Result(cases=cases), "here", "lost")
    (finding,) = judge_run(folder).statement.findings
    assert finding.counts[Shown.CRASHED] == finding.cases > 0


def test_a_case_is_repeated(tmp_path: Path, adapters: Path) -> None:
    folder = ask(tmp_path / "run", adapters, "Broken", ["ADD"])
    with folder.store() as results:
        row = next(results.rows("failed"))
        name = results.unit(row.unit).case_name(row.seed)
    with pytest.raises(
        InputError, match=f"which is code; if you trust it, add --adapter {adapters}"
    ):
        repeat(folder, name)
    case, how = repeat(folder, name, adapter=f"{adapters}:Broken")
    assert (case.verdict, how) == ("failed", "alone")
    assert case.message == row.message


def test_an_adapter_that_has_changed_is_refused(tmp_path: Path, adapters: Path) -> None:
    folder = planned_run(tmp_path / "run", adapters, "Right")
    adapters.write_text(ADAPTERS + "\n")
    with folder.store() as results, pytest.raises(InputError, match="has changed since this run"):
        suites()["conformance"].run(next(results.units()).unit, None)


@pytest.mark.parametrize(
    ("name", "profile", "claims", "message"),
    [
        ("Right", PROFILE, ["ADD"], "ADD of what this adapter computes; use requantizer"),
        ("Models", PROFILE, ["SUB"], "SUB of what this adapter computes; use ADD, MAXIMUM"),
        ("Right", PROFILE.replace(claims=("dot",)), [], "requantizer; add to its claims"),
    ],
    ids=["operators of a unit", "another operator", "another unit"],
)
def test_claims_are_those_of_the_profile_and_the_adapter(
    adapters: Path, name: str, profile: Profile, claims: list[str], message: str
) -> None:
    task = Task.of(adapter_name(f"{adapters}:{name}"), PROFILE, "smoke", 0)
    with pytest.raises(InputError, match=re.escape(f"does not claim {message}")):
        claims_of(task.load(), profile, claims)


def test_another_folder_is_no_run(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "other")
    begin(folder, {}, [])
    with pytest.raises(InputError, match="is no run of eightfold conform"):
        judge_run(folder)


def test_models_have_no_simulator_of_choice() -> None:
    task = Task.of("golden", PROFILE, "smoke", 0)
    with pytest.raises(InputError, match="--backend icarus: this adapter computes models"):
        planned(task, ["ADD"], "icarus")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["adapter", "profile", "level", "seed", "claims"])
@pytest.mark.parametrize("value", [..., "x", ["ADD"]], ids=["missing", "text", "list"])
def test_what_was_asked_is_not_deleted_or_changed(
    tmp_path: Path, adapters: Path, name: str, value: Any
) -> None:
    folder = ask(tmp_path / "run", adapters, "Models", ["MAXIMUM"])
    facts = folder.facts()
    asked = {key: each for key, each in facts["asked"].items() if key != name}
    asked |= {} if value is ... else {name: value}
    folder.facts_file.write_text(json.dumps({**facts, "asked": asked}))
    with pytest.raises(InputError, match=rf"was changed: .*{name} is"):
        judge_run(folder)


def test_answers_of_a_unit_come_back_and_join() -> None:
    first = UnitAnswers(results={"result": np.array([1, MISSING, UNKNOWN])}, extra=2, note="X")
    second = UnitAnswers(results={"result": np.array([-128])}, note="late", crashed=True)
    joined = join_units([unpack_unit(pack_unit(each), each.results) for each in (first, second)])
    np.testing.assert_array_equal(joined.results["result"], [1, MISSING, UNKNOWN, -128])
    assert joined.results["result"].dtype == np.int64
    assert (joined.extra, joined.note, joined.crashed) == (2, "X", True)


def test_answers_to_models_come_back() -> None:
    tensors = {12: np.array([[1.5]], np.float32), 3: np.zeros((0, 2), np.int8)}
    given = [
        None,
        ModelAnswer(ending="computed", tensors=tensors),
        ModelAnswer(ending="crashed", message="SIGSEGV"),
        None,
    ]
    found = unpack_models(pack_models(given), 4)
    assert found[0] is found[3] is None
    assert isinstance(found[2], ModelAnswer)
    assert (found[2].ending, found[2].message, found[2].tensors) == ("crashed", "SIGSEGV", {})
    assert isinstance(found[1], ModelAnswer)
    assert found[1].tensors.keys() == tensors.keys()
    for index, tensor in tensors.items():
        assert found[1].tensors[index].dtype == tensor.dtype
        np.testing.assert_array_equal(found[1].tensors[index], tensor)


UNIT = UnitAnswers(results={"result": np.array([1, 2])})
MODELS = [None, ModelAnswer(ending="computed", tensors={3: np.zeros(2, np.int8)})]


def other_facts(facts: object) -> bytes:
    return _pack(facts, {})  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no archive",
        pack_models(MODELS)[:-30],
        pack_models(MODELS).replace(b"PK", b"KP"),
        pack_models(MODELS[:1]),
        pack_unit(UNIT),
        other_facts([]),
        other_facts({"answers": 1}),
        other_facts({"answers": [{"ending": "won"}, {}]}),
        other_facts({"answers": [{"ending": "computed", "message": 1}, {}]}),
        other_facts({"answers": [{"what": 1}, {}]}),
        other_facts({"answers": [{}, 1]}),
        _pack({"answers": [{}, {}]}, {"9_9": np.zeros(1)}),
        _pack({"answers": [{}, {}]}, {"x": np.zeros(1)}),
        pack_unit(UnitAnswers(results={"result": np.array([1])})),
        pack_unit(UnitAnswers(results={"other": np.array([1, 2])})),
        _pack({"extra": "", "note": "", "crashed": False}, {"result": np.array([1, 2])}),
        _pack({"extra": 0, "note": "", "crashed": False}, {"result": np.array(["1", "2"])}),
        _pack({"extra": 0, "note": ""}, {"result": np.array([1, 2])}),
    ],
    ids=range(19),
)
def test_what_is_no_answer_is_one_line(content: bytes) -> None:
    said = "the answers that were kept cannot be read: "
    with pytest.raises(InputError, match=said):
        unpack_models(content, 2)
    if content != pack_unit(UNIT):
        with pytest.raises(InputError, match=said):
            unpack_unit(content, UNIT.results)
