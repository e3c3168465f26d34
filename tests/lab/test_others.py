"""The table of what was judged: its recipe can be run, and says what was found."""

import hashlib
import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from eightfold.conformance.adapters.adapter import BUILTIN, load_adapter
from eightfold.conformance.identify import profile_text
from eightfold.conformance.profile import PROFILES, Profile
from lab.documents.others import grade, not_exact, unit_table
from lab.others import HERE, read_results, units
from lab.others.__main__ import main, profile_of, summary, why_not


@pytest.mark.parametrize("unit", units(), ids=lambda unit: unit["adapter"])
def test_each_unit_of_the_recipe_can_be_asked(unit: dict) -> None:
    if not unit["rtl"]:
        assert unit["adapter"] in BUILTIN and unit["profile"] in PROFILES
        return
    adapter = load_adapter(f"{HERE / 'adapters.py'}:{unit['adapter']}")
    assert all(getattr(adapter, name) == value for name, value in unit["rtl"].items())
    for contract in {"", unit["contract"]}:
        profile = profile_of(unit, contract)
        assert Profile.from_dict(tomllib.loads(profile_text(profile))) == profile
    assert bool(unit["repository"]) == bool(unit["commit"]) == bool(unit["files"])


def test_no_code_of_others_is_here() -> None:
    suffixes = {path.suffix for path in HERE.iterdir() if path.is_file()}
    assert suffixes <= {".py", ".toml", ".json", ".sv"}
    assert [path.name for path in HERE.glob("*.sv")] == ["wrappers.sv"]
    kept = {digest for unit in units() for digest in unit["files"].values()}
    assert hashlib.sha256((HERE / "wrappers.sv").read_bytes()).hexdigest() not in kept


def test_other_files_than_those_of_the_commit_are_not_judged(tmp_path: Path) -> None:
    unit = next(each for each in units() if each["files"])
    (name, *_) = unit["files"]
    assert "with --sources" in why_not(unit, None)
    assert f"no such file; it is in {unit['repository']} at" in why_not(unit, tmp_path)
    path = tmp_path / unit["repository"] / name
    path.parent.mkdir(parents=True)
    path.write_text("module other; endmodule\n")
    assert f"{name}: is not the file of {unit['commit']}" in why_not(unit, tmp_path)
    told = CliRunner().invoke(main, [unit["adapter"], "--sources", str(tmp_path)])
    assert (told.exit_code, told.output.count("not judged: ")) == (1, 1)
    assert CliRunner().invoke(main, ["nobody"]).exit_code == 2


def test_a_statement_becomes_a_row() -> None:
    counts = {"exact": 3, "off_by_one": 1, "wrong": 0}
    finding = {"counts": counts, "mistakes": ["a"], "smallest": ["case 1"]}
    claims = [{"claim": "ADD", "finding": finding}, {"claim": "MUL", "finding": None}]
    found = {"kit": "2.0", "level": "smoke", "line": "said", "standing": "deviates"}
    facts = {"Versions": "eightfold 0", "Commit of Eightfold": "abc"}
    kept = summary({**found, "claims": claims, "facts": facts}, ["ADD"], {"openvino": "1"})
    kept = json.loads(json.dumps(kept))
    assert (kept["kit"], kept["commit"], kept["version"]) == (
        "2.0",
        "abc",
        "eightfold 0, openvino 1",
    )
    kept = kept["claims"]
    assert kept == {"ADD": {**finding, "counts": {"exact": 3, "off_by_one": 1}}}
    assert grade(kept["ADD"]["counts"]) == "within 1"
    assert grade({"exact": 3}) == "exact"
    assert grade({"off_by_one": 1, "refused": 2}) == "deviates"
    assert not_exact(kept["ADD"]) == "1 off by one of 4"


def test_the_table_has_what_was_found() -> None:
    judged = [unit for unit in units() if unit["rtl"] and unit["name"] in read_results()]
    assert len(unit_table().splitlines()) == 2 + len(judged) > 2
