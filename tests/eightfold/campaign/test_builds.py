"""Simulators are built once, and run where there is nothing to build them with."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eightfold.campaign import campaign
from eightfold.campaign.folder import Folder
from eightfold.campaign.records import Unit
from eightfold.campaign.suite import campaign_sources
from eightfold.campaign.worker import Builds, _pack, build
from eightfold.common.files import source_key
from eightfold.sim.simulator.build import Model, build_model, design_key, give_model
from eightfold.sim.simulator.cache import cached
from eightfold.sim.simulator.sources import Unit as Design
from eightfold.target.config import PRESETS
from lab.suites.common import settings_of
from tests.support.campaign.schedulers import scheduler
from tests.support.hardware.twins import TWINS


def unit(backend: str, suite: str = "operators", **fields) -> Unit:
    """Return a unit of two models on nano."""
    return Unit(
        suite=suite,
        operator="RELU",
        first=0,
        count=2,
        backend=backend,
        config="nano",
        settings=settings_of(TWINS["nano"]),
        **fields,
    )


def test_golden_needs_no_simulator() -> None:
    assert build([unit("golden")]).archives == {}


def test_the_key_of_the_sources_is_of_all_of_them() -> None:
    assert len(source_key()) == 16
    assert source_key() == source_key()


def test_a_design_has_one_key_whatever_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    designs = [Design("requantizer", PRESETS["nano"]), Design("lane", PRESETS["nano"])]
    keys = {
        design_key(each, simulator) for each in designs for simulator in ("verilator", "icarus")
    }
    assert len(keys) == 4
    monkeypatch.setenv("PATH", "")
    assert design_key(designs[0], "icarus") in keys


def test_a_model_that_was_given_is_not_built(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("eightfold.sim.simulator.build._GIVEN", {})
    design = Design("requantizer", PRESETS["nano"])
    given = Model(tmp_path, "top", "icarus", waves=None)
    give_model(design_key(design, "icarus"), given)
    assert build_model(design, "icarus") is given


def test_a_worker_runs_no_build_that_was_changed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given: dict[str, Model] = {}
    monkeypatch.setattr("eightfold.sim.simulator.build._GIVEN", given)
    monkeypatch.setenv("EIGHTFOLD_CACHE", str(tmp_path))

    def make(folder: Path) -> None:
        (folder / "Vtop").write_text("as it was built")
        (folder / "Vtop").chmod(0o755)

    model = Model(cached("verilator", "top", make), "top", "verilator", waves=None)
    builds = Builds(campaign_sources(), {"key": model}, {"key": _pack(model.directory)})
    worker: Any = None
    builds.setup(worker)
    assert given["key"] == model
    (model.directory / "Vtop").write_text("of somebody else")
    builds.setup(worker)
    assert given["key"].directory == tmp_path / "sent" / "key"
    assert (given["key"].directory / "Vtop").read_text() == "as it was built"
    assert (given["key"].directory / "Vtop").stat().st_mode & 0o777 == 0o755


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_worker_without_a_compiler_runs_what_was_built_elsewhere(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "env", "uname"):
        (tools / name).symlink_to(str(shutil.which(name)))
    assert not any(shutil.which(tool, path=str(tools)) for tool in ("c++", "make", "perl"))
    variables = {"PATH": str(tools), "EIGHTFOLD_CACHE": str(tmp_path / "cache")}
    folder = Folder(tmp_path / "campaign")
    campaign.begin(folder, {}, [unit("verilator")])
    builds = campaign.builds_of(folder)
    assert max(map(len, builds.archives.values())) < 8 << 20
    for key, model in builds.models.items():  # as on a machine that does not share the folder
        builds.models[key] = replace(model, directory=tmp_path / "elsewhere")
    with scheduler(tmp_path, 1, variables) as (farm, _):
        assert campaign.go_on(folder, farm, builds) == "complete"
    with folder.store() as store:
        assert dict(store.verdicts()) == {"passed": 2}
    kept = sorted(path.name for path in (tmp_path / "cache").iterdir())
    assert "sent" in kept
    assert "verilator" not in kept
